"""Spell scripted outcomes as OpenAI Chat Completions and Anthropic Messages do. Pure.

Both ways, whole and as the events of a stream; and errors in each provider's shape.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minutebook.testing.scripted import Answer, Call
from minutebook.tokens.estimate import estimate_text

PIECES = 3
"""A text comes in so many pieces of a stream."""

_ANTHROPIC_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
_OPENAI_ERRORS: dict[int, tuple[str, str | None]] = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("tokens", "rate_limit_exceeded"),
    500: ("server_error", None),
    503: ("server_error", None),
}

Body = dict[str, Any]


def openai_error(status: int, message: str, *, code: str | None = None) -> Body:
    """Give the body of an error of OpenAI's."""
    kind, usual = _OPENAI_ERRORS.get(status, ("server_error", None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code or usual}}


def anthropic_error(status: int, message: str) -> Body:
    """Give the body of an error of Anthropic's."""
    kind = _ANTHROPIC_ERRORS.get(status, "api_error")
    return {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": "req_scripted",
    }


def openai_overflow(input_tokens: int, output_tokens: int, window_tokens: int) -> Body:
    """Give the body that says that input and output are more than the window."""
    total = input_tokens + output_tokens
    message = (
        f"This model's maximum context length is {window_tokens} tokens, but {total} were asked"
        f" for ({input_tokens} in the messages, {output_tokens} in the completion)."
    )
    return openai_error(400, message, code="context_length_exceeded")


def anthropic_overflow(input_tokens: int, output_tokens: int, window_tokens: int) -> Body:
    """Give the body that says that input, or input and output, are more than the window."""
    message = f"prompt is too long: {input_tokens} tokens > {window_tokens} maximum"
    if input_tokens <= window_tokens:
        message = (
            "input length and `max_tokens` exceed context limit:"
            f" {input_tokens} + {output_tokens} > {window_tokens}"
        )
    return anthropic_error(400, message)


def openai_completion(answer: Answer, *, model: str, input_tokens: int, number: int) -> Body:
    """Give an answer as a whole completion."""
    message: Body = {"role": "assistant", "content": answer.text or None, "refusal": None}
    if answer.thinking:
        message["reasoning_content"] = answer.thinking
    if answer.calls:
        message["tool_calls"] = [
            _openai_call(call, number, index) for index, call in enumerate(answer.calls)
        ]
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": _openai_finish(answer),
        "logprobs": None,
    }
    return {
        **_openai_head(model, number, "chat.completion"),
        "choices": [choice],
        "usage": _openai_usage(answer, input_tokens),
    }


