"""The rules of a strict provider for what stands beside the messages."""

from typing import Any

import pytest

from minutebook.testing.rules import anthropic_violations, openai_violations, output_limit

SAID = [{"role": "user", "content": "hi"}]
FUNCTION = {"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}}
TOOL = {"name": "run", "input_schema": {"type": "object"}}
CALLING = [
    *SAID,
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "run", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]},
]


def openai(**more: Any) -> list[str]:
    """Check a request to Chat Completions."""
    return openai_violations({"model": "m", "messages": SAID, **more})


def anthropic(**more: Any) -> list[str]:
    """Check a request to Messages."""
    return anthropic_violations({"model": "m", "messages": SAID, "max_tokens": 9, **more})


def test_ordinary_requests_break_no_rule() -> None:
    """With tools, streams and limits."""
    assert openai(max_tokens=5, stream=True, stream_options={}, tools=[FUNCTION]) == []
    assert openai(tools=[FUNCTION], tool_choice="auto") == []
    assert anthropic(system="be brief", stream=True, tools=[TOOL], tool_choice={}) == []
    assert anthropic(messages=CALLING, tools=[TOOL, {"name": "web", "type": "web_1"}]) == []
    assert anthropic_violations({"model": "m", "messages": SAID}, counting=True) == []


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"think": True}, "think is no parameter"),
        ({"model": ""}, "model is missing"),
        ({"messages": "hi"}, "messages is no list"),
        ({"stream": "yes"}, "stream is neither true nor false"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"max_completion_tokens": "9"}, "max_completion_tokens must be at least 1"),
        ({"stream_options": {}}, "stream_options without stream"),
        ({"tool_choice": "auto"}, "tool_choice without tools"),
        ({"tools": []}, "tools is no list with tools"),
        ({"tools": [TOOL]}, "a tool is no function"),
        ({"tools": ["run"]}, "a tool is no function"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "does not match"),
        (
            {"tools": [{"type": "function", "function": {"name": "a", "parameters": []}}]},
            "the parameters of a are no object",
        ),
        ({"tools": [FUNCTION, FUNCTION]}, "two functions share a name"),
        ({"messages": [{"role": "user", "content": " "}]}, "blank"),
    ],
)
def test_chat_completions_rules(more: dict[str, Any], what: str) -> None:
    """Each broken one is named."""
    assert any(what in found for found in openai(**more))


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"n": 1}, "n is no parameter"),
        ({"max_tokens": None}, ""),
        ({"max_tokens": -1}, "max_tokens must be at least 1"),
        ({"tool_choice": {}}, "tool_choice without tools"),
        ({"tools": {}}, "tools is no list"),
        ({"tools": [{"name": "a b", "input_schema": {}}]}, "does not match"),
        ({"tools": ["run"]}, "tool name None does not match"),
        ({"tools": [{"name": "run", "input_schema": {"type": "array"}}]}, "is no object's"),
        ({"tools": [TOOL, TOOL]}, "two tools share a name"),
        ({"messages": CALLING}, "tool_use or tool_result blocks without tools"),
        ({"system": " "}, "blank"),
        ({"messages": []}, "0 messages"),
    ],
)
def test_messages_rules(more: dict[str, Any], what: str) -> None:
    """Each broken one is named."""
    found = anthropic(**more)

    assert any(what in one for one in found) or not what


def test_a_limit_is_required_but_for_counting() -> None:
    """Anthropic's field has no default."""
    body = {"model": "m", "messages": SAID}

    assert anthropic_violations(body) == ["max_tokens: Field required"]
    assert anthropic_violations({**body, "max_tokens": 9}, counting=True) == [
        "max_tokens is no parameter"
    ]


def test_the_output_limit_is_read_by_either_name() -> None:
    """What a request allows its reply."""
    assert output_limit({"max_tokens": 5}) == 5
    assert output_limit({"max_completion_tokens": 7}) == 7
    assert output_limit({"max_tokens": "5"}) == 0
    assert output_limit({}) == 0
