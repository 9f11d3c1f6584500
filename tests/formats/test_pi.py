"""pi's sessions to records."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import FormatError
from minutebook.formats.pi import detect, read
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.messages import (
    ImagePart,
    MediaUrl,
    OtherPart,
    TextPart,
    ThinkPart,
    call,
    tool,
)
from minutebook.records import Usage
from minutebook.tokens.spent import Spent
from tests.formats.altered import (
    altered,
    behind,
    holds,
    line_source,
    origins,
    texts,
    usages,
)

Line = dict[str, Any]
STAMP = "2026-01-02T03:04:05Z"
HEADER = {
    "type": "session",
    "version": 3,
    "id": "s1",
    "timestamp": STAMP,
    "cwd": "/w",
    "parentSession": "s0",
}
COUNTS = {"input": 1, "output": 2, "cacheRead": 30, "cacheWrite": 4}


def entry(kind: str, own: str, parent: str | None, **keys: Any) -> Line:
    return {"type": kind, "id": own, "parentId": parent, "timestamp": STAMP, **keys}


def asked(name: str, parent: str | None, text: str) -> Line:
    return entry("message", name, parent, message={"role": "user", "content": text})


def said(name: str, parent: str | None, *blocks: Any, **keys: Any) -> Line:
    message = {"role": "assistant", "content": [*blocks], "model": "m-1", **keys}
    return entry("message", name, parent, message=message)


def words(text: str) -> Line:
    return {"type": "text", "text": text}


WHOLE = [
    HEADER,
    entry("model_change", "m", None, provider="p", modelId="m-0"),
    asked("a", "m", "task"),
    said(
        "b",
        "a",
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
        words("ok"),
        {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "x"}},
        usage=COUNTS,
        stopReason="toolUse",
    ),
    entry(
        "message",
        "c",
        "b",
        message={"role": "toolResult", "toolCallId": "c1", "content": [words("done")]},
    ),
    said("d", "c", words("half"), stopReason="aborted", usage=COUNTS),
    entry("compaction", "k", "d", summary="so far", firstKeptEntryId="c", tokensBefore=9),
    entry("custom_message", "e", "k", content=[words("noted")]),
    asked("left", "k", "other way"),
    entry("branch_summary", "f", "e", fromId="left", summary="the other way"),
    entry("session_info", "g", "f", name="the title"),
]


def of(*lines: Line) -> Reading:
    reading = read(line_source(lines), 0)
    holds(reading)
    return reading


@given(altered(WHOLE))
def test_any_values_are_read_or_are_no_session(lines: Any) -> None:
    """Keys of unexpected types never raise, whatever stands in their place."""
    source = line_source(lines if isinstance(lines, list) else [lines])
    if detect(source):
        holds(read(source, 0))


def test_a_session_is_the_path_to_its_last_entry() -> None:
    """From the last compaction on, with what it keeps; broken replies are never sent."""
    reading = of(*WHOLE)

    assert texts(reading.sent) == ["so far", "done", "noted", "the other way"]
    assert origins(reading.sent) == ["summary", "tool", "injection", "summary"]
    assert [(item.why, item.message.text) for item in reading.left_out] == [
        ("compacted", "task"),
        ("compacted", "ok"),
        ("unsent", "half"),
        ("abandoned", "other way"),
    ]
    assert reading.counts == {
        "compactions": 1, "branches": 1, "abandoned": 1, "unsent": 1,
        "message_ids": 5, "other_records": 2,
    }  # fmt: skip
    assert (reading.session_id, reading.parent_session, reading.cwd) == ("s1", "s0", "/w")
    assert (reading.title, reading.model, reading.agent) == ("the title", "m-1", "pi")
    assert (reading.started, reading.updated) == (1767323045.0, 1767323045.0)
    assert reading.spent == Spent(calls=2, input=2, output=4, cache_read=60, cache_write=8)
    assert usages(reading) == []


def test_a_reply_has_its_parts_and_its_usage() -> None:
    """Thinking with its signature, the call's arguments as text, disjoint counts."""
    reading = of(*WHOLE[:5])

    assert reading.sent[1].content == (ThinkPart("hm", "s"), TextPart("ok"))
    assert reading.sent[1].calls == (call("c1", "read", '{"path":"x"}'),)
    assert behind(reading) == ["assistant"]
    assert usages(reading) == [
        Usage(
            token_count=37,
            content="37 tokens",
            input=1,
            output=2,
            cache_read=30,
            cache_write=4,
            model="m-1",
        )
    ]


