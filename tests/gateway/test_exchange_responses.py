"""A conversation over the Responses API that never hits the wall, in both of its styles."""

import pytest

pytest.importorskip("aiohttp", reason="needs the extra gateway")
pytest.importorskip("uvicorn", reason="needs the extra gateway")
pytest.importorskip("openai", reason="needs the extra openai")

# isort: split
import json
from pathlib import Path
from typing import Any

import openai
from aiohttp import web

from minutebook.providers.validate_responses import violations
from minutebook.tokens.estimate import estimate_text
from tests.gateway.support import running
from tests.gateway.test_passing import upstream_of

WINDOW = 16_000
CALLS = 30
OUTPUT = "some words of a long output\n" * 150
TOOL: Any = {
    "type": "function",
    "name": "read",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
}


def call_item(number: int) -> dict[str, Any]:
    """Make a call."""
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "status": "completed",
        "call_id": f"call_{number}",
        "name": "read",
        "arguments": json.dumps({"path": f"src/{number}.py"}),
    }


def message_item(text: str) -> dict[str, Any]:
    """Make a reply."""
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }


class Provider:
    """An upstream that keeps its responses, calls a tool again and again, and has a window."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self._kept: dict[str, list[dict[str, Any]]] = {}

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, strictly."""
        body = json.loads(await request.read())
        self.sent.append(body)
        given = body["input"]
        if isinstance(given, str):
            given = [{"type": "message", "role": "user", "content": given}]
        items = [*self._kept.get(body.get("previous_response_id", ""), []), *given]
        whole = {"instructions": body["instructions"], "input": [_plain(item) for item in items]}
        tokens = estimate_text(json.dumps(whole))
        if found := violations(whole):
            self.refused += found
            return web.json_response({"error": {"message": found[0]}}, status=400)
        if tokens > WINDOW:
            self.refused.append(f"{tokens} tokens")
            return web.json_response(
                {
                    "error": {
                        "message": "Your input exceeds the context window of this model.",
                        "code": "context_length_exceeded",
                    }
                },
                status=400,
            )
        number = len(self.sent)
        output = call_item(number) if number < CALLS else message_item("All is read.")
        self._kept[f"resp_{number}"] = [*items, output]
        usage = {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + 20,
        }
        made = {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1,
            "model": "m",
            "status": "completed",
            "output": [output],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": usage,
        }
        return web.json_response(made)


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    """Give an item as a client would send it: a reply's output is a text."""
    if item.get("role") == "assistant" and isinstance(item["content"], list):
        text = "".join(part["text"] for part in item["content"])
        return {"type": "message", "role": "assistant", "content": text}
    kept = {key: value for key, value in item.items() if key not in {"id", "status"}}
    return {"type": "message", **kept}


@pytest.mark.parametrize("chained", [False, True], ids=["whole history", "previous response"])
async def test_a_long_task_is_completed_and_no_request_is_refused(
    tmp_path: Path, *, chained: bool
) -> None:
    """By the real SDK: every request is valid and fits, and the log has every word."""
    provider = Provider()
    first = {"role": "user", "content": "Read all modules. Never write to disk."}
    items: list[Any] = [first]
    previous: Any = openai.omit
    async with (
        upstream_of(provider) as url,
        running(tmp_path, url, window=WINDOW) as gateway,
        openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="k", max_retries=0) as client,
    ):
        while True:
            reply = await client.responses.create(
                model="m",
                input=items,
                instructions="You read.",
                tools=[TOOL],
                previous_response_id=previous,
                max_output_tokens=500,
            )
            (output,) = reply.output
            if output.type == "message":
                break
            assert output.type == "function_call"
            result = {"type": "function_call_output", "call_id": output.call_id, "output": OUTPUT}
            if chained:
                previous, items = reply.id, [result]
            else:
                items += [output.model_dump(exclude={"id", "status"}, exclude_none=True), result]
        assert reply.output_text == "All is read."
        (held,) = gateway.gateway.book.held.values()
        session = held.open_session
        assert session.rotations()
        texts = [message.text for message in session.history(full=True)]

    assert provider.refused == []
    assert texts.count(OUTPUT) == CALLS - 1
    assert "Never write to disk." in json.dumps(provider.sent[-1])
    shrunk = [body for body in provider.sent if "previous_response_id" not in body]
    assert len(shrunk) > 1 if chained else len(shrunk) == len(provider.sent)
