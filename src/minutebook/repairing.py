"""Verify and repair a session on disk, in memory that does not grow with the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, structs

from minutebook.codec import encode_line
from minutebook.copies import copied_bytes
from minutebook.lines import Scanner, flatten
from minutebook.records import Revert, Rotated
from minutebook.repairs import SET_ASIDE, Diagnosis, Relayer, diagnose
from minutebook.sums import Span, Verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from minutebook.lines import Entry
    from minutebook.store.contract import Store

ORIGINALS_MAX = 20
"""How many earlier logs are looked at for the one that a damaged span was copied from."""
WINDOW_BYTES = 1 << 20
"""How much of the log is read at once when its records are laid anew."""


class Repaired(Struct, frozen=True, kw_only=True):
    """What a repair did."""

    actions: tuple[str, ...]
    """One sentence each; empty if nothing was wrong."""
    rotation: Rotated | None
    """The log as it was before; None if nothing was changed."""


def verify(store: Store, number: int | None = None) -> Iterator[Span]:
    """Judge each span of the log, or of a rotation, by its check sum.

    A span that another program copied from an earlier log, with records that it does not know
    left out, is changed and not damaged.
    """
    copied: int | None = None
    for span in _walk(store, number):
        if span.verdict == "damaged" and span.summed:
            if copied is None:
                copied = _copied_bytes(store, number)
            if span.byte + span.bytes <= copied:
                yield structs.replace(span, verdict="changed")
                continue
        yield span


def _walk(store: Store, number: int | None) -> Iterator[Span]:
    verifier = Verifier()
    for piece in store.pieces(number):
        yield from verifier.feed(piece)
    yield from verifier.finish()


def _copied_bytes(store: Store, number: int | None) -> int:
    """Give how much of a log's beginning was copied from an earlier one that is sound."""
    earlier = [
        rotation.number
        for rotation in store.rotations()
        if number is None or rotation.number < number
    ]
    most = 0
    for other in earlier[: -ORIGINALS_MAX - 1 : -1]:
        copied = copied_bytes(store.pieces(number), store.pieces(other))
        if copied > most and all(span.verdict != "damaged" for span in _walk(store, other)):
            most = copied
    return most


def examine(store: Store) -> Diagnosis:
    """Say what a repair would do; changes nothing."""
    scanner = Scanner()
    return diagnose(_entries(store, scanner), scanner.problems, store.pieces())


def _entries(store: Store, scanner: Scanner) -> Iterator[Entry]:
    for piece in store.pieces():
        yield from flatten(scanner.feed(piece))
    yield from flatten(scanner.finish())


class _Window:
    """Reads spans of the log that come one after the other, a piece of it at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._start = 0
        self._data = b""

    def read(self, start: int, end: int) -> bytes:
        if not self._start <= start <= end <= self._start + len(self._data):
            stop = max(end, start + WINDOW_BYTES)
            self._start = start
            self._data = b"".join(self._store.pieces(start=start, end=stop))
        return self._data[start - self._start : end - self._start]


async def repair(store: Store, *, clock: Callable[[], float]) -> Repaired:
    """Lay the log anew without what is wrong with it; the log before becomes a rotation.

    Bad bytes go to `context.bad.jsonl` first, so nothing is lost; a second call changes
    nothing more. The store must be open for writing.

    Raises:
        StoreError: If it failed; the log is as before.
    """
    diagnosis = examine(store)
    if not diagnosis.needed:
        return Repaired(actions=(), rotation=None)
    spans = [problem for problem in diagnosis.problems if problem.kind in SET_ASIDE]
    store.keep_aside(
        b"".join(store.pieces(start=problem.byte, end=problem.byte + problem.bytes))
        for problem in spans
    )
    now = clock()
    read = _Window(store).read

    def tail(rotated: Rotated) -> Iterator[bytes]:
        relayer = Relayer(diagnosis, following=diagnosis.following, at=now)
        yield from relayer.lines(_entries(store, Scanner()), read)
        record = Revert(
            content=f"repaired; the log before is rotation {rotated.number}",
            origin=rotated,
            next=relayer.following,
            reason="repair",
            lines=1,
            at=now,
            sum=relayer.open_sum(),
        )
        yield encode_line(record)

    rotated = await store.rewrite(keep=0, tail=tail, reason="repair")
    return Repaired(actions=tuple(diagnosis.actions()), rotation=rotated)