def test_the_first_version_has_no_ids() -> None:
    """Each entry follows the one before; what is kept is told by number, the header counted."""
    lines: list[Any] = [
        {"type": "session", "id": "s1", "timestamp": STAMP, "cwd": "/w", "modelId": "m-0"},
        *({"type": "message", "timestamp": STAMP, "message": {"role": "user", "content": text}}
          for text in ("a", "b", "c")),
        {"type": "compaction", "timestamp": STAMP, "summary": "so far", "firstKeptEntryIndex": 2},
    ]  # fmt: skip

    reading = of(*lines)

    assert texts(reading.sent) == ["so far", "b", "c"]
    assert texts(reading.earlier) == ["a"]
    assert reading.model == "m-0"
    lines[-1]["firstKeptEntryIndex"] = 99
    assert texts(of(*lines).sent) == ["so far"]


def test_usage_before_a_compaction_is_not_of_the_context() -> None:
    """A kept reply keeps its text; what follows is counted again."""
    lines: list[Any] = [
        HEADER,
        asked("a", None, "task"),
        said("b", "a", words("ok"), usage=COUNTS),
        entry("compaction", "k", "b", summary="so far", firstKeptEntryId="b"),
        said("c", "k", words("more"), usage={**COUNTS, "output": 9}),
    ]

    assert [record.output for record in usages(of(*lines))] == [9]


def test_a_lost_parent_is_the_entry_before() -> None:
    """And a problem; an id that occurs twice means the newest."""
    reading = of(HEADER, asked("a", None, "one"), asked("b", "gone", "two"), asked("b", "b", "x"),
                 asked("c", "b", "three"))  # fmt: skip

    assert texts(reading.sent) == ["one", "two", "x", "three"]
    assert [(problem.kind, problem.line) for problem in reading.problems] == [("parent", 3)]


@pytest.mark.parametrize(
    ("message", "text", "origin"),
    [
        (
            {"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 2},
            "$ ls\na\n[exit code 2]",
            "injection",
        ),
        (
            {"role": "bashExecution", "command": "ls", "cancelled": True, "exitCode": None},
            "$ ls\n[cancelled]",
            "injection",
        ),
        (
            {"role": "bashExecution", "command": "ls", "truncated": True, "fullOutputPath": "/f"},
            "$ ls\n[cut short; the whole output is in /f]",
            "injection",
        ),
        ({"role": "custom", "content": "noted"}, "noted", "injection"),
        ({"role": "compactionSummary", "summary": "so far"}, "so far", "summary"),
    ],
)
def test_other_roles_are_users_messages(message: Line, text: str, origin: str) -> None:
    """What the program puts into the user's mouth says so."""
    (found,) = of(HEADER, entry("message", "a", None, message=message)).sent

    assert (found.role, found.text, found.origin) == ("user", text, origin)


def test_a_command_that_is_kept_from_the_model_is_not_sent() -> None:
    """It stays on the branch; an unknown role stays what it is."""
    hidden = {"role": "bashExecution", "command": "ls", "excludeFromContext": True}
    reading = of(
        HEADER,
        entry("message", "a", None, message=hidden),
        entry("message", "b", "a", message={"role": "other", "content": None}),
        entry("strange", "c", "b"),
    )

    assert [message.role for message in reading.sent] == ["other"]
    assert texts(reading.branch) == ["$ ls", ""]
    assert reading.counts["unknown_records"] == 1


def test_results_errors_and_pictures() -> None:
    """A failed result is marked, a picture is a data URI, redacted thinking stays whole."""
    redacted = {"type": "thinking", "thinking": "", "redacted": True}
    picture = {"type": "image", "data": "AA", "mimeType": "image/png"}
    failed = {"role": "toolResult", "toolCallId": "c1", "content": "no", "isError": True}
    reading = of(
        HEADER,
        entry("message", "a", None, message={"role": "user", "content": [picture]}),
        said("b", "a", redacted, {"type": "toolCall", "id": "c1", "name": "f", "arguments": "{"}),
        entry("message", "c", "b", message=failed),
    )

    assert reading.sent[0].content == (ImagePart(MediaUrl("data:image/png;base64,AA")),)
    assert reading.sent[1].content == (OtherPart(redacted),)
    assert reading.sent[1].calls[0].arguments == "{"
    assert reading.sent[2].content == tool("c1", "no", error=True).content


@given(st.integers(0, len(WHOLE)))
def test_every_prefix_of_a_session_is_read(length: int) -> None:
    """A file that still grows gives all that it has."""
    reading = of(HEADER, *WHOLE[1:length])

    spoken = {"message", "compaction", "custom_message", "branch_summary"}
    assert len(reading.everything) == sum(line["type"] in spoken for line in WHOLE[1:length])


def test_a_file_without_its_head_is_known_by_its_messages() -> None:
    """And other files of lines with messages are not taken."""
    assert "with the role user" in str(detect(line_source(WHOLE[2:])))
    assert detect(line_source([{"type": "message", "message": {"role": "user"}}])) is None
    assert detect(Source(b"")) is None
    with pytest.raises(FormatError, match="no conversation 1"):
        read(line_source(WHOLE), 1)
