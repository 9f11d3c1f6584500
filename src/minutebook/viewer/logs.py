"""One log, of any length, read a part at a time: what is kept is where each message stands.

The index is made in one pass and takes a few words for each message; the messages of a page
are read again from their place. A file of another agent is in memory anyway, and looks the same.
"""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from minutebook.lines import Entry, Run, scan
from minutebook.messages import Message, replace
from minutebook.numbers import Numbers
from minutebook.records import Checkpoint, Compaction, Lineage, Usage
from minutebook.store.contract import Store
from minutebook.survey import Marked
from minutebook.tokens.estimate import estimate_message
from minutebook.tools.originals import whole_text

LARGEST = 12
"""How many of the longest messages are remembered."""
GAP_BYTES_MAX = 1 << 16
"""Lines that stand further apart are read one by one."""
GROUP_BYTES_MAX = 1 << 22
"""So many bytes are read at once, unless a single line has more."""


class Counted(Struct, frozen=True, kw_only=True):
    """What the provider counted, and behind how many messages it stands."""

    messages: int
    usage: Usage
    order: int
    """Which of the log's counts and rewrites it is."""

    @property
    def tokens(self) -> int:
        """The size of the context."""
        return self.usage.token_count


class Rewritten(Struct, frozen=True, kw_only=True):
    """A lineage record, and how many messages stand before it."""

    record: Lineage
    messages: int
    order: int
    """Which of the log's counts and rewrites it is."""


class Large(Struct, frozen=True, kw_only=True):
    """One of the largest messages."""

    seq: int
    role: str
    tokens: int
    excerpt: str


class Index:
    """Where the messages of a log stand, and what else it tells of. Make it with `index`."""

    def __init__(self) -> None:
        """Begin before the first record."""
        self.seqs = array("q")
        self.starts = array("q")
        self.ends = array("q")
        self.counted: list[Counted] = []
        self.checkpoints: list[Marked] = []
        self.rewritten: list[Rewritten] = []
        self.elided: dict[int, str] = {}
        """The step that shortened a message, by its number."""
        self._ascending = True
        self._places: dict[int, int] = {}
        self._numbers = Numbers()
        self._longest: list[tuple[int, int]] = []

    @property
    def _order(self) -> int:
        return len(self.counted) + len(self.rewritten)

    @property
    def count(self) -> int:
        """How many messages the log has."""
        return len(self.seqs)

    @property
    def longest(self) -> list[int]:
        """The positions of the messages with the longest lines, the longest first."""
        return [-position for _size, position in sorted(self._longest, reverse=True)]

    def position(self, seq: int) -> int | None:
        """Give where the message of a number stands; None if the log has none."""
        seqs = self.seqs
        if self._ascending:
            at = bisect_left(seqs, seq)
            return at if at < len(seqs) and seqs[at] == seq else None
        if not self._places:
            for at in range(len(seqs) - 1, -1, -1):
                self._places[seqs[at]] = at
        return self._places.get(seq)

    def noting(self, found: Iterable[Run | Entry]) -> Iterator[Run | Entry]:
        """Pass on what is read of the log, and note it."""
        for item in found:
            if isinstance(item, Entry):
                self._note(item.record, item.start, item.end)
            else:
                starts = item.starts
                for at, record in enumerate(item.records):
                    self._note(record, starts[at], starts[at + 1] - 1)
            yield item

    def _note(self, record: object, start: int, end: int) -> None:
        seq = self._numbers.take(record)  # type: ignore[arg-type]  # both unions are records
        if isinstance(record, Message):
            position = len(self.seqs)
            if position and seq <= self.seqs[-1]:
                self._ascending = False
            self._places.clear()
            self.seqs.append(seq)
            self.starts.append(start)
            self.ends.append(end)
            if record.elided:
                self.elided[seq] = record.elided
            self._measure(position, end - start)
        elif isinstance(record, Usage):
            if record.token_count > 0:
                counted = Counted(
                    messages=len(self.seqs),
                    usage=record,
                    order=self._order,
                )
                self.counted.append(counted)
        elif isinstance(record, Checkpoint):
            mark = Marked(id=record.id, label=record.label, at=record.at, messages=len(self.seqs))
            self.checkpoints.append(mark)
        elif isinstance(record, Lineage):
            self.rewritten.append(
                Rewritten(record=record, messages=len(self.seqs), order=self._order)
            )

    def _measure(self, position: int, size: int) -> None:
        """Remember a message if it is one of the longest."""
        if len(self._longest) < LARGEST:
            heapq.heappush(self._longest, (size, -position))
        elif size > self._longest[0][0]:
            heapq.heapreplace(self._longest, (size, -position))


