"""Spell scripted outcomes as Gemini's generateContent does. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from minutebook.testing.scripted import Answer
from minutebook.testing.wire import Body, output_tokens

SIGNATURE = "c2lnbmF0dXJl"
"""Base64, as the API's are."""

_STATUS = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}


def error(status: int, message: str) -> Body:
    """Give the body of an error of Gemini's."""
    return {
        "error": {
            "code": status,
            "message": message,
            "status": _STATUS.get(status, "UNAVAILABLE"),
        }
    }


def overflow(input_tokens: int, output_tokens: int, window_tokens: int) -> Body:
    """Give the body that says that the input is more than the window."""
    return error(
        400,
        f"The input token count ({input_tokens + output_tokens}) exceeds the maximum number of"
        f" tokens allowed ({window_tokens}).",
    )


def candidate(answer: Answer, *, model: str, input_tokens: int, number: int) -> Body:
    """Give an answer as a whole reply; the first call has a thought signature."""
    finish = {"length": "MAX_TOKENS"}.get(answer.finish, answer.finish or "STOP")
    return {
        "candidates": [
            {
                "index": 0,
                "content": {"role": "model", "parts": list(_parts(answer))},
                "finishReason": finish,
            }
        ],
        "modelVersion": model,
        "responseId": f"r{number}",
        "usageMetadata": answer.usage or _usage(answer, input_tokens),
    }


def _parts(answer: Answer) -> Iterator[Body]:
    if answer.thinking:
        yield {"text": answer.thinking, "thought": True}
    if answer.text:
        yield {"text": answer.text}
    for index, call in enumerate(answer.calls):
        made: Body = {"functionCall": {"name": call.name, "args": json.loads(call.arguments)}}
        yield made if index else {**made, "thoughtSignature": SIGNATURE}


def _usage(answer: Answer, input_tokens: int) -> Mapping[str, Any]:
    output = output_tokens(answer)
    return {
        "promptTokenCount": input_tokens,
        "candidatesTokenCount": output,
        "totalTokenCount": input_tokens + output,
    }
