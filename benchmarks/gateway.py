"""What the gateway costs beside a bare pass-through of the same stack.

`python -m benchmarks.gateway [--rounds N] [--messages 2,200,10000] [--clients 1,16]`
`python -m benchmarks.gateway --campaign 200 --requests 100 [--kill-seconds 3]`

Both gateways and the upstream are processes of their own; the client sends to each in turn, so
that what disturbs one disturbs the other. Every request goes on with its conversation: two
messages are new, all the others are known. The floor is the gateway with `--no-sessions`; the
gateway itself keeps sessions with durability on.

The campaign has many conversations at once, streaming, with one gateway, which is killed and
started again every few seconds if that is said. At its end the log of each conversation has to
equal what its client saw.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

import minutebook
from minutebook.gateway.app import Gateway
from minutebook.gateway.serving import bound, make_server
from minutebook.gateway.settings import make_settings

REPLY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "A reply of a few words, as they come."},
        }
    ],
}
TEXT = "A message of about a line, with the words that a person would say to an agent. "
KEEPS = True
WINDOW = 10_000_000
"""So large that nothing is compacted: what is measured is keeping, not shrinking."""


def upstream(told: Connection) -> None:
    """Answer every request with the same reply, at once."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        data = b"".join([piece async for piece in request.content.iter_any()])
        if b'"stream"' not in data[:100]:
            return web.json_response(REPLY)
        asked = json.loads(data)["messages"][-1]["content"]
        answer = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await answer.prepare(request)
        for piece in ("re: ", asked):
            await answer.write(event({"content": piece}, None))
        await answer.write(event({}, "stop") + b"data: [DONE]\n\n")
        return answer

    async def main() -> None:
        runner = web.ServerRunner(web.Server(handle))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        told.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(main())


def event(delta: dict[str, str], finish: str | None) -> bytes:
    """Spell an event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


def gateway(told: Connection, port: int, root: str, sessions: bool, own: int) -> None:  # noqa: FBT001 - a process's argument
    """Serve a gateway in front of the upstream."""
    values = {
        "upstream": {"openai": f"http://127.0.0.1:{port}"},
        "listen": f"127.0.0.1:{own}",
        "root": root,
        "sessions": sessions,
        "window": WINDOW,
    }
    settings = make_settings(values)
    with bound(settings) as listening:
        listening.listen(1024)
        told.send(listening.getsockname()[1])
        make_server(Gateway(settings)).run(sockets=[listening])


@contextmanager
def process(target: Any, *arguments: Any) -> Iterator[int]:
    """Run a server in a process of its own; give its port."""
    ours, theirs = multiprocessing.Pipe()
    made = multiprocessing.Process(target=target, args=(theirs, *arguments), daemon=True)
    made.start()
    try:
        yield ours.recv()
    finally:
        made.terminate()
        made.join()


class Talk:
    """One conversation with one gateway."""

    def __init__(self, port: int, name: str, count: int) -> None:
        self._url = f"http://127.0.0.1:{port}/v1/chat/completions"
        self._headers = {"authorization": f"Bearer {name}", "content-type": "application/json"}
        roles = ("user", "assistant")
        self._messages = [
            {"role": roles[n % 2], "content": f"{name} {n} {TEXT}"} for n in range(count - 1)
        ]

    async def turn(self, client: aiohttp.ClientSession) -> float:
        """Send the next request; give the seconds that it took."""
        self._messages.append({"role": "user", "content": f"{len(self._messages)} {TEXT}"})
        body = json.dumps({"model": "m", "messages": self._messages}).encode()
        began = time.perf_counter()
        async with client.post(self._url, data=body, headers=self._headers) as response:
            data = await response.read()
            assert response.status == 200, data
        spent = time.perf_counter() - began
        self._messages.append(json.loads(data)["choices"][0]["message"])
        return spent


async def measured(ports: list[int], count: int, clients: int, rounds: int) -> list[float]:
    """Give the median of each gateway, in milliseconds."""
    talks = [
        [Talk(port, f"{count}-{n}-{clients}", count) for n in range(clients)] for port in ports
    ]
    spent: list[list[float]] = [[] for _ in ports]
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as client:
        for turn in range(rounds + 1):
            for kept, own in zip(spent, talks, strict=True):
                found = await asyncio.gather(*(talk.turn(client) for talk in own))
                if turn:
                    kept.extend(found)
    return [statistics.median(one) * 1000 for one in spent]


class Conversation:
    """One conversation of the campaign, and what its client saw."""

    def __init__(self, port: int, name: str) -> None:
        self._url = f"http://127.0.0.1:{port}/v1/chat/completions"
        self._name = name
        self._messages: list[dict[str, str]] = []

    @property
    def seen(self) -> list[str]:
        """Give the texts in order."""
        return [message["content"] for message in self._messages]

    async def run(self, client: aiohttp.ClientSession, requests: int) -> None:
        """Have so many exchanges, each tried until it is answered whole."""
        for number in range(requests):
            asked = f"{self._name} {number}"
            self._messages.append({"role": "user", "content": asked})
            while (text := await self._asked(client)) is None:  # noqa: ASYNC110 - a port has no event
                await asyncio.sleep(0.05)
            assert text == f"re: {asked}", (text, asked)
            self._messages.append({"role": "assistant", "content": text})

    async def _asked(self, client: aiohttp.ClientSession) -> str | None:
        """Give the reply's text; None if it did not come to its end."""
        body = {"model": "m", "stream": True, "messages": self._messages}
        try:
            headers = {"authorization": "Bearer campaign"}
            async with client.post(self._url, json=body, headers=headers) as response:
                data = await response.read()
                assert response.status == 200, data
        except (aiohttp.ClientError, OSError):
            return None
        *events, end, _ = data.split(b"\n\n")
        if end != b"data: [DONE]":
            return None
        deltas = (json.loads(one[6:])["choices"][0]["delta"] for one in events)
        return "".join(delta.get("content", "") for delta in deltas)


