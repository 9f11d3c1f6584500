"""Codex rollouts to records."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import FormatError
from minutebook.formats.codex import detect, read
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.messages import ImagePart, MediaUrl, OtherPart, TextPart, ThinkPart
from minutebook.records import Checkpoint, SystemPrompt, Usage
from minutebook.tokens.spent import Spent
from tests.cases import case
from tests.formats.altered import altered, behind, holds, line_source, origins, texts, usages

Line = dict[str, Any]


def line(kind: str, **payload: Any) -> Line:
    return {"timestamp": "2026-01-02T03:04:05Z", "type": kind, "payload": payload}


def item(kind: str, **keys: Any) -> Line:
    return line("response_item", type=kind, **keys)


def event(kind: str, **keys: Any) -> Line:
    return line("event_msg", type=kind, **keys)


def words(role: str, text: str) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}])


def tokens(total: int, last: tuple[int, int, int, int]) -> Line:
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
    counts = dict(zip(names, last, strict=True))
    running = {"input_tokens": total, "output_tokens": 0}
    return event(
        "token_count",
        info={
            "total_token_usage": running,
            "last_token_usage": {**counts, "total_tokens": last[0] + last[2]},
        },
    )


META = line(
    "session_meta",
    id="s1",
    cwd="/w",
    cli_version="0.1",
    base_instructions={"text": "be kind"},
    source={"subagent": {"thread_spawn": {"parent_thread_id": "s0"}}},
)
TURN = line("turn_context", model="m-1")
WHOLE = [
    META,
    line("session_meta", id="s0", cwd="/other"),
    words("developer", "rules"),
    words("user", "<environment_context>x</environment_context>"),
    TURN,
    words("user", "task"),
    event("user_message", message="task"),
    item("reasoning", summary=[{"text": "hm"}], encrypted_content="e"),
    event("agent_reasoning", text="hm"),
    words("assistant", "ok"),
    event("agent_message", message="ok"),
    item("function_call", name="shell", arguments="{}", call_id="c1"),
    tokens(10, (10, 4, 3, 1)),
    item("function_call_output", call_id="c1", output="done"),
    item("ghost_snapshot", ghost_commit={}),
    tokens(10, (10, 4, 3, 1)),
    {"timestamp": "2026-01-02T03:04:09Z", "type": "world_state", "payload": {}},
    event("turn_aborted", reason="interrupted"),
    event("thread_name_updated", thread_name="the title"),
    event("task_complete"),
]


def of(*lines: Line) -> Reading:
    reading = read(line_source(lines), 0)
    holds(reading)
    return reading


@given(altered(WHOLE))
def test_any_values_are_read_or_are_no_rollout(lines: Any) -> None:
    """Keys of unexpected types never raise, whatever stands in their place."""
    source = line_source(lines if isinstance(lines, list) else [lines])
    if detect(source):
        holds(read(source, 0))


def test_a_rollout_is_its_items_and_what_the_events_add() -> None:
    """Texts once, usage behind its reply, what Codex says of the surroundings as injections."""
    reading = of(*WHOLE)

    assert reading.records[0] == SystemPrompt(content="be kind")
    assert texts(reading.sent)[2:] == ["task", "ok", "done"]
    assert origins(reading.sent) == ["injection", "injection", "user", "assistant", "tool"]
    assert reading.sent[0].role == "system"
    assert reading.sent[3].content == (ThinkPart("hm", "e"), TextPart("ok"))
    assert [item.id for item in reading.sent[3].calls] == ["c1"]
    assert behind(reading) == ["assistant"]
    assert usages(reading) == [
        Usage(
            token_count=13,
            content="13 tokens",
            input=6,
            cache_read=4,
            output=3,
            reasoning=1,
            model="m-1",
        )
    ]
    assert [item.id for item in reading.records if isinstance(item, Checkpoint)] == [0]
    assert reading.counts == {
        "copies": 3, "snapshots": 1, "unknown_records": 1, "aborts": 1, "other_records": 1,
    }  # fmt: skip
    assert (reading.session_id, reading.parent_session, reading.cwd) == ("s1", "s0", "/w")
    assert (reading.agent, reading.agent_version, reading.model) == ("Codex", "0.1", "m-1")
    assert (reading.title, reading.started, reading.updated) == (
        "the title",
        1767323045.0,
        1767323045.0,
    )
    assert reading.spent == Spent(calls=1, input=10)


def test_case_c108_each_text_once_and_an_opaque_compaction() -> None:
    """Mirrored texts, cumulative counts, and a compaction that only the provider can read."""
    source = Source(case("C108").raw("rollout.jsonl"))
    opaque = OtherPart({"type": "compaction", "encrypted_content": "ZZZZ"})

    reading = read(source, 0)

    holds(reading)
    assert texts(reading.everything) == ["list files", "", "a.txt", "One file.", "", "again"]
    assert [part.think for message in reading.branch for part in message.parts
            if isinstance(part, ThinkPart)] == ["think"]  # fmt: skip
    assert texts(reading.sent) == ["list files", "", "again"]
    assert reading.sent[1].content == (opaque,)
    assert reading.sent[1].origin == "summary"
    assert reading.counts["opaque"] == 1
    assert reading.problems == ()
    assert reading.spent == Spent(calls=2, input=600, cache_read=900, output=45, reasoning=25)
    assert [record.token_count for record in usages(reading)] == [615]


def test_case_c108_display_events_alone_give_the_same_texts() -> None:
    """An older rollout without items: its events are what there is."""
    lines = case("C108").raw("rollout.jsonl").split(b"\n")
    events = b"\n".join(line for line in lines if b'"response_item"' not in line)

    reading = read(Source(events), 0)

    holds(reading)
    assert texts(reading.branch) == ["list files", "One file.", "", "again"]
    assert "copies" not in reading.counts


def test_events_fill_in_only_what_has_no_items() -> None:
    """By role: here the user's texts and the reasoning are events, the replies are items."""
    reading = of(
        META,
        event("user_message", message="task", images=["data:image/png;base64,AA", 5]),
        event("agent_reasoning", text="hm"),
        words("assistant", "ok"),
        event("agent_message", message="ok"),
    )

    assert reading.sent[0].content == (
        TextPart("task"),
        ImagePart(MediaUrl("data:image/png;base64,AA")),
        ImagePart(MediaUrl("")),
    )
    assert reading.sent[1].content == (ThinkPart("hm"), TextPart("ok"))
    assert reading.counts == {"images": 2, "copies": 1}


