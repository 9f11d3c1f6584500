"""What is known of the sessions that were looked at: read once, and again once they change.

Nothing here writes or takes a lock, so an agent may write the session meanwhile.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Generic, TypeVar

from msgspec import Struct

from minutebook.cli.inspecting import facts_of
from minutebook.cli.opening import is_session, writer_of
from minutebook.cli.surveying import Surveyed, store_for_reading
from minutebook.formats.reading import Reading, read
from minutebook.lines import Entry, Run, Scanner
from minutebook.messages import Message
from minutebook.models.windows import window_of
from minutebook.records import Compaction, Record
from minutebook.store.contract import Rotation
from minutebook.store.files import FileStore
from minutebook.store.names import LOG, METADATA, folder_of, rotation_number
from minutebook.survey import Survey, survey
from minutebook.tools.originals import whole_text
from minutebook.viewer.growing import Growing
from minutebook.viewer.logs import (
    HeldLog,
    Index,
    Log,
    StoredLog,
    compactions,
    index,
)
from minutebook.viewer.places import Place

LOGS_MAX = 64
"""How many logs' indexes are kept; one takes some words for each of its messages."""
READINGS_MAX = 2
"""How many files of other agents are kept in memory."""

Stamp = tuple[Any, ...]


class Open(Struct, frozen=True, kw_only=True):
    """A session that is open for reading while one page is made."""

    place: Place
    stamp: Stamp
    surveyed: Surveyed
    live: Log
    numbers: tuple[int, ...] = ()
    """The rotations that are there, the oldest first."""
    store: FileStore | None = None
    """None for another agent's file."""
    library: Library

    def facts(self) -> dict[str, Any]:
        """Give what `inspect` reports, with the same keys; looks at every rotation."""
        return self.library.facts(self)

    def log(self, number: int | None) -> Log | None:
        """Give the live log (None) or a rotation; None if there is none of that number."""
        if number is None:
            return self.live
        if self.store is None or number not in self.numbers:
            return None
        return self.library.rotation(self.store, number)

    def logs(self) -> Iterator[tuple[int | None, Log]]:
        """Give the live log, then the rotations, the newest first."""
        yield None, self.live
        for number in reversed(self.numbers):
            log = self.log(number)
            if log is not None:
                yield number, log

    def find(self, seq: int) -> tuple[int | None, Log, int] | None:
        """Find a message: in the live log, else in the newest rotation that has it whole.

        Gives the log's number, the log and the position; a shortened copy only if there is
        no other.
        """
        copy = None
        for number, log in self.logs():
            position = log.index.position(seq)
            if position is None:
                continue
            if seq not in log.index.elided:
                return number, log, position
            copy = copy or (number, log, position)
        return copy

    def compaction(self, name: str) -> tuple[int | None, Log, Compaction] | None:
        """Find a compaction by its id, and the log that it began."""
        found = None
        for number, log in self.logs():
            # The log that it began is the oldest one that tells of it.
            for record in compactions(log.index):
                if record.id == name:
                    found = (number, log, record)
        return found


Made = TypeVar("Made")


class Recent(Generic[Made]):
    """The values that were asked for last, by their stamps."""

    def __init__(self, most: int) -> None:
        """Keep so many."""
        self._most = most
        self._kept: OrderedDict[Stamp, Made] = OrderedDict()

    def get(self, stamp: Stamp, make: Callable[[], Made]) -> Made:
        """Give the value of a stamp; made if it is not kept."""
        if stamp not in self._kept:
            self._kept[stamp] = make()
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(stamp)
        return self._kept[stamp]