def index(found: Iterable[Run | Entry]) -> Index:
    """Make the index of a log; reads it once."""
    made = Index()
    deque(made.noting(found), maxlen=0)
    return made


class Log(Protocol):
    """A log whose messages can be read a part at a time."""

    @property
    def index(self) -> Index:
        """Where everything stands."""
        ...

    def read(self, positions: Sequence[int]) -> Iterator[Message]:
        """Give the messages at these positions, ascending, each with its number.

        Raises:
            StoreError: If the log has gone or cannot be read.
        """
        ...


class StoredLog:
    """A session's log or one of its rotations, in its store. Good while the store is open."""

    def __init__(self, store: Store, number: int | None, made: Index) -> None:
        """Take the store, which log it is (None: the live one), and its index."""
        self._store = store
        self._number = number
        self.index = made

    def read(self, positions: Sequence[int]) -> Iterator[Message]:
        """Give the messages at these positions; lines that stand close are read in one go."""
        made = self.index
        for group in _groups(positions, made):
            start, end = made.starts[group[0]], made.ends[group[-1]]
            data = b"".join(self._store.pieces(self._number, start=start, end=end))
            for at in group:
                line = data[made.starts[at] - start : made.ends[at] - start]
                yield _message(line, made.seqs[at])


class HeldLog:
    """Messages that are in memory: what another agent's file sends."""

    def __init__(self, messages: Sequence[Message], made: Index) -> None:
        """Take the messages in order, and their index."""
        self._messages = messages
        self.index = made

    def read(self, positions: Sequence[int]) -> Iterator[Message]:
        """Give the messages at these positions."""
        seqs = self.index.seqs
        return (replace(self._messages[at], seq=seqs[at]) for at in positions)


def passing(log: Log, start: int = 0, stop: int | None = None) -> Iterator[Message]:
    """Give a log's messages one by one; memory is what a few megabytes of them take."""
    return log.read(range(start, log.index.count if stop is None else stop))


def largest(log: Log, excerpt: Callable[[str], str]) -> list[Large]:
    """Give the messages that take the most tokens, of those with the longest lines."""
    found = [
        Large(
            seq=message.seq or 0,
            role=message.role,
            tokens=estimate_message(message),
            excerpt=excerpt(whole_text(message)),
        )
        for message in log.read(sorted(log.index.longest))
    ]
    return sorted(found, key=lambda large: -large.tokens)


def compactions(made: Index) -> list[Compaction]:
    """Give the compactions that a log tells of, in order."""
    return [step.record for step in made.rewritten if isinstance(step.record, Compaction)]


def _groups(positions: Sequence[int], made: Index) -> Iterator[list[int]]:
    """Put positions together whose lines stand close."""
    group: list[int] = []
    for at in positions:
        far = group and (
            made.starts[at] - made.ends[group[-1]] > GAP_BYTES_MAX
            or made.ends[at] - made.starts[group[0]] > GROUP_BYTES_MAX
        )
        if far:
            yield group
            group = []
        group.append(at)
    if group:
        yield group


def _message(line: bytes, seq: int) -> Message:
    """Read one line again; what stood there was a message when the index was made."""
    entries, _problems = scan(line)
    for entry in entries:
        if isinstance(entry.record, Message):
            return replace(entry.record, seq=seq)
    return Message(role="system", content="", seq=seq)
