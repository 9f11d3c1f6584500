"""`show --last` and `show --follow`: the end of a session, and what comes to it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import minutebook
from minutebook.cli import showing
from minutebook.cli.rendering import Page
from minutebook.messages import assistant, call, replace, tool, user
from minutebook.records import Checkpoint, Clear, Record, Tag
from minutebook.store.contract import Store
from tests.cli.support import make_session, make_transcript, run, run_json


@pytest.mark.parametrize("last", [1, 4, 23, 24, 60])
def test_the_end_is_what_the_whole_ends_with(tmp_path: Path, last: int) -> None:
    """Messages, numbers, pins and checkpoints; the prompt only if all are shown."""
    folder = make_session(tmp_path / "s")
    run("pin", folder, 23)
    whole = run_json("show", folder)
    end = run_json("show", folder, "--last", last)

    assert end["messages"] == whole["messages"][-last:]
    assert end["system_prompt"] == (whole["system_prompt"] if last >= 24 else None)
    words = run("show", folder, "--last", last).stdout
    assert ("messages before" in words or "message before" in words) == (last < 24)
    assert words.count("── checkpoint") == sum(1 for n in range(6) if 24 - 4 * n <= last)
    assert run("show", folder).stdout.endswith(words.partition("before\n")[2])


def test_the_end_of_another_agents_file_and_of_everything(tmp_path: Path) -> None:
    """What is not a session's context is cut the same way."""
    file = make_transcript(tmp_path / "t.json")
    folder = make_session(tmp_path / "s")
    for path, more in ((file, ()), (folder, ("--full",)), (folder, ("--view",))):
        whole = run_json("show", path, *more)
        end = run_json("show", path, *more, "--last", 3)
        assert end["messages"] == whole["messages"][-3:]
        assert end["system_prompt"] is None
    assert "not both" in run("show", folder, "--full", "--view", code=2).stderr


def test_an_empty_session_and_one_that_lost_its_log(tmp_path: Path) -> None:
    """The first has no messages, the second is an error that names a rotation."""
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "context.jsonl").touch()
    assert run("show", folder, "--last", 3).stdout == "no messages\n"
    (folder / "context.jsonl").rename(folder / "context_1.jsonl")
    assert "rotation 1 is there" in run("show", folder, "--last", 3, code=1).stderr
    assert "is one" in run("show", folder, "--last", 3, "--conversation", 1, code=1).stderr


async def coming(_store: Store) -> AsyncIterator[Record]:
    """Stand in for what another program writes."""
    asked = assistant("", tool_calls=[call("c9", "Shell", '{"command": "make"}')])
    for record in (
        replace(user("and now?"), seq=25),
        replace(asked, seq=26),
        replace(tool("c9", "built"), seq=27),
        Checkpoint(id=6, label="built"),
        Checkpoint(id=7),
        Tag(seq=25, pin=True),
        Clear(content="cleared; the log before is rotation 1"),
    ):
        yield record
    raise KeyboardInterrupt


def test_what_comes_is_printed_until_it_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages with their numbers, results with their tools, checkpoints, rewrites."""
    folder = make_session(tmp_path / "s")
    monkeypatch.setattr(showing, "follow", coming)

    words = run("show", folder, "--follow", "--last", 1, code=130).stdout

    assert words.startswith("… 23 messages before\n\n24 assistant")
    lines = [line.strip() for line in words.splitlines()]
    place = lines.index("and now?")
    rest = [line for line in lines[place:] if line]
    assert rest[1].startswith("26 assistant")
    assert rest[2] == '→ Shell {"command": "make"}'
    assert rest[3].startswith("27 tool  Shell")
    assert rest[4:] == [
        "built",
        "── checkpoint 6 built",
        "── checkpoint 7",
        "── cleared; the log before is rotation 1",
    ]


async def test_a_real_session_is_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What its writer appends appears."""
    async with minutebook.open(tmp_path / "s") as session:
        await session.append(user("first"))
        following = asyncio.ensure_future(showing._follow(tmp_path / "s", Page(), unfold=False))
        while "second" not in capsys.readouterr().out:
            await session.append(user("second"))
            await asyncio.wait([following], timeout=0.02)
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following


@pytest.mark.parametrize("other", ["--full", "--view", "--json"])
def test_following_goes_alone(tmp_path: Path, other: str) -> None:
    """It shows what is written, and nothing else can be asked of it."""
    assert "--follow" in run("show", tmp_path, "--follow", other, code=2).stderr
