"""A gateway on a free port, in front of a scripted provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import uvicorn

from minutebook.gateway.app import Gateway
from minutebook.gateway.serving import bound, make_server
from minutebook.gateway.settings import make_settings
from minutebook.testing.server import ProviderServer

KEY = {"authorization": "Bearer key-of-the-client"}
ANTHROPIC = {"x-api-key": "key-of-the-client", "anthropic-version": "2023-06-01"}


class Running:
    """A gateway that serves."""

    def __init__(
        self, gateway: Gateway, url: str, client: aiohttp.ClientSession, server: uvicorn.Server
    ) -> None:
        self.gateway = gateway
        self.url = url
        self.client = client
        self._server = server

    def stop(self) -> None:
        """Stop as a signal would."""
        self._server.should_exit = True

    async def ask(
        self, path: str, body: object, headers: dict[str, str] | None = None, method: str = "POST"
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """Send a request; give status, body and headers."""
        data = body if isinstance(body, bytes) else msgspec.json.encode(body)
        told = {"content-type": "application/json", **(KEY if headers is None else headers)}
        async with self.client.request(
            method, self.url + path, data=data, headers=told
        ) as response:
            return response.status, await response.read(), response.headers

    async def chat(self, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Ask for a chat's completion; give the reply's message."""
        headers = more.pop("headers", None)
        body = {"model": "scripted", "messages": list(messages), **more}
        status, data, _ = await self.ask("/v1/chat/completions", body, headers)
        assert status == 200, data
        message: dict[str, Any] = msgspec.json.decode(data)["choices"][0]["message"]
        return message

    def texts(self) -> dict[str, list[str]]:
        """Give the texts of every session that is held."""
        return {
            name: [message.text for message in held.open_session.history()]
            for name, held in self.gateway.book.held.items()
            if held.session is not None
        }


@asynccontextmanager
async def running(
    root: Path, provider: ProviderServer | str, /, **settings: Any
) -> AsyncIterator[Running]:
    """Serve until the end of the block."""
    url = provider if isinstance(provider, str) else provider.anthropic_url
    values = {
        "upstream": {"openai": url, "anthropic": url},
        "root": str(root),
        "listen": "127.0.0.1:0",
        "durability": "process",
        **settings,
    }
    gateway = Gateway(make_settings(values))
    server = make_server(gateway)
    with bound(gateway.settings) as listening:
        task = asyncio.ensure_future(server.serve(sockets=[listening]))
        while not server.started and not task.done():  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0)
        assert server.started, task
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with aiohttp.ClientSession(auto_decompress=False) as client:
            try:
                yield Running(gateway, address, client, server)
            finally:
                await client.close()
                server.should_exit = True
                await task


def user(text: str) -> dict[str, Any]:
    """Make a user's message."""
    return {"role": "user", "content": text}
