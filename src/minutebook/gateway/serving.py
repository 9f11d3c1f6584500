"""The process that serves: a socket, a server, and a stop that lets streams end first."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from minutebook.errors import ConfigError
from minutebook.gateway.app import Gateway
from minutebook.gateway.settings import Settings

if TYPE_CHECKING:
    import uvicorn

BACKLOG = 2048
"""So many connections may wait to be accepted, as the server has it too."""

STOP_SECONDS_MAX = 30
"""How long streams in flight may go on after a signal to stop."""


def make_server(gateway: Gateway) -> uvicorn.Server:
    """Make the server for a gateway.

    Raises:
        ConfigError: If the extra is not installed.
    """
    try:
        import uvicorn
    except ImportError as error:
        remedy = "install it with: pip install 'minutebook[gateway]'"
        raise ConfigError("gateway", f"needs an extra; {remedy}") from error
    config = uvicorn.Config(
        gateway,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        log_level=logging.ERROR,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_SECONDS_MAX,
        h11_max_incomplete_event_size=gateway.settings.header_bytes_max,
    )
    return uvicorn.Server(config)


def bound(settings: Settings) -> socket.socket:
    """Bind the address.

    Raises:
        OSError: If it is taken.
    """
    host, port = settings.address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol said, the event loop sends each event of a stream without delay.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except BaseException:
        made.close()
        raise
    return made


def serve(settings: Settings, listens: Callable[[str], None]) -> None:
    """Serve until a signal says to stop.

    *listens* is called once clients may connect, with the path at which the viewer is; empty
    without one.

    Raises:
        ConfigError: If the extra is not installed.
        OSError: If the address is taken.
    """
    gateway = Gateway(settings)
    server = make_server(gateway)
    with bound(settings) as listening:
        listening.listen(BACKLOG)
        listens("" if gateway.ui is None else gateway.ui.first)
        server.run(sockets=[listening])
