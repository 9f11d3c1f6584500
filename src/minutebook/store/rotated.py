"""The retired logs of a session's folder, plain or compressed: listing and reading them."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

from minutebook.errors import StoreError
from minutebook.store.compressed import Pieces, read_compressed, read_head
from minutebook.store.contract import Rotation
from minutebook.store.disk import is_file, write_all
from minutebook.store.names import EXPANDED, rotation_name, rotation_number
from minutebook.store.rewriting import read_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minutebook.store.disk import Disk
    from minutebook.store.logfile import LogFile

ATTEMPTS = 10
"""How often rotations are listed anew when one goes away meanwhile."""


def list_rotations(disk: Disk, file: LogFile) -> list[Rotation]:
    """List the retired logs, oldest number first; a spare link of the log itself is none.

    Of a number that is there plain and compressed, the plain one counts: gc was interrupted
    before it could unlink it. A compressed one whose head cannot be read is listed with -1
    bytes.
    """
    for _ in range(ATTEMPTS):
        found = _list(disk, file)
        if found is not None:
            break
    else:
        raise StoreError("its rotations change while they are listed", path=file.folder)
    return sorted(found.values(), key=lambda rotation: rotation.number)


def _list(disk: Disk, file: LogFile) -> dict[int, Rotation] | None:
    """List them once; None if one went away meanwhile, since it may be there compressed now."""
    found: dict[int, Rotation] = {}
    for name in disk.names(file.folder):
        number = rotation_number(name)
        if number is None:
            continue
        path = os.path.join(file.folder, name)
        try:
            status = disk.stat(path)
        except FileNotFoundError:
            return None
        if not is_file(status) or file.is_same(status):
            continue
        if not name.endswith(".zst"):
            found[number] = Rotation(
                number=number,
                bytes=status.st_size,
                stored_bytes=status.st_size,
                path=path,
                modified=status.st_mtime,
            )
        elif number not in found:
            found[number] = _compressed(disk, number, path, status)
    return found


def _compressed(disk: Disk, number: int, path: str, status: os.stat_result) -> Rotation:
    size, base, modified = -1, None, 0.0
    try:
        head = read_head(disk, path)
        size, base, modified = head.bytes, head.base, head.modified
    except (StoreError, OSError):
        pass
    return Rotation(
        number=number,
        bytes=size,
        stored_bytes=status.st_size,
        path=path,
        modified=modified or status.st_mtime,
        compressed=True,
        base=base,
    )


def find(rotations: list[Rotation], number: int, folder: str) -> Rotation:
    """Give the rotation of that number.

    Raises:
        StoreError: If there is none.
    """
    for rotation in rotations:
        if rotation.number == number:
            return rotation
    known = ", ".join(str(rotation.number) for rotation in rotations) or "none"
    raise StoreError(f"no rotation {number} (there is {known})", path=folder)


def rotation_pieces(
    disk: Disk, rotations: list[Rotation], rotation: Rotation, start: int, end: int | None
) -> Pieces:
    """Give bytes of a rotation, in pieces; of a compressed one all that come before are read.

    One that was compressed since it was listed is read from where it is now.
    """
    path = rotation.path
    if not rotation.compressed:
        try:
            descriptor = disk.open(path, os.O_RDONLY)
        except FileNotFoundError:
            path = os.path.join(os.path.dirname(path), f"{rotation_name(rotation.number)}.zst")
        else:
            try:
                limit = rotation.bytes if end is None else min(end, rotation.bytes)
                yield from read_pieces(disk, descriptor, start, limit)
            finally:
                disk.close(descriptor)
            return

    def base(number: int, length: int) -> Pieces:
        found = find(rotations, number, os.path.dirname(path))
        if found.compressed and found.base is not None:
            raise StoreError(f"its base, rotation {number}, has a base itself", path=path)
        return rotation_pieces(disk, rotations, found, 0, length)

    position = 0
    with closing(read_compressed(disk, path, base)) as pieces:
        for piece in pieces:
            stop = position + len(piece)
            low = max(start, position) - position
            high = (stop if end is None else min(end, stop)) - position
            if low < high:
                yield piece[low:high]
            position = stop
            if end is not None and position >= end:
                return


@contextmanager
def opened(disk: Disk, rotations: list[Rotation], rotation: Rotation) -> Iterator[tuple[int, int]]:
    """Open a rotation for copying in the kernel; give its descriptor and length.

    A compressed one is laid out in a file that has no name any more while it is read.
    """
    if not rotation.compressed:
        descriptor = disk.open(rotation.path, os.O_RDONLY)
    else:
        path = os.path.join(os.path.dirname(rotation.path), EXPANDED)
        descriptor = disk.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        disk.unlink(path)
    try:
        if rotation.compressed:
            for piece in rotation_pieces(disk, rotations, rotation, 0, None):
                write_all(disk, descriptor, piece)
        yield descriptor, disk.fstat(descriptor).st_size
    finally:
        # It was only read: what its closing says may not undo what was done meanwhile.
        with suppress(OSError):
            disk.close(descriptor)
