"""Follow a session that somebody else writes: whole records only, across rotations too."""

from __future__ import annotations

import asyncio
import zlib
from collections import Counter
from typing import TYPE_CHECKING

from minutebook.codec import encode_line
from minutebook.errors import LogChanged
from minutebook.lines import Scanner, flatten
from minutebook.messages import Message, replace
from minutebook.numbers import Numbers
from minutebook.store.contract import named_number

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from minutebook.records import Record
    from minutebook.store.contract import Store

POLL_SECONDS = 0.2
MISSING_POLLS_MAX = 25
"""How often in a row the log may be missing: Kimi CLI renames it away before it writes anew."""


class Follower:
    """What has been read of a log that grows and is replaced. `read_new` never waits."""

    def __init__(self, store: Store) -> None:
        """Take a store; what is in its log by now counts as seen."""
        self._store = store
        self._top = 0
        """The highest rotation number that a record has named."""
        self._replaced = False
        """Whether the log was replaced or is gone, and the new one has not been read."""
        self._unnumbered: Counter[int] = Counter()
        """The messages without a number of their own: other programs write those."""
        self._retired = self._newest()
        self._begin()
        for _ in self._grown():
            pass

    def read_new(self) -> Iterator[Record]:
        """Give the records that came since the last call, messages with their numbers.

        A last line without its newline is not there yet.

        After a rewrite these are its own record and the messages that are new: a message that
        was only carried over or kept is not given again.

        Raises:
            LogChanged: If log or folder are gone; a later call may find the log there again.
        """
        if not self._replaced:
            if self._store.advance():
                yield from (record for record, _ in self._grown())
                return
            # The old log may have got lines between our last look and its rotation.
            yield from (record for record, _ in self._grown())
            self._replaced = True
        self._store.refresh()
        self._replaced = False
        last, self._retired = self._retired, self._newest()
        # The first of them is the log that was just read to its end.
        between = [item.number for item in self._store.rotations() if item.number > last][1:]
        for source in (*between, None):
            yield from self._new_in(source)

    def _newest(self) -> int:
        """Give the highest number of the rotations that are there."""
        return max((rotation.number for rotation in self._store.rotations()), default=0)

    def _new_in(self, source: int | None) -> Iterator[Record]:
        """Read a log that came in the place of another, and give what the other had not."""
        seen, top, known = self._numbers.following.seq, self._top, self._unnumbered
        self._begin()
        for record, own in self._grown(source):
            if not isinstance(record, Message):
                new = named_number(record) > top
            elif own:
                new = (record.seq or 0) >= seen
            else:
                words = _words(record)
                new = not known[words]
                known[words] -= not new
            if new:
                yield record

    def _begin(self) -> None:
        """Go to the start of a log."""
        self._numbers = Numbers()
        self._offset = self._line = 0
        self._unnumbered = Counter()

    def _grown(self, source: int | None = None) -> Iterator[tuple[Record, bool]]:
        """Read on in a log; tells whether a message's number is its own.

        What is not whole yet is read again the next time, since its writer may cut it off.
        """
        scanner = Scanner(offset=self._offset, line=self._line)
        for piece in self._store.pieces(source, start=self._offset):
            for entry in flatten(scanner.feed(piece)):
                record = entry.record
                seq = self._numbers.take(record)
                own = False
                self._top = max(self._top, named_number(record))
                if isinstance(record, Message):
                    own = record.seq is not None
                    record = replace(record, seq=seq)
                    if not own:
                        self._unnumbered[_words(record)] += 1
                yield record, own
        self._offset, self._line = scanner.offset, scanner.line


def _words(message: Message) -> int:
    """Give the check sum of a message without its number, which other programs give none."""
    return zlib.crc32(encode_line(replace(message, seq=None)))


async def follow(
    store: Store,
    *,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    poll_seconds: float = POLL_SECONDS,
) -> AsyncIterator[Record]:
    """Give each record once it is whole in the log, for ever. See `Follower.read_new`.

    Raises:
        LogChanged: If log or folder are gone, and stay so for some polls.
    """
    follower = Follower(store)
    missing = 0
    while True:
        try:
            for record in follower.read_new():
                yield record
            missing = 0
        except LogChanged:
            missing += 1
            if missing > MISSING_POLLS_MAX:
                raise
        await sleep(poll_seconds)
