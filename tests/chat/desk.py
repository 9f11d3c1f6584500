"""A chat in memory: a real session, a strict server, and a user who answers by script."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from minutebook.chat.endpoint import make_endpoint
from minutebook.chat.loop import Chat
from minutebook.chat.screen import Screen
from minutebook.chat.tools import Tools
from minutebook.companions import Companions
from minutebook.opening import open_session
from minutebook.testing.server import ProviderServer
from minutebook.tools.condense import Decision


class User:
    """Says yes or no, and sees lines."""

    def __init__(self, *, agrees: bool = True) -> None:
        self.agrees = agrees
        self.asked: list[str] = []
        self.seen: list[str] = []
        self.decision = Decision(what="accept")

    async def ask(self, what: str) -> bool:
        """Be asked."""
        self.asked.append(what)
        return self.agrees

    async def decide(self, proposed: str) -> Decision:
        """Look at a summary."""
        self.asked.append(proposed)
        return self.decision


@asynccontextmanager
async def chatting(
    tmp_path: Path,
    server: ProviderServer,
    user: User,
    *,
    api: str = "openai",
    window: int = 200_000,
    allowed: frozenset[str] = frozenset(),
) -> AsyncIterator[Chat]:
    """Open a chat with a server."""
    pytest.importorskip(api, reason=f"needs the extra {api}")
    url = server.openai_url if api == "openai" else server.anthropic_url
    endpoint = make_endpoint("scripted", url, api, {})
    screen = Screen(user.seen.append)
    folder = tmp_path / "work"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        async with open_session(
            tmp_path / "s",
            window=window,
            durability="process",
            companions=Companions(listeners=(screen.event,)),
        ) as session:
            tools = Tools(session, folder, allowed=allowed, ask=user.ask, decide=user.decide)
            session.set_tools(endpoint.schemas(tools.offers))
            await session.set_system_prompt("You help.")
            yield Chat(session=session, endpoint=endpoint, tools=tools, screen=screen)
    finally:
        await endpoint.close()


def sent(server: ProviderServer) -> list[Any]:
    """Give the bodies of the requests."""
    return [one.body for one in server.received]
