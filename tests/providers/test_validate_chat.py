"""Each rule of Chat Completions, by a request that breaks it and nothing else."""

import copy
import math
from typing import Any

import pytest

from minutebook.providers.validate_chat import violations

CALL: dict[str, Any] = {
    "id": "c1",
    "type": "function",
    "function": {"name": "ls", "arguments": '{"path": "."}'},
}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "a.py"}
USER = {"role": "user", "content": "go"}


def asking(*calls: object) -> dict[str, Any]:
    """Make a reply with these calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def changed(**changes: object) -> dict[str, Any]:
    """Make a call with other values; `name` and `arguments` are the function's."""
    call = copy.deepcopy(CALL)
    for key, value in changes.items():
        if key in {"name", "arguments"}:
            call["function"][key] = value
        else:
            call[key] = value
    return call


def seen(*parts: object) -> list[dict[str, Any]]:
    """Make a request of one user message with these parts."""
    return [{"role": "user", "content": list(parts)}]


def test_a_valid_request_breaks_nothing() -> None:
    """Every kind of message that the reference names, in its place."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be kind.", "name": "setup"},
        {"role": "developer", "content": [{"type": "text", "text": "x"}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            ],
        },
        asking(CALL, changed(id="c2")),
        {**ANSWER, "tool_call_id": "c2"},
        ANSWER,
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    ]

    assert violations(messages) == []


@pytest.mark.parametrize(
    ("messages", "word"),
    [
        ([], "empty"),
        ([{"role": "oracle", "content": "x"}], "role 'oracle'"),
        ([{"role": ["user"], "content": "x"}], "is unknown"),
        ([{"role": "user", "content": "x", "score": math.nan}], "strict JSON"),
        ([{"role": "user", "content": "x", "mood": "good"}], "not allowed"),
        ([{"role": "user", "content": "x", "name": "b o b"}], "name"),
        ([{"role": "user", "content": " "}], "blank"),
        ([{"role": "user", "content": []}], "missing or empty"),
        ([{"role": "user"}], "missing or empty"),
        ([{"role": "assistant", "content": None}], "missing or empty"),
        ([{"role": "assistant", "content": "x", "tool_calls": []}], "no list with calls"),
        ([{"role": "system", "content": [{"type": "image_url"}]}], "not allowed here"),
        (seen("text"), "not allowed here"),
        (seen({"type": "video_url", "video_url": {"url": "ms://1"}}), "not allowed here"),
        (seen({"type": "text"}), "blank"),
        (seen({"type": "image_url", "image_url": "x"}), "picture"),
        (seen({"type": "image_url", "image_url": {"url": "ms://1"}}), "picture"),
        (
            seen({"type": "image_url", "image_url": {"url": "data:image/bmp;base64,AAAA"}}),
            "picture",
        ),
        (seen({"type": "input_audio", "input_audio": "x"}), "sound"),
        (seen({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "ogg"}}), "sound"),
        ([asking(CALL)], "not answered"),
        ([asking(CALL), USER, ANSWER], "not answered"),
        ([USER, ANSWER], "no call directly before"),
        ([asking(CALL), ANSWER, ANSWER], "no call directly before"),
        ([asking(CALL), ANSWER, asking(CALL), ANSWER], "used before"),
        ([asking(changed(id="x" * 41)), {**ANSWER, "tool_call_id": "x" * 41}], "40 characters"),
        ([asking(changed(id="")), {**ANSWER, "tool_call_id": ""}], "40 characters"),
        ([asking(changed(type="custom")), ANSWER], "call type"),
        ([asking(changed(name="my tool")), ANSWER], "function name"),
        ([asking(changed(name=None)), ANSWER], "function name"),
        ([asking(changed(arguments='{"a": "rm')), ANSWER], "no JSON object"),
        ([asking(changed(arguments="")), ANSWER], "no JSON object"),
        ([asking(changed(arguments={})), ANSWER], "no JSON object"),
        ([asking(changed(arguments='{"a": "\\ud83d"}')), ANSWER], "no JSON object"),
        ([asking("call")], "no call of a function"),
        ([asking({"id": "c1", "type": "function"})], "no call of a function"),
    ],
)
def test_each_broken_rule_is_named(messages: list[dict[str, Any]], word: str) -> None:
    """One fault, one sentence that says it."""
    found = violations(messages)

    assert any(word in what for what in found), found


def test_kimis_extensions_are_allowed_only_for_kimi() -> None:
    """Its thinking, films, files and built-in functions."""
    messages = [
        *seen(
            {"type": "video_url", "video_url": {"url": "ms://1"}},
            {"type": "image_url", "image_url": {"url": "ms://2"}},
        ),
        {**asking(changed(name="$web_search")), "reasoning_content": "hm"},
        ANSWER,
    ]

    assert violations(messages, kimi=True) == []
    assert len(violations(messages)) == 4
