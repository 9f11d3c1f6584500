"""The narrow seam: every call of the operating system's file functions goes through `Disk`.

Tests replace it by one that records, fails, cuts short or loses power. It decides nothing.
"""

from __future__ import annotations

import errno
import os
import stat

FILE_MODE = 0o600
FOLDER_MODE = 0o700
PIECE_BYTES = 1 << 20
"""How much is read at once."""


class Disk:
    """The real disk. Every method raises `OSError` as the system does."""

    def open(self, path: str, flags: int) -> int:
        """Open without following a symbolic link; a file that is made is 0600, umask or not."""
        # Without waiting: a named pipe in the place of a file must not hang who opens it.
        flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(path, flags, FILE_MODE)
        if flags & os.O_CREAT:
            os.fchmod(descriptor, FILE_MODE)
        return descriptor

    def close(self, descriptor: int) -> None:
        """Close a descriptor."""
        os.close(descriptor)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """Write once; may be short."""
        return os.write(descriptor, data)

    def position(self, descriptor: int) -> int:
        """Tell where the descriptor stands: after an append, the end of what was appended."""
        return os.lseek(descriptor, 0, os.SEEK_CUR)

    def read(self, descriptor: int, length: int, offset: int) -> bytes:
        """Read at an offset by a read call: a mapped file that is cut kills its reader."""
        return os.pread(descriptor, length, offset)

    def fdatasync(self, descriptor: int) -> None:
        """Bring a file's bytes and length to the disk."""
        os.fdatasync(descriptor)

    def fsync(self, descriptor: int) -> None:
        """Bring a file to the disk, its metadata too."""
        os.fsync(descriptor)

    def fsync_folder(self, path: str) -> None:
        """Bring the names in a folder to the disk."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def link(self, source: str, target: str) -> None:
        """Give a file a second name; fails if the name is taken."""
        os.link(source, target, follow_symlinks=False)

    def rename(self, source: str, target: str) -> None:
        """Put a file in the place of another, atomically."""
        os.rename(source, target)

    def unlink(self, path: str) -> None:
        """Take a name away."""
        os.unlink(path)

    def truncate(self, descriptor: int, length: int) -> None:
        """Cut a file off."""
        os.ftruncate(descriptor, length)

    def make_folder(self, path: str) -> None:
        """Make a folder that only its owner may enter, umask or not."""
        os.mkdir(path, FOLDER_MODE)
        os.chmod(path, FOLDER_MODE)

    def copy(self, source: int, target: int, offset: int, length: int) -> None:
        """Append `length` bytes of *source* from *offset* to *target*, in the kernel if it can."""
        while length:
            count = self._copy_some(source, target, offset, length)
            if not count:
                raise OSError(errno.EIO, "file ended while it was copied")
            offset += count
            length -= count

    def _copy_some(self, source: int, target: int, offset: int, length: int) -> int:
        try:
            return os.copy_file_range(source, target, min(length, 1 << 30), offset_src=offset)
        except OSError as error:
            # Other file system, or one that cannot: the bytes go through this process.
            if error.errno not in {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}:
                raise
        data = self.read(source, min(length, PIECE_BYTES), offset)
        return self.write(target, data) if data else 0

    def stat(self, path: str) -> os.stat_result:
        """Describe what a name stands for, a symbolic link itself included."""
        return os.lstat(path)

    def fstat(self, descriptor: int) -> os.stat_result:
        """Describe an open file."""
        return os.fstat(descriptor)

    def names(self, path: str) -> list[str]:
        """List a folder."""
        return os.listdir(path)


def is_file(status: os.stat_result) -> bool:
    """Tell whether it is a plain file."""
    return stat.S_ISREG(status.st_mode)


def write_all(disk: Disk, descriptor: int, data: bytes) -> None:
    """Write all of *data*, over as many writes as it takes."""
    written = disk.write(descriptor, data)
    view = memoryview(data)
    while written < len(data):
        count = disk.write(descriptor, view[written:])
        if not count:
            raise OSError(errno.EIO, "nothing was written")
        written += count


def discard(disk: Disk, path: str) -> None:
    """Unlink a file if it is there."""
    try:
        disk.unlink(path)
    except FileNotFoundError:
        return
