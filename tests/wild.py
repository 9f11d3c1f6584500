"""Bytes in place of a log: real logs with damage, records that lie, and noise."""

import json

from hypothesis import strategies as st
from msgspec import structs

from minutebook.codec import checksum, encode_line, frame
from minutebook.messages import Message, replace
from minutebook.records import Batch, Other, Record
from tests.strategies import MESSAGES, RECORDS

HUGE = (1 << 62, 1 << 64, 10**30, 10**1000, -(10**30), -1, 0)
ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([*HUGE, 1e308, "x", "\x00", "\u2028", [], {}, [[[]]], {"number": 10**18}]),
    st.integers(-3, 5),
)
ROLES = st.sampled_from(
    [
        "user",
        "assistant",
        "tool",
        "",
        "_",
        "_system_prompt",
        "_checkpoint",
        "_usage",
        "_compaction",
        "_revert",
        "_clear",
        "_fork",
        "_tag",
        "_batch",
        "_later",
    ]
)
KEYS = st.sampled_from(
    [
        "content",
        "id",
        "token_count",
        "seq",
        "at",
        "from",
        "parent",
        "next",
        "to",
        "source",
        "lines",
        "pin",
        "tags",
        "tool_calls",
        "tool_call_id",
        "n",
        "bytes",
        "hash",
        "carried",
        "made",
        "span",
        "sum",
        "_active",
        "elided",
        "origin",
        "learned",
        "input",
        "output",
        "cache_read",
        "reasoning",
    ]
)
NUMBERS = st.sampled_from([*HUGE, 1, 2, 3, 7])
NEXTS = st.fixed_dictionaries({}, optional={"checkpoint": NUMBERS, "seq": NUMBERS})
ROTATIONS = st.fixed_dictionaries({"number": NUMBERS}, optional={"bytes": NUMBERS})


@st.composite
def liars(draw: st.DrawFn) -> bytes:
    """Draw a line of good JSON with values that make no sense."""
    value = draw(st.dictionaries(KEYS, ODD_VALUES, max_size=5))
    if draw(st.booleans()):
        value |= {"content": "x", "id": draw(NUMBERS), "lines": draw(NUMBERS)}
        value |= {"next": draw(NEXTS), "from": draw(ROTATIONS), "parent": draw(ROTATIONS)}
        value |= {"source": draw(NUMBERS), "seq": draw(NUMBERS), "token_count": draw(NUMBERS)}
    return json.dumps({"role": draw(ROLES), **value}).encode() + b"\n"


def line_of(record: Record) -> bytes:
    """Give the line of a record; of a batch line one that fits nothing."""
    return encode_line(Batch(1, 3, checksum(b"")) if isinstance(record, Other) else record)


def as_ours(record: Record) -> Record:
    """Give a record the key by which lines of ours are known, as every one in a batch has it."""
    if isinstance(record, Message):
        return replace(record, seq=record.seq or 5)
    assert not isinstance(record, Other)
    return structs.replace(record, content="x")


LINES = st.one_of(
    st.builds(line_of, RECORDS),
    st.builds(line_of, MESSAGES),
    st.builds(
        lambda records: frame([line_of(as_ours(record)) for record in records]),
        st.lists(RECORDS.filter(lambda record: not isinstance(record, Batch | Other)), max_size=4),
    ),
    liars(),
    liars(),
    st.builds(lambda data: data + b"\n", st.binary(max_size=12)),
    st.sampled_from([b"\n", b"{}\n", b"[" * 2_000 + b"\n", b'{"role":' * 9 + b"\n", b"\0" * 20]),
)


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Draw the bytes of a log: lines of all kinds, then cuts, flips and glue."""
    data = bytearray(b"".join(draw(st.lists(LINES, max_size=14))))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, max(0, len(data) - 1)))
        kind = draw(st.sampled_from(["flip", "cut", "glue", "insert", "repeat"]))
        if kind == "flip" and data:
            data[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del data[place:]
        elif kind == "glue":
            newline = data.find(b"\n", place)
            del data[newline : newline + (newline >= 0)]
        elif kind == "insert":
            data[place:place] = draw(st.binary(max_size=5))
        else:
            data += data[place : place + 200]
    return draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + bytes(data)


NOISE = st.binary(max_size=300)
WILD = st.one_of(logs(), logs(), NOISE)
