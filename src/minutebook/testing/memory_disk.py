"""A disk in memory that notes what is done to it, operation by operation.

It stands in for `minutebook.store.disk.Disk`, so that a store runs on it unchanged. `crashes`
works out of its notes every state that a power loss may leave. It has no permissions and no
times, and the lock file is none of its files: a lock does not outlive its process.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from minutebook.store.disk import FILE_MODE, FOLDER_MODE, Disk
from minutebook.store.names import LOCK

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = 0
"""The number of the root folder."""
FIRST_DESCRIPTOR = 1 << 20
"""Above those of the system, so that neither is taken for the other."""


class Write(NamedTuple):
    """Bytes went into a file."""

    node: int
    offset: int
    data: bytes


class Cut(NamedTuple):
    """A file was cut off."""

    node: int
    length: int


class Bind(NamedTuple):
    """A name was given: to a new file or folder, or to a file that has another."""

    folder: int
    name: str
    node: int
    is_folder: bool = False


class Unbind(NamedTuple):
    """A name was taken away."""

    folder: int
    name: str


class Move(NamedTuple):
    """A name was put in another's place, in the same folder."""

    folder: int
    name: str
    target: str
    node: int


class Sync(NamedTuple):
    """A file's bytes, or a folder's names, were brought to the disk."""

    node: int
    failed: bool = False
    """The system said no: what was not safe before may never become so by a later sync."""


class Mark(NamedTuple):
    """Not an operation: from here on, this is what has to hold after a power loss."""

    expected: Any


Operation = Write | Cut | Bind | Unbind | Move | Sync | Mark


class State(NamedTuple):
    """All that is on a disk. Files and folders have numbers, so that links show."""

    files: dict[int, bytes]
    folders: dict[int, dict[str, int]]


EMPTY = State({}, {ROOT: {}})


class _Descriptor:
    """An open file."""

    __slots__ = ("appends", "node", "path", "position")

    def __init__(self, node: int, path: str, *, appends: bool) -> None:
        self.node = node
        self.path = path
        self.appends = appends
        self.position = 0


