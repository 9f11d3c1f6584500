"""A strict provider on the loopback interface: OpenAI's two APIs, Anthropic's and Gemini's.

`with ProviderServer([...]) as server:` listens on a free port and stops by itself. Point the
real SDKs at `server.openai_url`, and those of the others at `server.anthropic_url`. Every
request is recorded and checked by the provider's rules; one that breaks a rule, or is larger
than the window, is answered with status 400 in the provider's own error shape and takes no step
of the script. Streams and whole replies (of Gemini whole ones), and counting tokens for
Anthropic.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from minutebook.testing import rules, wire
from minutebook.testing.dialects import COUNT_PATH, MESSAGES_PATH, Dialect, dialect_of
from minutebook.testing.scripted import Answer, Failure, Script, ScriptError, Step, as_step
from minutebook.tokens.estimate import MESSAGE_OVERHEAD_TOKENS, estimate_json

Body = dict[str, Any]
_MESSAGES = ("messages", "input", "contents")
_FIXED = ("system", "instructions", "systemInstruction", "tools")


class Received(Struct, frozen=True, kw_only=True):
    """One request, and how it was answered."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: Body
    tokens: int
    """What the server counts it as: its own estimate, never the client's word."""
    violations: tuple[str, ...]
    """The provider's rules that it breaks; each such request was answered with 400."""
    status: int


