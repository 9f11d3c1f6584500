"""Spell scripted outcomes as OpenAI's Responses API does, whole and as events. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from minutebook.providers.ciphers import OPENAI_LEAD
from minutebook.testing.scripted import Answer
from minutebook.testing.wire import Body, output_tokens


def response(answer: Answer, *, model: str, input_tokens: int, number: int) -> Body:
    """Give an answer as a whole response; one that was cut off is incomplete."""
    cut = answer.finish in {"length", "max_output_tokens"}
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": model,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "error": None,
        "output": list(_items(answer, number)),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": answer.usage or _usage(answer, input_tokens),
    }


def events(answer: Answer, *, model: str, input_tokens: int, number: int) -> Iterator[str]:
    """Give an answer as the events of a stream: begun, each item, completed."""
    whole = response(answer, model=model, input_tokens=input_tokens, number=number)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    told: list[tuple[str, Body]] = [("response.created", {"response": begun})]
    for index, item in enumerate(whole["output"]):
        told.append(("response.output_item.added", {"output_index": index, "item": item}))
        if item["type"] == "message":
            delta = {
                "item_id": item["id"],
                "output_index": index,
                "content_index": 0,
                "delta": answer.text,
                "logprobs": [],
            }
            told.append(("response.output_text.delta", delta))
        told.append(("response.output_item.done", {"output_index": index, "item": item}))
    told.append((f"response.{whole['status']}", {"response": whole}))
    for sequence, (kind, body) in enumerate(told):
        data = json.dumps({"type": kind, "sequence_number": sequence, **body}, ensure_ascii=False)
        yield f"event: {kind}\ndata: {data}\n\n"


def _items(answer: Answer, number: int) -> Iterator[Body]:
    if answer.thinking:
        yield {
            "type": "reasoning",
            "id": f"rs_{number}",
            "summary": [{"type": "summary_text", "text": answer.thinking}],
            "encrypted_content": f"{OPENAI_LEAD}{number}",
        }
    if answer.text:
        yield {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": answer.text, "annotations": []}],
        }
    for index, call in enumerate(answer.calls):
        yield {
            "type": "function_call",
            "id": f"fc_{number}_{index}",
            "status": "completed",
            "call_id": call.id or f"call_{number}_{index}",
            "name": call.name,
            "arguments": call.arguments,
        }


def _usage(answer: Answer, input_tokens: int) -> Mapping[str, Any]:
    output = output_tokens(answer)
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input_tokens + output,
    }
