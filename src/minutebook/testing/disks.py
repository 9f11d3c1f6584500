"""Disks for tests: one that notes each operation, and lets a test break it.

They stand in for `minutebook.store.disk.Disk`, on real files.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from minutebook.store.disk import Disk

if TYPE_CHECKING:
    from collections.abc import Callable

CHANGES = frozenset(
    {"write", "link", "rename", "unlink", "truncate", "make_folder", "copy", "create"}
)
"""The operations after which the disk holds something else."""
SYNCS = frozenset({"fdatasync", "fsync", "fsync_folder"})


class Call(NamedTuple):
    """One operation: what it is called, and the file or folder that it is about."""

    name: str
    """The name of `Disk`'s method; `create` in place of `open` for one that may make a file."""
    path: str

    @property
    def file(self) -> str:
        """The last component of the path."""
        return self.path.rpartition("/")[2]


class WatchedDisk(Disk):
    """The real disk, each call of which is noted in `calls` and shown to `fault` first.

    *fault* may raise, do what another program would do in between, or give for a `write` how
    many of its bytes are to be written.
    """

    def __init__(self, fault: Callable[[Call], int | None] | None = None) -> None:
        """Begin with nothing noted."""
        self.calls: list[Call] = []
        self.fault = fault
        self._paths: dict[int, str] = {}

    def named(self, *names: str) -> list[Call]:
        """Give the noted calls of these names."""
        return [call for call in self.calls if call.name in names]

    def _note(self, name: str, path: str | int) -> int | None:
        call = Call(name, self._paths.get(path, "?") if isinstance(path, int) else path)
        self.calls.append(call)
        return self.fault(call) if self.fault is not None else None

    def open(self, path: str, flags: int) -> int:
        """See `Disk`."""
        self._note("create" if flags & os.O_CREAT else "open", path)
        descriptor = super().open(path, flags)
        self._paths[descriptor] = path
        return descriptor

    def close(self, descriptor: int) -> None:
        """See `Disk`; the descriptor is closed even if the fault raises, as on Linux."""
        try:
            self._note("close", descriptor)
        finally:
            super().close(descriptor)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """See `Disk`."""
        count = self._note("write", descriptor)
        return super().write(descriptor, data if count is None else data[:count])

    def position(self, descriptor: int) -> int:
        """See `Disk`."""
        self._note("position", descriptor)
        return super().position(descriptor)

    def read(self, descriptor: int, length: int, offset: int) -> bytes:
        """See `Disk`."""
        self._note("read", descriptor)
        return super().read(descriptor, length, offset)

    def fdatasync(self, descriptor: int) -> None:
        """See `Disk`."""
        self._note("fdatasync", descriptor)
        super().fdatasync(descriptor)

    def fsync(self, descriptor: int) -> None:
        """See `Disk`."""
        self._note("fsync", descriptor)
        super().fsync(descriptor)

    def fsync_folder(self, path: str) -> None:
        """See `Disk`."""
        self._note("fsync_folder", path)
        super().fsync_folder(path)

    def link(self, source: str, target: str) -> None:
        """See `Disk`."""
        self._note("link", target)
        super().link(source, target)

    def rename(self, source: str, target: str) -> None:
        """See `Disk`."""
        self._note("rename", target)
        super().rename(source, target)

    def unlink(self, path: str) -> None:
        """See `Disk`."""
        self._note("unlink", path)
        super().unlink(path)

    def truncate(self, descriptor: int, length: int) -> None:
        """See `Disk`."""
        self._note("truncate", descriptor)
        super().truncate(descriptor, length)

    def make_folder(self, path: str) -> None:
        """See `Disk`."""
        self._note("make_folder", path)
        super().make_folder(path)

    def copy(self, source: int, target: int, offset: int, length: int) -> None:
        """See `Disk`."""
        self._note("copy", target)
        super().copy(source, target, offset, length)

    def stat(self, path: str) -> os.stat_result:
        """See `Disk`."""
        self._note("stat", path)
        return super().stat(path)

    def fstat(self, descriptor: int) -> os.stat_result:
        """See `Disk`."""
        self._note("fstat", descriptor)
        return super().fstat(descriptor)

    def names(self, path: str) -> list[str]:
        """See `Disk`."""
        self._note("names", path)
        return super().names(path)


class FailAt:
    """A fault that raises one error, at one call by its index, or at all from there on."""

    def __init__(self, at: int, error: int, *, lasting: bool = False) -> None:
        """Raise *error* at call number *at*, counted from 0; *lasting*: and at each after it."""
        self.at = at
        self.error = error
        self.lasting = lasting
        self.seen = 0
        self.hit: Call | None = None
        """The call that failed; None if there were not so many."""

    def __call__(self, call: Call) -> int | None:
        """Count the call, and raise if it is its turn."""
        index, self.seen = self.seen, self.seen + 1
        if index == self.at or (self.lasting and index > self.at):
            self.hit = self.hit or call
            raise OSError(self.error, os.strerror(self.error), call.path)
        return None
