"""Sessions in folders: readers, other programs at work on the log, and what was torn."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from minutebook.errors import LogChanged, StoreError
from minutebook.messages import user
from minutebook.opening import open_session
from minutebook.session import Session
from tests.playing import Clock, assert_replay_is_the_same, values

OTHER = b'{"role": "user", "content": "from elsewhere"}\n'
WRITES: dict[str, Callable[[Session], Awaitable[Any]]] = {
    "append": lambda session: session.append(user("x")),
    "usage": lambda session: session.record_usage(5),
    "prompt": lambda session: session.set_system_prompt("p"),
    "checkpoint": lambda session: session.checkpoint(),
    "pin": lambda session: session.pin(2),
    "revert": lambda session: session.revert(0),
    "clear": lambda session: session.clear(),
    "restore": lambda session: session.restore(1),
    "undo": lambda session: session.undo(force=True),
}


def opened(folder: Path, **options: Any) -> Any:
    """Open a session quickly."""
    return open_session(folder, durability="process", clock=Clock(), **options)


async def grow(folder: Path) -> Path:
    """Make a session with a rotation; give its log."""
    async with opened(folder) as session:
        await session.append(user("a"))
        await session.clear()
        await session.append(user("b"))
        await session.checkpoint()
    return folder / "context.jsonl"


def add(log: Path, data: bytes) -> None:
    """Write at the end, as another program does."""
    with log.open("ab") as file:
        file.write(data)


@pytest.mark.parametrize("name", WRITES)
async def test_a_log_that_another_program_changed_is_noticed(tmp_path: Path, name: str) -> None:
    """Nothing is written; after `refresh` its lines are there and the next try works."""
    log = await grow(tmp_path / "s")
    async with opened(tmp_path / "s") as session:
        before, rotations = values(session.context), len(session.rotations())
        add(log, OTHER)
        found = log.read_bytes()

        with pytest.raises(LogChanged) as raised:
            await WRITES[name](session)

        assert raised.value.written is False
        assert log.read_bytes() == found
        assert values(session.context) == before
        assert len(session.rotations()) == rotations
        session.refresh()
        assert session.context.history[-1].text == "from elsewhere"
        await WRITES[name](session)
        assert_replay_is_the_same(session)


@pytest.mark.parametrize("durability", ["process", "disk"])
async def test_lines_that_came_in_between_are_kept_with_ours(
    tmp_path: Path, durability: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours are whole in the log, the error says so, and `refresh` reads on."""
    log = await grow(tmp_path / "s")
    async with open_session(tmp_path / "s", durability=durability) as session:
        write = os.write

        def slip_in(descriptor: int, data: Any) -> int:
            monkeypatch.setattr(os, "write", write)
            add(log, OTHER)
            return write(descriptor, data)

        monkeypatch.setattr(os, "write", slip_in)
        with pytest.raises(LogChanged) as raised:
            await session.append(user("ours"))

        assert raised.value.written is True
        assert [message.text for message in session.context.history] == ["b"]
        session.refresh()
        texts = [message.text for message in session.context.history]
        assert texts == ["b", "from elsewhere", "ours"]
        await session.append(user("on"))
        assert_replay_is_the_same(session)


async def test_a_log_that_was_deleted_is_noticed(tmp_path: Path) -> None:
    """It is not made anew under the session's feet."""
    log = await grow(tmp_path / "s")
    async with opened(tmp_path / "s") as session:
        log.unlink()
        with pytest.raises(LogChanged):
            await session.append(user("x"))
        with pytest.raises(LogChanged):
            session.refresh()
        assert [message.text for message in session.context.history] == ["b"]


@pytest.mark.parametrize("name", WRITES)
async def test_a_reader_writes_nothing(tmp_path: Path, name: str) -> None:
    """Whatever is asked of it, beside a writer that goes on."""
    log = await grow(tmp_path / "s")
    async with opened(tmp_path / "s") as writer, opened(tmp_path / "s", mode="r") as reader:
        before = {path: path.stat() for path in (tmp_path / "s").iterdir()}
        with pytest.raises(StoreError, match="reading"):
            await WRITES[name](reader)
        assert {path: path.stat() for path in (tmp_path / "s").iterdir()} == before
        assert [message.text for message in reader.history(full=True)] == ["a", "b"]
        await writer.append(user("c"))
        reader.refresh()
        assert [message.text for message in reader.context.history] == ["b", "c"]
    assert log.read_bytes().endswith(b'"seq":3}\n')


async def test_a_torn_end_is_set_aside_by_the_first_write_only(tmp_path: Path) -> None:
    """Opening alone changes nothing, and no good line is lost."""
    log = await grow(tmp_path / "s")
    whole = log.read_bytes()
    add(log, b'{"role":"user","content":"to')
    async with opened(tmp_path / "s") as session:
        assert [problem.kind for problem in session.problems] == ["torn"]
        assert session.view().messages
        assert log.read_bytes() == whole + b'{"role":"user","content":"to'
        await session.append(user("c"))
        assert log.read_bytes().startswith(whole + b'{"role":"user","content":"c"')
        assert_replay_is_the_same(session)
    aside = (tmp_path / "s" / "context.bad.jsonl").read_bytes()
    assert aside == b'{"role":"user","content":"to\n'


async def test_a_prompt_behind_a_byte_order_mark(tmp_path: Path) -> None:
    """The mark may stand nowhere but first, so the rewrite leaves it out."""
    (tmp_path / "s").mkdir()
    log = tmp_path / "s" / "context.jsonl"
    log.write_bytes(b"\xef\xbb\xbf" + OTHER)
    async with opened(tmp_path / "s") as session:
        assert len(session.context.history) == 1
        await session.set_system_prompt("p")
        assert_replay_is_the_same(session)
        assert session.problems == ()
    assert log.read_bytes() == b'{"role":"_system_prompt","content":"p"}\n' + OTHER
    rotated = (tmp_path / "s" / "context_1.jsonl").read_bytes()
    assert rotated == b"\xef\xbb\xbf" + OTHER


async def test_a_folder_with_rotations_alone_is_no_empty_session(tmp_path: Path) -> None:
    """The error names the newest; asked for, it opens and one of them can be restored."""
    log = await grow(tmp_path / "s")
    log.unlink()

    with pytest.raises(StoreError, match="rotation 1"):
        async with opened(tmp_path / "s"):
            pytest.fail("it opened")
    async with opened(tmp_path / "s", allow_missing_log=True) as session:
        assert session.context.history == ()
        await session.restore(1)
        assert [message.text for message in session.context.history] == ["a"]
    async with opened(tmp_path / "s", create=False) as session:
        assert [message.text for message in session.context.history] == ["a"]


async def test_rotations_that_were_compressed_are_read_as_before(tmp_path: Path) -> None:
    """On closing those beyond the newest few are; nothing that is read of a session changes."""
    async with opened(tmp_path / "s") as session:
        for number in range(6):
            await session.append(*(user(f"{number}.{index} " * 20) for index in range(20)))
            await session.checkpoint()
            await session.clear()
        full = session.history(full=True)
    assert list((tmp_path / "s").glob("*.zst"))
    async with opened(tmp_path / "s") as session:
        assert session.history(full=True) == full
        await session.revert(1)
        assert [message.seq for message in session.context.history] == list(range(21, 41))
        await session.restore(2)
        await session.undo()
        assert_replay_is_the_same(session)
