import pytest

pytest.importorskip("aiohttp", reason="needs the extra gateway")
pytest.importorskip("uvicorn", reason="needs the extra gateway")

# isort: split
import asyncio
import gzip
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from minutebook.testing.scripted import Answer, Failure
from minutebook.testing.server import ProviderServer
from minutebook.testing.wire import anthropic_overflow, openai_overflow
from tests.gateway.support import ANTHROPIC, KEY, Running, running, user

CHAT = "/v1/chat/completions"
LONG = "many words of a long message\n" * 300
STREAM = (
    'data: {"choices": [{"index": 0, "delta": {"content": "北京 🌥"}}]}\r\n\r\n: ping\n\n'
    'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
    'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}\n\n'
    "data: [DONE]\n\n"
).encode()

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def upstream_of(handler: Handler) -> AsyncIterator[str]:
    """Serve one handler for every path."""
    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def streaming(data: bytes, size: int, encoding: str = "", *, breaks: bool = False) -> Handler:
    """Give a handler that sends bytes in pieces of one size."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        headers = {"content-type": "text/event-stream", "x-own": "1"}
        response = web.StreamResponse(headers=headers)
        if encoding:
            response.headers["content-encoding"] = encoding
        await response.prepare(request)
        for start in range(0, len(data), size):
            await response.write(data[start : start + size])
        if breaks and request.transport is not None:
            request.transport.abort()
        return response

    return handle


def asking(**more: Any) -> dict[str, Any]:
    return {"model": "m", "stream": True, "messages": [user("hi")], **more}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
async def test_c102_a_stream_passes_byte_for_byte(tmp_path: Path, size: int) -> None:
    """C102: however it is cut; and the log holds the text."""
    async with upstream_of(streaming(STREAM, size)) as url, running(tmp_path, url) as gateway:
        status, data, headers = await gateway.ask(CHAT, asking())

        assert (status, data, headers["x-own"]) == (200, STREAM, "1")
        assert list(gateway.texts().values()) == [["hi", "北京 🌥"]]


async def test_c102_an_encoded_stream_passes_as_it_is(tmp_path: Path) -> None:
    """C102: only our copy is decoded; what we cannot decode is not recorded."""
    packed = gzip.compress(STREAM)
    async with upstream_of(streaming(packed, 9, "gzip")) as url, running(tmp_path, url) as gateway:
        assert (await gateway.ask(CHAT, asking()))[1] == packed
        assert list(gateway.texts().values()) == [["hi", "北京 🌥"]]
    odd = upstream_of(streaming(b"\x01\x02", 9, "br"))
    async with odd as url, running(tmp_path / "b", url) as gateway:
        assert (await gateway.ask(CHAT, asking()))[1] == b"\x01\x02"
        assert list(gateway.texts().values()) == [["hi"]]
        assert gateway.gateway.doubts == {"unreadable reply": 1}


async def test_usage_is_asked_for_and_swallowed(tmp_path: Path) -> None:
    """The client gets what it would have got; the session knows the size."""
    started = upstream_of(streaming(STREAM, 7))
    async with started as url, running(tmp_path, url, ask_usage=True) as gateway:
        _, data, _ = await gateway.ask(CHAT, asking())
        (held,) = gateway.gateway.book.held.values()

        assert data == b"".join(
            event + b"\n\n" for event in STREAM.split(b"\n\n")[:-1] if b"usage" not in event
        )
        assert held.requests[-1]["usage"] == {"prompt_tokens": 3, "completion_tokens": 2}


async def test_a_broken_stream_is_partial(tmp_path: Path) -> None:
    """The client sees it break, as it would have; the log has what came, marked."""
    started = upstream_of(streaming(STREAM[:80], 7, breaks=True))
    async with started as url, running(tmp_path, url) as gateway:
        with pytest.raises(aiohttp.ClientPayloadError):
            await gateway.ask(CHAT, asking())

        (held,) = gateway.gateway.book.held.values()
        async with held.lock:
            assert held.track.is_partial
            assert held.requests[-1]["complete"] is False


async def test_a_client_that_goes_away_leaves_a_partial_reply(tmp_path: Path) -> None:
    """The upstream's connection is closed too, and nothing leaks."""
    ended = asyncio.Event()

    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        try:
            while True:
                await response.write(STREAM[:78] + b"\n\n")
                await asyncio.sleep(0.01)
        except (ConnectionError, asyncio.CancelledError):
            ended.set()
            raise

    async with upstream_of(endless) as url, running(tmp_path, url) as gateway:
        asked = gateway.url + CHAT
        async with gateway.client.post(asked, json=asking(), headers=KEY) as response:
            await response.content.readany()
            response.close()
        await asyncio.wait_for(ended.wait(), 2)
        (held,) = gateway.gateway.book.held.values()
        async with held.lock:
            assert held.track.is_partial


