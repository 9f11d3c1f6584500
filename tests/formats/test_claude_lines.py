"""The heads of a transcript's lines, strict and lenient."""

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from minutebook.formats.claude_lines import (
    AttachmentHead,
    CompactedIds,
    Head,
    MessageHead,
    lenient,
    records,
)
from tests.formats.transcripts import JSON_VALUES, dump, said, typed, words

FIELDS = [field.encode_name for field in msgspec.structs.fields(Head)]
OBJECTS = st.dictionaries(st.sampled_from([*FIELDS, "other"]), JSON_VALUES, max_size=6)


@given(OBJECTS)
def test_lenient_reading_takes_what_strict_reading_takes(value: dict[str, Any]) -> None:
    """Where the strict decoder accepts both agree, and elsewhere the lenient one still reads."""
    read = lenient(Head, value)

    try:
        strict = msgspec.json.decode(json.dumps(value), type=Head)
    except msgspec.ValidationError:
        assert isinstance(read, Head)
    else:
        assert read == strict


def test_a_key_of_another_type_counts_as_missing() -> None:
    """The other keys of the record are read all the same, inner ones too."""
    value = {
        "type": "user",
        "uuid": 7,
        "isMeta": "yes",
        "message": {"id": 3, "model": "m"},
        "attachment": "x",
        "microcompactMetadata": {"compactedToolIds": ["a", 1]},
    }

    assert lenient(Head, value) == Head(
        type="user",
        message=MessageHead(id=None, model="m"),
        attachment=AttachmentHead(),
        microcompact_metadata=CompactedIds(),
    )


def test_each_record_has_its_place() -> None:
    """Two glued records stand on one line, each with its own bytes."""
    first, second, third = typed("u1", None, "ä"), said("a1", "u1", "m"), typed("u2", "a1", "b")
    data = dump([first]).rstrip() + b" " + dump([second, third])

    found, problems = records(data)

    assert [json.loads(data[item.start : item.end]) for item in found] == [first, second, third]
    assert [item.line.number for item in found] == [1, 1, 2]
    assert [item.head.uuid for item in found] == ["u1", "a1", "u2"]
    assert [problem.kind for problem in problems] == ["glued"]


def test_what_is_no_object_is_left_out() -> None:
    """A value of another kind is no record, and a torn end is reported."""
    data = b'[1]\n3\n{"type":"user","uuid":"u1"}\n{"type":"us'

    found, problems = records(data)

    assert [item.head.uuid for item in found] == ["u1"]
    assert [(problem.line, problem.kind) for problem in problems] == [(4, "torn")]


def test_a_lone_surrogate_costs_no_record() -> None:
    """The record is read in the tolerant way and reported as mended."""
    line = dump([typed("u1", None, "x")]).replace(b'"x"', b'"\\ud83d"')

    found, problems = records(line + dump([typed("u2", "u1", words("y"))]))

    assert [item.head.uuid for item in found] == ["u1", "u2"]
    assert [problem.kind for problem in problems] == ["mended"]
