"""Each rule of the Gemini API, by a request that breaks it and nothing else."""

import math
from typing import Any

import pytest

from minutebook.providers.validate_gemini import violations

TEXT = {"text": "x"}
CALL = {"functionCall": {"name": "ls", "args": {}}}
RESULT = {"functionResponse": {"name": "ls", "response": {"output": "a.py"}}}
UPLOADED = {"fileData": {"fileUri": "gs://bucket/film.mp4"}}
PICTURE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}


def user(*parts: object) -> dict[str, Any]:
    """Make a user's content."""
    return {"role": "user", "parts": list(parts)}


def model(*parts: object) -> dict[str, Any]:
    """Make a model's content."""
    return {"role": "model", "parts": list(parts)}


def test_a_valid_request_breaks_nothing() -> None:
    """Every part that we send, in its place."""
    signed = {**CALL, "thoughtSignature": "c2ln"}
    contents = [user(TEXT, PICTURE, UPLOADED), model(TEXT, signed, CALL), user(RESULT, RESULT)]
    body = {"systemInstruction": {"parts": [TEXT]}, "contents": contents}
    assert violations(body) == []
    assert violations(body, signed=True) == []


@pytest.mark.parametrize(
    ("contents", "word"),
    [
        ([], "contents are empty"),
        ("text", "no list"),
        ([7], "is no content"),
        ([model(TEXT), user(TEXT)], "first content"),
        ([user(TEXT), model(TEXT)], "last content"),
        ([user(TEXT), user(TEXT)], "in a row"),
        ([{"role": "function", "parts": [TEXT]}], "role 'function'"),
        ([user()], "missing or empty"),
        ([user({"text": " "})], "blank"),
        ([user({})], "nothing known"),
        ([user({**TEXT, **PICTURE})], "a part has"),
        ([user({"text": "x", "score": math.inf})], "strict JSON"),
        ([user({"inlineData": {"mimeType": "image/tiff", "data": "AAAA"}})], "inline data"),
        ([user({"inlineData": {"mimeType": "image/png", "data": "?"}})], "inline data"),
        ([user({"fileData": {"fileUri": "https://example.org/a.png"}})], "uploaded file"),
        ([user({"fileData": {}})], "uploaded file"),
        ([user({"fileData": 7})], "uploaded file"),
        ([user(TEXT), model(CALL), user(TEXT)], "are answered by"),
        ([user(TEXT), model(CALL, CALL), user(RESULT)], "are answered by"),
        ([user(TEXT), model(TEXT), user(RESULT)], "are answered by"),
        ([user(TEXT), model(CALL), user(RESULT, TEXT)], "beside the results"),
        ([user(TEXT), model(CALL)], "not answered"),
        ([user(CALL), model(TEXT), user(TEXT)], "not the model's"),
        ([user(TEXT), model(RESULT), user(TEXT)], "not the user's"),
        ([user(TEXT), model({"functionCall": {"name": "1x", "args": {}}})], "function name"),
        ([user(TEXT), model({"functionCall": {"name": "ls", "args": "{}"}})], "no object"),
        ([user(TEXT), model({"functionCall": 7})], "function name"),
    ],
)
def test_each_broken_rule_is_named(contents: Any, word: str) -> None:
    """By what is wrong with it."""
    assert any(word in found for found in violations({"contents": contents}))


def test_a_model_that_checks_signatures_wants_one_at_the_first_call() -> None:
    """The others of the batch have none."""
    contents = [user(TEXT), model(CALL), user(RESULT)]
    assert violations({"contents": contents}) == []
    assert violations({"contents": contents}, signed=True) == [
        "content 1: the first call has no thought signature"
    ]


@pytest.mark.parametrize(
    "system", [{}, {"parts": []}, {"parts": [PICTURE]}, {"parts": [{"text": ""}]}]
)
def test_a_system_instruction_is_text(system: Any) -> None:
    """And there is some."""
    assert violations({"systemInstruction": system, "contents": [user(TEXT)]})
