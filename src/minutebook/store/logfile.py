"""One log file under one writer: what we know of it, and the checks before each write."""

from __future__ import annotations

import errno
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from minutebook.errors import LogChanged, StoreError
from minutebook.store.disk import Disk, discard, is_file, write_all
from minutebook.store.names import BAD, LOG, NEW_LOG
from minutebook.store.rewriting import read_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TAIL_BYTES = 256
"""How much of the log's end is compared before each write, to notice a change in place."""

_REMEDIES = {
    errno.ENOSPC: "free some space and try again",
    errno.EDQUOT: "free some space and try again",
    errno.EROFS: 'the file system is read-only; open with mode="r"',
    errno.EACCES: "check the owner and the mode of the file and its folder",
    errno.EPERM: "check the owner and the mode of the file and its folder",
    errno.EMFILE: "close files or raise the limit of open files",
    errno.ELOOP: "a symbolic link is not followed; put the file itself there",
    errno.EIO: "check the disk",
}


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn the system's errors into `StoreError`, at this one border."""
    try:
        yield
    except OSError as error:
        raise as_store_error(error, path) from error


def as_store_error(error: OSError, path: str) -> StoreError:
    """Say what the system said, at which path, and what the reader may do."""
    text = error.strerror or str(error)
    remedy = _REMEDIES.get(error.errno or 0, "")
    return StoreError(text[:1].lower() + text[1:], path=path, remedy=remedy)


class Opened(NamedTuple):
    """An open log, and what has to be true of it before each write."""

    descriptor: int
    size: int
    inode: tuple[int, int]
    last: bytes
    """Its last bytes."""