def openai_events(
    answer: Answer, *, model: str, input_tokens: int, number: int, with_usage: bool
) -> Iterator[str]:
    """Give an answer as the events of a stream, each a text with its blank line."""
    head = _openai_head(model, number, "chat.completion.chunk")

    def event(delta: Body, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        more = {"usage": None} if with_usage else {}
        return _data({**head, "choices": [choice], **more})

    yield event({"role": "assistant", "content": ""})
    for piece in _pieces(answer.thinking):
        yield event({"reasoning_content": piece})
    for piece in _pieces(answer.text):
        yield event({"content": piece})
    for index, call in enumerate(answer.calls):
        whole = _openai_call(call, number, index)
        begun = {**whole, "index": index, "function": {"name": call.name, "arguments": ""}}
        yield event({"tool_calls": [begun]})
        for piece in _pieces(call.arguments):
            yield event({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield event({}, _openai_finish(answer))
    if with_usage:
        yield _data({**head, "choices": [], "usage": _openai_usage(answer, input_tokens)})
    yield "data: [DONE]\n\n"


def anthropic_message(answer: Answer, *, model: str, input_tokens: int, number: int) -> Body:
    """Give an answer as a whole message."""
    return {
        **_anthropic_head(model, number),
        "content": list(_anthropic_blocks(answer, number)),
        "stop_reason": _anthropic_finish(answer),
        "usage": _anthropic_usage(answer, input_tokens),
    }


def anthropic_events(
    answer: Answer, *, model: str, input_tokens: int, number: int
) -> Iterator[str]:
    """Give an answer as the events of a stream, each a text with its blank line."""
    usage = _anthropic_usage(answer, input_tokens)
    begun = {
        **_anthropic_head(model, number),
        "content": [],
        "stop_reason": None,
        "usage": {**usage, "output_tokens": 1},
    }
    yield _event("message_start", {"message": begun})
    yield _event("ping", {})
    for index, block in enumerate(_anthropic_blocks(answer, number)):
        kind = block["type"]
        empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}}
        first = {**block, **empty.get(kind, {"input": {}})}
        yield _event("content_block_start", {"index": index, "content_block": first})
        for delta in _anthropic_deltas(block):
            yield _event("content_block_delta", {"index": index, "delta": delta})
        yield _event("content_block_stop", {"index": index})
    ended = {"stop_reason": _anthropic_finish(answer), "stop_sequence": None}
    counted = {"output_tokens": usage.get("output_tokens", 0)}
    yield _event("message_delta", {"delta": ended, "usage": counted})
    yield _event("message_stop", {})


def error_event(body: Mapping[str, Any], *, anthropic: bool) -> str:
    """Give an error inside of a stream."""
    return f"event: error\n{_data(body)}" if anthropic else _data(body)


def _openai_head(model: str, number: int, kind: str) -> Body:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 0, "model": model}


def _openai_call(call: Call, number: int, index: int) -> Body:
    return {
        "id": call.id or f"call_{number}_{index}",
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _openai_finish(answer: Answer) -> str:
    return answer.finish or ("tool_calls" if answer.calls else "stop")


def _openai_usage(answer: Answer, input_tokens: int) -> Mapping[str, Any]:
    if answer.usage is not None:
        return answer.usage
    output = output_tokens(answer)
    return {
        "prompt_tokens": input_tokens,
        "completion_tokens": output,
        "total_tokens": input_tokens + output,
    }


def _anthropic_head(model: str, number: int) -> Body:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "stop_sequence": None,
    }


def _anthropic_blocks(answer: Answer, number: int) -> Iterator[Body]:
    if answer.thinking:
        yield {"type": "thinking", "thinking": answer.thinking, "signature": "c2lnbmF0dXJl"}
    if answer.text:
        yield {"type": "text", "text": answer.text}
    for index, call in enumerate(answer.calls):
        yield {
            "type": "tool_use",
            "id": call.id or f"toolu_{number}_{index}",
            "name": call.name,
            "input": json.loads(call.arguments),
        }


def _anthropic_deltas(block: Mapping[str, Any]) -> Iterator[Body]:
    match block["type"]:
        case "text":
            for piece in _pieces(block["text"]):
                yield {"type": "text_delta", "text": piece}
        case "thinking":
            for piece in _pieces(block["thinking"]):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case _:
            for piece in _pieces(json.dumps(block["input"], ensure_ascii=False)):
                yield {"type": "input_json_delta", "partial_json": piece}


def _anthropic_finish(answer: Answer) -> str:
    return answer.finish or ("tool_use" if answer.calls else "end_turn")


def _anthropic_usage(answer: Answer, input_tokens: int) -> Mapping[str, Any]:
    if answer.usage is not None:
        return answer.usage
    return {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens(answer),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }


def output_tokens(answer: Answer) -> int:
    """Count what an answer takes, by the estimate."""
    texts = [answer.text, answer.thinking]
    texts += [text for call in answer.calls for text in (call.name, call.arguments)]
    return sum(map(estimate_text, texts))


def _pieces(text: str) -> Sequence[str]:
    size = -(-len(text) // PIECES) or 1
    return [text[start : start + size] for start in range(0, len(text), size)]


def _data(body: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


def _event(kind: str, body: Mapping[str, Any]) -> str:
    return f"event: {kind}\n{_data({'type': kind, **body})}"
