"""JSON Lines into structs."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, Struct

from minutebook.formats.typed import payload, rows, whole
from minutebook.lines import Problem
from tests.formats.transcripts import JSON_VALUES

OBJECTS = st.dictionaries(st.sampled_from(["type", "body", "x"]), JSON_VALUES, max_size=3)


class Head(Struct, frozen=True):
    type: Any = None
    body: Raw = Raw(b"")


def lines(*values: Any) -> bytes:
    return b"\n".join(json.dumps(value).encode() for value in values)


@given(st.lists(OBJECTS, min_size=1, max_size=5), st.booleans())
def test_each_object_is_a_row_with_its_place(objects: list[Any], glued: bool) -> None:
    """The keys that a struct names, and where the text stands; of glued objects too."""
    data = (b"" if glued else b"\n").join(json.dumps(value).encode() for value in objects)
    problems: list[Problem] = []

    found = list(rows(data, Head, problems))

    assert [row.head.type for row in found] == [value.get("type") for value in objects]
    assert [whole(data, row) for row in found] == objects
    bodies = [payload(row.head.body, row.line, problems) for row in found]
    assert bodies == [
        body if isinstance(body := value.get("body"), dict) else {} for value in objects
    ]
    assert [problem.kind for problem in problems] == (
        ["glued"] if glued and len(objects) > 1 else []
    )


@given(st.binary(max_size=60))
def test_any_bytes_are_rows_or_problems(data: bytes) -> None:
    """Nothing raises, and no line is passed over silently."""
    problems: list[Problem] = []

    found = list(rows(data, Head, problems))

    assert found or problems or not data.strip(b" \t\r\n\x0b\x0c\xef\xbb\xbf")


def test_what_is_no_object_is_a_problem() -> None:
    """JSON of another type is named as an entry that is none."""
    problems: list[Problem] = []

    found = list(rows(lines([1], {"type": "a"}, 5), Head, problems))

    assert [row.head.type for row in found] == ["a"]
    assert [(problem.line, problem.kind) for problem in problems] == [(1, "entry"), (3, "entry")]


def test_broken_text_is_mended_wherever_it_shows() -> None:
    """In a line that the decoder refuses, and inside of a raw field that it passes over."""
    data = b'{"type":"\\ud83d","body":{"a":1}}\n{"type":"b","body":{"a":"\xff"}}'
    problems: list[Problem] = []

    found = list(rows(data, Head, problems))
    bodies = [payload(row.head.body, row.line, problems) for row in found]

    assert found[0].head.type == "\ufffd"
    assert bodies == [{"a": 1}, {"a": "\ufffd"}]
    assert [(problem.line, problem.kind) for problem in problems] == [(1, "mended"), (2, "mended")]
