"""The lines of a file, split and cleared."""

import json

from hypothesis import given
from hypothesis import strategies as st

from minutebook.formats.mending.registry import of_lines
from minutebook.formats.mending.rows import Row, joined, split

OBJECTS = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5), max_size=3)


@given(st.lists(OBJECTS, max_size=5))
def test_lines_that_need_nothing_stay_byte_for_byte(values: list[dict[str, object]]) -> None:
    """However they are written."""
    data = b"".join(json.dumps(value, indent=None).encode() + b" \r\n" for value in values)
    mended = of_lines(data)
    assert (mended.data, mended.actions, mended.aside) == (data, (), b"")


@given(st.binary(max_size=80))
def test_a_second_time_changes_nothing_more(data: bytes) -> None:
    """Whatever the bytes are; what is no record is kept aside."""
    once = of_lines(data)
    twice = of_lines(once.data)
    assert twice.data == once.data
    assert twice.actions == ()
    assert twice.aside == b""


def test_glued_torn_and_bad_lines() -> None:
    """Split, closed, set aside; each is told."""
    data = b'{"a":1}{"b":2}\nnoise\n{"c": 3}\n{"d":'
    rows, actions, aside = split(data)
    assert joined(rows) == b'{"a":1}\n{"b":2}\n{"c": 3}\n'
    assert aside == b'noise\n{"d":\n'
    assert [action.split(":")[0] for action in actions[:3]] == ["line 1", "line 2", "line 4"]


def test_a_changed_row_is_written_anew() -> None:
    """With all its other keys."""
    row = Row({"a": 1, "b": 2}, b'{"a": 1, "b": 2}')
    row.change(b=3)
    assert joined([row]) == b'{"a":1,"b":3}\n'
