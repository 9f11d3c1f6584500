"""One request passed on to its upstream, and the answer passed back as it arrives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from minutebook.gateway.copying import StreamCopy, error_of, whole
from minutebook.gateway.exchange import Exchange
from minutebook.gateway.http import (
    Headers,
    Receive,
    Request,
    Send,
    answer,
    answer_error,
    passed_back,
)
from minutebook.gateway.replies import Reply
from minutebook.gateway.wires import Route

if TYPE_CHECKING:
    import aiohttp

HELD_BYTES_MAX = 1 << 20
"""So much of a stream is held back while its first event is not whole."""

Doubt = Callable[[str], None]


class Passing:
    """The two sides of one request."""

    def __init__(
        self,
        client: aiohttp.ClientSession,
        request: Request,
        route: Route,
        url: str,
        receive: Receive,
        send: Send,
    ) -> None:
        self._client = client
        self._request = request
        self._route = route
        self._url = url
        self._receive = receive
        self._send = send
        self._begun = False
        self._gone = False
        self._told: Headers = ()

    async def untouched(self, body: bytes) -> None:
        """Pass a request on as it came, and the answer back."""
        await self._guarded(self._simple(body))

    async def recorded(self, exchange: Exchange, body: bytes, doubt: Doubt) -> None:
        """Pass a model call on as its exchange says, and record the reply."""
        await self._guarded(self._call(exchange, body, doubt))

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work until the client goes away; give the upstream's faults a shape."""
        import aiohttp

        task = asyncio.ensure_future(work)
        watcher = asyncio.ensure_future(self._watch(task))
        try:
            await task
        except asyncio.CancelledError:
            if not self._gone:
                task.cancel()
                raise
        except TimeoutError:
            await self._failed(504, "the upstream did not answer in time")
        except (aiohttp.ClientError, OSError):
            await self._failed(502, "the upstream cannot be reached")
        finally:
            watcher.cancel()
            await asyncio.wait([watcher])

    async def _watch(self, task: asyncio.Future[None]) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            continue
        if not task.done():
            self._gone = True
            task.cancel()

    async def _failed(self, status: int, message: str) -> None:
        """Answer with an error; a stream that has begun just ends, as the upstream's did."""
        if not self._begun:
            await answer_error(self._send, self._route.api, status, message)

    def _ask(self, body: bytes, *, plain: bool = False) -> aiohttp.client._RequestContextManager:
        from yarl import URL

        return self._client.request(
            self._request.method,
            URL(self._url, encoded=True),
            data=body or None,
            headers=self._request.forwarded(plain=plain),
            allow_redirects=False,
        )

    async def _simple(self, body: bytes) -> None:
        async with self._ask(body) as response:
            await self._start(response, passed_back(response.raw_headers))
            async for chunk in response.content.iter_any():
                await self._more(chunk)
        await self._more(b"", last=True)

    async def _call(self, exchange: Exchange, body: bytes, doubt: Doubt) -> None:
        may_retry = True
        while not await self._attempt(exchange, exchange.body or body, doubt, may_retry=may_retry):
            may_retry = False

    async def _attempt(
        self, exchange: Exchange, body: bytes, doubt: Doubt, *, may_retry: bool
    ) -> bool:
        """Ask once; False if a smaller request is to be sent."""
        async with self._ask(body, plain=exchange.swallows) as response:
            encoding = response.headers.get("content-encoding", "")
            streams = response.content_type == "text/event-stream" and response.status < 400
            if streams:
                return await self._stream(exchange, response, encoding, doubt, may_retry=may_retry)
            data = await response.read()
            if response.status >= 400:
                error = error_of(encoding, data)
                if may_retry and await self._mended(exchange, error, doubt):
                    return False
            else:
                reply = whole(exchange.asked.api, encoding, data)
                if not reply.messages:
                    doubt("unreadable reply")
                await self._finish(exchange, reply, doubt)
            told = [*passed_back(response.raw_headers), *self._explained(exchange)]
            if response.status >= 400:
                exchange.release()
            self._begun = True
            await answer(self._send, response.status, data, told)
            return True

    async def _stream(
        self,
        exchange: Exchange,
        response: aiohttp.ClientResponse,
        encoding: str,
        doubt: Doubt,
        *,
        may_retry: bool,
    ) -> bool:
        copy = StreamCopy(exchange.asked.api, encoding, swallows=exchange.swallows)
        if not copy.is_known:
            doubt("unreadable reply")
        recorded, held, holds = False, b"", may_retry
        try:
            async for chunk in response.content.iter_any():
                out = copy.feed(chunk)
                if holds:
                    held += out
                    if not copy.begun and copy.is_known and len(held) < HELD_BYTES_MAX:
                        continue
                    if copy.error is not None and await self._mended(exchange, copy.error, doubt):
                        recorded = True
                        return False
                    out, held, holds = held, b"", False
                if copy.is_done and not recorded:
                    recorded = True
                    await self._finish(exchange, copy.reply(), doubt)
                await self._begin(exchange, response)
                await self._more(out)
            await self._begin(exchange, response)
            if not recorded:
                recorded = True
                await self._finish(exchange, copy.reply(), doubt)
            await self._more(held + copy.rest(), last=True)
        finally:
            if not recorded:
                # Broken off on either side: what there is belongs into the log.
                await asyncio.shield(self._finish(exchange, copy.reply(), doubt))
        return True

    async def _begin(self, exchange: Exchange, response: aiohttp.ClientResponse) -> None:
        if not self._begun:
            told = passed_back(response.raw_headers, length=not exchange.swallows)
            await self._start(response, [*told, *self._explained(exchange)])

    async def _start(self, response: aiohttp.ClientResponse, headers: Headers) -> None:
        self._begun = True
        await self._send(
            {"type": "http.response.start", "status": response.status, "headers": list(headers)}
        )

    async def _more(self, data: bytes, *, last: bool = False) -> None:
        if data or last:
            await self._send({"type": "http.response.body", "body": data, "more_body": not last})

    async def _mended(self, exchange: Exchange, error: object, doubt: Doubt) -> bool:
        known = len(exchange.doubts)
        try:
            mended = await exchange.overflowed(error)
        except Exception as fault:  # noqa: BLE001 - any fault of ours is a doubt
            doubt(f"mend: {type(fault).__name__}")
            return False
        for why in exchange.doubts[known:]:
            doubt(why)
        return mended

    async def _finish(self, exchange: Exchange, reply: Reply, doubt: Doubt) -> None:
        try:
            await exchange.finish(reply)
        except Exception as fault:  # noqa: BLE001 - any fault of ours is a doubt
            doubt(f"reply: {type(fault).__name__}")

    def _explained(self, exchange: Exchange) -> Headers:
        host = self._request.by_name.get("host", "")
        return [
            (b"x-minutebook-" + name, value.encode("latin-1", "replace"))
            for name, value in (
                (b"session", exchange.session_id),
                (b"tokens-before", str(exchange.facts.get("tokens_before", 0))),
                (b"tokens-sent", str(exchange.facts.get("tokens_sent", 0))),
                (b"compacted", "1" if exchange.rewritten else "0"),
                (b"explain", f"http://{host}/sessions/{exchange.session_id}/explain"),
            )
        ]
