"""Group commit: appends that wait for the disk at the same time share one sync."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from minutebook.store.contract import Pending
from minutebook.store.worker import back

if TYPE_CHECKING:
    from collections.abc import Callable

    from minutebook.store.contract import Span
    from minutebook.store.worker import Worker


class _Waiting(NamedTuple):
    future: Pending
    span: Span


class GroupCommit:
    """Syncs a file in a worker thread, one sync at a time, for all that wait when it starts."""

    def __init__(
        self,
        sync: Callable[[], None],
        worker: Worker,
        *,
        landed: Callable[[int], None],
        failed: Callable[[OSError], BaseException],
    ) -> None:
        """Take what to call.

        *sync* runs in the worker's thread. *landed* is told up to where the file is safe, before
        any waiter. *failed* turns a failed sync into the error that every waiter gets.
        """
        self._loop = asyncio.get_running_loop()
        self._sync = sync
        self._worker = worker
        self._landed = landed
        self._failed = failed
        self._waiting: list[_Waiting] = []
        self._running: list[_Waiting] | None = None
        """Those whom the sync covers that runs now."""
        self._idle: asyncio.Future[None] | None = None
        self._scheduled = False

    def add(self, span: Span) -> Pending:
        """Wait for the sync of a span that is already written."""
        future = Pending(loop=self._loop)
        self._waiting.append(_Waiting(future, span))
        if self._running is None and not self._scheduled:
            # Not at once: appends made in the same turn of the loop join this sync.
            self._scheduled = True
            self._loop.call_soon(self._start)
        return future

    @property
    def is_busy(self) -> bool:
        """Whether a sync runs or an append waits for one."""
        return bool(self._waiting) or self._running is not None

    async def drain(self) -> None:
        """Wait until nothing waits; the outcome goes to the waiters, not here."""
        while self.is_busy:
            if self._idle is None:
                self._idle = self._loop.create_future()
            await asyncio.shield(self._idle)

    def fail_all(self, error: BaseException) -> None:
        """Give every waiter that no sync covers yet an error."""
        waiting, self._waiting = self._waiting, []
        for item in waiting:
            _settle(item, error)

    def _start(self) -> None:
        self._scheduled = False
        group, self._waiting = self._waiting, []
        if not group:
            self._rest()
            return
        self._running = group
        self._worker.hand(self._sync, self._ended)

    def _ended(self, _: None, error: BaseException | None) -> None:
        """Go back to the loop, from the worker's thread."""
        back(self._loop, lambda: self._finish(error))

    def _finish(self, error: BaseException | None) -> None:
        group, self._running = self._running or [], None
        if error is None:
            self._landed(group[-1].span.end)
            for item in group:
                _settle(item, None)
        else:
            cause = error if isinstance(error, OSError) else OSError(0, str(error))
            failure = self._failed(cause)
            for item in group:
                _settle(item, failure)
            self.fail_all(failure)
        if self._waiting and not self._scheduled:
            self._start()
        else:
            self._rest()

    def _rest(self) -> None:
        """Tell who waits for it that nothing is under way any more."""
        if self._idle is not None and not self.is_busy:
            idle, self._idle = self._idle, None
            idle.set_result(None)


def _settle(item: _Waiting, error: BaseException | None) -> None:
    """Finish a waiter."""
    if error is None:
        item.future.set_result(item.span)
    else:
        item.future.set_exception(error)
