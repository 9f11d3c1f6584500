import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.gateway.mapping import Mapped, map_item
from minutebook.messages import ImagePart, OtherPart, ThinkPart
from minutebook.providers.view import make_view
from tests.cases import case

APIS: list[Any] = ["chat", "messages", "responses"]
VALUES = st.recursive(
    st.none() | st.integers(0, 3) | st.sampled_from(["user", "assistant", "tool", "text", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "tool_calls", "id", "function", "name"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def mapped(api: Any, item: object) -> Mapped:
    return map_item(api, json.dumps(item).encode())


@given(st.sampled_from(APIS), VALUES)
def test_any_item_becomes_messages(api: Any, item: object) -> None:
    """What is not understood is kept whole, and marked."""
    found = mapped(api, item)

    assert found.messages
    if found.opaque:
        assert isinstance(found.messages[0].parts[0], OtherPart)


def test_results_come_before_what_else_is_said() -> None:
    """One message of Anthropic's is as many of ours as it has results, and one more."""
    item = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "b", "content": "B", "is_error": True},
            {"type": "text", "text": "and"},
            {"type": "tool_result", "tool_use_id": "a"},
        ],
    }

    found = mapped("messages", item)

    assert [(one.role, one.tool_call_id) for one in found.messages] == [
        ("tool", "b"),
        ("tool", "a"),
        ("user", None),
    ]
    assert "ERROR" in found.messages[0].text


def test_thinking_keeps_its_signature() -> None:
    """It goes back to the provider unchanged."""
    block = {"type": "thinking", "thinking": "hm", "signature": "s"}
    found = mapped("messages", {"role": "assistant", "content": [block]})

    assert found.messages[0].parts == (ThinkPart("hm", "s"),)


@pytest.mark.parametrize(
    ("api", "item"),
    [
        ("chat", {"role": "user", "content": [{"type": "file", "file": {}}]}),
        ("chat", {"role": "function", "name": "f", "content": "x"}),
        ("messages", {"role": "assistant", "content": [{"type": "server_tool_use"}]}),
        ("responses", {"type": "web_search_call", "id": "w"}),
        ("chat", 3),
    ],
)
def test_an_unknown_kind_is_opaque(api: Any, item: object) -> None:
    """Nobody knows what may be left out of it."""
    assert mapped(api, item).opaque


def test_the_items_of_the_responses_api() -> None:
    """Messages, calls, outputs and reasoning."""
    items: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "input_image", "image_url": "https://x/y.png"}]},
        {"type": "reasoning", "summary": [{"text": "hm"}], "encrypted_content": "e"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "done"},
    ]
    found = [one for item in items for one in mapped("responses", item).messages]

    assert [one.role for one in found] == ["user", "assistant", "assistant", "tool"]
    assert isinstance(found[0].parts[0], ImagePart)
    assert found[1].parts == (ThinkPart("hm", "e"),)


def test_c104_no_text_is_lost_on_the_way_through_the_log() -> None:
    """C104: every text of the request is in what is sent, pictures and errors too."""
    body = case("C104").json("request_anthropic.json")
    messages = [one for item in body["messages"] for one in mapped("messages", item).messages]

    for sent in (make_view(None, messages).to_openai(), make_view(None, messages).to_anthropic()):
        told = json.dumps(sent)
        for text in texts(body["messages"]):
            assert json.dumps(text)[1:-1] in told
        assert "ERROR" in told
        assert "image" in told


def test_c104_a_refusal_is_a_text() -> None:
    """C104: an OpenAI request with parts keeps each of them, or says that it cannot."""
    body = case("C104").json("request_openai.json")
    for item in body["messages"]:
        found = mapped("chat", item)
        told = json.dumps(
            [[part.text for part in one.parts if hasattr(part, "text")] for one in found.messages]
        )
        assert found.opaque or all(json.dumps(text)[1:-1] in told for text in texts(item))


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value[key] for key in ("text", "refusal") if isinstance(value.get(key), str)]
        return own + [text for inner in value.values() for text in texts(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in texts(inner)]
    return []
