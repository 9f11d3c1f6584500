"""Bytes to JSON values: tolerant, linear, and never raising."""

import json

from hypothesis import given
from hypothesis import strategies as st

from minutebook.formats.source import (
    ABSENT,
    OBJECTS_LOOKED_AT,
    Source,
    at_line,
    lines,
    loads,
    values,
    whole_file,
)
from minutebook.lines import Problem
from tests.formats.transcripts import JSON_VALUES

OBJECTS = st.dictionaries(st.text(max_size=3), JSON_VALUES, max_size=3)


def dumped(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


@given(st.lists(OBJECTS, max_size=6), st.sampled_from([b"\n", b"\r\n"]))
def test_lines_are_split_on_line_feeds_alone(objects: list[object], end: bytes) -> None:
    """Every object of a JSON Lines file comes back, whatever its text holds."""
    data = end.join(json.dumps(value).encode() for value in objects)

    problems: list[Problem] = []
    found = [item.value for line in lines(data) for item in values(data, line, problems)]

    assert found == objects
    assert problems == []


def test_a_separator_inside_a_string_splits_nothing() -> None:
    """U+2028 and U+0085 are legal inside of a JSON string."""
    data = dumped({"a": "x\u2028y\u0085z"}) + b"\n{}"

    assert [line.number for line in lines(data)] == [1, 2]


def test_blank_lines_count_but_are_not_given() -> None:
    """Numbers are those of an editor."""
    data = b"\xef\xbb\xbf{}\n\n  \n\r\n[1]\r\n"

    assert [(line.number, data[line.start : line.end]) for line in lines(data)] == [
        (1, b"{}"),
        (5, b"[1]"),
    ]


@given(st.lists(OBJECTS, min_size=2, max_size=4), st.sampled_from(["", " ", "\t"]))
def test_glued_objects_are_each_read_where_they_stand(objects: list[object], gap: str) -> None:
    """Objects on one line are several values, and their places are those of their text."""
    data = gap.join(json.dumps(value, ensure_ascii=False) for value in objects).encode()
    (line,) = lines(data)

    problems: list[Problem] = []
    found = values(data, line, problems)

    assert [item.value for item in found] == objects
    assert [loads(data[item.start : item.end])[0] for item in found] == objects
    assert [problem.kind for problem in problems] == ["glued"]


@given(st.binary(max_size=60))
def test_any_bytes_are_values_or_problems(data: bytes) -> None:
    """Each line that is not blank gives a value, a problem, or both; nothing raises."""
    source = Source(data)

    for line in lines(data):
        problems: list[Problem] = []
        assert values(data, line, problems) or problems
    assert source.blank or data.strip()
    assert isinstance(source.objects, tuple)
    assert source.document is ABSENT or isinstance(source.document, list | dict)


def test_what_strict_json_refuses_is_mended_and_reported() -> None:
    """A lone surrogate, a broken byte and a raw control character cost one character each."""
    assert loads(b'{"a":"\\ud83d"}') == ({"a": "\ufffd"}, True)
    assert loads(b'{"a":"\xff"}') == ({"a": "\ufffd"}, True)
    assert loads(b'{"a":"x\ny"}') == ({"a": "x\ny"}, True)
    assert loads(b'{"a":1}') == ({"a": 1}, False)

    problems: list[Problem] = []
    data = b'{"a":"\xff"}'
    (line,) = lines(data)

    assert values(data, line, problems)[0].value == {"a": "\ufffd"}
    assert problems[0].kind == "mended"


def test_what_no_reader_takes_is_absent() -> None:
    """Raw NUL, nesting without end and plain text are no values."""
    assert loads(b'{"a":"\0"}') == (ABSENT, False)
    assert loads(b"[" * 100_000) == (ABSENT, False)
    assert loads(b"hello") == (ABSENT, False)


def test_a_bad_line_is_torn_only_at_the_end() -> None:
    """The last line without a line feed may be unfinished; any other is bad."""
    data = b'{"a":\n{"b":1}{\n[1][2]\n{}\0{}\n{"c"'
    problems: list[Problem] = []

    found = [values(data, line, problems) for line in lines(data)]

    assert found == [[]] * 5
    assert [problem.kind for problem in problems] == ["bad"] * 4 + ["torn"]
    assert [problem.line for problem in problems] == [1, 2, 3, 4, 5]
    assert [problem.byte for problem in problems] == [0, 6, 15, 22, 28]


@given(st.lists(OBJECTS, min_size=1, max_size=5), st.data(), st.booleans())
def test_a_document_that_is_cut_short_gives_its_whole_entries(
    objects: list[object], draw: st.DataObject, wrapped: bool
) -> None:
    """Cut anywhere, what is read of a list is its first entries, as many as were whole."""
    document = {"a": [[1], {}], "messages": objects} if wrapped else objects
    data = json.dumps(document, indent=1, ensure_ascii=False).encode()
    cut = draw.draw(st.integers(1, len(data) - 1))

    source = Source(data[:cut])

    if source.document is ABSENT:
        assert source.document_problems == ()
        return
    read = source.document.get("messages", []) if wrapped else source.document

    assert read == objects[: len(read)]
    assert [problem.kind for problem in source.document_problems] == ["torn"]


def test_a_cut_document_loses_only_the_last_entry() -> None:
    """Two whole entries and half a third: two are read."""
    assert Source(b'[{"a":"]"},\n{"b":[1,2]},\n{"c":').document == [{"a": "]"}, {"b": [1, 2]}]
    assert Source(b'{"k":[1],"m":[{"a":1},\n"x').document == {"k": [1], "m": [{"a": 1}]}
    assert Source(b"[1,\n2").document == [1]
    assert Source(b'{"a":\n1').document is ABSENT
    assert Source(b"[1]\n}").document is ABSENT
    assert Source(b"[{]\n").document is ABSENT


def test_a_document_is_read_once_and_whole() -> None:
    """A file that is one value, on one line or many, is a document; JSON Lines are none."""
    assert Source(b'\xef\xbb\xbf {"a":\n[1]}').document == {"a": [1]}
    assert Source(b'{"a":1}').document == {"a": 1}
    assert Source(b'{"a":1}\n{"b":2}\n').document is ABSENT
    assert Source(b"hello").document is ABSENT

    mended = Source(b'["\\ud83d"]')

    assert mended.document == ["\ufffd"]
    assert [problem.kind for problem in mended.document_problems] == ["mended"]


def test_objects_are_the_first_lines() -> None:
    """As many lines as are needed to recognise a format, and bad ones do not count."""
    data = b"x\n" + b'{"a":1}\n' * 100

    assert Source(data).objects == ({"a": 1},) * (OBJECTS_LOOKED_AT - 1)
    assert Source(b"\0 \n\0").blank
    assert not Source(b"\n1").blank


def test_problems_say_where() -> None:
    """A problem of a line has its place; one of the file covers it."""
    data = b'{}\n{"a"'
    line = list(lines(data))[1]

    assert at_line(line, "bad", "x") == Problem(line=2, byte=3, bytes=4, kind="bad", what="x")
    assert whole_file(data, "torn", "y") == Problem(line=1, byte=0, bytes=7, kind="torn", what="y")


def test_files_beside_are_kept_by_their_paths() -> None:
    """None by default."""
    assert Source(b"").beside == {}
    assert Source(b"", beside={"a/b.json": b"1"}).beside == {"a/b.json": b"1"}


def test_what_was_worked_out_of_the_same_bytes_is_taken_over() -> None:
    """The document is read once; the path, the name and the files beside stay their own."""
    first = Source(b'{"a":1}', path="p", name="n")
    second = Source(first.data, path="q", name="m", beside={"x": b"y"})
    document = first.document

    second.take_over(first)

    assert second.document is document
    assert (second.path, second.name, second.beside) == ("q", "m", {"x": b"y"})
