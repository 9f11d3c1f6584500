"""Each rule of Anthropic Messages, by a request that breaks it and nothing else."""

import math
from typing import Any

import pytest

from minutebook.providers.validate_anthropic import MESSAGES_MAX, violations

TEXT = {"type": "text", "text": "x"}
USE = {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}
PICTURE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
THINKING = {"type": "thinking", "thinking": "", "signature": "s"}
MARK = {"cache_control": {"type": "ephemeral"}}


def says(role: str, *blocks: object) -> dict[str, Any]:
    """Make a message of these blocks."""
    return {"role": role, "content": list(blocks)}


def asked(use: object, result: object) -> list[dict[str, Any]]:
    """Make a request with one call and one result."""
    return [says("user", TEXT), says("assistant", use), says("user", result)]


def shown(**source: object) -> list[dict[str, Any]]:
    """Make a request with one picture."""
    return [says("user", {"type": "image", "source": source})]


def test_a_valid_request_breaks_nothing() -> None:
    """Every block that we send, in its place, and neighbours of one role."""
    messages = [
        {"role": "user", "content": "go"},
        says("user", PICTURE, {**TEXT, **MARK}),
        says("assistant", THINKING, {"type": "redacted_thinking", "data": "x"}, TEXT),
        says("assistant", USE, {**USE, "id": "t2", "input": {"cache_control": "no mark"}}),
        says("user", {**RESULT, "tool_use_id": "t2", "is_error": True}, RESULT),
        says("user", TEXT),
        says("assistant", {"type": "text", "text": "done"}),
    ]

    assert violations(messages, system="Be kind.") == []
    assert violations(messages, system=[TEXT]) == []
    hour = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    assert violations(messages, system=[{**TEXT, **hour}]) == []


@pytest.mark.parametrize("mark", [{}, {"type": "lasting"}, {"type": "ephemeral", "ttl": 5}, 7])
def test_an_unknown_cache_mark_is_named(mark: object) -> None:
    """In the messages and in the system prompt."""
    marked = {**TEXT, "cache_control": mark}

    assert f"turn 0: the cache mark {mark!r} is unknown" in violations([says("user", marked)])
    found = violations([says("user", TEXT)], system=[marked])
    assert f"system: the cache mark {mark!r} is unknown" in found


def test_thinking_takes_no_cache_mark() -> None:
    """The block behind it does."""
    messages = [says("user", TEXT), says("assistant", {**THINKING, **MARK}, {**TEXT, **MARK})]

    assert violations(messages) == ["turn 1: a cache mark at thinking"]


@pytest.mark.parametrize(
    ("messages", "word"),
    [
        ([], "0 messages"),
        ([{"role": "system", "content": "x"}], "role 'system'"),
        ([says("assistant", TEXT)], "not a user's"),
        ([{"role": "user", "content": "x", "score": math.inf}], "strict JSON"),
        ([says("user")], "an empty one"),
        ([says("user", "text")], "no list of blocks"),
        ([{"role": "user"}], "no list of blocks"),
        ([{"role": "user", "content": " \n"}], "blank"),
        ([says("user", {"type": "text"})], "blank"),
        ([says("user", USE)], "not allowed in user"),
        ([says("user", TEXT), says("assistant", PICTURE)], "not allowed in assistant"),
        ([says("user", *[{**TEXT, **MARK}] * 5)], "5 cache marks"),
        (shown(type="base64", media_type="image/bmp", data="AAAA"), "picture"),
        (shown(type="base64", media_type="image/png", data="A"), "picture"),
        (shown(type="url", url="ms://1"), "picture"),
        ([says("user", {"type": "image", "source": "x"})], "picture"),
        (asked({**USE, "id": "t:1"}, {**RESULT, "tool_use_id": "t:1"}), "does not match"),
        (asked({**USE, "id": 1}, {**RESULT, "tool_use_id": 1}), "does not match"),
        (asked({**USE, "name": "my tool"}, RESULT), "tool name"),
        (asked({**USE, "input": "{}"}, RESULT), "no object"),
        (asked(USE, {**RESULT, "content": []}), "a result is empty"),
        (asked(USE, {**RESULT, "content": ""}), "blank"),
        (asked(USE, {**RESULT, "content": [USE]}), "not allowed in tool_result"),
        (asked(USE, {**RESULT, "content": [PICTURE], "is_error": True}), "more than text"),
        (asked(USE, TEXT), "results for []"),
        (asked(USE, {**RESULT, "tool_use_id": "t2"}), "results for ['t2']"),
        ([*asked(USE, RESULT), says("user", RESULT)], "results for ['t1', 't1']"),
        ([says("user", TEXT), says("assistant", USE), says("user", TEXT, RESULT)], "behind"),
        ([*asked(USE, RESULT), says("assistant", USE), says("user", RESULT)], "used before"),
        ([says("user", TEXT), says("assistant", USE)], "at the end has no result"),
        ([says("user", RESULT)], "calls []"),
        ([says("user", TEXT), says("assistant", TEXT, THINKING)], "final block"),
        (
            [says("user", TEXT), says("assistant", {"type": "thinking", "thinking": "x"}, TEXT)],
            "without its signature",
        ),
        (
            [says("user", TEXT), says("assistant", {"type": "redacted_thinking"}, TEXT)],
            "without its data",
        ),
        (
            [says("user", TEXT), says("assistant", {"type": "text", "text": "Say: "})],
            "ends with white space",
        ),
    ],
)
def test_each_broken_rule_is_named(messages: list[dict[str, Any]], word: str) -> None:
    """One fault, one sentence that says it."""
    found = violations(messages)

    assert any(word in what for what in found), found


@pytest.mark.parametrize("system", ["", [], 7, [{"type": "text", "text": " "}], ["x"]])
def test_a_system_prompt_that_is_there_says_something(system: object) -> None:
    """Without a prompt the parameter is left out."""
    assert violations([says("user", TEXT)], system=system)
    assert violations([says("user", TEXT)]) == []


def test_a_request_has_a_limit_of_messages() -> None:
    """The reference names it."""
    assert violations([says("user", TEXT)] * (MESSAGES_MAX + 1))[0].startswith("100001 messages")