class MemoryDisk(Disk):
    """A file system in memory, with a note of each operation that changed or synced it.

    *skip* names sync sites (see `sites`) that are left out, as if the store had forgotten
    them. *fault* is shown each operation's name and path before it is done, and may raise:
    an `OSError` fails it, anything else ends it where it is.
    """

    def __init__(self, state: State = EMPTY, *, skip: frozenset[str] = frozenset()) -> None:
        """Begin with *state*, all of it safe."""
        self.operations: list[Operation] = []
        self.start = state
        self.skip = skip
        self.sites: set[str] = set()
        """Where in the code a sync was asked for: `function caller operation file`."""
        self.fault: Callable[[str, str], None] | None = None
        self._files = {number: bytearray(data) for number, data in state.files.items()}
        self._folders = {number: dict(names) for number, names in state.folders.items()}
        self._open: dict[int, _Descriptor] = {}
        self._next = max([*self._files, *self._folders, ROOT]) + 1
        self._next_descriptor = FIRST_DESCRIPTOR

    def mark(self, expected: object) -> None:
        """Note what has to hold from here on."""
        self.operations.append(Mark(expected))

    def now(self) -> State:
        """Give what is there now, safe or not: what another process would see."""
        return State(
            {number: bytes(data) for number, data in self._files.items()},
            {number: dict(names) for number, names in self._folders.items()},
        )

    def open(self, path: str, flags: int) -> int:
        """See `Disk`."""
        self._check("open", path)
        folder, name = self._parent(path)
        if name == LOCK:
            return os.memfd_create(LOCK)
        node = self._folders[folder].get(name)
        if node is None:
            if not flags & os.O_CREAT:
                raise _error(errno.ENOENT, path)
            node = self._next
            self._next += 1
            self._files[node] = bytearray()
            self._do(Bind(folder, name, node))
        elif flags & os.O_EXCL:
            raise _error(errno.EEXIST, path)
        elif node in self._folders:
            raise _error(errno.EISDIR, path)
        elif flags & os.O_TRUNC and self._files[node]:
            self._do(Cut(node, 0))
        descriptor = self._next_descriptor
        self._next_descriptor += 1
        self._open[descriptor] = _Descriptor(node, path, appends=bool(flags & os.O_APPEND))
        return descriptor

    def close(self, descriptor: int) -> None:
        """See `Disk`."""
        if descriptor < FIRST_DESCRIPTOR:
            os.close(descriptor)
            return
        path = self._open.pop(descriptor).path
        self._check("close", path)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """See `Disk`."""
        file = self._open[descriptor]
        self._check("write", file.path)
        offset = len(self._files[file.node]) if file.appends else file.position
        if data:
            self._do(Write(file.node, offset, bytes(data)))
            file.position = offset + len(data)
        return len(data)

    def position(self, descriptor: int) -> int:
        """See `Disk`."""
        return self._open[descriptor].position

    def read(self, descriptor: int, length: int, offset: int) -> bytes:
        """See `Disk`."""
        file = self._open[descriptor]
        self._check("read", file.path)
        return bytes(self._files[file.node][offset : offset + length])

    def fdatasync(self, descriptor: int) -> None:
        """See `Disk`."""
        file = self._open[descriptor]
        self._sync("fdatasync", file.node, file.path)

    def fsync(self, descriptor: int) -> None:
        """See `Disk`."""
        file = self._open[descriptor]
        self._sync("fsync", file.node, file.path)

    def fsync_folder(self, path: str) -> None:
        """See `Disk`."""
        self._sync("fsync_folder", self._folder(path), path)

    def link(self, source: str, target: str) -> None:
        """See `Disk`."""
        self._check("link", target)
        node = self._node(source)
        folder, name = self._parent(target)
        if name in self._folders[folder]:
            raise _error(errno.EEXIST, target)
        if node in self._folders:
            raise _error(errno.EPERM, source)
        self._do(Bind(folder, name, node))

    def rename(self, source: str, target: str) -> None:
        """See `Disk`."""
        self._check("rename", target)
        folder, name = self._parent(source)
        other, new = self._parent(target)
        if folder != other:
            raise _error(errno.EXDEV, target)
        self._do(Move(folder, name, new, self._node(source)))

    def unlink(self, path: str) -> None:
        """See `Disk`."""
        self._check("unlink", path)
        self._node(path)
        self._do(Unbind(*self._parent(path)))

    def truncate(self, descriptor: int, length: int) -> None:
        """See `Disk`."""
        file = self._open[descriptor]
        self._check("truncate", file.path)
        self._do(Cut(file.node, length))

    def make_folder(self, path: str) -> None:
        """See `Disk`."""
        self._check("make_folder", path)
        folder, name = self._parent(path)
        if name in self._folders[folder]:
            raise _error(errno.EEXIST, path)
        node = self._next
        self._next += 1
        self._folders[node] = {}
        self._do(Bind(folder, name, node, is_folder=True))

    def copy(self, source: int, target: int, offset: int, length: int) -> None:
        """See `Disk`."""
        data = self.read(source, length, offset)
        if len(data) < length:
            raise OSError(errno.EIO, "file ended while it was copied")
        self.write(target, data)

    def stat(self, path: str) -> os.stat_result:
        """See `Disk`."""
        self._check("stat", path)
        return self._describe(self._node(path))

    def fstat(self, descriptor: int) -> os.stat_result:
        """See `Disk`."""
        file = self._open[descriptor]
        self._check("fstat", file.path)
        return self._describe(file.node)

    def names(self, path: str) -> list[str]:
        """See `Disk`."""
        self._check("names", path)
        return list(self._folders[self._folder(path)])

    # What follows is called by the methods above only.

    def _check(self, name: str, path: str) -> None:
        if self.fault is not None:
            self.fault(name, path)

    def _do(self, operation: Operation) -> None:
        """Do an operation in memory, and note it."""
        change(self._files, self._folders, operation)
        self.operations.append(operation)

    def _sync(self, name: str, node: int, path: str) -> None:
        function = sys._getframe(2)
        caller = function.f_back.f_code.co_name if function.f_back else ""
        site = f"{function.f_code.co_name} {caller} {name} {path.rpartition('/')[2]}"
        self.sites.add(site)
        try:
            self._check(name, path)
        except OSError:
            self.operations.append(Sync(node, failed=True))
            raise
        if site not in self.skip:
            self.operations.append(Sync(node))

    def _folder(self, path: str) -> int:
        node = ROOT
        for name in path.split("/"):
            if name:
                if node not in self._folders:
                    raise _error(errno.ENOTDIR, path)
                if name not in self._folders[node]:
                    raise _error(errno.ENOENT, path)
                node = self._folders[node][name]
        if node not in self._folders:
            raise _error(errno.ENOTDIR, path)
        return node

    def _parent(self, path: str) -> tuple[int, str]:
        folder, _, name = path.rpartition("/")
        return self._folder(folder), name

    def _node(self, path: str) -> int:
        folder, name = self._parent(path)
        if not name:
            return folder
        if name not in self._folders[folder]:
            raise _error(errno.ENOENT, path)
        return self._folders[folder][name]

    def _describe(self, node: int) -> os.stat_result:
        if node in self._folders:
            mode = stat.S_IFDIR | FOLDER_MODE
            return os.stat_result((mode, node, 1, 1, os.geteuid(), 0, 0, 0, 0, 0))
        size = len(self._files[node])
        fields = (stat.S_IFREG | FILE_MODE, node, 1, 1, os.geteuid(), 0, size, 0, 0, 0)
        return os.stat_result(fields, {"st_mtime_ns": 1, "st_mtime": 0.0})


def change(
    files: dict[int, bytearray], folders: dict[int, dict[str, int]], operation: Operation
) -> None:
    """Do one operation to the files and folders given."""
    match operation:
        case Write(node, offset, data):
            content = files[node]
            content.extend(bytes(max(0, offset - len(content))))
            content[offset : offset + len(data)] = data
        case Cut(node, length):
            del files[node][length:]
        case Bind(folder, name, node, _):
            folders[folder][name] = node
        case Unbind(folder, name):
            folders[folder].pop(name, None)
        case Move(folder, name, target, node):
            folders[folder].pop(name, None)
            folders[folder][target] = node
        case Sync() | Mark():
            pass


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
