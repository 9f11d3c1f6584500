"""Claude Code's transcripts, damaged as they are found, and mended."""

import json
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.formats.claude_code import read
from minutebook.formats.mending.claude_code import mend
from minutebook.formats.source import Source
from minutebook.formats.writers.claude_code import WRITER
from minutebook.providers import validate_anthropic
from minutebook.providers.view import UNKNOWN_OUTCOME, make_view
from minutebook.records import Record
from minutebook.turns import pair
from tests.formats.writers.written import ABOUT, conversations


def lines_of(data: bytes) -> list[dict[str, Any]]:
    """Read the lines."""
    return [json.loads(line) for line in data.splitlines()]


def raw(uuid: str, parent: str | None, role: str, *content: dict[str, Any], **more: Any) -> bytes:
    """Write a line."""
    line = {
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "s",
        "cwd": "/w",
        "type": role,
        "message": {"role": role, "content": list(content), **more},
        "uuid": uuid,
        "timestamp": "2026-01-01T00:00:00.000Z",
    }
    return json.dumps(line).encode() + b"\n"


TEXT = {"type": "text", "text": "hello"}


def use(call_id: str) -> dict[str, Any]:
    """Make a call."""
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {}}


def result(call_id: str) -> dict[str, Any]:
    """Make a result."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": "ok"}


@given(conversations(maker="anthropic", times=True))
def test_a_sound_transcript_stays_byte_for_byte(records: list[Record]) -> None:
    """What we write needs no mending."""
    data = WRITER.write(records, ABOUT).data
    assert mend(data).data == data
    assert mend(data).actions == ()


@settings(max_examples=60)
@given(conversations(maker="anthropic", times=True), st.integers(0, 10_000))
def test_a_damaged_one_is_sound_afterwards(records: list[Record], seed: int) -> None:
    """Lines lost, glued and torn: calls are answered, parents there, and nothing more to do."""
    random = Random(seed)
    whole = WRITER.write(records, ABOUT).data.splitlines(keepends=True)
    kept = [line for line in whole if random.random() < 0.8]
    if len(kept) > 1:
        at = random.randrange(len(kept) - 1)
        kept[at] = kept[at].rstrip(b"\n")
        kept[-1] = kept[-1][: random.randrange(1, len(kept[-1]))]
    mended = mend(b"".join(kept))

    assert mend(mended.data).actions == ()
    assert mend(mended.data).data == mended.data
    uuids = {line["uuid"] for line in lines_of(mended.data) if "uuid" in line}
    assert all(
        line["parentUuid"] in uuids
        for line in lines_of(mended.data)
        if line.get("parentUuid") is not None and "uuid" in line
    )
    found = read(Source(mended.data), 0)
    assert pair(found.sent).open == ()
    body = make_view(None, found.sent).to_anthropic()
    assert validate_anthropic.violations(body["messages"]) == []


def test_a_call_that_nobody_answered_gets_a_marked_result() -> None:
    """Behind its line, and the conversation goes on from it; parts of one reply stay together."""
    data = (
        raw("u1", None, "user", TEXT)
        + raw("a1", "u1", "assistant", use("c1"), id="m")
        + raw("a2", "a1", "assistant", use("c2"), id="m")
        + raw("r2", "a2", "user", result("c2"))
        + raw("u2", "a2", "user", TEXT)
    )
    mended = mend(data)
    laid = lines_of(mended.data)
    assert [
        line["uuid"] for line in laid if line["uuid"][0] in "uar" and len(line["uuid"]) == 2
    ] == [
        "u1",
        "a1",
        "a2",
        "r2",
        "u2",
    ]
    (added,) = [line for line in laid if len(line["uuid"]) > 2]
    assert added["parentUuid"] == "a1"
    assert added["message"]["content"][0]["content"] == UNKNOWN_OUTCOME
    assert (added["cwd"], added["sessionId"]) == ("/w", "s")
    found = read(Source(mended.data), 0)
    assert [message.role for message in found.sent] == ["user", "assistant", "tool", "tool", "user"]
    assert len(mended.actions) == 1
    alone = mend(raw("u1", None, "user", TEXT) + raw("a1", "u1", "assistant", use("c1"), id="m"))
    assert lines_of(alone.data)[-1]["parentUuid"] == "a1"
    on = mend(
        raw("u1", None, "user", TEXT)
        + raw("a1", "u1", "assistant", use("c1"), use("c2"), id="m")
        + raw("u2", "a1", "user", TEXT)
    )
    laid = lines_of(on.data)
    assert [line["parentUuid"] for line in laid[2:]] == ["a1", laid[2]["uuid"], laid[3]["uuid"]]


def test_a_result_without_a_call_is_a_text() -> None:
    """Its words are kept."""
    data = raw(
        "u1", None, "user", {**result("gone"), "content": [{"type": "text", "text": "42"}]}, TEXT
    )
    mended = mend(data)
    (line,) = lines_of(mended.data)
    first, second = line["message"]["content"]
    assert first["type"] == "text"
    assert first["text"].endswith("42")
    assert second == TEXT


def test_a_lost_parent_is_the_record_before() -> None:
    """Of its own side."""
    data = raw("u1", None, "user", TEXT) + raw("u2", "gone", "user", TEXT)
    mended = mend(data)
    assert lines_of(mended.data)[1]["parentUuid"] == "u1"
    assert "parent is missing" in mended.actions[0]


@given(st.binary(max_size=120))
def test_any_bytes_are_taken(data: bytes) -> None:
    """Nothing is raised, and nothing is lost."""
    mended = mend(data)
    assert mend(mended.data).actions == ()
