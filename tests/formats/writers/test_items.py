"""Messages as items of OpenAI's Responses API."""

from typing import Any

from minutebook.formats.writers.conversation import Said
from minutebook.formats.writers.items import Items
from minutebook.messages import (
    AudioPart,
    Function,
    MediaUrl,
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
from tests.formats.writers.written import CIPHERS, PICTURE


def items(*messages: Message, maker: str = "") -> list[Any]:
    """Spell messages one after the other; give the items of the last one."""
    speller = Items(model="m", maker=maker)
    return [list(speller.of(Said(message))) for message in messages][-1]


def test_users_and_others() -> None:
    """A user's message with its pictures; sounds are named; other roles are the developer's."""
    sound = AudioPart(MediaUrl("data:audio/wav;base64,AAAA"))
    (seen,) = items(user((TextPart("look"), PICTURE, sound)))
    (told,) = items(Message("system", "be kind"))

    assert seen["role"] == "user"
    assert [part["type"] for part in seen["content"]] == [
        "input_text",
        "input_image",
        "input_text",
    ]
    assert told["role"] == "developer"
    assert items(user("")) == []


def test_the_order_of_a_reply_is_kept() -> None:
    """Thinking with its cipher text before the words that it stood before; calls behind."""
    thought = ThinkPart("hm", CIPHERS["openai"])
    search = OtherPart({"type": "web_search_call", "id": "ws_1"})
    found = items(
        assistant(
            (TextPart("a"), thought, TextPart("b"), search), tool_calls=[call("c", "f", "{}")]
        )
    )

    assert [item["type"] for item in found] == [
        "message",
        "reasoning",
        "message",
        "web_search_call",
        "function_call",
    ]
    assert found[1]["encrypted_content"] == CIPHERS["openai"]


def test_thinking_that_openai_did_not_make_is_left_out() -> None:
    """Its API refuses it."""
    foreign = assistant((ThinkPart("hm", CIPHERS["anthropic"]), TextPart("a")))

    assert [item["type"] for item in items(foreign)] == ["message"]
    assert [item["type"] for item in items(foreign, maker="openai")] == ["reasoning", "message"]


def test_a_custom_tool_takes_a_text() -> None:
    """And its result is of its own kind."""
    made = ToolCall("custom", "c", Function("patch", "*** Begin"))
    asked = assistant("", tool_calls=[made])

    assert items(asked) == [
        {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"}
    ]
    assert items(asked, tool("c", "done")) == [
        {"type": "custom_tool_call_output", "call_id": "c", "output": "done"}
    ]


def test_a_result_is_a_text_or_a_list() -> None:
    """A list as soon as it is more than one text."""
    asked = assistant("", tool_calls=[call("c", "f")])
    (plain,) = items(asked, tool("c", "done"))
    (pictured,) = items(asked, tool("c", (TextPart("seen"), PICTURE)))

    assert plain["output"] == "done"
    assert [part["type"] for part in pictured["output"]] == ["input_text", "input_image"]
