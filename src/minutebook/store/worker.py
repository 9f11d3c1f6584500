"""One thread for blocking work, done in the order in which it was handed over."""

from __future__ import annotations

import asyncio
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Outcome = TypeVar("Outcome")


class _Work(NamedTuple):
    do: Callable[[], Any]
    then: Callable[[Any, BaseException | None], None]


class Worker:
    """A thread that starts with the first piece of work and ends with `close`.

    Handing work to an executor and getting it back through asyncio's futures takes half as
    long again (20 against 28 microseconds, measured), on every append that waits for the disk.
    The thread does not keep an interpreter from ending: what it does then was never
    acknowledged.
    """

    def __init__(self, name: str) -> None:
        """Name the thread."""
        self._name = name
        self._waiting: SimpleQueue[_Work | None] = SimpleQueue()
        self._thread: Thread | None = None

    def hand(
        self,
        do: Callable[[], Outcome],
        then: Callable[[Outcome | None, BaseException | None], None],
    ) -> None:
        """Have *do* done, and *then* told its outcome or its error; both in the thread.

        *then* MUST NOT raise.
        """
        if self._thread is None:
            self._thread = Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._waiting.put(_Work(do, then))

    async def run(self, do: Callable[[], Outcome]) -> Outcome:
        """Have *do* done and give its outcome; done also if the caller is cancelled."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def then(outcome: Outcome | None, error: BaseException | None) -> None:
            back(loop, lambda: _settle(future, outcome, error))

        self.hand(do, then)
        found: Outcome = await future
        return found

    def close(self) -> None:
        """Do what waits, then end the thread; waits for that."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._waiting.put(None)
            thread.join()

    def _run(self) -> None:
        while (work := self._waiting.get()) is not None:
            outcome, failed = None, None
            try:
                outcome = work.do()
            except BaseException as error:  # noqa: BLE001 - handed on, whatever it is
                failed = error
            work.then(outcome, failed)
            # The thread may wait long for the next: let nothing live on until then.
            del work, outcome, failed


def back(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Have the event loop of a session call something; nothing if it has been closed."""
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:
        if not loop.is_closed():
            raise


def _settle(future: asyncio.Future[Any], outcome: object, error: BaseException | None) -> None:
    """Finish a future, unless its task was cancelled."""
    if future.done():
        return
    if error is None:
        future.set_result(outcome)
    else:
        future.set_exception(error)
