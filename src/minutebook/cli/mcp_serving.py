"""The command `mcp`: the sessions below a folder, for programs that speak MCP."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from minutebook.cli.wording import say
from minutebook.errors import ConfigError
from minutebook.integrations.mcp_server import PATH, listen, make_server, serve_http
from minutebook.integrations.shelf import Shelf

RootArgument = Annotated[
    Path, typer.Argument(metavar="ROOT", help="The folder that holds the sessions.")
]
HttpOption = Annotated[
    str | None,
    typer.Option(
        "--http",
        metavar="HOST:PORT",
        help="Serve over HTTP on this loopback address; port 0 takes a free one.",
        show_default=False,
    ),
]
WindowOption = Annotated[
    int | None,
    typer.Option(
        "--window", metavar="TOKENS", help="The sessions' context window.", show_default=False
    ),
]
PORT_MAX = 65_535


def mcp(
    root: RootArgument = Path(), *, http: HttpOption = None, window: WindowOption = None
) -> None:
    """Serve sessions to programs that speak MCP.

    Over stdin and stdout for the program that starts it; with --http over streamable HTTP, for
    this machine only. Its tools list, search and read sessions, expand summaries, and set
    checkpoints, revert and compact. Needs the extra `mcp`.
    """
    shelf = Shelf(root, window=window)
    if http is None:
        asyncio.run(make_server(shelf).run_stdio_async())
        return
    with listen(*address(http)) as listening:
        server = make_server(shelf)
        host, port = listening.getsockname()[:2]
        say(f"serving on http://{f'[{host}]' if ':' in host else host}:{port}{PATH}")
        asyncio.run(serve_http(server, listening))


def address(text: str) -> tuple[str, int]:
    """Read HOST:PORT, an IPv6 host in brackets.

    Raises:
        ConfigError: If it is something else.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (host and port.isascii() and port.isdigit() and int(port) <= PORT_MAX):
        raise ConfigError("http", f"{text!r} is not HOST:PORT")
    return host, int(port)
