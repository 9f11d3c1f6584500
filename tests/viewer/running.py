"""A viewer on a free port of this machine, until the end of a block."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from minutebook.config.values import Config
from minutebook.viewer import serving
from minutebook.viewer.places import Places

PATIENCE_SECONDS = 30


@contextmanager
def running(path: Path, **options: Any) -> Iterator[str]:
    """Serve as the command does; gives the first address, with its token."""
    servers: list[Any] = []
    told: list[str] = []
    listens = threading.Event()
    make = serving.make_server

    def made(app: object) -> object:
        servers.append(make(app))
        return servers[0]

    def tell(url: str) -> None:
        told.append(url)
        listens.set()

    thread = threading.Thread(
        target=serving.serve,
        args=(Places(path), Config(), "127.0.0.1:0", tell),
        kwargs=options,
        daemon=True,
    )
    with mock.patch.object(serving, "make_server", made):
        thread.start()
        assert listens.wait(PATIENCE_SECONDS)
    try:
        yield told[0]
    finally:
        servers[0].should_exit = True
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
