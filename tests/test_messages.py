"""Messages and their parts: what the constructors make, and what a message tells of itself."""

from typing import Any

import pytest
from hypothesis import given

from minutebook.errors import InvalidMessage
from minutebook.messages import (
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    TextPart,
    ThinkPart,
    as_content,
    assistant,
    call,
    replace,
    system,
    tool,
    user,
)
from tests.strategies import CONTENTS

PICTURE = ImagePart(MediaUrl("https://example.org/a.png"))


@given(CONTENTS)
def test_content_that_is_in_its_stored_form_stays(content: Any) -> None:
    """Bringing content into its form twice is the same as once."""
    once = as_content(content)
    assert as_content(once) == once


def test_one_text_part_is_a_string_and_nothing_else_is() -> None:
    """The form that Kimi CLI writes: a string when it is one text part, else a list."""
    assert as_content("a") == as_content(TextPart("a")) == as_content([TextPart("a")]) == "a"
    assert as_content([TextPart("a"), TextPart("b")]) == (TextPart("a"), TextPart("b"))
    assert as_content(PICTURE) == (PICTURE,)
    assert as_content([]) == ()


@pytest.mark.parametrize("content", [[1], ["text"], [None], [{"type": "text", "text": "a"}]])
def test_content_of_another_type_is_refused(content: Any) -> None:
    """It would be written in a form that nobody reads."""
    with pytest.raises(InvalidMessage):
        as_content(content)


def test_constructors_set_role_and_origin() -> None:
    """A system message inside the history has no origin: anybody may have put it there."""
    assert user("u", name="n", pin=True) == Message(
        role="user", content="u", name="n", pin=True, origin="user"
    )
    assert assistant("a") == Message(role="assistant", content="a", origin="assistant")
    assert system("s") == Message(role="system", content="s")
    assert tool("c1", "out") == Message(
        role="tool", content="out", tool_call_id="c1", origin="tool"
    )


def test_a_failed_tool_result_says_so_in_kimi_clis_way() -> None:
    """A text part before the output, whatever form the output has."""
    marks = (tool("c", "out", error=True), tool("c", [PICTURE], error=True))
    for message in marks:
        assert message.parts[0] == TextPart("<system>ERROR: the tool failed.</system>")
    assert marks[0].parts[1:] == (TextPart("out"),)
    assert marks[1].parts[1:] == (PICTURE,)


def test_thinking_comes_before_the_text() -> None:
    """With text, with parts, and alone."""
    assert assistant("a", thinking="hm").content == (ThinkPart("hm"), TextPart("a"))
    assert assistant([PICTURE], thinking="hm").content == (ThinkPart("hm"), PICTURE)
    assert assistant("", thinking="hm").content == (ThinkPart("hm"),)
    assert assistant("a", thinking="hm").thinking == "hm"


def test_calls_and_their_arguments() -> None:
    """No call gives no key; null and missing arguments read as empty text."""
    made = call("c1", "Shell", '{"a":1}')
    assert assistant(tool_calls=[made]).calls == (made,)
    assert assistant("x").tool_calls is None
    assert assistant("x").calls == ()
    assert (made.name, made.arguments) == ("Shell", '{"a":1}')
    assert call("c1", "Shell", None).arguments == ""


def test_text_is_all_text_parts_joined() -> None:
    """Thinking, media and unknown parts are left out."""
    parts = (ThinkPart("hm"), TextPart("a"), PICTURE, OtherPart({"type": "x"}), TextPart("b"))
    message = Message(role="user", content=parts)
    assert message.text == "a\nb"
    assert message.thinking == "hm"
    assert message.parts == parts
    assert Message(role="user", content="a").text == "a"


def test_empty_content_has_no_part() -> None:
    """Neither the empty text nor null."""
    assert Message(role="user", content="").parts == ()
    assert Message(role="user", content=None).parts == ()
    assert Message(role="user", content=None).text == ""


def test_a_message_is_frozen_and_replaced() -> None:
    """A change gives another message."""
    message = user("a")
    assert replace(message, seq=3) == Message(role="user", content="a", origin="user", seq=3)
    assert message.seq is None
    field = ("seq", 4)
    with pytest.raises(AttributeError):
        setattr(message, *field)
