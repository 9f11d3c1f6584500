"""The order of things inside one event loop: appends pass together, a rewrite passes alone."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from minutebook.errors import MinutebookError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Result = TypeVar("Result")


class WrongPlace(MinutebookError):
    """A session was used in another thread, event loop or process than its own."""


class Home:
    """The event loop, thread and process that a session belongs to."""

    def __init__(self) -> None:
        """Remember where we are."""
        self._thread = threading.get_ident()
        self._process = os.getpid()
        self._loop = running_loop()

    def check(self) -> None:
        """Refuse a call from elsewhere. Plain code between two runs of the loop is at home.

        Raises:
            WrongPlace: If this is another thread or event loop, or a forked child.
        """
        loop = running_loop()
        if loop is not None and loop is self._loop:
            # A loop runs in one thread, and asyncio sees none in a forked child.
            return
        if threading.get_ident() != self._thread:
            raise WrongPlace("this session belongs to another thread and its event loop")
        if os.getpid() != self._process:
            raise WrongPlace("this session belongs to the parent process; open it again here")
        if loop is not None:
            raise WrongPlace("this session belongs to another event loop; open it again here")


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Give the event loop that runs in this thread; None in plain code."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class Gate:
    """Many pass at once while it is open; who closes it is alone."""

    def __init__(self) -> None:
        """Begin open."""
        self._turn = asyncio.Lock()
        self._inside = 0
        self._closed: asyncio.Future[None] | None = None
        self._empty: asyncio.Future[None] | None = None
        self._waiting: deque[object] = deque()

    @property
    def is_closed(self) -> bool:
        """Whether somebody is alone inside or about to be, or others wait to pass."""
        return self._closed is not None or bool(self._waiting)

    async def opened(self) -> None:
        """Wait until the gate is open and those who came before have passed."""
        if not self.is_closed:
            return
        place = object()
        self._waiting.append(place)
        try:
            while self._closed is not None or self._waiting[0] is not place:
                # Whoever is before us has been woken already, if the gate is open.
                await (asyncio.sleep(0) if self._closed is None else asyncio.shield(self._closed))
        finally:
            self._waiting.remove(place)

    def enter(self) -> None:
        """Pass; only while it is open."""
        self._inside += 1

    def leave(self) -> None:
        """Tell that one who passed is done."""
        self._inside -= 1
        if not self._inside and self._empty is not None and not self._empty.done():
            self._empty.set_result(None)

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Close the gate, wait for those inside, and open it again afterwards."""
        loop = asyncio.get_running_loop()
        async with self._turn:
            self._closed = loop.create_future()
            try:
                if self._inside:
                    self._empty = loop.create_future()
                    await self._empty
                yield
            finally:
                self._empty = None
                closed, self._closed = self._closed, None
                closed.set_result(None)


async def finish_first(future: asyncio.Future[Result]) -> Result:
    """Await a future that must not be cancelled: on a cancel, wait for it, then be cancelled.

    What was begun on disk is finished either way, so memory and disk agree when the caller
    gets its `CancelledError`.
    """
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError as error:
            cancelled = error
        except BaseException:
            if cancelled is None:
                raise
    if cancelled is not None:
        raise cancelled
    return future.result()