async def campaign(root: str, upstream_port: int, said: argparse.Namespace) -> None:
    """Run all conversations against one gateway, then compare every log."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        own = free.getsockname()[1]
    running = [start(gateway, upstream_port, root, KEEPS, own)]
    talks = [Conversation(own, f"{number}") for number in range(said.campaign)]
    began, kills = time.monotonic(), 0
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        work = asyncio.gather(*(talk.run(client, said.requests) for talk in talks))
        while not work.done():
            await asyncio.wait([work], timeout=said.kill_seconds or None)
            if not work.done():
                kills += 1
                running[-1].kill()
                running[-1].join()
                running.append(start(gateway, upstream_port, root, KEEPS, own))
        await work
    running[-1].terminate()
    running[-1].join()
    spent = time.monotonic() - began
    logs = []
    for folder in folders(root):
        if folder.is_dir():
            # A kill may come between a folder and its log.
            with contextlib.suppress(minutebook.StoreError):
                async with minutebook.open(folder, mode="r") as session:
                    logs.append([message.text for message in session.history()])
    lost = [talk.seen for talk in talks if talk.seen not in logs]
    rate = said.campaign * said.requests / spent
    print(f"{said.campaign} x {said.requests} requests in {spent:.1f} s, {rate:.0f} a second")
    print(f"{kills} kills, {len(logs)} sessions, {len(lost)} logs differ from what was seen")
    assert not lost


def folders(root: str) -> list[Path]:
    """List what lies in the root."""
    return sorted(Path(root).iterdir())


def start(target: Any, *arguments: Any) -> multiprocessing.Process:
    """Start a server in a process of its own, and wait until it listens."""
    ours, theirs = multiprocessing.Pipe()
    made = multiprocessing.Process(target=target, args=(theirs, *arguments), daemon=True)
    made.start()
    ours.recv()
    return made


def main() -> None:
    """Measure and print one line for each number of messages and clients."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--messages", default="2,200,10000")
    parser.add_argument("--clients", default="1,16")
    parser.add_argument("--campaign", type=int, default=0)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--kill-seconds", type=float, default=0)
    said = parser.parse_args()
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = stack.enter_context(process(upstream))
        if said.campaign:
            asyncio.run(campaign(str(root / "campaign"), port, said))
            return
        ports = [
            stack.enter_context(process(gateway, port, str(root / str(sessions)), sessions, 0))
            for sessions in (False, True)
        ]
        print(f"{'messages':>10} {'clients':>8} {'bare ms':>9} {'kept ms':>9} {'ratio':>6}")
        for count in map(int, said.messages.split(",")):
            for clients in map(int, said.clients.split(",")):
                rounds = said.rounds if count < 1_000 else max(said.rounds // 6, 3)
                bare, kept = asyncio.run(measured(ports, count, clients, rounds))
                print(f"{count:>10} {clients:>8} {bare:>9.2f} {kept:>9.2f} {kept / bare:>6.2f}")


if __name__ == "__main__":
    main()