async def test_the_reply_is_in_the_log_before_its_last_event(tmp_path: Path) -> None:
    """Whoever has seen the end of the stream finds it there."""
    release = asyncio.Event()

    async def waiting(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(STREAM)
        if b'"on"' not in await request.read():
            await release.wait()
        return response

    async with (
        upstream_of(waiting) as url,
        running(tmp_path, url) as gateway,
        gateway.client.post(gateway.url + CHAT, json=asking(), headers=KEY) as response,
    ):
        await response.content.readuntil(b"[DONE]")
        assert list(gateway.texts().values()) == [["hi", "北京 🌥"]]
        # Whoever goes on at once stays in the session, though the first stream is still open.
        reply = {"role": "assistant", "content": "北京 🌥"}
        await gateway.ask(CHAT, asking(messages=[user("hi"), reply, user("on")]))
        assert list(gateway.texts().values()) == [["hi", "北京 🌥", "on", "北京 🌥"]]
        release.set()
        await response.read()


def long_chat() -> list[dict[str, Any]]:
    found = []
    for n in range(8):
        found += [user(f"{n} {LONG}"), {"role": "assistant", "content": f"{n} {LONG}"}]
    return [*found, user("and now?")]


@pytest.mark.parametrize("in_stream", [False, True])
@pytest.mark.parametrize("anthropic", [False, True])
async def test_an_overflow_is_mended_by_one_retry(
    tmp_path: Path, in_stream: bool, anthropic: bool
) -> None:
    """As a status, or inside a stream that has not begun to answer."""
    spell = anthropic_overflow if anthropic else openai_overflow
    refused = Failure(status=400, body=spell(40_000, 100, 20_000), in_stream=in_stream)
    with ProviderServer([refused, "mended"], window_tokens=200_000) as upstream:
        async with running(tmp_path, upstream) as gateway:
            status, data, headers = await ask_long(gateway, anthropic)

            assert (status, b"mended" in data or b"me" in data) == (200, True)
            assert headers["x-minutebook-compacted"] == "1"
            assert not gateway.gateway.doubts
        upstream.check()
        first, second = upstream.received
        assert second.tokens < first.tokens / 2


async def test_a_second_overflow_is_the_clients(tmp_path: Path) -> None:
    """One retry, not more."""
    refused = Failure(status=400, body=openai_overflow(40_000, 100, 20_000))
    with ProviderServer([refused, refused]) as upstream:
        async with running(tmp_path, upstream) as gateway:
            status, data, _ = await ask_long(gateway, anthropic=False)

            assert (status, b"context_length_exceeded" in data) == (400, True)
        upstream.check()


async def ask_long(gateway: Running, anthropic: bool) -> tuple[int, bytes, Mapping[str, str]]:
    body = {"model": "m", "stream": True, "max_tokens": 100, "messages": long_chat()}
    path = "/v1/messages" if anthropic else CHAT
    return await gateway.ask(path, body, ANTHROPIC if anthropic else KEY)


async def test_an_upstream_that_is_silent_is_a_timeout(tmp_path: Path) -> None:
    """In the shape of the API; the request stays in the log."""
    with ProviderServer([Answer(text="x", hold=threading.Event())]) as upstream:
        async with running(tmp_path, upstream, seconds_max=0.1) as gateway:
            status, data, _ = await gateway.ask(CHAT, asking())

            assert (status, b"in time" in data) == (504, True)
            assert list(gateway.texts().values()) == [["hi"]]


async def test_an_error_of_the_upstream_passes_as_it_is(tmp_path: Path) -> None:
    """Status, headers and body."""
    failure = Failure(status=429, headers={"retry-after": "7"}, message="slow down")
    with ProviderServer([failure]) as upstream:
        async with running(tmp_path, upstream) as gateway:
            status, data, headers = await gateway.ask(CHAT, asking())

            assert (status, headers["retry-after"], b"slow down" in data) == (429, "7", True)


async def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    """Only what is named is reached, and the key goes nowhere else."""

    async def elsewhere(_request: web.BaseRequest) -> web.Response:
        return web.Response(status=307, headers={"location": "http://127.0.0.1:1/"})

    async with (
        upstream_of(elsewhere) as url,
        running(tmp_path, url) as gateway,
        gateway.client.get(
            gateway.url + "/v1/models?limit=1", headers=KEY, allow_redirects=False
        ) as response,
    ):
        assert response.status == 307
