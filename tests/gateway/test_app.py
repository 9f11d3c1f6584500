import pytest

pytest.importorskip("aiohttp", reason="needs the extra gateway")
pytest.importorskip("uvicorn", reason="needs the extra gateway")

# isort: split
import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minutebook.gateway.app import Gateway, joined
from minutebook.gateway.settings import make_settings
from minutebook.testing.server import ProviderServer
from tests.gateway.support import ANTHROPIC, KEY, Running, running, user

CHAT = "/v1/chat/completions"


async def test_each_conversation_is_a_session(tmp_path: Path) -> None:
    """The upstream gets the client's own bytes; the log what was said."""
    with ProviderServer(["one", "two"]) as upstream:
        async with running(tmp_path, upstream) as gateway:
            first = await gateway.chat(user("hi"))
            await gateway.chat(user("hi"), first, user("more"), temperature=0)

            assert list(gateway.texts().values()) == [["hi", "one", "more", "two"]]
            assert not gateway.gateway.doubts
        upstream.check()
        assert upstream.received[1].body["temperature"] == 0
        assert upstream.received[1].headers["authorization"] == KEY["authorization"]


async def test_parallel_conversations_are_never_mixed_up(tmp_path: Path) -> None:
    """Each log equals what its client saw."""

    async def talk(gateway: Running, number: int) -> list[str]:
        messages: list[dict[str, Any]] = []
        for turn in range(3):
            messages.append(user(f"{number} {turn}"))
            messages.append(await gateway.chat(*messages))
        return [one["content"] for one in messages]

    def echo(body: Any) -> Any:
        from minutebook.testing.scripted import Answer

        return Answer(text=f"to {body['messages'][-1]['content']}")

    with ProviderServer(always=echo) as upstream:
        async with running(tmp_path, upstream) as gateway:
            seen = await asyncio.gather(*(talk(gateway, number) for number in range(5)))

            assert sorted(gateway.texts().values()) == sorted(seen)


async def test_the_key_and_the_content_are_in_no_log_line_and_the_key_in_no_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even where something goes wrong."""
    caplog.set_level(logging.DEBUG, "minutebook.gateway")
    with ProviderServer(["a reply"]) as upstream:
        async with running(tmp_path, upstream) as gateway:
            await gateway.chat(user("a telling question"))
            await gateway.ask(CHAT, b'{"broken telling')
            await gateway.ask("/v1/telling", b"{}")

    assert "unreadable request" in caplog.text
    assert "POST /v1/chat/completions 200" in caplog.text
    assert "telling" not in caplog.text
    assert "key-of-the-client" not in caplog.text
    assert b"key-of-the-client" not in everything(tmp_path)


def everything(root: Path) -> bytes:
    return b"".join(one.read_bytes() for one in root.rglob("*") if one.is_file())


async def test_requests_of_other_sites_are_refused(tmp_path: Path) -> None:
    """In the shape of the API; nothing goes upstream."""
    with ProviderServer() as upstream:
        async with running(tmp_path, upstream) as gateway:
            status, data, _ = await gateway.ask(CHAT, b"{}", {"origin": "https://other.example"})
            assert (status, "error" in json.loads(data)) == (403, True)
            status, data, _ = await gateway.ask(
                "/v1/messages", b"{}", {"host": "rebound.example", **ANTHROPIC}
            )
            assert (status, json.loads(data)["type"]) == (403, "error")
        assert upstream.received == []


async def test_a_token_lets_in(tmp_path: Path) -> None:
    """It does not go upstream."""
    with ProviderServer(["x"]) as upstream:
        async with running(tmp_path, upstream, token="word") as gateway:
            assert (await gateway.ask(CHAT, b"{}"))[0] == 401
            await gateway.chat(user("a"), headers={**KEY, "x-minutebook-token": "word"})
        assert "x-minutebook-token" not in upstream.received[0].headers


async def test_limits_have_clear_errors(tmp_path: Path) -> None:
    """A body that is too large, too many requests at once."""
    with ProviderServer() as upstream:
        async with running(tmp_path, upstream, body_bytes_max=10, requests_max=1) as gateway:
            status, data, _ = await gateway.ask("/v1/messages", b"x" * 11)
            assert (status, json.loads(data)["error"]["type"]) == (413, "request_too_large")
            gateway.gateway._active = 1
            status, data, _ = await gateway.ask(CHAT, b"{}")
            assert status == 503
            assert b"1 requests" in data
            gateway.gateway._active = 0


async def test_what_is_asked_of_the_gateway_itself(tmp_path: Path) -> None:
    """Health, readiness, and what was done to a session's requests."""
    with ProviderServer(["x"]) as upstream:
        async with running(tmp_path, upstream) as gateway:
            body = {"model": "m", "messages": [user("secret words")]}
            _, _, headers = await gateway.ask(CHAT, body)
            url = headers["x-minutebook-explain"].removeprefix(gateway.url)
            status, data, _ = await gateway.ask(url, b"", method="GET")
            told = json.loads(data)

            assert status == 200
            assert told["session"] == headers["x-minutebook-session"]
            assert told["requests"][0]["compacted"] is False
            assert b"secret words" not in data
            for path, expected in (
                ("/health", 200),
                ("/ready", 200),
                ("/sessions/../x", 404),
                (f"/sessions/chain-{'0' * 32}/explain", 404),
                ("/sessions/<script>/explain", 404),
            ):
                status, data, _ = await gateway.ask(path, b"", method="GET")
                assert status == expected
                # C120: nothing that a client named comes back as a page.
                assert b"<" not in data


