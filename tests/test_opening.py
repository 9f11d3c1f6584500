"""The front door: what opening a session takes, refuses, and leaves on the disk."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

import minutebook
from minutebook.budget import preset
from minutebook.config.reading import load_config
from minutebook.errors import ConfigError, SessionLocked, StoreError
from minutebook.opening import open_session


def names(folder: Path) -> list[str]:
    """List a folder."""
    return [path.name for path in folder.iterdir()]


async def test_a_new_session_is_described_with_its_first_write(tmp_path: Path) -> None:
    """`session.json` appears with the log, and is what the next opening knows."""
    folder = tmp_path / "a" / "first"

    async with minutebook.open(folder, window=9_000, model="some-model", clock=lambda: 5.0) as one:
        assert not (folder / "context.jsonl").exists()
        await one.append(minutebook.user("hello"))
    async with minutebook.open(folder) as again:
        assert again.settings.window == 9_000
        assert again.settings.model == "some-model"

    described = msgspec.json.decode((folder / "session.json").read_bytes())
    assert (described["id"], described["created"]) == ("first", 5.0)


async def test_the_log_names_its_session(tmp_path: Path) -> None:
    """The path of a `context.jsonl` opens the session that it belongs to."""
    async with minutebook.open(tmp_path / "s") as session:
        await session.append(minutebook.user("hello"))

    async with minutebook.open(tmp_path / "s" / "context.jsonl", mode="r") as session:
        assert [message.text for message in session.context.history] == ["hello"]


async def test_what_makes_no_sense_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    """A wrong window or preset leaves no folder behind."""
    for options in ({"window": 0}, {"max_output": -1}, {"preset": "none"}):
        with pytest.raises(ConfigError):
            async with minutebook.open(tmp_path / "s", **options):
                pytest.fail("it opened")

    assert names(tmp_path) == []


async def test_a_missing_session_is_not_made_unasked(tmp_path: Path) -> None:
    """`create=False` and reading both need one that is there."""
    for options in ({"create": False}, {"mode": "r"}):
        with pytest.raises(StoreError, match="no such session"):
            async with minutebook.open(tmp_path / "s", **options):
                pytest.fail("it opened")

    assert names(tmp_path) == []


async def test_the_lock_is_given_up_whatever_happens_inside(tmp_path: Path) -> None:
    """One writer at a time; an error in the block frees the session."""

    async def fail() -> None:
        async with minutebook.open(tmp_path / "s"):
            with pytest.raises(SessionLocked):
                async with minutebook.open(tmp_path / "s"):
                    pytest.fail("it opened")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()

    async with minutebook.open(tmp_path / "s") as session:
        await session.append(minutebook.user("hello"))


async def test_a_second_writer_waits_for_the_lock_as_long_as_it_is_told(tmp_path: Path) -> None:
    """And has it once the first is done."""

    async def second() -> None:
        async with minutebook.open(tmp_path / "s", lock_timeout=60) as session:
            await session.append(minutebook.user("second"))

    async with minutebook.open(tmp_path / "s") as session:
        task = asyncio.ensure_future(second())
        await asyncio.sleep(0)
        await session.append(minutebook.user("first"))
    await task

    async with minutebook.open(tmp_path / "s", mode="r") as session:
        assert [message.text for message in session.context.history] == ["first", "second"]


async def test_a_reader_needs_no_lock_and_a_window_is_not_needed(tmp_path: Path) -> None:
    """A session may be read while another process writes it."""
    async with minutebook.open(tmp_path / "s") as writer:
        await writer.append(minutebook.user("hello"))
        async with minutebook.open(tmp_path / "s", mode="r") as reader:
            assert reader.settings.known_window() is None
            assert len(reader.view().messages) == 1
            with pytest.raises(ConfigError, match="window"):
                await reader.fit()


async def test_a_damaged_description_does_not_keep_a_session_shut(tmp_path: Path) -> None:
    """The log is the truth; what is beside it is rebuilt."""
    async with minutebook.open(tmp_path / "s", window=9_000) as session:
        await session.append(minutebook.user("hello"))
    (tmp_path / "s" / "session.json").write_bytes(b'{"id": "s", "win')

    async with minutebook.open(tmp_path / "s") as session:
        assert session.settings.window is None
        assert len(session.context.history) == 1


async def test_a_configuration_sets_what_the_caller_did_not_say(tmp_path: Path) -> None:
    """Policy, window, model, retention, hooks, instructions, tag rules; the caller comes first."""
    (tmp_path / "minutebook.toml").write_text(
        'preset = "kimi"\n'
        "[model]\nname = 'm-1'\nwindow = 50000\nmax_output = 4000\n"
        "[retention]\nkeep_plain = 1\n"
        "[summary]\ninstructions = ['be brief']\n"
        "[[hooks]]\nevent = 'PreCompact'\ncommand = 'true'\n"
        "[[tags]]\ntag = 'rule'\nrole = 'user'\nprotected = true\n"
    )
    config = load_config(tmp_path / "minutebook.toml", environment={})

    async with open_session(tmp_path / "s", config=config) as session:
        settings = session.settings
        assert settings.policy == config.policy != preset("default")
        assert (settings.window, settings.model, settings.max_output) == (50_000, "m-1", 4_000)
        assert settings.retention == config.retention
        assert session._companions.hooks.commands == config.hooks
        assert session._companions.tagging == config.tags
        assert session._companions.instructions == config.instructions
    async with open_session(
        tmp_path / "t", config=config, window=9_000, model="m-2", preset="kilo"
    ) as session:
        assert (session.settings.window, session.settings.model) == (9_000, "m-2")
        assert session.settings.policy == preset("kilo")
