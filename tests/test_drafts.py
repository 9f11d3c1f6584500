"""What is appended is checked, numbered and read back as it will be after a restart."""

from collections import UserDict
from enum import StrEnum
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.codec import decode_line
from minutebook.drafts import as_message, encoded, numbered
from minutebook.errors import InvalidMessage
from minutebook.messages import (
    Function,
    Message,
    OtherPart,
    TextPart,
    ThinkPart,
    ToolCall,
    assistant,
    call,
    tool,
    user,
)
from minutebook.records import Record, Usage
from tests.strategies import MESSAGES

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


def untyped(**fields: object) -> Message:
    """Make a message as a caller does who does not look at the types."""
    return Message(**{"role": "user", "content": "x", **cast("Any", fields)})


def written(value: object) -> tuple[Record, Record]:
    """Give what the context gets for an appended value, and what a reader gets for its line."""
    records, lines = encoded(numbered([value], 4, 2.5))
    return records[0], decode_line(lines[0])


@given(MESSAGES)
def test_a_message_is_numbered_and_keeps_what_it_says(message: Message) -> None:
    """Number and time are added, and what the run has is what a reader gets."""
    ours, read = written(message)

    assert ours == read
    assert isinstance(ours, Message)
    assert (ours.seq, ours.at, ours.active) == (4, 2.5, True)
    assert (ours.role, ours.content, ours.calls) == (message.role, message.content, message.calls)


@given(st.dictionaries(st.text(max_size=4), JSON), JSON, JSON, JSON)
def test_any_mapping_is_written_or_refused(
    more: dict[str, Any], content: Any, calls: Any, name: Any
) -> None:
    """Whatever a mapping holds, the run and a reader of the log see the same message."""
    value = {**more, "role": "user", "content": content, "tool_calls": calls, "name": name}

    ours, read = written(value)

    assert repr(ours) == repr(read)


@given(st.lists(st.dictionaries(st.text(max_size=4), JSON), min_size=1, max_size=2))
def test_parts_of_unknown_kinds_are_read_back_alike(data: list[dict[str, Any]]) -> None:
    """Also one whose data is really of a kind that is known, or holds what JSON has not."""
    parts = tuple(OtherPart({"type": "text", "text": "x"} | item) for item in data)

    ours, read = written(Message("user", parts))

    assert repr(ours) == repr(read)


def test_numbers_follow_each_other() -> None:
    """Messages of one call get consecutive numbers; a time of their own stays."""
    found = numbered([user("a"), Message("user", "b", at=1.0), user("c")], 7, 2.0)

    assert [(message.seq, message.at) for message in found] == [(7, 2.0), (8, 1.0), (9, 2.0)]


def test_a_number_and_a_state_that_a_message_brings_are_replaced() -> None:
    """What came out of a full history can be appended again, as another message."""
    found = numbered([Message("user", "a", seq=3, active=False)], 9, 0.0)

    assert (found[0].seq, found[0].active) == (9, True)


def test_mappings_are_taken_in_the_shape_of_openai() -> None:
    """Arguments that are an object become their JSON text; other mappings than dict do as well."""
    value = UserDict(
        role="assistant",
        content=None,
        tool_calls=[{"id": "c", "type": "function", "function": {"name": "f", "arguments": {}}}],
    )

    message = as_message(value)

    assert message.calls == (call("c", "f", "{}"),)
    assert as_message({"role": "tool", "content": "r", "tool_call_id": "c"}).text == "r"
    assert as_message({"role": "user", "content": [{"type": "text", "text": "t"}]}).text == "t"


def test_content_is_brought_into_its_stored_form() -> None:
    """One text is a string, and a list is a tuple, so that a restart sees no difference."""
    one = as_message(untyped(content=[TextPart("a")]))
    two = as_message(untyped(content=[TextPart("a"), ThinkPart("b")]))
    calls = as_message(untyped(role="assistant", tool_calls=[call("c", "f")]))

    assert one.content == "a"
    assert two.content == (TextPart("a"), ThinkPart("b"))
    assert calls.tool_calls == (call("c", "f"),)


def test_lone_surrogates_are_replaced_in_the_run_as_in_the_log() -> None:
    """Text that UTF-8 cannot hold is the same before and after a restart."""
    ours, read = written(user("half \ud83d"))
    assert ours == read
    assert isinstance(ours, Message)
    assert ours.text == "half \ufffd"

    mapped, again = written({"role": "user", "content": "half \ud83d", "name": "\udc00"})
    assert mapped == again
    assert isinstance(mapped, Message)
    assert (mapped.text, mapped.name) == ("half \ufffd", "\ufffd")


def test_other_records_pass_as_they_are() -> None:
    """A batch holds the usage beside the messages."""
    usage = Usage(token_count=3)

    assert encoded([usage])[0] == [usage]


class Role(StrEnum):
    USER = "user"


def test_a_role_of_an_enumeration_is_a_role() -> None:
    """Text of a subclass is text."""
    assert as_message(untyped(role=Role.USER)).role == "user"
    assert as_message(untyped(content=Role.USER)).text == "user"


@pytest.mark.parametrize(
    "value",
    [
        None,
        "hello",
        5,
        [user("a")],
        {},
        {"role": 5},
        {"content": "x"},
        {"role": ""},
        {"role": "_usage", "token_count": 5},
        {"role": "_later"},
        {"role": "tool", "content": "no call id"},
        {"role": "assistant", "tool_calls": [{"function": {"arguments": {"a": object()}}}]},
        {"role": "user", "content": [{"type": "chart", "data": object()}]},
        tool(cast("str", None), "x"),
        untyped(role=""),
        untyped(role="_compaction"),
        untyped(role=5),
        untyped(role=None),
        untyped(content=5),
        untyped(content=["text"]),
        untyped(content=[{"type": "text", "text": "x"}]),
        untyped(content=(OtherPart({"type": "x", "value": object()}), TextPart("a"))),
        untyped(content=(OtherPart(cast("Any", [1])), TextPart("a"))),
        untyped(content=(TextPart(cast("str", 5)), TextPart("a"))),
        untyped(name=5),
        untyped(origin=5),
        untyped(elided=5),
        untyped(at="noon"),
        untyped(pin="yes"),
        untyped(role="tool", tool_call_id=5),
        untyped(tool_calls=5),
        untyped(tool_calls=({"id": "c"},)),
        untyped(tool_calls=(ToolCall(type="function", id=cast("str", 5), function=Function("f")),)),
        untyped(tool_calls=(ToolCall(type="function", id="c", function=cast("Any", "f")),)),
        untyped(tool_calls=(call("c", "f", cast("str", {"a": 1})),)),
        untyped(tool_calls=(call("c", cast("str", 5)),)),
    ],
)
def test_what_is_no_message_is_refused(value: object) -> None:
    """A wrong role, a missing call id, a wrong type: nothing of it comes near the log."""
    with pytest.raises(InvalidMessage):
        encoded(numbered([user("good"), value], 1, 0.0))


def test_a_mapping_that_holds_itself_is_refused() -> None:
    """No error but ours comes out, however odd the value."""
    value: dict[str, Any] = {"role": "user"}
    value["content"] = [{"type": "x", "self": value}]

    with pytest.raises(InvalidMessage):
        encoded(numbered([value], 1, 0.0))


def test_a_reply_of_calls_alone_passes() -> None:
    """Content may be missing where there are calls."""
    message = as_message(assistant(tool_calls=[call("c", "f", None)]))

    assert (message.content, message.calls) == ("", (call("c", "f", None),))