class LogFile:
    """The descriptor of `context.jsonl`, with what has to be true of it before each write."""

    def __init__(self, disk: Disk, folder: str, *, writable: bool) -> None:
        """Name the file; `attach` opens it."""
        self._disk = disk
        self._writable = writable
        self.folder = folder
        self.path = os.path.join(folder, LOG)
        self.descriptor: int | None = None
        """None while the log does not exist."""
        self.size = 0
        self._inode: tuple[int, int] | None = None
        self._last = b""
        self._touched_ns = 0
        """The system's time after our last write; 0 if the log may be newer than that."""
        self._stray = 0
        """How many bytes of a failed write may stand behind the log's end."""

    def attach(self) -> bool:
        """Open the log as it now is; tell whether there is one. If not, all stays as it was."""
        flags = os.O_RDWR | os.O_APPEND if self._writable else os.O_RDONLY
        try:
            descriptor = self._disk.open(self.path, flags)
        except FileNotFoundError:
            return False
        self.replaced(self.look(descriptor))
        return True

    def detach(self) -> None:
        """Give the descriptor up."""
        descriptor, self.descriptor = self.descriptor, None
        self.size, self._inode, self._last = 0, None, b""
        if descriptor is not None:
            with suppress(OSError):
                self._disk.close(descriptor)

    def create(self) -> None:
        """Make an empty log.

        Raises:
            LogChanged: If somebody else has just made one.
        """
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL
        try:
            descriptor = self._disk.open(self.path, flags)
        except FileExistsError:
            raise LogChanged("another program made it", path=self.path) from None
        try:
            self.replaced(self.look(descriptor))
        except BaseException:
            with suppress(OSError):
                self._disk.unlink(self.path)
            raise

    def look(self, descriptor: int) -> Opened:
        """Read what is to be known of an open log; closes it if that fails.

        Raises:
            StoreError: If it is not a plain file.
        """
        try:
            status = self._disk.fstat(descriptor)
            size, inode, plain = status.st_size, (status.st_dev, status.st_ino), is_file(status)
            start = max(0, size - TAIL_BYTES)
            last = self._disk.read(descriptor, size - start, start) if plain else b""
        except BaseException:
            with suppress(OSError):
                self._disk.close(descriptor)
            raise
        if not plain:
            self._disk.close(descriptor)
            raise StoreError("is not a plain file", path=self.path)
        return Opened(descriptor, size, inode, last)

    def replaced(self, new: Opened) -> None:
        """Take another file as the log, in place of the one before. Never fails."""
        self.detach()
        self.descriptor, self.size, self._inode, self._last = new
        self._touched_ns = self._stray = 0

    def is_same(self, status: os.stat_result) -> bool:
        """Tell whether a file is the log itself under another name."""
        return (status.st_dev, status.st_ino) == self._inode

    def check(self) -> None:
        """Compare the log on disk with the one that we know. On the path of every append.

        Where size and file agree, and the file was written to after our last write (or its
        time cannot tell), the log's last bytes decide.

        Raises:
            LogChanged: If it was appended to, cut, changed at its end, replaced, or deleted.
        """
        try:
            status = self._disk.stat(self.path)
        except FileNotFoundError:
            if self._inode is None:
                self._check_folder()
                return
            raise LogChanged("it was deleted", path=self.path) from None
        if self._inode != (status.st_dev, status.st_ino):
            what = "another program made it" if self._inode is None else "it was replaced"
            raise LogChanged(what, path=self.path)
        if status.st_size != self.size:
            change = status.st_size - self.size
            raise LogChanged(
                f"it has {abs(change)} bytes {'more' if change > 0 else 'less'}", path=self.path
            )
        if status.st_mtime_ns > self._touched_ns and self._read_tail() != self._last:
            raise LogChanged("its end was written over", path=self.path)

    def check_broken(self) -> None:
        """Compare as `check` does where a failed write may stand behind the log's end.

        Raises:
            LogChanged: If somebody else has changed the log since.
        """
        try:
            status = self._disk.stat(self.path)
        except FileNotFoundError:
            raise LogChanged("it was deleted", path=self.path) from None
        if not self.is_same(status):
            raise LogChanged("it was replaced", path=self.path)
        if not 0 <= status.st_size - self.size <= self._stray:
            raise LogChanged("it has another length", path=self.path)

    def advance(self) -> bool:
        """Take what was appended by its writer; False if the log was replaced or cut, or is gone.

        Then the size is that of the file which is still open.
        """
        if self.descriptor is None:
            return self.attach()
        same = True
        try:
            status = self._disk.stat(self.path)
        except FileNotFoundError:
            same = False
        else:
            same = self.is_same(status) and status.st_size >= self.size
        self.size = self._disk.fstat(self.descriptor).st_size
        return same

    def _check_folder(self) -> None:
        try:
            self._disk.stat(self.folder)
        except FileNotFoundError:
            raise LogChanged("the session's folder was deleted", path=self.folder) from None

    def _read_tail(self) -> bytes:
        if self.descriptor is None:
            return b""
        start = max(0, self.size - TAIL_BYTES)
        return self._disk.read(self.descriptor, self.size - start, start)

    def write(self, data: bytes) -> int:
        """Append in one write and give the log's new end; a write that fails is cut off again.

        Raises:
            LogChanged: If somebody got in between the check and the write; `written` tells
                whether our write succeeded.
            OSError: If it failed and was cut off again.
            StoreError: If the cut failed too; the log's end is then not known to be good.
        """
        descriptor, disk, length = self.descriptor, self._disk, len(data)
        if descriptor is None:
            raise StoreError("log is not open", path=self.path)
        try:
            written = disk.write(descriptor, data)
            end = disk.position(descriptor)
        except OSError as error:
            self._cut_back(error, data)
            raise
        if written != length:
            # A second write could come after somebody else's: all of it in one, or none.
            short = OSError(errno.ENOSPC, "not all bytes could be written")
            self._cut_back(short, data)
            raise short
        start = self.size
        if end != start + length:
            raise LogChanged(
                f"{end - length - start} bytes came in between", path=self.path, written=True
            )
        self.size = end
        self._last = (
            data[-TAIL_BYTES:] if length >= TAIL_BYTES else (self._last + data)[-TAIL_BYTES:]
        )
        self._touched_ns = time.time_ns()
        return end

    def _cut_back(self, cause: OSError, data: bytes) -> None:
        """Take away what a failed write of *data* left, and nothing of anybody else's."""
        descriptor = self.descriptor
        if descriptor is None:
            return
        try:
            left = self._disk.read(descriptor, len(data) + 1, self.size)
            ours = data.startswith(left)
            if left and ours:
                self._disk.truncate(descriptor, self.size)
        except OSError as error:
            self._stray = len(data)
            raise StoreError(
                f"{cause.strerror}, and what was half written could not be cut off "
                f"({error.strerror})",
                path=self.path,
            ) from error
        if not ours:
            raise LogChanged("it grew while our write failed", path=self.path) from cause

    def sync(self) -> None:
        """Bring the log's bytes to the disk."""
        if self.descriptor is not None:
            self._disk.fdatasync(self.descriptor)

    def set_aside(self, start: int) -> None:
        """Copy the bytes from *start* on to `context.bad.jsonl`, sync, then cut them off."""
        descriptor = self.descriptor
        if descriptor is None or start >= self.size:
            return
        self.keep_aside(read_pieces(self._disk, descriptor, start, self.size))
        begin = max(0, start - TAIL_BYTES)
        last = self._disk.read(descriptor, start - begin, begin)
        self._disk.truncate(descriptor, start)
        self.size, self._last, self._touched_ns = start, last, 0
        self._disk.fdatasync(descriptor)

    def keep_aside(self, pieces: Iterable[bytes]) -> None:
        """Append bytes to `context.bad.jsonl`, each piece ended by a newline, and sync it."""
        bad = self._disk.open(os.path.join(self.folder, BAD), os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            for piece in pieces:
                write_all(self._disk, bad, piece.rstrip(b"\n") + b"\n")
            self._disk.fsync(bad)
        finally:
            self._disk.close(bad)
        self._disk.fsync_folder(self.folder)

    def close_last_line(self) -> None:
        """End a whole last line that lacks its newline.

        Synced by itself: a lost newline before a record that is there would cost the line.
        """
        if self.size and self._last[-1:] != b"\n":
            self.write(b"\n")
            self.sync()

    def restore_prefix(self, length: int) -> None:
        """Put a copy of the first *length* bytes in the log's place, on fresh blocks, synced.

        Raises:
            OSError: If it could not be done; what this object holds is then still right.
        """
        old = self.descriptor
        temporary = os.path.join(self.folder, NEW_LOG)
        discard(self._disk, temporary)
        fresh = self._disk.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try:
            if old is not None and length:
                self._disk.copy(old, fresh, 0, length)
            self._disk.fsync(fresh)
            new = self.look(self._disk.open(temporary, os.O_RDWR | os.O_APPEND))
        except BaseException:
            with suppress(OSError):
                discard(self._disk, temporary)
            raise
        finally:
            with suppress(OSError):
                self._disk.close(fresh)
        try:
            self._disk.rename(temporary, self.path)
        except BaseException:
            with suppress(OSError):
                self._disk.close(new.descriptor)
            raise
        self.replaced(new)
        self._disk.fsync_folder(self.folder)
