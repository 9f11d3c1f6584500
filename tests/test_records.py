"""Special records: what each one's line looks like, and that Kimi CLI can skip it."""

import json

import pytest
from hypothesis import given

from minutebook.codec import decode_line, encode_line
from minutebook.messages import Message
from minutebook.records import (
    Batch,
    Checkpoint,
    Clear,
    Compaction,
    Fork,
    Next,
    Other,
    Record,
    Revert,
    Rotated,
    SystemPrompt,
    Tag,
    Usage,
)
from tests.strategies import RECORDS

OLD = Rotated(number=2, bytes=10, hash="crc32:00000001")
LINES: list[tuple[Record, str]] = [
    (SystemPrompt(content="p"), '{"role":"_system_prompt","content":"p"}'),
    (Checkpoint(id=3, content="c"), '{"role":"_checkpoint","id":3,"content":"c"}'),
    (Usage(token_count=9, content="c"), '{"role":"_usage","token_count":9,"content":"c"}'),
    (
        Compaction(id="k1", content="c", parent=OLD, next=Next(2, 5), carried=(3,)),
        (
            '{"role":"_compaction","id":"k1","content":"c",'
            '"parent":{"number":2,"bytes":10,"hash":"crc32:00000001"},'
            '"next":{"checkpoint":2,"seq":5},"carried":[3]}'
        ),
    ),
    (
        Revert(content="c", origin=Rotated(1), to=2),
        '{"role":"_revert","content":"c","from":{"number":1},"to":2}',
    ),
    (
        Clear(content="c", origin=Rotated(1)),
        '{"role":"_clear","content":"c","from":{"number":1}}',
    ),
    (Fork(source="s", content="c"), '{"role":"_fork","source":"s","content":"c"}'),
    (Tag(seq=4, content="c", pin=True), '{"role":"_tag","seq":4,"content":"c","pin":true}'),
    (
        Batch(n=2, bytes=9, hash="h", content="c"),
        '{"role":"_batch","n":2,"bytes":9,"hash":"h","content":"c"}',
    ),
]


@pytest.mark.parametrize(("record", "line"), LINES, ids=lambda value: type(value).__name__)
def test_a_record_is_written_like_this(record: Record, line: str) -> None:
    """The format on disk: a change here is a new version of it."""
    assert encode_line(record) == line.encode() + b"\n"
    assert decode_line(line.encode()) == record


@given(RECORDS)
def test_a_record_is_read_as_it_was_written(record: Record) -> None:
    """Every kind but one we do not know, whose line only the log holds."""
    if isinstance(record, Other):
        return
    value = json.loads(encode_line(record))

    assert decode_line(encode_line(record)) == record
    if not isinstance(record, Message):
        assert value["role"].startswith("_")
        assert all(value[key] is not None for key in value)


def test_records_of_a_later_version_keep_what_we_know() -> None:
    """Keys that are not known here do not get in the way."""
    line = b'{"role":"_checkpoint","id":4,"content":"c","later":{"a":[1]}}'
    assert decode_line(line) == Checkpoint(id=4, content="c")
