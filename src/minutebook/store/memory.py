"""The store's contract without a disk: for tests, and for sessions that need not outlive us."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, Self

from minutebook.codec import checksum, frame
from minutebook.errors import LogChanged, SessionLocked, StoreError
from minutebook.lines import BOM, Entry, Problem, Run, Scanner
from minutebook.records import Rotated
from minutebook.store.contract import Landed, Rotation, Span, good_end, highest_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from minutebook.store.collecting import Retention
    from minutebook.store.contract import Receipt, Tail

PIECE_BYTES = 1 << 16


class Shelf:
    """What stands for the disk: the bytes of one session, kept while nobody has it open."""

    def __init__(self, log: bytes = b"") -> None:
        """Begin with *log* and no rotations."""
        self.log = log
        self.rotations: dict[int, bytes] = {}
        self.bad = b""
        self.top_number = 0
        self.writer: MemoryStore | None = None


class MemoryStore:
    """The log of one session on a `Shelf`. See `contract.Store` for what it promises."""

    def __init__(self, shelf: Shelf, *, mode: Literal["w", "r"]) -> None:
        """Hold the shelf; `open` is the way to make one."""
        self.mode = mode
        self.problems: list[Problem] = []
        self._shelf = shelf
        self._known = shelf.log
        self._good_end: int | None = None
        self._closed = False

    @classmethod
    async def open(cls, shelf: Shelf, *, mode: Literal["w", "r"] = "w") -> Self:
        """Open the session on a shelf, as its one writer or as a reader.

        Raises:
            SessionLocked: If another store has it open for writing.
        """
        store = cls(shelf, mode=mode)
        if mode == "w":
            if shelf.writer is not None:
                raise SessionLocked("memory", pid=os.getpid())
            shelf.writer = store
        return store

    @property
    def path(self) -> str:
        """Name the log in messages to people."""
        return "memory"

    @property
    def size(self) -> int:
        """Length of the log in bytes."""
        return len(self._known)

    def replay(self) -> Iterator[Run | Entry]:
        """Read the log from its start; see `contract.Store.replay`."""
        scanner = Scanner()
        for piece in self.pieces():
            yield from self._noting(scanner.feed(piece))
        yield from self._noting(scanner.finish())
        self.problems = scanner.problems
        self._good_end = good_end(scanner.problems, self.size)

    def _noting(self, found: Iterator[Run | Entry]) -> Iterator[Run | Entry]:
        for item in found:
            self._shelf.top_number = max(self._shelf.top_number, highest_named(item))
            yield item

    def pieces(
        self, source: int | None = None, *, start: int = 0, end: int | None = None
    ) -> Iterator[bytes]:
        """Give bytes of the log or of a rotation; see `contract.Store.pieces`."""
        data = self._bytes(source)[start:end]
        for begin in range(0, len(data), PIECE_BYTES):
            yield data[begin : begin + PIECE_BYTES]

    def _bytes(self, source: int | None) -> bytes:
        if source is None:
            return self._known
        if source not in self._shelf.rotations:
            raise StoreError(f"no rotation {source}", path=self.path)
        return self._shelf.rotations[source]

    def append(self, lines: Sequence[bytes]) -> Receipt:
        """Write lines at the end; see `contract.Store.append`."""
        self.make_ready()
        data = frame(lines)
        self._known = self._shelf.log = self._known + data
        self._good_end = self.size
        return Landed(Span(self.size - sum(map(len, lines)), self.size))

    def make_ready(self) -> None:
        """Refuse, or bring the log in order; see `contract.Store.make_ready`."""
        if self._closed:
            raise StoreError("session is closed", path=self.path)
        if self.mode != "w":
            raise StoreError("session is open for reading", path=self.path)
        if self._shelf.log != self._known:
            raise LogChanged("it was written over", path=self.path)
        if self._good_end is None:
            for _ in self.replay():
                pass
        end = self.size if self._good_end is None else self._good_end
        if end < self.size:
            self._shelf.bad += self._known[end:].rstrip(b"\n") + b"\n"
            self._known = self._known[:end]
        if self._known and not self._known.endswith(b"\n"):
            self._known += b"\n"
        self._shelf.log, self._good_end = self._known, self.size

    async def rewrite(
        self,
        *,
        head: Sequence[bytes] = (),
        source: int | None = None,
        keep: int,
        tail: Tail,
        reason: str,
    ) -> Rotated:
        """Make a new log; see `contract.Store.rewrite`."""
        self.make_ready()
        kept = self._bytes(source)
        if not 0 <= keep <= len(kept):
            raise StoreError(f"cannot keep {keep} of {len(kept)} bytes for {reason}")
        kept = kept[:keep]
        if any(head):
            # A byte-order mark may stand nowhere but first.
            kept = kept.removeprefix(BOM)
        if kept and not kept.endswith(b"\n"):
            kept += b"\n"
        shelf = self._shelf
        number = max([shelf.top_number, *shelf.rotations]) + 1
        rotated = Rotated(number=number, bytes=self.size, hash=checksum(self._known))
        lines = tail(rotated) if callable(tail) else tail
        shelf.rotations[number] = self._known
        shelf.top_number = number
        self._known = shelf.log = b"".join([*head, kept, *lines])
        self._good_end = self.size
        return rotated

    def rotations(self) -> list[Rotation]:
        """List the retired logs, oldest number first."""
        return [
            Rotation(number=number, bytes=len(data))
            for number, data in sorted(self._shelf.rotations.items())
        ]

    def keep_aside(self, pieces: Iterable[bytes]) -> None:
        """Keep bytes that are no record; see `contract.Store.keep_aside`."""
        self.make_ready()
        for piece in filter(None, pieces):
            self._shelf.bad += piece.rstrip(b"\n") + b"\n"

    def collect(
        self, needed: frozenset[int], retention: Retention, *, now: float, seconds: float
    ) -> int:
        """Do nothing: there is no room to win."""
        del needed, retention, now, seconds
        return 0

    def advance(self) -> bool:
        """Take what was appended to the log; False if it was replaced or cut."""
        if not self._shelf.log.startswith(self._known):
            return False
        self._known = self._shelf.log
        return True

    def refresh(self) -> None:
        """Take the log as it now is on the shelf as ours; the caller has to replay it."""
        self._known, self._good_end = self._shelf.log, None

    async def close(self) -> None:
        """Give the lock up. Idempotent."""
        self._closed = True
        if self._shelf.writer is self:
            self._shelf.writer = None