class ProviderServer:
    """The server. A context manager; a thread of its own for each connection."""

    def __init__(
        self,
        steps: Iterable[Step | str] = (),
        *,
        always: Step | str | None = None,
        window_tokens: int = 200_000,
        kimi: bool = False,
    ) -> None:
        """Take the script (a text is an answer with that text) and the model's window.

        *kimi* allows in Chat Completions what Moonshot's API takes beyond OpenAI's.
        """
        self.script = Script(
            map(as_step, steps), always=None if always is None else as_step(always)
        )
        self.window_tokens = window_tokens
        self.kimi = kimi
        self.received: list[Received] = []
        self.stopping = threading.Event()
        self._lock = threading.Condition()
        self._holds: list[threading.Event] = []
        self._http = _Listener(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def anthropic_url(self) -> str:
        """What Anthropic's SDK takes for its base URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """What OpenAI's SDK takes for its base URL."""
        return f"{self.anthropic_url}/v1"

    def __enter__(self) -> Self:
        """Begin to listen."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let everybody go who is held, and close every connection."""
        self.stopping.set()
        with self._lock:
            for held in self._holds:
                held.set()
        self._http.shutdown()
        self._http.close_connections()
        self._http.server_close()
        self._thread.join()

    def check(self) -> None:
        """Raise if a request broke a rule, or a step of the script was not taken.

        Raises:
            ScriptError: Naming them.
        """
        broken = [f"{one.path}: {what}" for one in self.received for what in one.violations]
        if self.script.left:
            broken.append(f"{self.script.left} steps of the script were not taken")
        if broken:
            raise ScriptError("; ".join(broken))

    def receive(self, received: Received) -> int:
        """Note a request down; give its number, from 1."""
        with self._lock:
            self.received.append(received)
            self._lock.notify_all()
            return len(self.received)

    def wait(self, count: int) -> None:
        """Wait until so many requests have come in: blocks, so call it in a thread.

        `await asyncio.to_thread(server.wait, 1)`
        """
        with self._lock:
            self._lock.wait_for(lambda: len(self.received) >= count)

    def hold(self, event: threading.Event | None) -> None:
        """Wait until *event* is set or the server stops."""
        if event is None:
            return
        with self._lock:
            self._holds.append(event)
            if self.stopping.is_set():
                event.set()
        event.wait()


class _Listener(ThreadingHTTPServer):
    """Knows its open connections, so that it can end them."""

    daemon_threads = False
    block_on_close = True

    def __init__(self, provider: ProviderServer) -> None:
        self.provider = provider
        self._open: set[socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        with self._open_lock:
            for connection in self._open:
                try:
                    connection.shutdown(SHUT_RDWR)
                except OSError:
                    continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that goes away in the middle is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"
    # Head and body go out in two writes: the second is not to wait for the first one's receipt.
    disable_nagle_algorithm = True
    server: _Listener

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Know no resource."""
        self._send(404, wire.openai_error(404, f"no resource at {self.path}"))

    def do_POST(self) -> None:
        """Check a request and answer it."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        spoken = dialect_of(path)
        if spoken is None:
            self._send(404, wire.openai_error(404, f"no resource at {path}"))
            return
        body, found = _decode(raw)
        tokens = count_tokens(body)
        if not found:
            found = self._violations(spoken, path, body)
        error: tuple[int, Body] | None = None
        if found:
            error = 400, spoken.error(400, "; ".join(found))
        elif path != COUNT_PATH:
            error = self._overflow(spoken, body, tokens)
        outcome = None
        if error is None and path != COUNT_PATH:
            outcome = self._next(body)
        status = error[0] if error else outcome.status if isinstance(outcome, Failure) else 200
        number = self.server.provider.receive(
            Received(
                path=path,
                headers={name.lower(): value for name, value in self.headers.items()},
                body=body,
                tokens=tokens,
                violations=tuple(found),
                status=status,
            )
        )
        if error is not None:
            self._send(*error)
        elif path == COUNT_PATH:
            self._send(200, {"input_tokens": tokens})
        elif isinstance(outcome, Failure):
            self._fail(spoken, outcome)
        elif outcome is not None:
            known = {
                "model": spoken.model or body["model"],
                "input_tokens": tokens,
                "number": number,
            }
            self._answer(spoken, outcome, body, known)

    def _violations(self, spoken: Dialect, path: str, body: Body) -> list[str]:
        if path == COUNT_PATH:
            found = rules.anthropic_violations(body, counting=True)
        else:
            found = spoken.violations(body, self.server.provider.kimi)
        if path.startswith(MESSAGES_PATH) and not self.headers.get("anthropic-version"):
            found.append("anthropic-version: header is required")
        if not any(self.headers.get(name) for name in spoken.key_headers):
            found.append("no key")
        return found

    def _overflow(self, spoken: Dialect, body: Body, tokens: int) -> tuple[int, Body] | None:
        window, output = self.server.provider.window_tokens, rules.output_limit(body)
        return None if tokens + output <= window else (400, spoken.overflow(tokens, output, window))

    def _next(self, body: Body) -> Answer | Failure:
        try:
            return self.server.provider.script.next(body)
        except ScriptError as error:
            return Failure(status=500, message=str(error), headers={"x-should-retry": "false"})

    def _fail(self, spoken: Dialect, failure: Failure) -> None:
        self.server.provider.hold(failure.hold)
        body = (
            spoken.error(failure.status, failure.message) if failure.body is None else failure.body
        )
        if failure.in_stream:
            anthropic = self.path.startswith(MESSAGES_PATH)
            self._stream([wire.error_event(body, anthropic=anthropic)])
        else:
            self._send(failure.status, body, failure.headers)

    def _answer(self, spoken: Dialect, answer: Answer, body: Body, known: Body) -> None:
        self.server.provider.hold(answer.hold)
        if not body.get("stream") or spoken.events is None:
            self._send(200, spoken.whole(answer, **known), broken_after=answer.broken_after)
            return
        found = list(spoken.events(answer, body=body, **known))
        self._stream(found if answer.broken_after is None else found[: answer.broken_after])

    def _send(
        self,
        status: int,
        body: object,
        headers: Mapping[str, str] | None = None,
        *,
        broken_after: int | None = None,
    ) -> None:
        """Send a whole body; of a broken one only the beginning, though all was announced."""
        if isinstance(body, str | bytes):
            data, kind = body.encode() if isinstance(body, str) else body, "text/plain"
        else:
            data, kind = json.dumps(body, ensure_ascii=False).encode(), "application/json"
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if broken_after is not None:
            self.close_connection = True
        self.end_headers()
        self.wfile.write(data if broken_after is None else data[:broken_after])

    def _stream(self, events: Sequence[str]) -> None:
        """Send events; the connection's end is the stream's, so a broken one just ends early."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.close_connection = True
        self.end_headers()
        for event in events:
            self.wfile.write(event.encode())
            self.wfile.flush()


def count_tokens(body: Mapping[str, Any]) -> int:
    """Count a request by the estimate: its system text, its tools, and each message."""
    messages = next((body[key] for key in _MESSAGES if key in body), None)
    tokens = sum(estimate_json(body[key]) for key in _FIXED if body.get(key) is not None)
    if isinstance(messages, str):
        messages = [messages]
    for message in messages if isinstance(messages, list) else []:
        shown = (
            {key: value for key, value in message.items() if key != "role"}
            if isinstance(message, Mapping)
            else message
        )
        tokens += MESSAGE_OVERHEAD_TOKENS + estimate_json(shown)
    return tokens


def _decode(raw: bytes) -> tuple[Body, list[str]]:
    """Decode a body strictly; what is no JSON object is a violation."""
    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return {}, [f"the body is no JSON: {error}"]
    return (body, []) if isinstance(body, dict) else ({}, ["the body is no object"])


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
