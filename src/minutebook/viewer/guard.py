"""Who may ask: one browser on this machine that was shown the first address, and no other site.

Wraps the whole application, so that no page can be forgotten. Each answer gets headers that
forbid scripts and styles in the page and everything from elsewhere.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from minutebook.gateway.http import Receive, Scope, Send
from minutebook.gateway.settings import is_loopback

TOKEN = "token"  # noqa: S105 - the parameter's name
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # Not no-referrer: a browser then sends no Origin with our own forms, and that is checked.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
READS = frozenset({"GET", "HEAD"})


class Guard:
    """An ASGI application around another one, which only hears of requests that may come in."""

    def __init__(self, app: Any, token: str, *, cookie: str, path: str = "/") -> None:
        """Take the application, the token of the first address, and the cookie that it becomes.

        *path* is where the cookie is sent to. Cookies know no ports: *cookie* names ours.
        """
        self._app = app
        self._token = token
        self._cookie = cookie
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {
            bytes(name).decode("latin-1").lower(): bytes(value).decode("latin-1")
            for name, value in scope["headers"]
        }
        query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
        refused = self.refusal(scope["method"], headers, query)
        if refused:
            await _answer(send, 403, refused)
        elif TOKEN in query:
            del query[TOKEN]
            # The path as it was sent; two slashes at its beginning would be another host.
            path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
            there = "/" + path.lstrip("/\\") + (f"?{urlencode(query)}" if query else "")
            await self._let_in(send, there, headers.get("sec-fetch-site", "none"))
        else:
            await self._app(scope, receive, _with_headers(send))

    def refusal(self, method: str, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """Say why a request may not come in; empty if it may."""
        host = headers.get("host", "")
        if not _is_local(host):
            return "The Host header names another host."
        origin = headers.get("origin")
        if method not in READS and origin != f"http://{host}":
            return "The request came from another page."
        if method in READS and TOKEN in query:
            return "" if self._is_token(query[TOKEN]) else "The token is wrong."
        if not self._is_token(_cookie(headers.get("cookie", ""), self._cookie)):
            return "Open the address that the terminal shows, with its token."
        return ""

    async def _let_in(self, send: Send, there: str, came_from: str) -> None:
        """Give the cookie, and send the browser to the same address without the token.

        From a link in another site's page a redirect would go on without the new cookie, since
        that site began it. There a page of ours begins anew.
        """
        if came_from in {"none", "same-origin"}:
            await _answer(send, 303, "", [(b"location", there.encode()), self._set_cookie()])
            return
        page = f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(there)}">'
        kind = (b"content-type", b"text/html; charset=utf-8")
        await _answer(send, 200, page, [kind, self._set_cookie()])

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())

    def _set_cookie(self) -> tuple[bytes, bytes]:
        value = f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path={self._path}"
        return b"set-cookie", value.encode()


def _is_local(host: str) -> bool:
    """Tell whether a Host header names this machine, by an address or as localhost.

    Any port: one may look through a tunnel. A name that an attacker's server resolves to this
    machine is none of ours.
    """
    try:
        parts = urlsplit(f"//{host}")
        return parts.netloc == host and "@" not in host and is_loopback(parts.hostname or "")
    except ValueError:
        return False


def _cookie(header: str, name: str) -> str:
    """Give a cookie's value; empty if it is not there."""
    for pair in header.split(";"):
        key, _, value = pair.strip().partition("=")
        if key == name:
            return value
    return ""


def _with_headers(send: Send) -> Send:
    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            ours = {name for name, _ in HEADERS}
            kept = [pair for pair in message.get("headers", []) if pair[0].lower() not in ours]
            message = {**message, "headers": [*kept, *HEADERS]}
        await send(message)

    return sent


async def _answer(
    send: Send, status: int, text: str, headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    body = f"{text}\n".encode() if text else b""
    told = [(b"content-length", str(len(body)).encode()), *(headers or [])]
    if all(name != b"content-type" for name, _ in told):
        told.append((b"content-type", b"text/plain; charset=utf-8"))
    sending = _with_headers(send)
    await sending({"type": "http.response.start", "status": status, "headers": told})
    await sending({"type": "http.response.body", "body": body})
