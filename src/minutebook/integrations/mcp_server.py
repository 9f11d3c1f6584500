"""An MCP server over the sessions below a folder, on the official `mcp` package.

Over stdio for the one program that starts it, or over streamable HTTP on the loopback interface.
An error of ours is the answer of the tool, in its own words; nothing is changed then.
"""

from __future__ import annotations

import functools
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from minutebook.errors import ConfigError, MinutebookError
from minutebook.gateway.settings import is_loopback
from minutebook.integrations.extras import needing
from minutebook.integrations.shelf import LISTED_MAX, Shelf
from minutebook.version import __version__

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

INSTRUCTIONS = (
    "Sessions of agents, each with everything ever written in it. Sessions are named by their "
    "path, as list_sessions gives them; messages by their record number. Numbers are never used "
    "twice, so one that a summary names can always be read."
)
PATH = "/mcp"
"""Where the server answers over HTTP."""


def make_server(shelf: Shelf) -> MCPServer[Any]:
    """Make the server; its `run_stdio_async` and `streamable_http_app` are the package's own.

    Raises:
        ConfigError: If the package `mcp` is not installed.
    """
    with needing("mcp"):
        from mcp.server.mcpserver import MCPServer
        from mcp.types import ToolAnnotations
    server: MCPServer[Any] = MCPServer(
        "minutebook", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    looks = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    adds = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
    destroys = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
    for hints, tools in (
        (looks, _reading(shelf)),
        (adds, _adding(shelf)),
        (destroys, [_revert(shelf)]),
    ):
        for function in tools:
            server.tool(annotations=hints)(_answering(function))
    return server


def _reading(shelf: Shelf) -> list[Callable[..., Awaitable[Any]]]:
    """Give the tools that change nothing."""

    async def list_sessions(query: str = "", limit: int = LISTED_MAX) -> list[dict[str, Any]]:
        """List sessions, the last written first. With a query: those whose title or path has it."""
        return shelf.sessions(query, limit=limit)

    async def search_sessions(query: str, session: str | None = None) -> str:
        """Look for words in everything ever written in a session, or in the newest sessions."""
        return await shelf.search(query, session)

    async def read_records(session: str, records: list[int], from_character: int = 0) -> str:
        """Read messages word for word by record number, also those compacted or left behind."""
        return await shelf.read(session, records, from_character)

    async def expand_summary(session: str, record: int) -> str:
        """Read the original messages that a summary or a notice of a compaction stands for."""
        return await shelf.expand(session, record)

    async def context_status(session: str) -> dict[str, Any]:
        """Say how large the context is, of what window, and which checkpoints there are."""
        return await shelf.status(session)

    return [list_sessions, search_sessions, read_records, expand_summary, context_status]


def _adding(shelf: Shelf) -> list[Callable[..., Awaitable[Any]]]:
    """Give the tools that change a session and lose nothing of what is sent."""

    async def checkpoint(session: str, label: str | None = None) -> dict[str, Any]:
        """Set a mark at the end of a session that revert can go back to."""
        return await shelf.checkpoint(session, label)

    async def compact(session: str, focus: str = "", target: float | None = None) -> dict[str, Any]:
        """Make a session's context smaller. Originals stay readable; target is a share of 1."""
        return await shelf.compact(session, focus, target)

    return [checkpoint, compact]


def _revert(shelf: Shelf) -> Callable[..., Awaitable[Any]]:
    """Give the tool that takes messages out of the context."""

    async def revert(session: str, to: int, note: str | None = None) -> dict[str, Any]:
        """Go back to just before a checkpoint; what came after leaves the context.

        The log as it was is kept as a rotation, and `minutebook undo` brings it back.
        """
        return await shelf.revert(session, to, note)

    return revert


def _answering(function: Callable[Given, Awaitable[Answer]]) -> Callable[Given, Awaitable[Answer]]:
    """Make the tool say our errors in their own words."""
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(function)
    async def answered(*args: Given.args, **kwargs: Given.kwargs) -> Answer:
        try:
            return await function(*args, **kwargs)
        except (MinutebookError, OSError) as error:
            raise ToolError(str(error)) from error

    return answered


def listen(host: str, port: int) -> socket.socket:
    """Listen on the loopback interface; port 0 takes a free one.

    Raises:
        ConfigError: If others could reach it.
        OSError: If the port is taken.
    """
    if not is_loopback(host):
        raise ConfigError("http", f"{host} is not of the loopback interface; use 127.0.0.1:PORT")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


async def serve_http(server: MCPServer[Any], listening: socket.socket) -> None:
    """Serve over streamable HTTP on a socket of `listen` until the process is told to stop."""
    import uvicorn

    host = listening.getsockname()[0]
    app = server.streamable_http_app(streamable_http_path=PATH, host=host)
    config = uvicorn.Config(app, log_level="warning")
    await uvicorn.Server(config).serve(sockets=[listening])