def test_a_compaction_with_a_summary_and_an_estimate() -> None:
    """The summary is marked; the count behind it is an estimate, and older ones are gone."""
    kept = {"type": "message", "role": "user", "content": [{"text": "task", "type": "input_text"}]}
    summary = {**kept, "content": [{"type": "input_text", "text": "so far"}]}
    zeros = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 7}
    reading = of(
        META,
        words("user", "task"),
        words("assistant", "ok"),
        tokens(10, (10, 0, 3, 0)),
        line("compacted", message="so far", replacement_history=[kept, summary, 5]),
        event("token_count", info={
            "total_token_usage": {"input_tokens": 10, "output_tokens": 0},
            "last_token_usage": zeros,
        }),
    )  # fmt: skip

    assert texts(reading.sent)[:2] == ["task", "so far"]
    assert origins(reading.sent)[:2] == ["user", "summary"]
    assert texts(reading.earlier) == ["ok"]
    assert usages(reading) == [Usage(token_count=7, content="7 tokens, estimated", estimated=True)]
    assert reading.counts["compactions"] == 1


def test_a_compaction_that_names_nothing_keeps_the_users_messages() -> None:
    """With its message as the summary; without one nothing says what was before."""
    first = [META, words("developer", "rules"), words("user", "a"), words("assistant", "b")]

    told = of(*first, line("compacted", message="so far"))
    silent = of(*first, line("compacted", message=""))

    assert texts(told.sent) == ["rules", "a", "so far"]
    assert texts(silent.sent) == ["rules", "a"]
    assert told.problems == ()


