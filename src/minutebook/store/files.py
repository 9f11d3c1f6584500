"""The store on files: a session is a folder, its log `context.jsonl`, rotations beside it.

`docs/format.md` describes the folder; `rewriting` has the steps of the one rewrite.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Literal, Self

from minutebook.codec import paged
from minutebook.errors import LogChanged, StoreError
from minutebook.lines import Entry, Problem, Run, Scanner
from minutebook.records import Rotated
from minutebook.store import metadata as metadata_file
from minutebook.store.collecting import Outcome, Retention, carry_out, plan
from minutebook.store.contract import (
    Landed,
    Receipt,
    RewriteUnsynced,
    Rotation,
    Span,
    Tail,
    good_end,
    highest_named,
)
from minutebook.store.disk import Disk
from minutebook.store.durable import Durable
from minutebook.store.folder import (
    clear_leftovers,
    find_folder,
    highest_number,
    sync_folders,
)
from minutebook.store.lock import Lock
from minutebook.store.logfile import LogFile, as_store_error, translated
from minutebook.store.metadata import Metadata
from minutebook.store.names import BAD, FOREIGN, LOCK, LOG, METADATA, check_session_id
from minutebook.store.rewriting import read_pieces, replace_log
from minutebook.store.rotated import find, list_rotations, opened, rotation_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Durability = Literal["disk", "process"]
Mode = Literal["w", "r"]
LOCK_POLL_SECONDS = 0.02


class FileStore:
    """The log of one session in a folder. See `contract.Store` for what it promises."""

    def __init__(self, folder: str, *, disk: Disk, mode: Mode, durability: Durability) -> None:
        """Hold the settings; `open` is the way to make one."""
        self.folder = folder
        self.durability = durability
        self.mode = mode
        self.problems: list[Problem] = []
        self.metadata = Metadata(id=os.path.basename(folder))
        self.metadata_problem = ""
        self._describes = False
        self._disk = disk
        self._file = LogFile(disk, folder, writable=mode == "w")
        self._lock = Lock(disk, os.path.join(folder, LOCK))
        self._durable = Durable(disk, self._file, syncs=durability == "disk")
        self._unsynced: list[str] = []
        self._good_end: int | None = None
        self._top_number = 0
        self._prepared = False
        self._closed = False

    @classmethod
    async def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        mode: Mode = "w",
        create: bool = True,
        durability: Durability = "disk",
        lock_timeout: float = 0,
        allow_missing_log: bool = False,
        about: Metadata | None = None,
        disk: Disk | None = None,
    ) -> Self:
        """Open a session's folder, as its one writer or as a reader.

        A reader takes no lock and writes nothing. Wait up to *lock_timeout* seconds for the
        lock. *allow_missing_log* opens a folder that has rotations but no log, so that one of
        them can be restored. *about* becomes its `session.json`, where it has none yet, with
        the first write.

        Raises:
            SessionLocked: If another writer holds it.
            StoreError: If it is missing and may not be made, or cannot be opened, or has
                rotations but no log.
        """
        path = _absolute(folder)
        store = cls(path, disk=disk or Disk(), mode=mode, durability=durability)
        try:
            with translated(path):
                check_session_id(os.path.basename(path) or "root")
                store._unsynced = find_folder(store._disk, path, create=create and mode == "w")
                if mode == "w":
                    await store._take_lock(lock_timeout)
                store._attach(create=create and mode == "w", allow_missing_log=allow_missing_log)
                store._describe(about)
        except BaseException:
            await store.close()
            raise
        return store

    @property
    def disk(self) -> Disk:
        """The seam through which its files are reached; a fork takes the same."""
        return self._disk

    @property
    def path(self) -> str:
        """Name the log in messages to people."""
        return self._file.path

    @property
    def size(self) -> int:
        """Length of the log in bytes, with what is written and not yet durable."""
        return self._durable.size

    def replay(self) -> Iterator[Run | Entry]:
        """Read the log from its start; see `contract.Store.replay`."""
        scanner = Scanner()
        for piece in self.pieces():
            yield from self._noting(scanner.feed(piece))
        yield from self._noting(scanner.finish())
        self.problems = scanner.problems
        self._good_end = good_end(scanner.problems, self.size)

    def _noting(self, found: Iterable[Run | Entry]) -> Iterator[Run | Entry]:
        """Pass on what was read, and note the rotation numbers that lineage records name."""
        for item in found:
            self._top_number = max(self._top_number, highest_named(item))
            yield item

    def pieces(
        self, source: int | None = None, *, start: int = 0, end: int | None = None
    ) -> Iterator[bytes]:
        """Give bytes of the log or of a rotation; see `contract.Store.pieces`."""
        if source is None:
            if self._file.descriptor is not None:
                limit = self.size if end is None else min(end, self.size)
                with translated(self.path):
                    yield from read_pieces(self._disk, self._file.descriptor, start, limit)
            return
        rotations = self.rotations()
        rotation = find(rotations, source, self.folder)
        with translated(rotation.path):
            yield from rotation_pieces(self._disk, rotations, rotation, start, end)

    def append(self, lines: Sequence[bytes]) -> Receipt:
        """Write lines at the end, in one write; see `contract.Store.append`."""
        if not lines:
            return Landed(Span(self.size, self.size))
        file, broken = self._file, self._durable.broken
        if self._closed or broken or not self._prepared or file.descriptor is None:
            self.make_ready()
            self._begin_log()
        try:
            file.check()
            begin = file.size
            data, starts = (lines[0], None) if len(lines) == 1 else paged(lines, begin)
            end = file.write(data)
        except LogChanged as error:
            if error.written:
                with translated(file.path):
                    file.sync()
            raise
        except StoreError as error:
            # Half a write that could not be cut off again: the end is not to be trusted.
            self._durable.distrust(error.what)
            raise
        except OSError as error:
            raise as_store_error(error, file.path) from error
        if len(lines) == 1:
            span = Span(begin, end)
        elif starts is None:
            span = Span(end - sum(map(len, lines)), end)
        else:
            span = Span(begin + starts[0], end, tuple(begin + start for start in starts))
        return self._durable.acknowledge(span)

    def make_ready(self) -> None:
        """Refuse, or bring the log in order; see `contract.Store.make_ready`."""
        self._check_writable()
        with translated(self.path):
            if not self._prepared:
                self._prepare()
            self._file.check()

    def _begin_log(self) -> None:
        """Make the log, if there is none yet, after the names that lead to it are safe."""
        if self._file.descriptor is None:
            self._prepared = False
            with translated(self.path):
                sync_folders(self._disk, self._unsynced)
                self._file.create()
            self._durable.named()
            self._prepared = True

    async def rewrite(
        self,
        *,
        head: Sequence[bytes] = (),
        source: int | None = None,
        keep: int,
        tail: Tail,
        reason: str,
    ) -> Rotated:
        """Make a new log; see `contract.Store.rewrite`. *reason* is for error messages."""
        self._check_writable()
        await self._durable.drain()
        self._check_writable()
        try:
            return await self._durable.run(partial(self._rewrite, head, source, keep, tail))
        except StoreError as error:
            error.add_note(f"while rewriting the log for {reason}")
            raise

    def _rewrite(self, head: Sequence[bytes], source: int | None, keep: int, tail: Tail) -> Rotated:
        """Do the rewrite, in the worker thread."""
        self.make_ready()
        self._begin_log()
        self._begin_log()
        with translated(self.path):
            self._file.check()
            if source is None:
                return self._replace(head, self._file.descriptor or 0, keep, tail)
            rotations = self.rotations()
            rotation = find(rotations, source, self.folder)
            with opened(self._disk, rotations, rotation) as (descriptor, _size):
                return self._replace(head, descriptor, keep, tail)

    def _replace(self, head: Sequence[bytes], source: int, keep: int, tail: Tail) -> Rotated:
        """Make the new log and take it as ours."""
        self._durable.sync_what_is_not()
        first = max(self._top_number, highest_number(self._disk, self.folder)) + 1
        new, rotated = replace_log(
            self._disk, self._file, first, head=head, source=source, keep=keep, tail=tail
        )
        self._top_number = rotated.number
        self._file.replaced(new)
        self._durable.adopted()
        self._good_end = new.size
        try:
            self._disk.fsync_folder(self.folder)
        except OSError as error:
            raise RewriteUnsynced(rotated, str(error.strerror), path=self.path) from error
        return rotated

    def rotations(self) -> list[Rotation]:
        """List the retired logs, oldest number first; a spare link of the log is none."""
        with translated(self.folder):
            return list_rotations(self._disk, self._file)

    def keep_aside(self, pieces: Iterable[bytes]) -> None:
        """Keep bytes that are no record; see `contract.Store.keep_aside`."""
        self.make_ready()
        with translated(os.path.join(self.folder, BAD)):
            self._file.keep_aside(filter(None, pieces))

    def collect(
        self, needed: frozenset[int], retention: Retention, *, now: float, seconds: float
    ) -> int:
        """Compress and remove rotations; see `contract.Store.collect`. Blocks.

        Raises:
            StoreError: If something failed; every rotation is then still readable.
        """
        done = self.tidy(needed, retention, now=now, seconds=seconds)
        return sum(outcome.freed_bytes for outcome in done)

    def tidy(
        self, needed: frozenset[int], retention: Retention, *, now: float, seconds: float = math.inf
    ) -> list[Outcome]:
        """As `collect`; gives what was done with each rotation."""
        if not retention.foreign and self.is_foreign:
            return []
        # The log is not written to, so it need not be brought in order: it stays as it is.
        self._check_writable()
        with translated(self.folder):
            self._file.check()
            rotations = self.rotations()
            actions = plan(rotations, needed, retention, now)
            return carry_out(self._disk, self.folder, rotations, actions, seconds=seconds)

    def would_collect(
        self, needed: frozenset[int], retention: Retention, *, now: float
    ) -> list[Outcome]:
        """Find out what `collect` would do, and how much each step would free; writes nothing.

        Costs as much reading and compressing as doing it.
        """
        with translated(self.folder):
            rotations = self.rotations()
            actions = plan(rotations, needed, retention, now)
            return carry_out(
                self._disk, self.folder, rotations, actions, seconds=math.inf, dry=True
            )

    @property
    def is_foreign(self) -> bool:
        """Whether the folder is another agent's, which keeps files of its own in it."""
        with translated(self.folder):
            return any(name in FOREIGN for name in self._disk.names(self.folder))

    def advance(self) -> bool:
        """Take what was appended to the log; see `contract.Store.advance`."""
        with translated(self.path):
            return self._file.advance()

    def refresh(self) -> None:
        """Take the log as it now is on disk as ours; the caller has to replay it.

        Raises:
            LogChanged: If log or folder are gone.
            StoreError: If it cannot be read.
        """
        with translated(self.path):
            self._durable.settle()
            if self._file.attach():
                self._durable.attached()
            else:
                self._file.check()
        self._prepared, self._good_end = False, None

    def save_metadata(self, metadata: Metadata) -> None:
        """Replace `session.json`."""
        self._check_writable()
        with translated(os.path.join(self.folder, METADATA)):
            metadata_file.save(self._disk, self.folder, metadata)
            self._disk.fsync_folder(self.folder)
        self.metadata, self.metadata_problem = metadata, ""

    async def close(self) -> None:
        """Wait for running syncs, then give up descriptors and the lock. Idempotent."""
        if self._closed:
            return
        self._closed = True
        await self._durable.close()
        self._file.detach()
        self._lock.release()

    # What follows is called by the methods above only.

    async def _take_lock(self, wait_seconds: float) -> None:
        """Take the lock, or wait for it, or raise `SessionLocked`."""
        deadline = time.monotonic() + wait_seconds
        while not self._lock.acquire():
            if time.monotonic() >= deadline:
                raise self._lock.refused(self.folder)
            await asyncio.sleep(LOCK_POLL_SECONDS)

    def _attach(self, *, create: bool, allow_missing_log: bool) -> None:
        """Open the log if there is one; a folder with rotations alone is no empty session."""
        if self._file.attach():
            self._durable.attached()
            return
        rotations = self.rotations()
        if rotations and not allow_missing_log:
            newest = rotations[-1]
            raise StoreError(
                f"{LOG} is missing, but rotation {newest.number} is there ({newest.path})",
                path=self.folder,
                remedy=f"bring it back with: minutebook restore {self.folder} {newest.number}",
            )
        if not create and not allow_missing_log:
            raise StoreError(f"no {LOG} in this folder", path=self.folder)

    def _describe(self, about: Metadata | None) -> None:
        """Read `session.json`; where it cannot be read it is made anew with the first write."""
        found, self.metadata_problem = metadata_file.load(self._disk, self.folder)
        self._describes = found is not None
        self.metadata = found or about or self.metadata

    def _check_writable(self) -> None:
        if self._closed:
            raise StoreError("session is closed", path=self.path)
        if self.mode != "w":
            raise StoreError("session is open for reading", path=self.path)
        if self._durable.broken:
            self._durable.recover()

    def _prepare(self) -> None:
        """Before the first write: clear what a crash left, set a torn tail aside."""
        if self._good_end is None:
            deque(self.replay(), maxlen=0)
        self._file.check()
        clear_leftovers(self._disk, self._file)
        if not self._describes:
            metadata_file.save(self._disk, self.folder, self.metadata)
            self._describes = True
        if self._file.descriptor is not None:
            try:
                if BAD in self._disk.names(self.folder):
                    # A writer killed while it set bytes aside may have left the cut unsynced: on
                    # power loss what we write could then come to lie over what was cut off.
                    self._file.sync()
                self._file.set_aside(self.size if self._good_end is None else self._good_end)
                self._file.close_last_line()
            except OSError as error:
                # It may have been a sync: what is then in the file has to go to fresh blocks.
                self._durable.distrust(f"{error.strerror} while the log was brought in order")
                raise
        self._prepared = True


def _absolute(folder: str | os.PathLike[str]) -> str:
    return os.path.abspath(folder)
