"""Each rule of OpenAI's Responses API, by a request that breaks it and nothing else."""

import math
from typing import Any

import pytest

from minutebook.providers.validate_responses import violations

SAID = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}
REPLY = {"type": "message", "role": "assistant", "content": "done"}
CALL = {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "a.py"}
THOUGHT = {"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"}
PICTURE = {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"}


def shown(part: object) -> list[Any]:
    """Make a request with one part."""
    return [{**SAID, "content": [part]}]


def test_a_valid_request_breaks_nothing() -> None:
    """Every item that we send, in its place."""
    items = [
        SAID,
        {**SAID, "role": "developer"},
        THOUGHT,
        REPLY,
        THOUGHT,
        CALL,
        {**CALL, "call_id": "b"},
        {**OUTPUT, "call_id": "b", "output": [PICTURE]},
        OUTPUT,
        *shown(PICTURE),
    ]
    assert violations({"instructions": "Be kind.", "input": items}) == []


@pytest.mark.parametrize(
    ("items", "word"),
    [
        ([], "input is empty"),
        ("text", "no list"),
        ([7], "is no item"),
        ([{"type": "poem"}], "type 'poem' is unknown"),
        ([{**SAID, "role": "oracle"}], "role 'oracle'"),
        ([{**SAID, "content": []}], "missing or empty"),
        ([{**SAID, "content": " "}], "a text is blank"),
        ([{**REPLY, "content": [{"type": "output_text", "text": "x"}]}], "is a text"),
        ([{**SAID, "score": math.inf}], "strict JSON"),
        (shown({"type": "input_text", "text": ""}), "blank"),
        (shown({"type": "input_audio"}), "not allowed here"),
        (shown({**PICTURE, "image_url": "file:///a.png"}), "picture"),
        (shown({**PICTURE, "image_url": "data:image/tiff;base64,AAAA"}), "picture"),
        (shown({**PICTURE, "detail": "fine"}), "detail"),
        ([SAID, CALL], "has no output"),
        ([SAID, OUTPUT], "no call before"),
        ([SAID, CALL, OUTPUT, OUTPUT], "no call before"),
        ([SAID, CALL, REPLY, OUTPUT], "before the output"),
        ([SAID, CALL, OUTPUT, CALL, OUTPUT], "used before"),
        ([SAID, {**CALL, "call_id": "x" * 65}, {**OUTPUT, "call_id": "x" * 65}], "call id"),
        ([SAID, {**CALL, "name": "odd name"}, OUTPUT], "function name"),
        ([SAID, {**CALL, "arguments": "{broken"}, OUTPUT], "no JSON object"),
        ([SAID, CALL, {**OUTPUT, "output": ""}], "blank"),
        ([SAID, THOUGHT], "nothing of its reply"),
        ([THOUGHT, SAID], "nothing of its reply"),
        ([{**THOUGHT, "encrypted_content": "ErUB"}, REPLY], "cipher text"),
        ([{**THOUGHT, "summary": None}, REPLY], "summaries"),
    ],
)
def test_each_broken_rule_is_named(items: Any, word: str) -> None:
    """By what is wrong with it."""
    assert any(word in found for found in violations({"input": items}))


def test_instructions_that_are_there_say_something() -> None:
    """Blank ones are left out."""
    assert violations({"instructions": " ", "input": [SAID]}) == [
        "instructions are blank or no text"
    ]
