"""Replies as messages: what a provider said, kept as it came."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.codec import decode_line, encode_line
from minutebook.errors import InvalidMessage
from minutebook.messages import (
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    TextPart,
    ThinkPart,
    user,
)
from minutebook.providers import validate_anthropic, validate_gemini, validate_responses
from minutebook.providers.replies import (
    from_anthropic,
    from_gemini,
    from_openai,
    from_responses,
)
from minutebook.providers.view import make_view

READERS = [from_openai, from_responses, from_anthropic, from_gemini]


def calls(message: Message) -> list[tuple[str, str, str, str]]:
    """Give the calls as plain values."""
    return [(one.type, one.id, one.name, one.arguments) for one in message.calls]


def test_a_reply_of_chat_completions() -> None:
    """Text, thinking, a refusal, calls of functions and of custom tools."""
    item = {
        "role": "assistant",
        "content": "I look",
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "ls", "arguments": '{"p":1}'}},
            {"id": "b", "type": "custom", "custom": {"name": "patch", "input": "-x"}},
        ],
    }
    found = from_openai({"choices": [{"message": item}]})
    assert found == from_openai(item)
    assert found.parts == (ThinkPart("hm"), TextPart("I look"))
    assert calls(found) == [("function", "a", "ls", '{"p":1}'), ("custom", "b", "patch", "-x")]
    assert found.origin == "assistant"
    refused = from_openai({"role": "assistant", "content": None, "refusal": "no"})
    assert refused.text == "no"
    odd = from_openai({"content": [{"type": "text", "text": "a"}, {"type": "new", "x": 1}]})
    assert odd.parts == (TextPart("a"), OtherPart({"type": "new", "x": 1}))
    assert from_openai({"content": ""}).parts == ()


def test_servers_that_speak_like_chat_completions_lose_nothing() -> None:
    """Calls without ids, an object as arguments, the old single call, what stands beside a text."""
    loose = [
        {"function": {"name": "ls", "arguments": {"p": "ä"}}},
        {"id": None, "function": {"name": "pwd", "arguments": None}},
    ]
    assert calls(from_openai({"content": None, "tool_calls": loose})) == [
        ("function", "call_0", "ls", '{"p": "ä"}'),
        ("function", "call_1", "pwd", ""),
    ]
    old = from_openai({"content": None, "function_call": {"name": "ls", "arguments": "{}"}})
    assert calls(old) == [("function", "call_0", "ls", "{}")]
    audio = {"id": "au", "transcript": "hello", "data": "AAAA"}
    spoken = from_openai({"content": None, "audio": audio})
    assert spoken.parts == (TextPart("hello"), OtherPart({"type": "audio", "audio": audio}))
    details = [{"type": "reasoning.encrypted", "data": "zz"}]
    thought = from_openai({"content": "so", "reasoning": "", "reasoning_details": details})
    assert thought.parts == (
        OtherPart({"type": "reasoning_details", "reasoning_details": details}),
        TextPart("so"),
    )


def test_a_reply_of_the_responses_api() -> None:
    """Each item in its place; what is not known stays whole."""
    body: dict[str, Any] = {
        "output": [
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": "gAAAA1",
            },
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            {
                "type": "message",
                "content": [
                    {"type": "output_text", "text": "I look", "annotations": []},
                    {"type": "refusal", "refusal": "not at that"},
                    {"type": "new"},
                ],
            },
            {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"},
            {"type": "custom_tool_call", "call_id": "b", "name": "patch", "input": "-x"},
        ]
    }
    found = from_responses(body)
    assert found.parts == (
        ThinkPart("hm", "gAAAA1"),
        OtherPart(body["output"][1]),
        TextPart("I look"),
        TextPart("not at that"),
        OtherPart({"type": "new"}),
    )
    assert calls(found) == [("function", "a", "ls", "{}"), ("custom", "b", "patch", "-x")]
    open_one = [{"type": "reasoning_text", "text": "in the open"}]
    bare = from_responses({"output": [{"type": "reasoning", "summary": [], "content": open_one}]})
    assert bare.thinking == "in the open"
    again = make_view(None, [user("go"), found]).to_responses()
    assert validate_responses.violations(again) == []
    assert again["input"][1]["encrypted_content"] == "gAAAA1"


def test_a_reply_of_anthropics() -> None:
    """Thinking goes back with its signature, byte for byte."""
    content = [
        {"type": "thinking", "thinking": "hm ", "signature": "ErUB"},
        {"type": "redacted_thinking", "data": "UkVE"},
        {"type": "text", "text": "I look"},
        {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"p": "ä"}},
    ]
    found = from_anthropic({"role": "assistant", "content": content, "usage": {}})
    assert calls(found) == [("function", "toolu_1", "ls", '{"p": "ä"}')]
    body = make_view(None, [user("go"), found]).to_anthropic()
    assert body["messages"][1]["content"] == content
    assert validate_anthropic.violations(body["messages"], system=None) == []
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    assert from_anthropic({"content": [search]}).parts == (OtherPart(search),)
    cited = [{"type": "text", "text": "so", "citations": [{"cited_text": "x"}]}]
    assert from_anthropic({"content": cited}).parts == (
        TextPart("so"),
        OtherPart({"type": "citations", "citations": [{"cited_text": "x"}]}),
    )


@pytest.mark.parametrize("snake", [False, True])
def test_a_reply_of_geminis(*, snake: bool) -> None:
    """By the names of the wire and of the SDK; its signature goes back to the first call."""
    signature, asked = (
        ("thought_signature", "function_call") if snake else ("thoughtSignature", "functionCall")
    )
    parts = [
        {"text": "hm", "thought": True},
        {"text": "I look"},
        {asked: {"name": "ls", "args": {"p": 1}}, signature: "c2ln"},
        {asked: {"id": "x", "name": "cat"}},
    ]
    found = from_gemini({"candidates": [{"content": {"role": "model", "parts": parts}}]})
    assert found.parts == (ThinkPart("hm"), TextPart("I look"), ThinkPart("", "gemini:c2ln"))
    assert calls(found) == [
        ("function", "call_0", "ls", '{"p": 1}'),
        ("function", "x", "cat", "{}"),
    ]
    body = make_view(None, [user("go"), found]).to_gemini(model="gemini-3-pro-preview")
    assert validate_gemini.violations(body, signed=True) == []
    assert body["contents"][1]["parts"][1]["thoughtSignature"] == "c2ln"
    assert from_gemini({"candidates": [{"finishReason": "SAFETY"}]}).parts == ()
    assert from_gemini({"candidates": [{"content": {"role": "model", "parts": None}}]}).parts == ()
    picture = {"inlineData": {"mimeType": "image/png", "data": "AA-_"}}
    empty = {"inlineData": {"mimeType": "image/png"}}
    assert from_gemini({"parts": [empty]}).parts == (OtherPart({"type": "_gemini", **empty}),)
    odd = from_gemini({"parts": [picture, {"executableCode": {"code": "1"}}]})
    assert odd.parts == (
        ImagePart(MediaUrl("data:image/png;base64,AA+/")),
        OtherPart({"type": "_gemini", "executableCode": {"code": "1"}}),
    )


def test_the_sdks_own_objects_are_read() -> None:
    """As they come from a call."""
    types = pytest.importorskip("openai.types.chat", reason="needs the extra openai")
    reply = types.ChatCompletionMessage(role="assistant", content="done")
    assert from_openai(reply).text == "done"
    blocks = pytest.importorskip("anthropic.types", reason="needs the extra anthropic")
    usage = blocks.Usage(input_tokens=1, output_tokens=1)
    message = blocks.Message(
        id="m",
        content=[blocks.TextBlock(type="text", text="done", citations=None)],
        model="m",
        role="assistant",
        type="message",
        stop_reason="end_turn",
        usage=usage,
    )
    assert from_anthropic(message).text == "done"


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("reply", [None, 7, "text", [], {"choices": []}, {"output": 7}])
def test_another_shape_is_an_error_of_ours(
    reader: Callable[[object], Message], reply: object
) -> None:
    """It names what is missing; an empty message of Chat is one."""
    with pytest.raises(InvalidMessage):
        reader({"output": [7], "content": [7], "parts": 7} if reply == {"output": 7} else reply)


JSON: Any = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["content", "parts", "output", "type", "text", "choices", "candidates"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("reader", READERS)
@given(body=JSON)
def test_nothing_but_our_own_error_is_raised(
    reader: Callable[[object], Message], body: object
) -> None:
    """Whatever a server sends."""
    try:
        found = reader(body)
    except InvalidMessage:
        return
    assert found.role == "assistant"
    assert isinstance(found.text, str)
    assert decode_line(encode_line(found)) == found
