"""How far the log is safe on the disk, and the way back when it is not.

After a failed sync the page cache may show what the disk lacks, so nothing written since the
last good one counts: every waiting append fails, and the synced part is put on fresh blocks
before anything else is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from minutebook.errors import LogChanged, StoreError
from minutebook.store.commit import GroupCommit
from minutebook.store.contract import Landed, Span
from minutebook.store.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from minutebook.store.contract import Receipt
    from minutebook.store.disk import Disk
    from minutebook.store.logfile import LogFile

Outcome = TypeVar("Outcome")


class Durable:
    """The syncing side of one log file."""

    def __init__(self, disk: Disk, file: LogFile, *, syncs: bool) -> None:
        """Take the file, attached or not; *syncs*: whether every append waits for the disk."""
        self._disk = disk
        self._file = file
        self._syncs = syncs
        self._name_unsynced = False
        self._safe = file.size
        self._trusted = file.size
        self._stranger = False
        """Whether the file may hold bytes that nobody has synced."""
        self.broken = ""
        """Why the log's end may not be trusted; empty when it may."""
        self._worker = Worker("minutebook")
        self._commit: GroupCommit | None = None

    @property
    def size(self) -> int:
        """The length of the log that counts."""
        return self._trusted if self.broken else self._file.size

    def acknowledge(self, span: Span) -> Receipt:
        """Give the receipt of an append that is written."""
        if self._syncs or self._name_unsynced:
            return self._committing().add(span)
        self._safe = span.end
        return Landed(span)

    def distrust(self, why: str) -> None:
        """Note that a failed write could not be cut off: what stood before it still counts."""
        self.broken, self._trusted = why, self._file.size

    def named(self) -> None:
        """Note that the log's name is new; it is synced with the next append."""
        self._name_unsynced = True

    def adopted(self) -> None:
        """Note that the file is another one now, synced as a whole."""
        self._safe = self._file.size
        self.broken, self._stranger = "", False

    def attached(self) -> None:
        """Note that the file is one that another process may have left unsynced.

        Its bytes count, but before one of them is built on they are synced, and so is its name.
        """
        self.adopted()
        self._stranger = True
        if self._syncs:
            self.named()

    def sync(self) -> None:
        """Bring the log to the disk, and the first time its name."""
        self._file.sync()
        if self._name_unsynced:
            self._disk.fsync_folder(self._file.folder)

    def sync_what_is_not(self) -> None:
        """Sync in the calling thread, if anything is not safe yet."""
        if self._safe < self._file.size or self._name_unsynced or self._stranger:
            try:
                self.sync()
            except OSError as error:
                raise self._sync_failed(error) from error
            self._landed(self._file.size)

    def recover(self) -> None:
        """Put the trusted part of the log on fresh blocks.

        Raises:
            LogChanged: If somebody else has changed the log since.
            StoreError: If that fails, or a sync is still running; the log stays distrusted.
        """
        if self._commit is not None and self._commit.is_busy:
            raise StoreError(
                f"{self.broken}; a sync is still running", path=self._file.path, remedy="try again"
            )
        try:
            self._file.check_broken()
            self._file.restore_prefix(self._trusted)
        except OSError as error:
            raise StoreError(
                f"{self.broken}; going back to the last good state failed too ({error.strerror})",
                path=self._file.path,
                remedy="check the disk and try again",
            ) from error
        self.adopted()

    def settle(self) -> None:
        """Make an end of the distrust before the log is read again, whoever has changed it.

        What is then read may come from the page cache alone, so it is put on fresh blocks.

        Raises:
            StoreError: If that fails; the log stays distrusted.
        """
        if not self.broken:
            return
        try:
            self.recover()
        except LogChanged:
            if self._file.attach():
                self._file.restore_prefix(self._file.size)
            self.adopted()

    async def run(self, work: Callable[[], Outcome]) -> Outcome:
        """Do blocking work in the worker thread, after every sync that was asked for."""
        return await self._worker.run(work)

    async def drain(self) -> None:
        """Wait until no append waits for a sync."""
        if self._commit is not None:
            await self._commit.drain()

    async def close(self) -> None:
        """Wait for running syncs and end the worker thread."""
        await self.drain()
        self._worker.close()

    def _committing(self) -> GroupCommit:
        if self._commit is None:
            self._commit = GroupCommit(
                self.sync, self._worker, landed=self._landed, failed=self._sync_failed
            )
        return self._commit

    def _landed(self, end: int) -> None:
        self._safe = end
        self._name_unsynced = self._stranger = False

    def _sync_failed(self, error: OSError) -> BaseException:
        self.broken, self._trusted = f"sync failed: {error.strerror or error}", self._safe
        return StoreError(
            f"{self.broken}; nothing since the last sync counts",
            path=self._file.path,
            remedy="check the disk and append again",
        )
