from typing import Any

import pytest

from minutebook.gateway.http import (
    Gone,
    TooLarge,
    answer,
    answer_error,
    passed_back,
    read_body,
    read_scope,
)


def scope(*headers: tuple[str, str]) -> dict[str, Any]:
    return {
        "method": "POST",
        "path": "/v1/a b",
        "raw_path": b"/v1/a%20b",
        "query_string": b"x=1",
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }


def test_headers_go_on_but_for_those_of_the_connection_and_ours() -> None:
    """The client's key goes on as it came; what Connection names stays here."""
    request = read_scope(
        scope(
            ("Host", "h"),
            ("Authorization", "Bearer k"),
            ("Connection", "close, X-Hop"),
            ("X-Hop", "1"),
            ("X-Minutebook-Token", "t"),
            ("Accept-Encoding", "br"),
            ("Content-Length", "3"),
        )
    )

    assert request.forwarded() == [("authorization", "Bearer k"), ("accept-encoding", "br")]
    assert request.forwarded(plain=True) == [("authorization", "Bearer k")]
    assert (request.path, request.query) == ("/v1/a%20b", "x=1")
    assert "Bearer k" in request.credentials


def test_what_comes_back() -> None:
    """Repeated headers stay; an upstream cannot speak for us."""
    raw = [(b"Set-Cookie", b"a"), (b"Set-Cookie", b"b"), (b"Transfer-Encoding", b"chunked")]
    ours = (b"X-Minutebook-Session", b"s")

    assert passed_back([*raw, ours, (b"Content-Length", b"3")], length=False) == [
        (b"set-cookie", b"a"),
        (b"set-cookie", b"b"),
    ]
    assert passed_back([(b"Content-Length", b"3")]) == [(b"content-length", b"3")]


async def test_a_body_is_read_within_its_limit() -> None:
    """Too large, and gone before its end."""
    pieces: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return pieces.pop(0)

    pieces[:] = [
        {"type": "http.request", "body": b"ab", "more_body": True},
        {"type": "http.request", "body": b"c"},
    ]
    assert await read_body(receive, 3) == b"abc"
    pieces[:] = [{"type": "http.request", "body": b"abcd"}]
    with pytest.raises(TooLarge):
        await read_body(receive, 3)
    pieces[:] = [{"type": "http.disconnect"}]
    with pytest.raises(Gone):
        await read_body(receive, 3)


async def test_an_answer_tells_its_length_once() -> None:
    """Whatever the upstream said of it."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await answer(send, 200, b"abc", [(b"content-length", b"9"), (b"a", b"b")])
    await answer_error(send, "messages", 413, "large")

    assert sent[0]["headers"] == [(b"a", b"b"), (b"content-length", b"3")]
    assert b"minutebook: large" in sent[3]["body"]
