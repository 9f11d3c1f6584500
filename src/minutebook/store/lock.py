"""One writer: an advisory lock of the operating system on a file of its own.

The file is never unlinked, replaced or truncated by a writer that is refused, so that the
lock is always on the same inode. A killed process's lock is free at once.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from typing import TYPE_CHECKING

from minutebook.errors import SessionLocked, StoreError

if TYPE_CHECKING:
    from minutebook.store.disk import Disk

try:
    import fcntl
except ImportError:  # pragma: no cover - a system without flock cannot run the tests
    fcntl = None  # type: ignore[assignment]

HOLDER_BYTES_MAX = 4096


class Lock:
    """The lock of one session directory."""

    def __init__(self, disk: Disk, path: str) -> None:
        """Name the lock file; nothing is opened yet."""
        self._disk = disk
        self._path = path
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Try once to take the lock; tell whether it is ours.

        Raises:
            StoreError: If the file cannot be opened, or the system has no flock.
        """
        if fcntl is None:  # pragma: no cover - see above
            raise StoreError(
                "this system has no flock, so a second writer could not be kept out",
                path=self._path,
                remedy='open with mode="r"',
            )
        try:
            descriptor = self._disk.open(self._path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise StoreError(
                f"cannot open the lock file: {error.strerror}", path=self._path
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._disk.close(descriptor)
            if error.errno in {errno.EAGAIN, errno.EACCES}:
                return False
            raise StoreError(
                f"cannot lock: {error.strerror}",
                path=self._path,
                remedy='use a file system with flock, or open with mode="r"',
            ) from error
        self._descriptor = descriptor
        self._sign(descriptor)
        return True

    def refused(self, session: str) -> SessionLocked:
        """Make the error that names the holder."""
        pid, host = _holder(self._path)
        return SessionLocked(session, pid=pid, host=host)

    def release(self) -> None:
        """Give the lock up; the file stays."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._disk.close(descriptor)

    def _sign(self, descriptor: int) -> None:
        """Write who holds it. Only for people: a failure costs the name, not the lock."""
        text = json.dumps(
            {"pid": os.getpid(), "host": socket.gethostname(), "since": round(time.time(), 3)}
        )
        try:
            os.pwrite(descriptor, text.encode(), 0)
            os.ftruncate(descriptor, len(text))
        except OSError:
            return


def _holder(path: str) -> tuple[int | None, str]:
    """Read who holds the lock, as far as the file says so."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None, ""
    try:
        value = json.loads(os.pread(descriptor, HOLDER_BYTES_MAX, 0))
        pid, host = value.get("pid"), value.get("host")
    except (OSError, ValueError, AttributeError):
        return None, ""
    finally:
        os.close(descriptor)
    return (pid if isinstance(pid, int) else None), (host if isinstance(host, str) else "")
