import pytest

pytest.importorskip("aiohttp", reason="needs the extra gateway")
pytest.importorskip("uvicorn", reason="needs the extra gateway")
pytest.importorskip("openai", reason="needs the extra openai")

# isort: split
import asyncio
import json
from pathlib import Path
from typing import Any

import openai
from aiohttp import web

from minutebook.messages import ImagePart, ThinkPart
from minutebook.testing.scripted import Answer
from minutebook.testing.server import ProviderServer
from tests.gateway.support import ANTHROPIC, running, user
from tests.gateway.test_passing import upstream_of

PICTURE = "data:image/png;base64,iVBORw0KGgo="


def response_of(number: int) -> dict[str, Any]:
    content = [{"type": "output_text", "text": f"answer {number}", "annotations": []}]
    item = {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }
    usage = {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 12,
    }
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


async def test_the_responses_api_is_recorded_and_chained(tmp_path: Path) -> None:
    """Whole and streamed; `previous_response_id` goes on from what was recorded."""
    seen: list[dict[str, Any]] = []

    async def provider(request: web.BaseRequest) -> web.StreamResponse:
        body = json.loads(await request.read())
        seen.append(body)
        made = response_of(len(seen))
        if not body.get("stream"):
            return web.json_response(made)
        answer = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await answer.prepare(request)
        event = {"type": "response.completed", "sequence_number": 1, "response": made}
        await answer.write(f"event: response.completed\ndata: {json.dumps(event)}\n\n".encode())
        return answer

    async with upstream_of(provider) as url, running(tmp_path, url) as gateway:
        async with openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="k") as client:
            first = await client.responses.create(model="m", input="one", instructions="Be.")
            stream = await client.responses.create(
                model="m", input="two", previous_response_id=first.id, stream=True
            )
            events = [event async for event in stream]
            await client.responses.create(model="m", input="x", previous_response_id="unknown")

        assert events[-1].type == "response.completed"
        assert list(gateway.texts().values()) == [["one", "answer 1", "two", "answer 2"]]
        assert seen[1]["previous_response_id"] == "resp_1"
        assert not gateway.gateway.doubts


async def test_pictures_and_thinking_are_recorded(tmp_path: Path) -> None:
    """And go upstream in the client's own bytes."""
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    content = [{"type": "image", "source": source}, {"type": "text", "text": "what is it?"}]
    body = {
        "model": "m",
        "max_tokens": 9,
        "stream": True,
        "messages": [{"role": "user", "content": content}],
    }
    with ProviderServer([Answer(text="a dot", thinking="hm")]) as upstream:
        async with running(tmp_path, upstream) as gateway:
            status, _, _ = await gateway.ask("/v1/messages", body, ANTHROPIC)
            (held,) = gateway.gateway.book.held.values()
            asked, told = held.open_session.history()

            assert status == 200
            assert isinstance(asked.parts[0], ImagePart)
            assert asked.parts[0].image_url.url == PICTURE
            assert told.parts[0] == ThinkPart("hm", "c2lnbmF0dXJl")
        upstream.check()


def descriptors() -> int:
    """Count the open descriptors, where the system tells."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


async def test_nothing_leaks(tmp_path: Path) -> None:
    """After a run there are as many tasks and descriptors as before."""

    async def run(root: Path) -> None:
        with ProviderServer(always="x") as upstream:
            async with running(root, upstream) as gateway:
                await asyncio.gather(*(gateway.chat(user(f"{n}")) for n in range(5)))
                await gateway.ask("/v1/chat/completions", b"{", {})

    await run(tmp_path / "first")
    before = descriptors()
    await run(tmp_path / "second")

    assert len(asyncio.all_tasks()) == 1
    assert descriptors() <= before


async def test_c114_no_secret_reaches_the_disk_and_the_model_sees_them(tmp_path: Path) -> None:
    """C114: with redaction on, none is in any file, whoever said it."""
    secret = "sk-test-0000000000000000000000000000FAKE"
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "f", "arguments": json.dumps({"key": secret})},
    }
    messages = [
        {"role": "system", "content": f"The key is {secret}."},
        user(f"use {secret}"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": f"export KEY={secret}"},
    ]
    headers = {"authorization": f"Bearer {secret}"}
    with ProviderServer([f"It is {secret}.", "again"]) as upstream:
        async with running(tmp_path, upstream, redact=True) as gateway:
            reply = await gateway.chat(*messages, headers=headers)
            await gateway.chat(*messages, reply, user("more"), headers=headers)

            assert len(gateway.gateway.book.held) == 1
        assert json.dumps(upstream.received[1].body).count(secret) == 5
    written = written_below(tmp_path)

    assert secret.encode() not in written
    assert written.count(b"[redacted:provider-key#") >= 5


def written_below(root: Path) -> bytes:
    return b"".join(one.read_bytes() for one in root.rglob("*") if one.is_file())