def test_a_compaction_may_point_back_at_items() -> None:
    """By their ids; what is not in the file is a problem, and so is a summary that is missing."""
    user = words("user", "a")
    user["payload"]["id"] = "i1"
    entries = [
        {"type": "reference", "item_id": "i1"},
        {"type": "reference", "item_id": "gone"},
        {"type": "inline", "item": {"type": "message", "role": "assistant", "content": "new"}},
    ]

    reading = of(META, user, words("assistant", "b"),
                 line("compacted", message="", replacement_history_entries=entries))  # fmt: skip

    assert texts(reading.sent) == ["a", "new"]
    assert [problem.kind for problem in reading.problems] == ["reference", "summary"]


def test_a_rollback_leaves_its_turns() -> None:
    """They are abandoned, and the event is counted."""
    reading = of(
        META, words("user", "a"), words("assistant", "b"), words("user", "c"),
        words("assistant", "d"), event("thread_rolled_back", num_turns=1), words("user", "e"),
    )  # fmt: skip

    assert texts(reading.sent) == ["a", "b", "e"]
    assert texts(reading.everything) == ["a", "b", "c", "d", "e"]
    assert (reading.counts["reverts"], reading.counts["abandoned"]) == (1, 2)


def test_old_rollouts_are_bare_items() -> None:
    """The first line is the meta, lines with record_type are state."""
    lines: list[Any] = [
        {"id": "old", "timestamp": "2025-08-01T00:00:00Z", "instructions": "be kind", "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": "b"},
        {"x": 1},
    ]

    reading = of(*lines)

    assert "record_type" in reading.evidence
    assert reading.records[0] == SystemPrompt(content="be kind")
    assert texts(reading.sent) == ["a", "b"]
    assert reading.session_id == "old"
    assert reading.counts == {"other_records": 1, "unknown_records": 1}
    assert "id, timestamp and instructions" in str(detect(line_source([lines[0], *lines[2:]])))


def test_counts_that_cannot_be_are_not_believed() -> None:
    """More cached than sent, no figures at all, and no info."""
    reading = of(
        META,
        words("assistant", "a"),
        event("token_count", info=None),
        tokens(9, (4, 9, 1, 0)),
        event("token_count", info={"total_token_usage": 5, "last_token_usage": {}}),
    )

    assert [(item.input, item.cache_read) for item in usages(reading)] == [(4, None)]
    assert reading.spent == Spent(calls=1, input=4, output=1)


def test_damaged_lines_take_nothing_with_them() -> None:
    """Glued, mended inside of a payload, torn: each is reported, and the rest is read."""
    good = line_source([META, words("user", "a")]).data
    glued = line_source([words("assistant", "b"), words("user", "c")]).data.replace(b"\n", b"", 1)
    broken = line_source([words("user", "d#")]).data.replace(b"#", b"\xff")
    kind = b'{"type":"event_msg","payload":{"type":"a\xff"}}\n'

    reading = read(Source(good + glued + broken + kind + b'{"type":"resp'), 0)

    assert texts(reading.sent) == ["a", "b", "c", "d\ufffd"]
    assert [problem.kind for problem in reading.problems] == ["glued", "mended", "mended", "torn"]


@pytest.mark.parametrize("lines", [[], [{"type": "message", "payload": {}}], [{"type": "user"}]])
def test_other_files_are_not_taken(lines: Iterable[Any]) -> None:
    """Without one of the kinds of lines, or without its payload."""
    assert detect(line_source(lines)) is None


def test_a_rollout_is_one_conversation() -> None:
    """Any other index is refused."""
    with pytest.raises(FormatError, match="no conversation 1"):
        read(line_source(WHOLE), 1)


@given(st.integers(0, len(WHOLE)))
def test_every_prefix_of_a_rollout_is_read(length: int) -> None:
    """A file that still grows gives the beginning of what it will give."""
    part = texts(of(META, *WHOLE[:length]).everything)

    # The last message may still grow.
    assert part[:-1] == texts(of(META, *WHOLE).everything)[: max(len(part) - 1, 0)]
