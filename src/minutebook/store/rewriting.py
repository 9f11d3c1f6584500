"""The steps of a rewrite on files, in the order that keeps the log whole at every instant.

1. the old log gets its rotation name (a hard link that fails if the name is taken)
2. the new log is written beside it, the kept bytes copied in the kernel, and synced
3. the folder is synced: the rotation's name is safe before the old name is taken away
4. the new log is renamed over the old one
5. the folder is synced again
"""

from __future__ import annotations

import errno
import os
import zlib
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

from minutebook.errors import StoreError
from minutebook.lines import BOM
from minutebook.records import Rotated
from minutebook.store.disk import PIECE_BYTES, discard, write_all
from minutebook.store.names import LOG, NEW_LOG, NEW_ROTATION, rotation_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from minutebook.store.contract import Tail
    from minutebook.store.disk import Disk
    from minutebook.store.logfile import LogFile, Opened

NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EACCES}


def replace_log(
    disk: Disk,
    file: LogFile,
    number: int,
    *,
    head: Sequence[bytes],
    source: int,
    keep: int,
    tail: Tail,
) -> tuple[Opened, Rotated]:
    """Take the steps 1 to 4; where one fails, undo those before it.

    *number* is the first rotation number to try, *source* the descriptor that the kept bytes
    come from. Gives the new log, now in its place, and the rotation that the old one became.
    """
    size = disk.fstat(source).st_size
    if not 0 <= keep <= size:
        raise StoreError(f"cannot keep {keep} of {size} bytes", path=file.path)
    if file.descriptor is None:
        raise StoreError("there is no log to rewrite", path=file.path)
    number = take_rotation(disk, file.folder, number, file.descriptor, file.size)
    new: Opened | None = None
    try:
        checksum = checksum_of(read_pieces(disk, file.descriptor, 0, file.size))
        rotated = Rotated(number=number, bytes=file.size, hash=checksum)
        lines = tail(rotated) if callable(tail) else tail
        new = file.look(
            write_new(disk, file.folder, head=head, source=source, keep=keep, tail=lines)
        )
        disk.fsync_folder(file.folder)
        # Once more, as late as can be: what came in meanwhile would be left behind.
        file.check()
        disk.rename(os.path.join(file.folder, NEW_LOG), file.path)
    except BaseException:
        if new is not None:
            with suppress(OSError):
                disk.close(new.descriptor)
        for name in (NEW_LOG, rotation_name(number)):
            with suppress(OSError):
                discard(disk, os.path.join(file.folder, name))
        raise
    return new, rotated


def read_pieces(disk: Disk, descriptor: int, start: int, end: int) -> Iterator[bytes]:
    """Read a span of a file, in pieces; ends early if the file does."""
    while start < end:
        data = disk.read(descriptor, min(PIECE_BYTES, end - start), start)
        if not data:
            return
        start += len(data)
        yield data


def checksum_of(pieces: Iterator[bytes]) -> str:
    """Give the check sum of bytes that come in pieces, as `lines.checksum` writes it."""
    running = 0
    for piece in pieces:
        running = zlib.crc32(piece, running)
    return f"crc32:{running:08x}"


def take_rotation(disk: Disk, folder: str, number: int, descriptor: int, size: int) -> int:
    """Give the log its rotation name, *number* or the next that is free; return the number."""
    while True:
        name = os.path.join(folder, rotation_name(number))
        try:
            _second_name(disk, folder, name, descriptor, size)
        except FileExistsError:
            number += 1
        else:
            return number


def _second_name(disk: Disk, folder: str, name: str, descriptor: int, size: int) -> None:
    """Link the log to *name*, or copy it where links are not supported."""
    try:
        disk.link(os.path.join(folder, LOG), name)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        _copy(disk, descriptor, size, os.path.join(folder, NEW_ROTATION), name)


def _copy(disk: Disk, descriptor: int, size: int, temporary: str, name: str) -> None:
    """Give a file a synced copy under *name*, which is there whole or not at all."""
    if os.path.basename(name) in disk.names(os.path.dirname(name)):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
    discard(disk, temporary)
    copy = disk.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        disk.copy(descriptor, copy, 0, size)
        disk.fsync(copy)
        disk.rename(temporary, name)
    except BaseException:
        with suppress(OSError):
            discard(disk, temporary)
        raise
    finally:
        with suppress(OSError):
            disk.close(copy)


def write_new(
    disk: Disk,
    folder: str,
    *,
    head: Sequence[bytes],
    source: int,
    keep: int,
    tail: Iterable[bytes],
) -> int:
    """Write the new log and sync it; give a descriptor that appends to it.

    A kept part that does not end with a newline gets one, so that nothing fuses with the
    tail. A byte-order mark stays first or goes, since it may stand nowhere else.
    """
    path = os.path.join(folder, NEW_LOG)
    discard(disk, path)
    descriptor = disk.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        before = b"".join(head)
        if before:
            write_all(disk, descriptor, before)
        skip = len(BOM) if before and keep and disk.read(source, 3, 0) == BOM else 0
        kept = max(0, keep - skip)
        if kept:
            disk.copy(source, descriptor, skip, kept)
        torn = kept and disk.read(source, 1, keep - 1) != b"\n"
        for piece in _gathered(chain([b"\n"] if torn else [], tail)):
            write_all(disk, descriptor, piece)
        disk.fsync(descriptor)
        # The copy in the kernel needs a descriptor that does not append; the log one that does.
        return disk.open(path, os.O_RDWR | os.O_APPEND)
    except BaseException:
        with suppress(OSError):
            discard(disk, path)
        raise
    finally:
        with suppress(OSError):
            disk.close(descriptor)


def _gathered(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Join lines into pieces worth a write."""
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= PIECE_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)
