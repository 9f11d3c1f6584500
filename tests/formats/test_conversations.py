"""Where plain files keep their messages, and which one of several is read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import FormatError
from minutebook.formats.conversations import (
    choose,
    find,
    is_message,
    messages_in,
    sample,
    several,
    single_values,
)
from minutebook.formats.source import Source
from tests.formats.transcripts import JSON_VALUES

ONE = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
TWO = [{"role": "user", "content": "c"}]


def json_lines(*values: Any) -> Source:
    return Source("\n".join(json.dumps(value) for value in values).encode(), path="f")


def document(value: Any) -> Source:
    return Source(json.dumps(value, indent=1).encode(), path="f")


@pytest.mark.parametrize(
    "source",
    [
        document(ONE),
        document({"messages": ONE}),
        document({"messages": None, "traj": ONE}),
        document([ONE]),
        document([{"messages": ONE}]),
        json_lines(*ONE),
        json_lines(ONE),
        json_lines({"messages": ONE}),
        Source(json.dumps(ONE).encode()),
    ],
)
def test_one_conversation_is_found_in_every_container(source: Source) -> None:
    """A list, an object, an entry or lines: the messages are the same."""
    found = find(source, 0)

    assert found.messages == ONE
    assert (found.total, several(found), found.problems) == (1, 0, [])
    assert sample(source) == ONE


@pytest.mark.parametrize(
    "source",
    [
        document([ONE, TWO]),
        document([{"messages": ONE}, {"traj": TWO, "id": 7}]),
        json_lines({"messages": ONE}, {"messages": TWO, "id": 7}),
        json_lines(ONE, TWO),
    ],
)
def test_of_several_conversations_one_is_read_and_the_number_is_told(source: Source) -> None:
    """The index picks, and a problem says how many there are."""
    first, second = find(source, 0), find(source, 1)

    assert (first.messages, second.messages) == (ONE, TWO)
    assert second.around.get("id") in {None, 7}
    for found in (first, second):
        assert several(found) == 2
        assert [problem.kind for problem in found.problems] == ["several"]
    with pytest.raises(FormatError, match="no conversation 2: the file holds 2"):
        find(source, 2)


def test_the_notice_stands_at_the_conversation_that_is_read() -> None:
    """Of JSON Lines it names the line."""
    (problem,) = find(json_lines({"messages": ONE}, {"messages": TWO}), 1).problems

    assert problem.line == 2
    assert "holds 2 conversations; this is number 1" in problem.what


def test_an_index_that_is_not_there_is_refused() -> None:
    """Also where the lines are one conversation, and where there is none."""
    with pytest.raises(FormatError, match="no conversation 1: the file holds 1"):
        find(json_lines(*ONE), 1)
    with pytest.raises(FormatError, match="no conversation 0: the file holds none"):
        find(document([]), 0)


def test_what_is_no_message_is_reported_and_left_out() -> None:
    """Strange entries never hide the good ones beside them."""
    among = find(document([ONE[0], 3, {"no": "role"}, ONE[1]]), 0)
    lines = find(Source(b'{"role":"user","content":"a"}\n{"x":1}\nbad\n[1]\n'), 0)

    assert among.messages == ONE
    assert ["2 entries are no messages" in problem.what for problem in among.problems] == [True]
    assert lines.messages == [ONE[0]]
    assert [(problem.line, problem.kind) for problem in lines.problems] == [
        (2, "entry"),
        (3, "bad"),
        (4, "entry"),
    ]


def test_a_torn_file_gives_its_whole_messages() -> None:
    """The last message is cut off: the others are read, and it is reported."""
    found = find(Source(json.dumps(ONE, indent=1).encode()[:-30]), 0)

    assert found.messages == ONE[:1]
    assert [problem.kind for problem in found.problems] == ["torn"]


def test_a_message_has_a_role_and_says_something() -> None:
    """Records of other formats have a role somewhere else, or another key for what they say."""
    assert is_message({"role": "assistant", "tool_calls": []})
    assert is_message({"type": "reasoning", "summary": []})
    assert not is_message({"role": 3, "content": "a"})
    assert not is_message({"type": "user", "message": ONE[0]})
    assert not is_message("user")
    assert messages_in({"messages": [{"info": {}, "parts": []}]}) is None
    assert messages_in({"history": ONE}) is None


@given(JSON_VALUES, st.booleans())
def test_any_json_has_messages_or_has_none(value: Any, on_lines: bool) -> None:
    """Nothing raises but our own error."""
    source = json_lines(value, value) if on_lines else document(value)

    found = sample(source)

    assert found == [item for item in found if is_message(item)]
    if found:
        assert find(source, 0).total
    else:
        with pytest.raises(FormatError, match="no conversation 0"):
            find(source, 0)


@given(st.lists(st.integers(0, 5), max_size=5), st.booleans(), st.integers(0, 5))
def test_of_values_in_any_form_one_is_chosen(
    numbers: list[int], on_lines: bool, index: int
) -> None:
    """Those that hold nothing are reported; the others are counted from 0."""
    value = [{"n": number} for number in numbers]
    source = json_lines(*value) if on_lines else document(value)
    wanted = [number for number in numbers if number < 4]

    def take(found: object) -> int | None:
        number = found["n"] if isinstance(found, dict) else 9
        return number if number < 4 else None

    if index >= len(wanted):
        with pytest.raises(FormatError, match=f"no conversation {index}: the file holds"):
            choose(source, index, take)
        return
    chosen = choose(source, index, take)

    assert (chosen.value, chosen.total) == (wanted[index], len(wanted))
    kinds = [problem.kind for problem in chosen.problems]
    assert kinds.count("entry") == len(numbers) - len(wanted)
    assert kinds.count("several") == (len(wanted) > 1)
    assert several(chosen) == (len(wanted) if len(wanted) > 1 else 0)


def test_the_values_of_a_file_are_lines_entries_or_the_one_value() -> None:
    """With the line they stand on; what is wrong is reported."""
    problems: list[Any] = []

    assert [value for value, _ in single_values(document([1, 2]), problems)] == [1, 2]
    assert [value for value, _ in single_values(document({"a": 1}), problems)] == [{"a": 1}]
    found = [
        (value, line.number) for value, line in single_values(Source(b"[1]\n[2]\nx\n"), problems)
    ]
    assert found == [([1], 1), ([2], 2)]
    assert [problem.kind for problem in problems] == ["bad"]