class Library:
    """Indexes and readings of what was looked at last.

    May be asked from several threads; one session is open at a time, since what is known of it
    may be read on.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lock = RLock()
        self._logs: Recent[Growing] = Recent(LOGS_MAX)
        self._rotations: Recent[Index] = Recent(LOGS_MAX)
        self._facts: Recent[dict[str, Any]] = Recent(LOGS_MAX)
        self._readings: Recent[tuple[Reading, HeldLog, Survey]] = Recent(READINGS_MAX)

    @contextmanager
    def open(self, place: Place) -> Iterator[Open]:
        """Open a session or another agent's file.

        Raises:
            FormatError: If it is of no known format.
            StoreError: If it has gone or cannot be read.
        """
        with self._lock:
            if not is_session(place.path):
                yield self._file(place)
                return
            with store_for_reading(place.path) as store:
                yield self._session(place, store)

    def facts(self, opened: Open) -> dict[str, Any]:
        """Give what `inspect` reports; made anew once the session has changed."""
        stamp = (str(opened.place.path), opened.stamp)
        return self._facts.get(stamp, lambda: facts_of(opened.surveyed))

    def rotation(self, store: FileStore, number: int) -> Log:
        """Give a rotation of an open session.

        Raises:
            StoreError: If it has gone or cannot be read.
        """
        found = next((one for one in store.rotations() if one.number == number), None)
        stamp = (store.folder, number, *(() if found is None else _stamp_of_rotation(found)))
        made = self._rotations.get(stamp, lambda: index(_scanned(store, number)))
        return StoredLog(store, number, made)

    def _session(self, place: Place, store: FileStore) -> Open:
        stamp = stamp_of_file(store.path)
        live = self._logs.get((store.folder,), lambda: Growing(store, stamp))
        live.read_on(store, stamp)
        found = live.survey
        form, evidence = writer_of(store)
        known = store.metadata
        model = known.model or found.model
        surveyed = Surveyed(
            path=place.path,
            format=form,
            evidence=evidence,
            survey=found,
            problems=live.problems,
            title=known.title,
            agent=known.agent,
            model=model,
            window=known.window or (window_of(model) if model else None),
            counts={"unknown_records": found.unknown_records} if found.unknown_records else {},
            store=store,
        )
        return Open(
            place=place,
            stamp=stamp_of(place.path),
            surveyed=surveyed,
            live=StoredLog(store, None, live.index),
            numbers=tuple(rotation.number for rotation in store.rotations()),
            store=store,
            library=self,
        )

    def _file(self, place: Place) -> Open:
        stamp = (str(place.path), *stamp_of_file(str(place.path)))
        reading, live, found = self._readings.get(stamp, lambda: _held(read(place.path)))
        surveyed = Surveyed(
            path=place.path,
            format=reading.format,
            evidence=reading.evidence,
            survey=found,
            problems=reading.problems,
            title=reading.title,
            agent=" ".join(filter(None, (reading.agent, reading.agent_version))),
            model=reading.model,
            window=window_of(reading.model) if reading.model else None,
            counts=dict(reading.counts),
        )
        return Open(
            place=place,
            stamp=stamp_of(place.path),
            surveyed=surveyed,
            live=live,
            library=self,
        )


def stamp_of(path: Path) -> Stamp:
    """Give what changes whenever a session does: what its folder, log and metadata are."""
    if not is_session(path):
        return stamp_of_file(str(path))
    folder = Path(folder_of(path))
    rotations = [one.name for one in folder.iterdir() if rotation_number(one.name) is not None]
    return (
        *stamp_of_file(str(folder / LOG)),
        *stamp_of_file(str(folder / METADATA)),
        *sorted(rotations),
    )


def stamp_of_file(path: str) -> Stamp:
    """Give what changes when a file is written to or replaced; nothing where there is none."""
    try:
        status = Path(path).stat()
    except OSError:
        return ()
    return (status.st_ino, status.st_size, status.st_mtime_ns)


def _stamp_of_rotation(rotation: Rotation) -> Stamp:
    return (rotation.path, rotation.bytes, rotation.stored_bytes, rotation.modified)


def _scanned(store: FileStore, number: int) -> Iterator[Run | Entry]:
    """Read a rotation."""
    scanner = Scanner()
    for piece in store.pieces(number):
        yield from scanner.feed(piece)
    yield from scanner.finish()


def _held(found: Reading) -> tuple[Reading, HeldLog, Survey]:
    """Put what another agent's file sends into the form of a log."""
    entries = [Entry(record, 0, _length(record)) for record in found.records]
    messages = [record for record in found.records if isinstance(record, Message)]
    return found, HeldLog(messages, index(entries)), survey(lambda: entries)


def _length(record: Record) -> int:
    return len(whole_text(record)) if isinstance(record, Message) else 0
