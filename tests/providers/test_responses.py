"""A view as a request of OpenAI's Responses API."""

from typing import Any

import pytest
from hypothesis import given

from minutebook.messages import (
    AudioPart,
    ImagePart,
    MediaUrl,
    Message,
    TextPart,
    ThinkPart,
    assistant,
    call,
    system,
    tool,
    user,
)
from minutebook.providers.validate_responses import violations
from minutebook.providers.view import make_view
from tests.providers.histories import HISTORIES, PICTURE, exhausted

SHOWN = ImagePart(MediaUrl(PICTURE))


def items(*history: Message) -> list[dict[str, Any]]:
    """Give the items of the request for a history."""
    body = make_view(None, history).to_responses()
    assert violations(body) == []
    found: list[dict[str, Any]] = body["input"]
    return found


@given(HISTORIES)
def test_the_sdks_own_types_take_every_request(history: list[Message]) -> None:
    """Each item is one that the SDK would send; reasoning goes without the id that it asks for."""
    types = pytest.importorskip("openai.types.responses", reason="needs the extra openai")
    pydantic = pytest.importorskip("pydantic", reason="the SDK's validator is not installed")
    adapter = pydantic.TypeAdapter(types.ResponseInputItemParam)

    for item in items(*history):
        if item["type"] != "reasoning":
            assert exhausted(adapter.validate_python(item)) == item


def test_each_kind_of_message_has_its_item() -> None:
    """A prompt is apart; system messages inside are the developer's."""
    history = [
        user("look"),
        assistant("I do", tool_calls=[call("a", "ls"), call("b", "odd name!", '{"x":1}')]),
        tool("a", "a.py"),
        tool("b", (TextPart("one"), TextPart("two"))),
        system("be brief"),
        assistant("done"),
    ]
    body = make_view("Be kind.", history).to_responses()
    assert body == {
        "instructions": "Be kind.",
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "look"}],
            },
            {"type": "message", "role": "assistant", "content": "I do"},
            {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"},
            {"type": "function_call", "call_id": "b", "name": "odd_name_", "arguments": '{"x":1}'},
            {"type": "function_call_output", "call_id": "a", "output": "a.py"},
            {"type": "function_call_output", "call_id": "b", "output": "one\ntwo"},
            {
                "type": "message",
                "role": "developer",
                "content": [{"type": "input_text", "text": "be brief"}],
            },
            {"type": "message", "role": "assistant", "content": "done"},
        ],
    }


def test_reasoning_stands_before_what_it_led_to() -> None:
    """At its place between texts, before the calls, and never last."""
    thought = ThinkPart("first", "gAAAA1")
    history = [
        user("go"),
        Message(
            "assistant",
            (thought, TextPart("so"), ThinkPart("", "gAAAA2")),
            tool_calls=(call("a", "ls"),),
        ),
        tool("a", "x"),
        Message("assistant", (TextPart("done"), ThinkPart("", "gAAAA3"))),
    ]
    found = items(*history)
    assert [(item["type"], item.get("encrypted_content")) for item in found] == [
        ("message", None),
        ("reasoning", "gAAAA1"),
        ("message", None),
        ("reasoning", "gAAAA2"),
        ("function_call", None),
        ("function_call_output", None),
        ("message", None),
    ]
    assert found[1]["summary"] == [{"type": "summary_text", "text": "first"}]
    assert found[3]["summary"] == []


def test_thoughts_in_a_row_go_along_only_with_what_they_led_to() -> None:
    """At the end of a reply none of them does."""
    thoughts = [ThinkPart("", f"gAAAA{number}") for number in range(3)]
    led = Message("assistant", (*thoughts[:2], TextPart("so")))
    ended = Message("assistant", (TextPart("done"), *thoughts))
    found = items(user("go"), led, ended)
    assert [item["type"] for item in found] == [
        "message",
        "reasoning",
        "reasoning",
        "message",
        "message",
    ]


def test_pictures_are_shown_and_sounds_are_named() -> None:
    """In results too."""
    sound = AudioPart(MediaUrl("data:audio/wav;base64,AAAA"))
    bad = ImagePart(MediaUrl("file:///etc/passwd"))
    history = [
        user((TextPart("see"), SHOWN, sound, bad)),
        assistant("", tool_calls=[call("a", "shot")]),
        tool("a", (SHOWN,)),
    ]
    found = items(*history)
    kinds = [part["type"] for part in found[0]["content"]]
    assert kinds == ["input_text", "input_image", "input_text", "input_text"]
    assert found[2]["output"][0]["type"] == "input_image"


def test_long_ids_are_cut_and_stay_apart() -> None:
    """On both sides of a pair."""
    history = [
        user("go"),
        assistant("", tool_calls=[call("x" * 90 + "1", "f"), call("x" * 90 + "2", "f")]),
        tool("x" * 90 + "1", "one"),
        tool("x" * 90 + "2", "two"),
    ]
    found = items(*history)
    ids = [item["call_id"] for item in found[1:3]]
    assert len(set(ids)) == 2
    assert {len(one) for one in ids} == {64}
    assert [item["call_id"] for item in found[3:]] == ids


def test_a_custom_tools_input_is_not_lost() -> None:
    """It is the one value of an object, for every provider."""
    patch = "*** Begin Patch\n-a\n+b"
    custom = call("a", "apply_patch", patch)
    history = [
        user("go"),
        assistant("", tool_calls=[type(custom)("custom", "a", custom.function)]),
        tool("a", "done"),
    ]
    view = make_view(None, history)
    assert view.marked == frozenset()
    for request in (
        view.to_openai(),
        view.to_anthropic(),
        view.to_responses(),
        view.to_gemini(),
    ):
        assert "Begin Patch" in str(request)
    assert view.to_anthropic()["messages"][1]["content"][0]["input"] == {"input": patch}