async def test_c120_explain_is_data_and_never_a_page(tmp_path: Path) -> None:
    """C120: what a client stored is not shown, and a name with a script is no session."""
    script = "<script>document.title='XSS'</script>"
    with ProviderServer(["x"]) as upstream:
        async with running(tmp_path, upstream) as gateway:
            headers = {**KEY, "x-minutebook-session": script}
            body = {"model": script, "messages": [user(script)]}
            _, _, told = await gateway.ask(CHAT, body, headers)
            url = told["x-minutebook-explain"].removeprefix(gateway.url)
            _, data, explained = await gateway.ask(url, b"", method="GET")

            assert script not in json.dumps(dict(told))
            assert explained["Content-Type"] == "application/json"
            assert explained["X-Content-Type-Options"] == "nosniff"
            assert b"<" not in data


async def test_a_fault_of_ours_is_a_doubt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, a bug: the request goes through untouched."""
    with ProviderServer(always="fine") as upstream:
        async with running(tmp_path, upstream) as gateway:
            monkeypatch.setattr(gateway.gateway.book, "note", broken)
            assert (await gateway.chat(user("a")))["content"] == "fine"
            monkeypatch.undo()
            await gateway.chat(user("b"))

            assert gateway.gateway.doubts == {"record: OSError": 1}
            _, data, _ = await gateway.ask("/health", b"", method="GET")
            assert json.loads(data)["doubts"] == {"record: OSError": 1}


def broken(*_: object) -> None:
    raise OSError(28, "no space left")


async def test_a_named_upstream_serves_below_its_name(tmp_path: Path) -> None:
    """And nothing else is reached."""
    with ProviderServer(["x"]) as upstream:
        named = {"other": upstream.openai_url, "second": "http://127.0.0.1:1"}
        async with running(tmp_path, upstream, upstream=named) as gateway:
            body = {"model": "m", "messages": [user("a")]}
            assert (await gateway.ask("/other" + CHAT, body))[0] == 200
            assert (await gateway.ask(CHAT, body))[0] == 404
            status, data, _ = await gateway.ask("/second" + CHAT, body)
            assert (status, b"cannot be reached" in data) == (502, True)


async def test_without_sessions_nothing_is_kept(tmp_path: Path) -> None:
    """A bare pass-through."""
    with ProviderServer(["x"]) as upstream:
        async with running(tmp_path / "root", upstream, sessions=False) as gateway:
            await gateway.chat(user("a"))
            assert (await gateway.ask("/ready", b"", method="GET"))[0] == 200
    assert everything(tmp_path) == b""


BODIES = st.binary(max_size=30) | st.dictionaries(
    st.sampled_from(["messages", "input", "model", "stream", "tools", "max_tokens", "n"]),
    st.recursive(
        st.none() | st.booleans() | st.integers(-1, 3) | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["role", "content", "type"]), inner)
        ),
        max_leaves=6,
    ),
).map(msgspec.json.encode)
PATHS = st.sampled_from(
    [CHAT, "/v1/messages", "/v1/responses", "/v1/messages/count_tokens", "/v1/models", "/", "/x%2F"]
)


async def test_any_request_gets_the_upstreams_own_answer(tmp_path: Path) -> None:
    """Broken JSON, strange JSON, any path: never an error of ours."""
    loop = asyncio.get_running_loop()
    with ProviderServer(always="x") as upstream:
        async with running(tmp_path, upstream) as gateway:

            @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
            @given(PATHS, BODIES)
            def check(path: str, body: bytes) -> None:
                asking = gateway.ask(path, body, {**KEY, **ANTHROPIC, "connection": "close"})
                status, data, _ = asyncio.run_coroutine_threadsafe(asking, loop).result(5)
                assert status in {200, 400, 404}
                assert b"minutebook" not in data

            await asyncio.to_thread(check)
            faults = [why for why in gateway.gateway.doubts if why.startswith("record")]
            assert faults == []


async def test_a_root_that_cannot_be_made_stops_the_start(tmp_path: Path) -> None:
    """With the reason; nothing is served."""
    (tmp_path / "file").write_bytes(b"")
    gateway = Gateway(
        make_settings({"upstream": {"openai": "http://x"}, "root": str(tmp_path / "file" / "root")})
    )
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "lifespan.startup"}

    async def send(message: Any) -> None:
        sent.append(message)

    await gateway({"type": "lifespan"}, receive, send)

    assert sent[0]["type"] == "lifespan.startup.failed"


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("http://a", "/v1/x", "http://a/v1/x"),
        ("http://a/v1/", "/v1/x", "http://a/v1/x"),
        ("http://a/api/v1", "/v1/x", "http://a/api/v1/x"),
        ("http://a/v1", "/x", "http://a/v1/x"),
    ],
)
def test_a_version_stands_once(base: str, path: str, url: str) -> None:
    """Whether the base URL has it or not."""
    assert joined(base, path) == url
