"""The gateway as an ASGI application: requests in, the provider's answers back.

Whatever goes wrong on our side of a request is a doubt: counted, logged without content, and the
request goes through untouched.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import Counter
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import msgspec

from minutebook.errors import ConfigError, FormatError
from minutebook.gateway.asking import Asked, read_request
from minutebook.gateway.book import Book
from minutebook.gateway.costs import costs
from minutebook.gateway.exchange import counted, exchanging
from minutebook.gateway.http import (
    Gone,
    Receive,
    Request,
    Scope,
    Send,
    TooLarge,
    answer,
    answer_error,
    read_body,
    read_scope,
)
from minutebook.gateway.metering import PAGE, make_metrics, measure
from minutebook.gateway.passing import Passing
from minutebook.gateway.settings import Settings, refusal
from minutebook.gateway.watching import is_for_ui, make_ui
from minutebook.gateway.wires import Route, route_of

if TYPE_CHECKING:
    import aiohttp

LOG = logging.getLogger("minutebook.gateway")
ACCESS = logging.getLogger("minutebook.gateway.access")

CONNECT_SECONDS_MAX = 10
JSON_ONLY = (
    (b"content-type", b"application/json"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)
"""The headers of what a browser may open: it is data, never a page."""

_EXPLAIN = re.compile(r"/sessions/([a-z]+-[0-9a-f]{32})/explain")
_NAME_CHARACTERS_MAX = 512


class Gateway:
    """The application. Make one for each process."""

    def __init__(self, settings: Settings) -> None:
        """Take checked settings; the lifespan opens and closes what is needed."""
        self.settings = settings
        self.metrics = make_metrics(settings)
        self.book = Book(settings, self.metrics)
        self.ui = make_ui(settings)
        self.doubts: Counter[str] = Counter()
        self.requests = 0
        self._active = 0
        self._client: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's scope."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http" and self.ui is not None and is_for_ui(scope["path"]):
            await self.ui.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve(read_scope(scope), receive, send)

    async def start(self) -> None:
        """Open the root and the client."""
        try:
            import aiohttp
        except ImportError as error:
            remedy = "install it with: pip install 'minutebook[gateway]'"
            raise ConfigError("gateway", f"needs an extra; {remedy}") from error
        if self.settings.sessions:
            self.book.start()
        self._client = aiohttp.ClientSession(
            auto_decompress=False,
            connector=aiohttp.TCPConnector(limit=0, enable_cleanup_closed=False),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            timeout=aiohttp.ClientTimeout(
                total=None,
                sock_connect=CONNECT_SECONDS_MAX,
                sock_read=self.settings.seconds_max,
            ),
        )

    async def stop(self) -> None:
        """Close them."""
        if self._client is not None:
            await self._client.close()
            self._client = None
        await self.book.close()

    def doubt(self, why: str) -> None:
        """Count and log that a request goes through untouched."""
        self.doubts[why] += 1
        LOG.warning("passed through untouched: %s", why)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.start()
        except Exception as error:  # noqa: BLE001 - the server stops with these words
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, request: Request, receive: Receive, send: Send) -> None:
        began, told = time.monotonic(), {"status": 0}

        async def noted(message: Scope) -> None:
            if message["type"] == "http.response.start":
                told["status"] = message["status"]
            await send(message)

        self.requests += 1
        try:
            await self._admit(request, receive, noted)
        except Gone:
            pass
        finally:
            spent = (time.monotonic() - began) * 1000
            known = route_of(request.path)
            shown = request.path if known.recorded or known.counting else "(other)"
            ACCESS.info("%s %s %s %.1f ms", request.method, shown, told["status"], spent)

    async def _admit(self, request: Request, receive: Receive, send: Send) -> None:
        """Refuse who may not come in and what is too much; then route."""
        name, path = self._named_upstream(request.path)
        anthropic = "anthropic-version" in request.by_name or name == "anthropic"
        route = route_of(path, anthropic=anthropic)
        refused = refusal(self.settings, request.by_name)
        if refused is not None:
            await answer_error(send, route.api, *refused)
            return
        if request.method == "GET" and await self._own(request, send):
            return
        base = self._base(name, route)
        if base is None:
            await answer_error(send, route.api, 404, "no upstream is named for this path")
            return
        if self._active >= self.settings.requests_max:
            limit = self.settings.requests_max
            await answer_error(send, route.api, 503, f"{limit} requests are under way; try later")
            return
        self._active += 1
        try:
            body = await read_body(receive, self.settings.body_bytes_max)
            url = joined(base, path) + (f"?{request.query}" if request.query else "")
            await self._pass(request, route, url, body, receive, send)
        except TooLarge:
            most = self.settings.body_bytes_max
            await answer_error(send, route.api, 413, f"the body is larger than {most} bytes")
        finally:
            self._active -= 1

    async def _own(self, request: Request, send: Send) -> bool:
        """Answer what is asked of the gateway itself; tell whether it was."""
        if request.path in {"/health", "/ready"}:
            ready = self._client is not None and (not self.settings.sessions or self.book.is_ready)
            fine = ready or request.path == "/health"
            told = {
                "status": "ok" if fine else "not ready",
                "requests": self.requests,
                "active": self._active,
                "doubts": dict(self.doubts),
            }
            await answer(send, 200 if fine else 503, msgspec.json.encode(told), JSON_ONLY)
            return True
        if request.path == "/metrics" and self.metrics is not None:
            await answer(send, 200, self.metrics.page(), PAGE)
            return True
        if not request.path.startswith("/sessions/"):
            return False
        found = _EXPLAIN.fullmatch(request.path)
        held = self.book.held.get(found[1]) if found else None
        if held is None:
            await answer_error(send, "chat", 404, "no session of that name is open")
            return True
        notes = [dict(one) for one in held.requests]
        # The prices are loaded at the first of these, which takes a moment: not in the loop.
        priced = await asyncio.to_thread(lambda: [{**one, **costs(one)} for one in notes])
        facts = {"session": held.track.session, "requests": priced}
        data = msgspec.json.encode(facts).replace(b"<", b"\\u003c")
        await answer(send, 200, data, JSON_ONLY)
        return True

    def _named_upstream(self, path: str) -> tuple[str, str]:
        """Take an upstream's name off a path that begins with one."""
        name, _, rest = path[1:].partition("/")
        return (name, f"/{rest}") if name in self.settings.upstream and rest else ("", path)

    def _base(self, name: str, route: Route) -> str | None:
        upstream = self.settings.upstream
        if name:
            return upstream[name]
        found = upstream.get("anthropic" if route.api == "messages" else "openai")
        return found if found or len(upstream) > 1 else next(iter(upstream.values()))

    async def _pass(
        self,
        request: Request,
        route: Route,
        url: str,
        body: bytes,
        receive: Receive,
        send: Send,
    ) -> None:
        client = self._client
        assert client is not None
        passing = Passing(client, request, route, url, receive, send)
        namespace = self.book.namespace(request.credentials) if self.settings.sessions else ""
        name = request.by_name.get("x-minutebook-session", "")[:_NAME_CHARACTERS_MAX]
        asked = self._asked(request, route, body)
        if asked is None:
            await passing.untouched(body)
            return
        if route.counting:
            try:
                body = counted(self.book, asked, namespace, name) or body
            except Exception as error:  # noqa: BLE001 - any fault of ours is a doubt
                self.doubt(f"count: {type(error).__name__}")
            await passing.untouched(body)
            return
        async with AsyncExitStack() as stack:
            try:
                exchange = await stack.enter_async_context(
                    exchanging(self.book, asked, namespace, name)
                )
            except Exception as error:  # noqa: BLE001 - any fault of ours is a doubt
                self.doubt(f"record: {type(error).__name__}")
                exchange = None
            if exchange is None:
                await passing.untouched(body)
                return
            for why in exchange.doubts:
                self.doubt(why)
            await passing.recorded(exchange, body, self.doubt)
        if self.metrics is not None:
            await measure(self.metrics, exchange.facts)

    def _asked(self, request: Request, route: Route, body: bytes) -> Asked | None:
        """Read a model call; None for what passes through untouched."""
        if not self.settings.sessions or request.method != "POST":
            return None
        if not (route.recorded or route.counting):
            return None
        if "content-encoding" in request.by_name:
            self.doubt("encoded request")
            return None
        try:
            asked = read_request(route.api, body)
            if asked.is_plain and "conversation" not in asked.fields:
                return asked
            self.doubt("request of another kind")
        except FormatError:
            self.doubt("unreadable request")
        except Exception as error:  # noqa: BLE001 - any fault of ours is a doubt
            self.doubt(f"read: {type(error).__name__}")
        return None


def joined(base: str, path: str) -> str:
    """Join a base URL and a path; a version that stands in both stands once."""
    base = base.rstrip("/")
    if base.endswith("/v1") and path.startswith("/v1/"):
        path = path.removeprefix("/v1")
    return base + path
