"""Sessions that Kimi CLI wrote, reads, and goes on with, by the rules that its source has."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from minutebook.context import fold
from minutebook.lines import scan
from minutebook.messages import Message, assistant, call, tool, user
from minutebook.opening import open_session
from minutebook.session import Session
from minutebook.store.memory import Shelf
from tests.playing import Clock, MemoryHome, Player, assert_replay_is_the_same, on_memory
from tests.strategies import STORIES, Do

SUMMARY = "<system>Previous context has been compacted. Here is the compaction output:</system>"


def lines(*values: dict[str, Any]) -> bytes:
    """Write records as Kimi CLI does, with a space behind colon and comma."""
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)


def said(role: str, text: str, **more: Any) -> dict[str, Any]:
    """Give a message as Kimi CLI writes it."""
    return {"role": role, "content": text, **more}


def checkpoint(number: int) -> dict[str, Any]:
    """Give a checkpoint as Kimi CLI writes it."""
    return {"role": "_checkpoint", "id": number}


PROMPT = {"role": "_system_prompt", "content": "You are an agent."}
CALL = {
    "type": "function",
    "id": "Shell:0",
    "function": {"name": "Shell", "arguments": '{"command": "ls"}'},
}
EXCHANGE = [
    said("user", "fix it"),
    checkpoint(0),
    said("assistant", "I look", tool_calls=[CALL], partial=None),
    {"role": "_usage", "token_count": 4711},
    said("tool", "a.py", tool_call_id="Shell:0"),
    checkpoint(1),
    said("assistant", "done"),
    {"role": "_usage", "token_count": 4800},
]
LOG = lines(PROMPT, *EXCHANGE)


class KimiReader:
    """What Kimi CLI makes of a log: three special records, and of others it wants `content`."""

    def __init__(self, log: bytes) -> None:
        self.prompt: str | None = None
        self.messages: list[dict[str, Any]] = []
        self.tokens = 0
        self.next_checkpoint = 0
        for line in log.splitlines():
            if line.strip():
                self._take(json.loads(line))

    def _take(self, record: dict[str, Any]) -> None:
        role = record["role"]
        if role == "_system_prompt":
            self.prompt = record["content"]
        elif role == "_usage":
            self.tokens = record["token_count"]
        elif role == "_checkpoint":
            self.next_checkpoint = record["id"] + 1
        elif role in {"system", "user", "assistant", "tool"}:
            self.messages.append(record)
        else:
            # Read as a message, of which a role that is not known is dropped.
            assert isinstance(record["content"], str | list)


def kimi_reverts(log: bytes, number: int, dmail: str) -> bytes:
    """Go back as Kimi CLI does: copy up to the checkpoint, `_batch` lines left out, and go on."""
    kept = []
    for line in log.splitlines(keepends=True):
        record = json.loads(line)
        if record["role"] == "_checkpoint" and record["id"] == number:
            break
        if record["role"] != "_batch":
            kept.append(line)
    return b"".join(kept) + lines(checkpoint(number), said("user", dmail))


def kimi_compacts(log: bytes, keep: int) -> bytes:
    """Compact as Kimi CLI does: a new log, with kept messages written again without our keys."""
    read = KimiReader(log)
    known = {"role", "content", "name", "tool_calls", "tool_call_id"}
    tail = [
        {key: value for key, value in message.items() if key in known}
        for message in read.messages[-keep:]
    ]
    summary = said("user", "")
    summary["content"] = [{"type": "text", "text": SUMMARY}, {"type": "text", "text": "minutes"}]
    prompt = [] if read.prompt is None else [{"role": "_system_prompt", "content": read.prompt}]
    return lines(*prompt, checkpoint(0), summary, *tail, {"role": "_usage", "token_count": 99})


def texts(messages: Sequence[Message]) -> list[str]:
    """Give what was said."""
    return [message.text for message in messages]


async def test_a_session_of_kimi_cli_opens_and_is_not_changed_by_it() -> None:
    """Messages are numbered by position; nothing is written."""
    shelf = Shelf(LOG)
    async with on_memory(shelf) as session:
        assert [message.seq for message in session.context.history] == [1, 2, 3, 4]
        assert session.context.system_prompt == "You are an agent."
        assert (session.context.token_count, session.context.token_count_is_exact) == (4800, True)
        assert [mark.id for mark in session.context.checkpoints] == [0, 1]
        session.view()
    assert shelf.log == LOG


async def test_lines_of_kimi_cli_stay_byte_for_byte() -> None:
    """Through appends, a revert and a fork of the log; only a carried line gets its number."""
    shelf = Shelf(LOG)
    async with on_memory(shelf) as session:
        await session.append(user("more"))
        assert shelf.log.startswith(LOG)
        await session.revert(1)
        kept = lines(PROMPT, *EXCHANGE[:5])
        assert shelf.log.startswith(kept)
        assert [message.seq for message in session.context.history] == [1, 2, 3]
        (new,) = await session.append(user("again"))
        assert new.seq == 6


async def test_carried_lines_get_their_number_as_last_key() -> None:
    """So tags and pins of a message without one survive a compaction."""
    filler = [said("user", f"question {number} " * 80) for number in range(30)]
    kept = said("user", "keep  me", partial=False)
    shelf = Shelf(lines(kept, *filler, *EXCHANGE))
    async with on_memory(shelf) as session:
        await session.pin(1)
        await session.tag(1, "x")
        assert (await session.compact(target=0.2)).changed

        spliced = json.dumps(kept).encode()[:-1] + b',"seq":1}\n'
        assert spliced in shelf.log
        assert (session.context.pins, session.context.tags) == ({1}, {1: ("x",)})
        assert session.context.history[0].text == "keep  me"
        assert_replay_is_the_same(session)
        await session.undo()
        assert session.context.pins == {1}
        assert len(session.context.history) == 35


def rotated(shelf: Shelf, new: bytes) -> None:
    """Let Kimi CLI put a new log in the place of the one that is there."""
    shelf.rotations[max(shelf.rotations, default=0) + 1] = shelf.log
    shelf.log = new


async def test_rotations_of_kimi_cli_are_joined_in_the_full_history() -> None:
    """Two reverts and a compaction: each message once, in the order in which it was said."""
    shelf = Shelf(LOG)
    rotated(shelf, kimi_reverts(shelf.log, 1, "dmail one"))
    shelf.log += lines(said("assistant", "other way"))
    rotated(shelf, kimi_compacts(shelf.log, 2))
    shelf.log += lines(said("assistant", "on"), checkpoint(1), said("user", "too far"))
    rotated(shelf, kimi_reverts(shelf.log, 1, "dmail two"))
    async with on_memory(shelf) as session:
        full = session.history(full=True)

        assert [text.replace(SUMMARY + "\n", "") for text in texts(full)] == [
            "fix it",
            "I look",
            "a.py",
            "done",
            "minutes",
            "dmail one",
            "other way",
            "on",
            "too far",
            "dmail two",
        ]
        assert next(message.text for message in full if message.active).endswith("minutes")
        assert sum(message.active for message in full) == len(session.context.history) == 5


async def test_rewrites_of_ours_upon_rotations_of_kimi_cli() -> None:
    """What it left behind is joined to the log that followed, wherever that now lies."""
    shelf = Shelf(LOG)
    rotated(shelf, kimi_compacts(shelf.log, 1))
    async with on_memory(shelf) as session:
        await session.append(user("ours"))
        await session.clear()
        await session.append(user("new"))
        await session.set_system_prompt("You are another.")
        full = session.history(full=True)

    assert [text.replace(SUMMARY + "\n", "") for text in texts(full)] == [
        "fix it",
        "I look",
        "a.py",
        "minutes",
        "done",
        "ours",
        "new",
    ]


async def test_kimi_cli_going_back_in_a_log_of_ours_loses_nothing() -> None:
    """It drops `_batch` lines and gives no numbers; the lines stand alone, and all is there."""
    shelf = Shelf()
    async with on_memory(shelf) as session:
        await session.set_system_prompt("p")
        await session.append(user("a"), assistant("b"), usage=30)
        await session.append(assistant("", tool_calls=[call("c", "f")]), tool("c", "r"))
        number = await session.checkpoint()
        await session.append(user("undone"), assistant("too"), usage=60)
    rotated(shelf, kimi_reverts(shelf.log, number, "dmail"))
    assert b'"_batch"' not in shelf.log
    async with on_memory(shelf) as session:
        assert session.problems == ()
        assert texts(session.context.history) == ["a", "b", "", "r", "dmail"]
        assert [message.seq for message in session.context.history] == [1, 2, 3, 4, 5]
        assert texts(session.history(full=True)) == ["a", "b", "", "r", "undone", "too", "dmail"]
        await session.append(user("on"))
        assert await session.checkpoint() == number + 1
        assert_replay_is_the_same(session)


async def test_kimi_cli_compacting_a_log_of_ours_loses_nothing() -> None:
    """Though it writes the kept messages without our keys."""
    shelf = Shelf()
    async with on_memory(shelf) as session:
        await session.append(user("a"), assistant("b"), user("c", pin=True), assistant("d"))
        await session.pin(4)
    rotated(shelf, kimi_compacts(shelf.log, 2))
    async with on_memory(shelf) as session:
        full = session.history(full=True)
        assert [text.replace(SUMMARY + "\n", "") for text in texts(full)] == [
            "a",
            "b",
            "minutes",
            "c",
            "d",
        ]


class Read(Player):
    """Reads each log as Kimi CLI does, and once more without its `_batch` lines."""

    def check(self) -> None:
        """Compare what both readers see."""
        super().check()
        log = b"".join(self.session.store.pieces())
        read, context = KimiReader(log), self.session.context
        ours = [message for message in context.history if message.role != "oracle"]
        assert [message["role"] for message in read.messages] == [m.role for m in ours]
        assert [message["seq"] for message in read.messages] == [m.seq for m in ours]
        assert (read.prompt, read.tokens) == (context.system_prompt, _last_usage(self.session))
        marks = [mark.id for mark in context.checkpoints]
        assert read.next_checkpoint == (marks[-1] + 1 if marks else 0)
        alone = [line for line in log.splitlines(keepends=True) if b'"_batch"' not in line[:20]]
        assert fold(scan(b"".join(alone))[0]).history == context.history


def _last_usage(session: Session) -> int:
    """Give the last count that stands in the log, believed or not."""
    found = 0
    for line in b"".join(session.store.pieces()).splitlines():
        if line.startswith(b'{"role":"_usage"'):
            found = json.loads(line)["token_count"]
    return found


@given(STORIES)
def test_kimi_cli_reads_every_log_of_ours(story: list[Do]) -> None:
    """It skips what it does not know, fails at nothing, and sees the same messages."""
    asyncio.run(Read(MemoryHome()).play(story))


@pytest.mark.parametrize("mode", ["w", "r"])
async def test_a_head_that_was_lost_does_no_harm(tmp_path: Path, mode: Any) -> None:
    """A real file began at checkpoint 46 with an assistant's message."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "context.jsonl").write_bytes(
        lines(said("assistant", "went on"), checkpoint(46), said("user", "and"))
    )
    async with open_session(tmp_path / "s", mode=mode, clock=Clock()) as session:
        assert session.context.next_checkpoint_id == 47
        assert texts(session.context.history) == ["went on", "and"]
        assert session.view().messages
