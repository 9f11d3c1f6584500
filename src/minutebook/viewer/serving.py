"""The process that serves the viewer: an address of this machine, a token, a server."""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minutebook.config.values import Config
from minutebook.errors import ConfigError
from minutebook.gateway.settings import is_loopback
from minutebook.integrations.extras import needing
from minutebook.viewer.app import make_app
from minutebook.viewer.guard import TOKEN
from minutebook.viewer.places import Places

if TYPE_CHECKING:
    import uvicorn

TOKEN_BYTES = 32
PORT_MAX = 65_535
BACKLOG = 128
STOP_SECONDS_MAX = 3
"""How long answers under way may take after a signal to stop."""


def address(text: str) -> tuple[str, int]:
    """Read HOST:PORT of the loopback interface, an IPv6 host in brackets.

    Raises:
        ConfigError: If it is something else, or others could reach it.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (host and port.isascii() and port.isdigit() and int(port) <= PORT_MAX):
        raise ConfigError("listen", f"{text!r} is not HOST:PORT")
    if not is_loopback(host):
        what = f"{host} can be reached by others; use 127.0.0.1:PORT, from elsewhere by a tunnel"
        raise ConfigError("listen", what)
    return host, int(port)


def make_server(app: Any) -> uvicorn.Server:
    """Make the server of an application.

    Raises:
        ConfigError: If the extra is not installed.
    """
    with needing("viewer"):
        import uvicorn
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level=logging.ERROR,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_SECONDS_MAX,
    )
    return uvicorn.Server(config)


def serve(
    places: Places,
    config: Config,
    listen: str,
    listens: Callable[[str], None],
    *,
    allow_write: bool = False,
) -> None:
    """Serve until a signal says to stop; *listens* is called with the first address.

    Raises:
        ConfigError: If the address is not of this machine, or the extra is not installed.
        OSError: If the address is taken.
    """
    host, port = address(listen)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=BACKLOG) as listening:
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(TOKEN_BYTES)
        app = make_app(
            places, config, token=token, cookie=f"minutebook_{port}", allow_write=allow_write
        )
        server = make_server(app)
        named = f"[{host}]" if ":" in host else host
        listens(f"http://{named}:{port}/?{TOKEN}={token}")
        server.run(sockets=[listening])
