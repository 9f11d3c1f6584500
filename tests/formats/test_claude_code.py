"""Claude Code transcripts to readings: branches, compactions, sub-agents, usage."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import FormatError
from minutebook.formats.claude_code import detect, read
from minutebook.formats.mapping import CLEARED_NOTICE, stored
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.messages import Message, TextPart, ThinkPart, assistant, call, replace, tool
from minutebook.records import Checkpoint, Record, Usage
from minutebook.turns import pair
from tests.formats.transcripts import (
    TEXTS,
    answer,
    boundary,
    dump,
    record,
    said,
    source,
    summary,
    typed,
    use,
    words,
)
from tests.formats.transcripts import (
    Record as Line,
)

CASE = Path(__file__).parents[2] / "../shared/cases/C106/session.jsonl"
STAMP = 1767322800.0
"""When the records of the tests were written, if they say nothing else."""
COUNTS = {"input_tokens": 1, "output_tokens": 2}
REPLIES = st.lists(
    st.tuples(st.lists(TEXTS.filter(bool), max_size=2), st.integers(0, 4), TEXTS.filter(bool)),
    min_size=1,
    max_size=5,
)


def reading(*lines: Line) -> Reading:
    return read(source(*lines), 0)


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages]


def transcribe(
    replies: list[tuple[list[str], int, str]], chance: random.Random
) -> tuple[list[Line], list[Record]]:
    """Write a conversation as Claude Code might, and say what it holds.

    A reply is a block a line, the results of its calls come anywhere behind them, and the next
    turn hangs from any line of those.
    """
    lines: list[Line] = []
    expected: list[Record] = []
    parent: str | None = None
    for number, (spoken, calls, typed_text) in enumerate(replies):
        lines.append(typed(f"u{number}", parent, f"ask {typed_text}"))
        expected.append(Message(role="user", content=f"ask {typed_text}", origin="user"))
        parent = f"u{number}"
        ids = [f"t{number}-{at}" for at in range(calls)]
        waiting: list[Line] = []
        results: list[Line] = []
        for at, block in enumerate([*map(words, spoken), *map(use, ids)]):
            lines.append(said(f"a{number}-{at}", parent, f"m{number}", block, usage=COUNTS))
            parent = f"a{number}-{at}"
            if "id" in block:
                waiting.append(answer(f"r{block['id']}", parent, block["id"], block["id"]))
            while waiting and chance.random() < 0.3:
                results.append(waiting.pop(chance.randrange(len(waiting))))
                lines.append(results[-1])
        chance.shuffle(waiting)
        lines += waiting
        results += waiting
        parent = chance.choice([parent, *(line["uuid"] for line in results)])
        if spoken or ids:
            made = tuple(call(name, "Read", '{"path":"a b"}') for name in ids)
            expected.append(
                replace(assistant(stored([*map(TextPart, spoken)])), tool_calls=made or None)
            )
            expected.append(
                Usage(token_count=3, content="3 tokens", input=1, output=2, model="m-1")
            )
        answered = [line["message"]["content"][0]["tool_use_id"] for line in results]
        expected += [tool(call_id, call_id) for call_id in answered]
    return lines, expected


@given(REPLIES, st.randoms(use_true_random=False))
def test_a_conversation_comes_back_however_its_lines_hang(
    replies: list[tuple[list[str], int, str]], chance: random.Random
) -> None:
    """The messages, usage and results are the same ones, and nothing is left out."""
    lines, expected = transcribe(replies, chance)

    found = reading(*lines)

    assert [undated(item) for item in found.records if not isinstance(item, Checkpoint)] == expected
    assert (found.counts, found.problems, found.left_out) == ({}, (), ())
    assert not pair(found.sent).open


@given(REPLIES, st.randoms(use_true_random=False), st.data())
def test_every_beginning_of_a_transcript_opens(
    replies: list[tuple[list[str], int, str]], chance: random.Random, draw: st.DataObject
) -> None:
    """A file cut anywhere gives the messages of its whole lines; a torn line is reported."""
    lines, _ = transcribe(replies, chance)
    data = dump(lines)
    cut = draw.draw(st.integers(0, len(data)))

    found = read(Source(data[:cut]), 0)

    asked = [message.text for message in found.everything if message.role == "user"]
    assert (
        asked
        == [line["message"]["content"] for line in lines if line["uuid"][0] == "u"][: len(asked)]
    )
    assert {problem.kind for problem in found.problems} <= {"torn"}


def undated(record: Record) -> Record:
    return replace(record, at=None) if isinstance(record, Message) else record


def c106(data: bytes) -> Reading:
    return read(Source(data, path="session.jsonl", name="session"), 0)


def test_c106_a_reply_on_three_lines_is_one_message_with_its_usage_once() -> None:
    """Case C106: one message with thinking and both calls, then both results; usage once."""
    if not CASE.exists():
        pytest.skip("../shared/cases is not beside the repository")
    data = CASE.read_bytes()
    without_ids = data.replace(b', "requestId": "req_1"', b"")
    lines = data.splitlines(keepends=True)

    found = c106(data)

    assert [message.role for message in found.sent] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    reply = found.sent[1]
    assert reply.parts == (ThinkPart("hm", "c2ln"),)
    assert [item.id for item in reply.calls] == ["toolu_w1", "toolu_w2"]
    assert [message.tool_call_id for message in found.sent[2:4]] == ["toolu_w1", "toolu_w2"]
    usages = [item for item in found.records if isinstance(item, Usage)]
    assert [(item.input, item.cache_read, item.cache_write, item.output) for item in usages] == [
        (2, 61000, 10, 211),
        (4, 61500, 0, 9),
    ]
    assert sum(item.output or 0 for item in usages) == 220
    # The same without request ids, and after a first reading that ended between the lines.
    assert without_ids != data
    assert c106(without_ids) == found
    assert c106(b"".join(lines[:3])).sent[1].calls == reply.calls[:1]
    assert c106(data) == found


def test_c106_a_sub_agents_reply_of_the_same_id_is_another() -> None:
    """Case C106: its lines are not merged with the main ones."""
    found = reading(
        typed("u1", None, "a"),
        said("a1", "u1", "msg_A", words("main"), usage=COUNTS),
        said("x1", "a1", "msg_A", words("sub"), usage={"output_tokens": 99}, isSidechain=True),
        said("a2", "a1", "msg_A", words("more"), usage=COUNTS),
    )

    assert texts(found.everything) == ["a", "main\nmore"]
    assert found.counts == {"sidechain": 1}
    assert [item.output for item in found.records if isinstance(item, Usage)] == [2]


def test_a_rewind_leaves_a_branch_that_is_kept_and_not_sent() -> None:
    """The abandoned messages stand where they were written, and are not active."""
    found = reading(
        typed("u1", None, "task"),
        said("a1", "u1", "m1", words("plan")),
        typed("u2", "a1", "wrong way"),
        said("a2", "u2", "m2", use("t1"), usage=COUNTS),
        answer("r1", "a2", "t1"),
        typed("u3", "a1", "right way"),
        said("a3", "u3", "m3", words("ok")),
    )

    assert texts(found.sent) == texts(found.branch) == ["task", "plan", "right way", "ok"]
    assert texts(found.everything) == ["task", "plan", "wrong way", "", "done", "right way", "ok"]
    assert [message.active for message in found.everything] == [True] * 2 + [False] * 3 + [True] * 2
    assert found.counts == {"branches": 1, "abandoned": 3}
    assert found.records.count(Checkpoint(id=1, content="checkpoint 1", at=STAMP)) == 1


def test_what_is_sent_begins_at_the_last_compaction() -> None:
    """Everything before it is kept beside; each compaction is counted."""
    found = reading(
        typed("u1", None, "task"),
        said("a1", "u1", "m1", use("t1"), usage=COUNTS),
        answer("r1", "a1", "t1"),
        boundary("b1", "r1"),
        summary("s1", "b1", "first summary"),
        typed("u2", "s1", "go on"),
        boundary("b2", "nowhere"),
        summary("s2", "b2", "second summary"),
        typed("u3", "s2", "and on"),
    )

    assert texts(found.sent) == ["second summary", "and on"]
    assert found.sent[0].origin == "summary"
    assert texts(found.earlier) == ["task", "", "done", "first summary", "go on"]
    assert texts(found.branch) == [*texts(found.earlier), *texts(found.sent)]
    assert found.counts == {"compactions": 2}
    assert [type(item) for item in found.records] == [Message, Checkpoint, Message]
    assert found.problems == ()


def test_results_that_a_microcompaction_names_are_sent_blank() -> None:
    """Those before it alone; the whole ones stay in the branch."""
    found = reading(
        typed("u1", None, "task"),
        said("a1", "u1", "m1", use("t1"), use("t2")),
        answer("r1", "a1", "t1", "long output"),
        answer("r2", "r1", "t2", "kept"),
        record(
            "system",
            "b1",
            "r2",
            subtype="microcompact_boundary",
            microcompactMetadata={"compactedToolIds": ["t1", "t3", "gone"]},
        ),
        said("a2", "b1", "m2", use("t3")),
        answer("r3", "a2", "t3", "later"),
    )

    assert texts(found.sent) == ["task", "", CLEARED_NOTICE, "kept", "", "later"]
    assert [message.elided for message in found.sent] == ["", "", "mask", "", "", ""]
    assert texts(found.branch) == ["task", "", "long output", "kept", "", "later"]
    assert texts(found.everything) == texts(found.branch)
    assert all(message.active for message in found.branch)
    assert found.counts == {"microcompactions": 1, "blanked": 1}


def test_damage_is_reported_with_its_line() -> None:
    """A glued line, a lost parent and a torn end take no neighbour with them."""
    data = dump([typed("u1", None, "a"), said("a1", "u1", "m1", words("b"))])
    glued = data.replace(b"\n", b"", 1) + dump([typed("u2", "lost", "c")]) + b'{"type":"us'

    found = read(Source(glued), 0)

    assert texts(found.sent) == ["a", "b", "c"]
    assert [(problem.line, problem.kind) for problem in found.problems] == [
        (1, "glued"),
        (2, "parent"),
        (3, "torn"),
    ]


def test_what_the_file_says_about_itself() -> None:
    """Version, session and directory are those of the leaf; times are the first and the last."""
    found = reading(
        typed("u1", None, "a", timestamp="2026-01-02T03:00:00Z", version="2.0.1"),
        typed("u1", None, "copy"),
        typed("u2", "u1", "b", timestamp="2026-01-02T03:00:09Z", sessionId="s2", cwd="/x"),
    )

    assert (found.agent, found.agent_version, found.session_id) == ("Claude Code", "2.1.0", "s2")
    assert (found.cwd, found.model) == ("/x", "")
    assert (found.started, found.updated) == (STAMP, STAMP + 9)
    assert found.counts == {"duplicates": 1}


@pytest.mark.parametrize(
    ("notes", "title"),
    [
        ([("summary", {"summary": "s", "leafUuid": "u1"})], "s"),
        ([("summary", {"summary": "of another session", "leafUuid": "u9"})], ""),
        ([("ai-title", {"aiTitle": "m"}), ("summary", {"summary": "s", "leafUuid": "u1"})], "m"),
        ([("custom-title", {"customTitle": "o"}), ("ai-title", {"aiTitle": "m"})], "o"),
        ([("custom-title", {"customTitle": "o"}), ("custom-title", {"customTitle": "n"})], "n"),
    ],
)
def test_the_title_is_the_users_if_there_is_one(
    notes: list[tuple[str, dict[str, str]]], title: str
) -> None:
    """A summary counts only if it belongs to this file."""
    lines: list[Line] = [{"type": kind, **keys} for kind, keys in notes]

    assert reading(*lines, typed("u1", None, "a")).title == title


def test_a_file_of_notes_alone_is_an_empty_reading() -> None:
    """Nothing was said yet."""
    note = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}

    assert reading(note).records == ()
    assert "file-history-snapshot" in str(detect(source(note)))


def test_the_evidence_is_a_line_with_a_parent() -> None:
    """Also when many other lines come first."""
    note = {"type": "queue-operation", "sessionId": "s1"}

    assert detect(source(note)) is None
    assert "queue-operation" in str(detect(source(*[note] * 99, typed("u1", None, "a"))))
    assert "type user" in str(detect(source(typed("u1", None, "a"))))
    assert detect(Source(b'[{"parentUuid":1}]')) is None


def test_there_is_one_conversation() -> None:
    """Another index is an error."""
    with pytest.raises(FormatError, match="no conversation 1"):
        read(source(typed("u1", None, "a")), 1)
