"""Generated sessions, each sent to a strict server in the shapes of all four providers.

`python -m benchmarks.providers --sessions 10000`: parallel calls, interruptions, late and doubled
results, odd ids, pictures, thinking of every maker, custom tools, reverts, compactions and
restarts in between. Counts the requests and what the providers' rules have against them.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import socket
import time
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

import minutebook
from minutebook.messages import (
    Function,
    ImagePart,
    MediaUrl,
    Message,
    TextPart,
    ThinkPart,
    ToolCall,
    user,
)
from minutebook.providers.view import View
from minutebook.reports import Settings
from minutebook.session import Session
from minutebook.store.memory import MemoryStore, Shelf
from minutebook.testing.server import ProviderServer

WINDOW = 6_000
WORDS = (
    "the build fails",
    "line 7",
    "src/lexer.py",
    "现在开始",
    "🚀",
    "half \ud83d",
    " ",
    "exit 2",
)
PICTURE = "data:image/png;base64,iVBORw0KGgo="
CIPHERS = (None, "ErUB", "gAAAAx", "gemini:c2ln")
HEADERS = {
    "content-type": "application/json",
    "authorization": "Bearer k",
    "x-api-key": "k",
    "x-goog-api-key": "k",
    "anthropic-version": "2023-06-01",
}


class Request(NamedTuple):
    """A request of one provider's."""

    path: str
    body: dict[str, Any]


def text(random: Random, most: int = 40) -> str:
    """Write something."""
    return " ".join(random.choice(WORDS) for _ in range(random.randint(0, most)))


def reply(random: Random, number: int) -> Message:
    """Make a reply: thinking at any place, calls of both kinds, ids that repeat."""
    parts: list[Any] = []
    for _ in range(random.randint(0, 3)):
        thinks = random.random() < 0.4
        part = (
            ThinkPart(text(random, 5), random.choice(CIPHERS)) if thinks else TextPart(text(random))
        )
        parts.append(part)
    calls = [
        ToolCall(
            random.choice(("function", "function", "custom")),
            random.choice((f"call_{number}_{index}", "Shell:0", "", "x" * 70, "é")),
            Function(
                random.choice(("Shell", "odd name!", "1st")),
                random.choice(('{"a": 1}', "{broken", "", "null", "free text")),
            ),
        )
        for index in range(random.randint(0, 3))
    ]
    return Message("assistant", tuple(parts), tool_calls=tuple(calls) or None)


def results(random: Random, calls: Iterable[ToolCall]) -> list[Message]:
    """Answer some of the calls, once or twice, in any order, with words or a picture."""
    found = []
    for call in calls:
        for _ in range(random.choice((0, 1, 1, 1, 1, 2))):
            shown = ImagePart(MediaUrl(PICTURE))
            content: Any = (shown,) if random.random() < 0.1 else text(random)
            found.append(Message("tool", content, tool_call_id=call.id))
    random.shuffle(found)
    return found


async def step(session: Session, random: Random, number: int) -> None:
    """Do one thing that happens to sessions."""
    match random.randint(0, 9):
        case 0:
            await session.append(user(text(random)))
        case 1:
            await session.append(Message(random.choice(("system", "developer")), text(random)))
        case 2 if session.context.next_checkpoint_id:
            number = random.randrange(session.context.next_checkpoint_id)
            try:
                await session.revert(number)
            except minutebook.CheckpointNotFound:
                return
        case 3:
            try:
                await session.compact(target=random.choice((0.2, 0.5)))
            except minutebook.MinutebookError:
                return
        case 4:
            session.replay()
        case _:
            await session.checkpoint()
            said = reply(random, number)
            await session.append(said, *results(random, said.calls))


async def grown(seed: int) -> View:
    """Let a session live, and give its view."""
    random = Random(seed)
    settings = Settings.of(
        window=WINDOW, model=None, tools=(), max_output=None, preset_name="default"
    )
    session = Session(await MemoryStore.open(Shelf()), settings, clock=lambda: 5.0)
    session.replay()
    await session.set_system_prompt("You mend builds.")
    for number in range(random.randint(1, 14)):
        await step(session, random, number)
    return session.view()


def requests(view: View) -> list[Request]:
    """Spell a view for every provider."""
    schema = {"type": "object", "properties": {}}
    tools = [{"name": "Shell", "description": "Run.", "input_schema": schema}]
    anthropic = {"model": "claude", "max_tokens": 100, "tools": tools}
    return [
        Request("/v1/chat/completions", {"model": "gpt", "messages": view.to_openai()}),
        Request("/v1/responses", {"model": "gpt", **view.to_responses()}),
        Request("/v1/messages", {**anthropic, **view.to_anthropic()}),
        Request("/v1/messages", {**anthropic, **view.to_anthropic(cache=True)}),
        Request("/v1beta/models/gemini-2.5-pro:generateContent", view.to_gemini()),
        Request(
            "/v1beta/models/gemini-3-pro-preview:generateContent",
            view.to_gemini(model="gemini-3-pro-preview"),
        ),
    ]


def violations(count: int, *, first: int = 0) -> Counter[str]:
    """Send so many sessions to the server; count what it has against them, and the requests."""
    found: Counter[str] = Counter()
    with ProviderServer(always="ok", window_tokens=10_000_000) as server:
        host, _, port = server.anthropic_url.removeprefix("http://").partition(":")
        connection = http.client.HTTPConnection(host, int(port))
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for seed in range(first, first + count):
            for path, body in requests(asyncio.run(grown(seed))):
                data = json.dumps(body, ensure_ascii=False).encode()
                connection.request("POST", path, data, HEADERS)
                answer = connection.getresponse()
                told = answer.read()
                found["requests"] += 1
                if answer.status != 200:
                    found[f"{path}: {told.decode()[:200]} (seed {seed})"] += 1
            server.received.clear()
        connection.close()
    return found


def main() -> None:
    """Run the campaign and print what it came to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    begun = time.monotonic()
    found = violations(options.sessions, first=options.first)
    sent = found.pop("requests")
    print(f"{options.sessions} sessions, {sent} requests, {time.monotonic() - begun:.0f} s")
    print(f"{found.total()} violations")
    for what, count in found.most_common(20):
        print(f"  {count} × {what}")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
