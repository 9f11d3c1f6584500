"""The live log of a session: its index and survey, read on where it has only grown.

A log that grows by a line is not read again from its start. Whatever else has happened to it (a
rewrite, another file, a pin that was moved) makes both anew, from all of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from minutebook.lines import Entry, Problem, Run, Scanner
from minutebook.store.contract import Store
from minutebook.survey import Survey, survey
from minutebook.viewer.logs import Index

COMPARED_BYTES = 4096
"""So much before the end of what was read has to be as it was, for the log to be the same one."""


class Growing:
    """What is known of one live log. `read_on` brings it up to date."""

    def __init__(self, store: Store, stamp: tuple[int, ...]) -> None:
        """Read the log whole; *stamp* says which file it is (first of all) and in what state."""
        self._stamp = stamp
        self._read(store)

    def read_on(self, store: Store, stamp: tuple[int, ...]) -> None:
        """Read what is new, or everything if it is not certain that the log has only grown.

        Raises:
            StoreError: If the log has gone or cannot be read.
        """
        if stamp == self._stamp and store.size == self._size:
            return
        grown = stamp[:1] == self._stamp[:1] and store.size > self._size and not self._torn
        self._stamp = stamp
        if not grown or self._checksum(store) != self._tail:
            self._read(store)
            return
        pins = self._pins()
        self.survey.take(self.index.noting(self._new(store)))
        if self._pins() != pins:
            self._read(store)

    def _read(self, store: Store) -> None:
        """Begin anew."""
        self.index = Index()
        self.problems: tuple[Problem, ...] = ()
        self._offset = self._line = self._size = 0
        self._torn = False
        first = True

        def found() -> Iterator[Run | Entry]:
            nonlocal first
            noting, first = first, False
            return self.index.noting(self._new(store)) if noting else _scanned(store)

        self.survey: Survey = survey(found)

    def _new(self, store: Store) -> Iterator[Run | Entry]:
        """Read from where the last reading ended."""
        scanner = Scanner(offset=self._offset, line=self._line)
        size = store.size
        for piece in store.pieces(start=self._offset, end=size):
            yield from scanner.feed(piece)
        # What is not whole yet may be cut off again, so it is read again the next time.
        self._torn = scanner.offset != size
        self._offset, self._line, self._size = scanner.offset, scanner.line, size
        yield from scanner.finish()
        self.problems += tuple(scanner.problems)
        self._tail = self._checksum(store)

    def _pins(self) -> object:
        """Give what the kinds of the survey depend on beside each message itself."""
        pins = self.survey.pins
        return pins, frozenset(self.survey.seqs_used_twice) if pins else None

    def _checksum(self, store: Store) -> int:
        start = max(0, self._offset - COMPARED_BYTES)
        return zlib.crc32(b"".join(store.pieces(start=start, end=self._offset)))


def _scanned(store: Store) -> Iterator[Run | Entry]:
    scanner = Scanner()
    for piece in store.pieces():
        yield from scanner.feed(piece)
    yield from scanner.finish()
