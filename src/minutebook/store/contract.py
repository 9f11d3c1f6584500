"""What a store is: the append-only log of one session, and the rotations beside it.

`minutebook.testing.StoreConformance` has a named test for each numbered promise here.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from minutebook.errors import StoreError
from minutebook.lines import Entry
from minutebook.records import Clear, Compaction, Revert, Rotated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minutebook.lines import Problem, Run
    from minutebook.store.collecting import Retention


class Span(Struct, frozen=True, gc=False):
    """Where an append put its lines: the bytes `start` to `end` of the log."""

    start: int
    """The first byte of the first line; a `_batch` line stands before it."""
    end: int
    starts: tuple[int, ...] | None = None
    """Where each line begins, if `_batch` lines stand between them; else one follows another."""


class Landed(Struct, frozen=True, gc=False):
    """An append that is as durable as it has to be already. Spares a future of the event loop."""

    span: Span
    """Where the lines stand."""

    def done(self) -> bool:
        """Tell whether the lines are durable: they are."""
        return True

    def result(self) -> Span:
        """Give where the lines stand."""
        return self.span

    def __await__(self) -> Generator[None, None, Span]:
        """Give where the lines stand, without waiting."""
        yield from ()
        return self.span


class Pending(Future[Span]):
    """An append that waits for its sync. Its waiters cannot cancel it: what is written is written.

    A cancelled task that awaits it gets its `CancelledError` once the sync has ended. This
    spares the second future and the callbacks of `asyncio.shield` on every append.
    """

    def cancel(self, msg: object = None) -> bool:
        """Refuse: the task is told, when the sync has ended."""
        del msg
        return False


Receipt = Landed | Pending
"""What an append gives: ask `done()`, take `result()`, or await it."""


class Rotation(Struct, frozen=True, kw_only=True):
    """A retired log."""

    number: int
    bytes: int
    """Its length as a log; -1 if it is compressed and damaged."""
    path: str = ""
    """Where it lies; empty for a store without files."""
    stored_bytes: int = 0
    """What it takes on the disk."""
    modified: float = 0.0
    """When its file was last written, in seconds since 1970."""
    compressed: bool = False
    base: int | None = None
    """The rotation that holds the part that a compressed one shares with it."""


Tail = Iterable[bytes] | Callable[[Rotated], Iterable[bytes]]
"""Lines for the end of a rewritten log. A callable gets the rotation that the old log has
become, since the lines have to name it and its number is only sure once its name is taken."""


class RewriteUnsynced(StoreError):
    """The rewrite is done and in force, but the last sync failed: power loss may undo it."""

    def __init__(self, rotation: Rotated, what: str, *, path: str = "") -> None:
        """Give the rotation made, and what failed after it."""
        self.rotation = rotation
        super().__init__(
            f"rewritten, but not yet safe from power loss: {what}",
            path=path,
            remedy="the new log is in force; check the disk",
        )


class Store(Protocol):
    """The log of one session. Lines are bytes that end with one newline.

    A store belongs to one event loop. It is not safe to append while a rewrite runs: the
    caller MUST put them in order. Every failure is a `StoreError` that names the file.

    - P1 What was appended is read back, byte for byte, in the order of the calls.
    - P2 An append is all or none: two or more lines stand behind a `_batch` line.
    - P3 An append is written when the call returns and durable when its receipt is done.
    - P4 Concurrent appends keep their order of call.
    - P5 A failed append leaves the log as it was, and the next one works.
    - P6 A rewrite is atomic: the log is the old one or the new one, never less.
    - P7 A rewrite keeps the old log as a rotation, byte for byte.
    - P8 A rewrite that fails leaves log and rotations as they were.
    - P9 Rotation numbers only grow; a gap is never filled again.
    - P10 A second writer is refused with `SessionLocked` while the first is open.
    - P11 A log changed by somebody else is noticed before a write: `LogChanged`.
    - P12 A reader writes nothing and takes no lock.
    - P13 A torn tail is set aside before the first append and swallows nothing.
    - P14 A closed store refuses every write.
    """

    @property
    def path(self) -> str:
        """Name the log in messages to people."""

    @property
    def size(self) -> int:
        """Length of the log in bytes, with what is written and not yet durable."""

    @property
    def problems(self) -> Sequence[Problem]:
        """What was wrong with the bytes of the log, as the last `replay` found it."""

    def replay(self) -> Iterator[Run | Entry]:
        """Read the log from its start: `lines.Run` and `lines.Entry` in order.

        Remembers where the good part ends, so that a torn tail is set aside before the first
        append. Reading streams: memory is a few megabytes beside what the caller keeps.
        """

    def pieces(
        self, source: int | None = None, *, start: int = 0, end: int | None = None
    ) -> Iterator[bytes]:
        """Give the bytes of the log (None) or of a rotation, in pieces of bounded size.

        Raises:
            StoreError: If there is no such rotation, or it cannot be read.
        """

    def make_ready(self) -> None:
        """Bring the log in order, as every write does first.

        A torn tail is set aside, what a crash left is cleared away. What `size` and `pieces`
        give after it is what the next write will find.

        Raises:
            LogChanged: If somebody else changed the log.
            StoreError: If it may not or cannot be written to.
        """

    def append(self, lines: Sequence[bytes]) -> Receipt:
        """Write lines at the end, in one write, all or none.

        Writes before it returns; the receipt is done when the lines are as durable as the
        store was opened for. Receipts are done in the order of the appends.

        Raises:
            LogChanged: If somebody else changed the log; nothing was written, unless its
                `written` says so.
            StoreError: If the lines could not be written; the log is as before.
        """

    async def rewrite(
        self,
        *,
        head: Sequence[bytes] = (),
        source: int | None = None,
        keep: int,
        tail: Tail,
        reason: str,
    ) -> Rotated:
        """Make a new log of *head*, the first *keep* bytes of *source*, and *tail*.

        *source* is the log itself (None) or the number of a rotation. What the log was
        becomes the rotation that is returned. Costs one copy of the kept bytes in the kernel
        and one reading of the old log for its check sum.

        Raises:
            LogChanged: If somebody else changed the log; nothing was done.
            RewriteUnsynced: If it is done but its last sync failed.
            StoreError: If it failed; log and rotations are as before.
        """

    def rotations(self) -> list[Rotation]:
        """List the retired logs, oldest number first."""

    def keep_aside(self, pieces: Iterable[bytes]) -> None:
        """Keep bytes that are no record outside of the log, durably; a newline after each."""

    def collect(
        self, needed: frozenset[int], retention: Retention, *, now: float, seconds: float
    ) -> int:
        """Compress and remove rotations as *retention* says; give the bytes freed.

        *needed* are the numbers that the full history needs, *now* the time in seconds since
        1970. Stops after *seconds*, with the rest left for the next time.
        """

    def advance(self) -> bool:
        """Take what was appended to the log; False if it was replaced or cut, or is gone.

        Then what the log held before it was replaced can be read until `refresh`.
        """

    def refresh(self) -> None:
        """Take the log as it now is on disk as ours; the caller has to replay it."""

    async def close(self) -> None:
        """Wait for running syncs, then give up descriptors and the lock. Idempotent."""


def good_end(problems: Sequence[Problem], size: int) -> int:
    """Tell where the part of the log ends that may stay before the first append."""
    end = size
    for problem in reversed(problems):
        if problem.kind in {"torn", "batch"} and problem.byte + problem.bytes == end:
            end = problem.byte
    return end


REWRITES = frozenset({Compaction, Revert, Clear})
"""The kinds of records that name a rotation."""


def named_number(record: object) -> int:
    """Give the highest rotation number that a lineage record names; 0 if it names none."""
    if isinstance(record, Compaction):
        return record.parent.number if record.parent else 0
    if isinstance(record, Revert | Clear):
        source = record.source if isinstance(record, Revert) else 0
        return max(record.origin.number if record.origin else 0, source or 0)
    return 0


def highest_named(found: Run | Entry) -> int:
    """Give the highest rotation number that the records of one find name; 0 if none does."""
    records = [found.record] if isinstance(found, Entry) else found.records
    return max((named_number(item) for item in records if type(item) in REWRITES), default=0)
