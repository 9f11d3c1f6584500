"""What happens in a session, as values on one stream that hooks, metrics and surfaces share.

Every `CompactionBegun` is followed by exactly one of `CompactionCommitted` and
`CompactionEnded`, whatever happens in between: `Compacting` sees to that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, Self

from msgspec import Struct

from minutebook.errors import CompactionVetoed, ConfigError, ContextOverflow


class CompactionBegun(Struct, frozen=True, kw_only=True):
    """A compaction is due, or was asked for. Hooks are asked next; nothing is planned yet."""

    trigger: str
    """`manual`, `trigger`, `limit`, `overflow`, `condense`, or `background`."""
    tokens_before: int
    target: int
    """The size aimed at, in tokens."""
    focus: str = ""


class HookRan(Struct, frozen=True, kw_only=True):
    """A hook was asked, or told, and is done."""

    hook: str
    """The callable's name, or the command."""
    event: Literal["PreCompact", "PostCompact"]
    outcome: Literal["agreed", "instructed", "vetoed", "failed", "timeout"]
    """`failed` and `timeout` count as having said nothing."""
    reason: str = ""
    """Why it vetoed or failed; for people."""


class StepTaken(Struct, frozen=True, kw_only=True):
    """One step of the ladder was tried."""

    name: str
    tokens_before: int
    tokens_after: int
    """Equal to `tokens_before` when its result was not used."""
    detail: str


class SummaryAttempted(Struct, frozen=True, kw_only=True):
    """A model was asked for a summary, once."""

    model: str
    outcome: str
    """`used`, or why it was refused, in one or two words."""
    reason: str
    tokens: int
    """What the attempt used, input and output."""


class Verified(Struct, frozen=True, kw_only=True):
    """A planned compaction was checked against what it replaces."""

    score: float
    """From 0 to 1."""
    parts: dict[str, Any]


class CompactionCommitted(Struct, frozen=True, kw_only=True):
    """The log was rewritten."""

    trigger: str
    tokens_before: int
    tokens_after: int
    steps: tuple[str, ...]
    rotation: int
    """Where the log before is."""


class CompactionEnded(Struct, frozen=True, kw_only=True):
    """A compaction ended without a change."""

    trigger: str
    outcome: Literal["skipped", "vetoed", "refused", "failed", "cancelled"]
    reason: str


Ending = CompactionCommitted | CompactionEnded
Event = CompactionBegun | HookRan | StepTaken | SummaryAttempted | Verified | Ending
Listener = Callable[[Event], object]
"""Told each event in order. What it raises is dropped: nobody who listens can do harm."""

Result = Literal["applied", "skipped", "failed"]


def emit(listeners: Sequence[Listener], event: Event) -> None:
    """Tell each listener of an event, in order; one that raises stops nobody."""
    for listener in listeners:
        with suppress(Exception):
            listener(event)


def result_of(ending: Ending) -> Result:
    """Give the word that hooks are told after a compaction.

    `applied` if the log was rewritten; `skipped` if there was nothing to do or a hook said no;
    `failed` if it was refused, failed, or was cancelled.
    """
    if isinstance(ending, CompactionCommitted):
        return "applied"
    return "skipped" if ending.outcome in {"skipped", "vetoed"} else "failed"


class Compacting:
    """Tells of one compaction, so that what has begun also ends, and ends once.

        with Compacting(listeners, begun) as told:
            told(StepTaken(…))
            told(CompactionCommitted(…))

    Without an ending of its own, leaving the block makes one of what was raised.
    """

    def __init__(self, listeners: Sequence[Listener], begun: CompactionBegun) -> None:
        """Take who is to be told, and the beginning, which is told on entering."""
        self._listeners = tuple(listeners)
        self._begun = begun
        self.ending: Ending | None = None
        """How it ended; None while it is under way."""

    def __enter__(self) -> Self:
        emit(self._listeners, self._begun)
        return self

    def __call__(self, event: Event) -> None:
        """Tell an event. After an ending nothing more is told."""
        if self.ending is not None:
            return
        if isinstance(event, Ending):
            self.ending = event
        emit(self._listeners, event)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self(_ending_of(self._begun.trigger, error))


def _ending_of(trigger: str, error: BaseException | None) -> CompactionEnded:
    """Give the ending that an error amounts to; without one, nothing was done."""
    match error:
        case None:
            return CompactionEnded(trigger=trigger, outcome="skipped", reason="nothing to do")
        case CompactionVetoed():
            by = f" (said {error.hook})" if error.hook else ""
            return CompactionEnded(trigger=trigger, outcome="vetoed", reason=f"{error.reason}{by}")
        case ContextOverflow() | ConfigError():
            return CompactionEnded(trigger=trigger, outcome="refused", reason=str(error))
        case Exception():
            reason = str(error) or type(error).__name__
            return CompactionEnded(trigger=trigger, outcome="failed", reason=reason)
        case _:
            # Cancellation, Ctrl-C, the end of the process: none of them is an `Exception`.
            name = type(error).__name__
            return CompactionEnded(trigger=trigger, outcome="cancelled", reason=name)
