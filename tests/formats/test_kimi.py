"""Our own logs and Kimi CLI's: told apart, and read as they are."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.codec import encode_line, frame
from minutebook.errors import FormatError
from minutebook.formats.kimi import detect_kimi, detect_native, read_kimi, read_native
from minutebook.formats.source import Source
from minutebook.messages import Message, assistant, call, replace, tool, user
from minutebook.records import (
    Checkpoint,
    Compaction,
    Record,
    SystemPrompt,
    Tag,
    Usage,
)

KIMI = b"""\
{"role": "_system_prompt", "content": "You help."}
{"role": "_checkpoint", "id": 3}
{"role":"user","content":"fix it"}
{"role": "_usage", "token_count": 11}
{"role":"assistant","content":[{"type":"think","think":"hm","encrypted":null}],"tool_calls":\
[{"type":"function","id":"Shell:0","function":{"name":"Shell","arguments":null}}]}
{"role": "_usage", "token_count": 17}
{"role":"tool","content":"ok","tool_call_id":"Shell:0"}
"""
FLAT = b"""\
{"role":"user","content":"a"}
{"role":"assistant","content":[{"type":"think","think":"b"}]}
"""
RECORDS = st.lists(
    st.one_of(
        st.builds(lambda seq: replace(user("a"), seq=seq), st.integers(1, 99)),
        st.builds(SystemPrompt, content=st.just("p")),
        st.builds(Checkpoint, id=st.integers(0, 9), content=st.just("mark")),
        st.builds(Usage, token_count=st.integers(1, 99), model=st.sampled_from([None, "m"])),
        st.builds(Tag, seq=st.integers(1, 9), pin=st.booleans(), content=st.just("tag")),
    ),
    min_size=1,
)


def source(*records: Record, batch: bool = False) -> Source:
    lines = [encode_line(record) for record in records]
    return Source(frame(lines) if batch else b"".join(lines), path="f", name="s")


@given(RECORDS, st.booleans())
def test_a_native_log_is_read_as_it_is(records: list[Record], batch: bool) -> None:
    """The records come back in order; the frame of a batch is none of them."""
    log = source(Checkpoint(id=0, content="first"), *records, batch=batch)

    reading = read_native(log, 0)

    assert detect_native(log)
    assert reading.records == (Checkpoint(id=0, content="first"), *records)
    assert (reading.format, reading.problems, reading.session_id) == ("native", (), "s")


def test_kimis_log_is_read_as_it_is() -> None:
    """Checkpoints keep their ids, usage its place, and null arguments stay null."""
    kimi = Source(KIMI, name="s")

    reading = read_kimi(kimi, 0)

    assert detect_native(kimi) is None
    assert detect_kimi(kimi) == reading.evidence
    assert [type(record) for record in reading.records] == [
        SystemPrompt,
        Checkpoint,
        Message,
        Usage,
        Message,
        Usage,
        Message,
    ]
    assert reading.records[1] == Checkpoint(id=3)
    assert reading.sent[1].calls[0].function.arguments is None
    assert (reading.agent, reading.counts, reading.problems) == ("Kimi CLI", {}, ())


def test_a_flat_file_without_special_records_gets_checkpoints() -> None:
    """It is known by its thinking parts."""
    flat = Source(FLAT)

    assert "type think" in str(detect_kimi(flat))
    assert [type(record) for record in read_kimi(flat, 0).records] == [
        Checkpoint,
        Message,
        Message,
    ]


def test_a_lost_head_hides_no_special_record() -> None:
    """The first special record may stand behind many messages."""
    messages = b'{"role":"assistant","content":"a"}\n' * 100

    assert detect_kimi(Source(messages)) is None
    assert "_checkpoint" in str(detect_kimi(Source(messages + b'{"role":"_checkpoint","id":46}\n')))


@pytest.mark.parametrize(
    ("line", "native"),
    [
        ({"role": "user", "content": "a", "seq": 1}, True),
        ({"role": "_tag", "seq": 1}, True),
        ({"role": "_usage", "token_count": 1, "content": "x"}, True),
        ({"role": "_usage", "token_count": 1}, False),
        ({"role": "_system_prompt", "content": "x"}, False),
        ({"role": "user", "content": "a"}, False),
        ({"seq": 1}, False),
        ([1], False),
    ],
)
def test_our_own_keys_tell_our_logs(line: Any, native: bool) -> None:
    """One record with a key or of a kind that Kimi CLI does not write is enough."""
    assert (detect_native(Source(json.dumps(line).encode())) is not None) == native


def test_compactions_are_counted_once() -> None:
    """By our records of them, and in Kimi CLI's logs by the summaries."""
    lead = "<system>Previous context has been compacted. Here is the compaction output:</system>"
    summary = replace(user("so far"), origin="summary")
    ours = source(Compaction(id="c", content="compacted"), summary, user("go on"))
    theirs = source(Checkpoint(id=0), replace(user(lead), origin=None))

    assert read_native(ours, 0).counts == {"compactions": 1}
    assert read_kimi(theirs, 0).counts == {"compactions": 1}


def test_unknown_records_are_counted_and_damage_is_reported() -> None:
    """A record of an unknown kind is no value of ours, and a bad line no record."""
    log = Source(b'{"role":"_checkpoint","id":0}\n{"role":"_new","x":1}\nbroken\n')

    reading = read_kimi(log, 0)

    assert reading.records == (Checkpoint(id=0),)
    assert reading.counts == {"unknown_records": 1}
    assert [(problem.line, problem.kind) for problem in reading.problems] == [(3, "bad")]


def test_times_and_model_are_those_of_the_records() -> None:
    """The first and the last time, and the last model that a usage names."""
    log = source(
        replace(user("a"), at=5.0),
        replace(assistant("b", tool_calls=[call("c", "f")]), at=6.0),
        Usage(token_count=3, model="m-1"),
        Usage(token_count=4),
        replace(tool("c", "d"), at=7.5),
    )

    reading = read_native(log, 0)

    assert (reading.started, reading.updated, reading.model) == (5.0, 7.5, "m-1")


def test_there_is_one_conversation() -> None:
    """Another index is an error."""
    with pytest.raises(FormatError, match="no conversation 2"):
        read_kimi(Source(KIMI), 2)
