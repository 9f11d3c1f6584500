"""A summary that is prepared while the agent works, and committed at a boundary of its steps.

One at a time. It stands for the history of the moment in which it was begun: messages that have
come since stay behind it, and a revert, a clear or a pin in what it covers drops it. Nothing
is written before it is committed, so whatever happens to it, nothing has happened.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct

from minutebook.budget import due
from minutebook.compactor import Order, Standing
from minutebook.errors import MinutebookError, StoreError
from minutebook.summaries import begins

if TYPE_CHECKING:
    from minutebook.budget import Limits
    from minutebook.compactor import Compactor
    from minutebook.companions import Companions
    from minutebook.counting import Counting
    from minutebook.journal import Journal
    from minutebook.messages import Message
    from minutebook.reports import Compacted
    from minutebook.summaries import Summary

FRACTION = 0.8
"""From this share of the trigger on a summary is prepared, where nobody says another. In a window
of 200 000 tokens the trigger is 34 000 tokens away then: a dozen of an agent's steps."""

RETRY_SHARE = 0.05
"""By this share of the trigger the request has to grow after one that came to nothing, before
another is begun: a model that is down is not asked at each step."""


class _Run(Struct, frozen=True, kw_only=True):
    """A summary that is being prepared."""

    history: tuple[Message, ...]
    pins: frozenset[int]
    prepared: asyncio.Event
    boundary: asyncio.Event
    task: asyncio.Task[Compacted]

    @property
    def is_over(self) -> bool:
        """Whether the summary is there, or will never be."""
        return self.prepared.is_set() or self.task.done()


class Preparing:
    """The summary of one session that may be under way."""

    def __init__(
        self, journal: Journal, counting: Counting, compactor: Compactor, companions: Companions
    ) -> None:
        """Take what it is prepared of and with."""
        self._journal = journal
        self._counting = counting
        self._compactor = compactor
        self._companions = companions
        self._run: _Run | None = None
        self._tasks: set[asyncio.Task[Compacted]] = set()
        self._least = 0
        """The size of the request from which on another may be begun, in tokens."""

    async def advance(self) -> Standing:
        """Do what is to be done at a boundary: begin one, go on, or commit what is there.

        Over the limit it is waited for, as long as the settings say, and then given up.

        Raises:
            ConfigError: If the window is not known.
            StoreError: If it could not be committed; nothing is changed.
        """
        self.look()
        bounds = self._counting.limits()
        tokens = self._counting.sure_size(bounds).tokens
        run, over = self._run, due(bounds, tokens) == "limit"
        if run is None:
            return Standing(preparing=not over and self._begin(tokens, bounds))
        if over and not run.is_over:
            await _first_of(run, self._counting.settings.background_wait_seconds)
        if run.is_over:
            self._run = None
            done = await _commit(run)
            if done is None:
                self._least = tokens + int(RETRY_SHARE * bounds.trigger)
            return Standing(done=done)
        if over:
            self.drop()
        return Standing(preparing=not over, in_vain=over)

    def look(self) -> None:
        """Drop it if the session's history does not begin with what it was begun for."""
        run = self._run
        if run is not None and not begins(run.history, run.pins, self._journal.context):
            self.drop()

    def drop(self) -> None:
        """Give it up; its call is cancelled."""
        if self._run is not None:
            self._run.task.cancel()
            self._run = None

    async def close(self) -> None:
        """Give it up, and wait until nothing of it runs."""
        self.drop()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _begin(self, tokens: int, bounds: Limits) -> bool:
        """Begin one, if the request is large enough and there is a model; tell whether it was."""
        fraction = self._counting.settings.background_fraction or FRACTION
        least = max(self._least, int(fraction * bounds.trigger))
        if tokens < least or not self._companions.summarizers:
            return False
        context = self._journal.context
        prepared, boundary = asyncio.Event(), asyncio.Event()

        async def gate(_summary: Summary) -> None:
            prepared.set()
            await boundary.wait()

        task = asyncio.ensure_future(
            self._compactor.compact(Order(trigger="background"), gate=gate)
        )
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        self._run = _Run(
            history=context.history,
            pins=context.pins,
            prepared=prepared,
            boundary=boundary,
            task=task,
        )
        return True

    def _ended(self, task: asyncio.Task[Compacted]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Whoever awaits it gets its error; of one that was dropped nobody has to hear.
            task.exception()


async def _first_of(run: _Run, seconds: float) -> None:
    """Wait until the summary is there or has failed, but not longer."""
    prepared = asyncio.ensure_future(run.prepared.wait())
    try:
        await asyncio.wait(
            [prepared, run.task], timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        prepared.cancel()


async def _commit(run: _Run) -> Compacted | None:
    """Let it be committed; None if it came to nothing."""
    run.boundary.set()
    try:
        return await run.task
    except StoreError:
        raise
    except MinutebookError:
        # A veto, a model that failed, a history that moved on: the events have told of it.
        return None
