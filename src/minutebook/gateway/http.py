"""HTTP as the gateway needs it: a client's request read within limits, and answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from msgspec import Struct

from minutebook.gateway.wires import Api, error_body

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = Sequence[tuple[bytes, bytes]]

HOP_BY_HOP = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te"),
        *(b"trailer", b"transfer-encoding", b"upgrade", b"proxy-connection"),
    )
)
OURS = b"x-minutebook-"


class TooLarge(Exception):
    """A body is larger than is allowed."""


class Gone(Exception):
    """The client has gone away."""


class Request(Struct, frozen=True, kw_only=True):
    """A client's request without its body."""

    method: str
    path: str
    """As it was sent, still quoted."""
    query: str
    headers: Headers
    by_name: Mapping[str, str]

    @property
    def credentials(self) -> str:
        """Give the client's own key, whichever header it came in."""
        return "\n".join(
            self.by_name.get(name, "") for name in ("authorization", "x-api-key", "api-key")
        )

    def forwarded(self, *, plain: bool = False) -> list[tuple[str, str]]:
        """Give the headers that go upstream; *plain* asks for a body without encoding."""
        dropped = {*HOP_BY_HOP, b"host", b"content-length", b"expect"}
        dropped |= {name.strip().lower().encode() for name in self._connection()}
        if plain:
            dropped.add(b"accept-encoding")
        return [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in self.headers
            if name not in dropped and not name.startswith(OURS)
        ]

    def _connection(self) -> Iterable[str]:
        return filter(None, self.by_name.get("connection", "").split(","))


def read_scope(scope: Scope) -> Request:
    """Read what the server has read."""
    headers = [(bytes(name).lower(), bytes(value)) for name, value in scope["headers"]]
    raw = scope.get("raw_path") or scope["path"].encode()
    return Request(
        method=scope["method"],
        path=raw.partition(b"?")[0].decode("latin-1"),
        query=scope.get("query_string", b"").decode("latin-1"),
        headers=headers,
        by_name={name.decode("latin-1"): value.decode("latin-1") for name, value in headers},
    )


async def read_body(receive: Receive, bytes_max: int) -> bytes:
    """Read a request's body.

    Raises:
        TooLarge: If it is larger than *bytes_max*.
        Gone: If the client goes away before its end.
    """
    pieces, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        piece = message.get("body", b"")
        size += len(piece)
        if size > bytes_max:
            raise TooLarge
        pieces.append(piece)
        if not message.get("more_body"):
            return b"".join(pieces)


def passed_back(headers: Iterable[tuple[bytes, bytes]], *, length: bool = True) -> Headers:
    """Give the headers of an upstream's answer that go to the client."""
    dropped = HOP_BY_HOP if length else {*HOP_BY_HOP, b"content-length"}
    return [
        (name.lower(), value)
        for name, value in headers
        if name.lower() not in dropped and not name.lower().startswith(OURS)
    ]


async def answer(
    send: Send,
    status: int,
    body: bytes,
    headers: Headers = ((b"content-type", b"application/json"),),
) -> None:
    """Send a whole answer."""
    length = (b"content-length", str(len(body)).encode())
    told = [(name, value) for name, value in headers if name != b"content-length"]
    await send({"type": "http.response.start", "status": status, "headers": [*told, length]})
    await send({"type": "http.response.body", "body": body})


async def answer_error(send: Send, api: Api, status: int, message: str) -> None:
    """Send an error of ours in the shape of the API."""
    await answer(send, status, error_body(api, status, f"minutebook: {message}"))
