"""A fork on files: the kept part of a log in a new folder, its rotations under their numbers."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from minutebook.errors import StoreError
from minutebook.store.disk import Disk, discard, write_all
from minutebook.store.files import FileStore
from minutebook.store.folder import find_folder, sync_folders
from minutebook.store.logfile import translated
from minutebook.store.names import LOG, NEW_LOG, check_session_id, rotation_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minutebook.store.contract import Store


def write_fork(
    store: Store,
    destination: str,
    *,
    source: int | None,
    keep: int,
    numbers: Sequence[int],
    tail: bytes,
    disk: Disk | None = None,
) -> None:
    """Write the first *keep* bytes of a log, *tail*, and the rotations *numbers* to a new folder.

    The log's name is the last thing to appear, after all that it refers to is synced.

    Raises:
        StoreError: If the folder exists and is not empty, or cannot be written.
    """
    disk = disk or (store.disk if isinstance(store, FileStore) else Disk())
    folder = os.path.abspath(destination)
    check_session_id(os.path.basename(folder))
    with translated(folder):
        parents = find_folder(disk, folder, create=True)
        if disk.names(folder):
            raise StoreError("the folder is not empty", path=folder, remedy="name a new one")
        made: list[str] = []
        try:
            _take_rotations(disk, store, frozenset(numbers), folder, made)
            made.append(os.path.join(folder, NEW_LOG))
            _write(disk, store, made[-1], source=source, keep=keep, tail=tail)
            disk.fsync_folder(folder)
            disk.rename(made[-1], os.path.join(folder, LOG))
        except BaseException:
            # What is left of a failed fork would be in the way of the next try.
            for path in made:
                with suppress(OSError):
                    discard(disk, path)
            raise
        sync_folders(disk, [folder, *parents])


def _take_rotations(
    disk: Disk, store: Store, numbers: frozenset[int], folder: str, made: list[str]
) -> None:
    """Give the fork its rotations: links to the files, which never change, else copies.

    A compressed one that shares a part with one that the fork has not is written out whole.
    """
    for rotation in store.rotations():
        number = rotation.number
        if number not in numbers:
            continue
        target = os.path.join(folder, rotation_name(number))
        linked = f"{target}.zst" if rotation.compressed else target
        made.append(linked)
        if rotation.base is None or rotation.base in numbers:
            with suppress(OSError):
                disk.link(rotation.path, linked)
                continue
        made.append(target)
        _write(disk, store, target, source=number, keep=rotation.bytes, tail=b"")


def _write(
    disk: Disk, store: Store, path: str, *, source: int | None, keep: int, tail: bytes
) -> None:
    """Write part of a log and a tail to a new file, synced."""
    descriptor = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    last = b"\n"
    try:
        for piece in store.pieces(source, end=keep):
            write_all(disk, descriptor, piece)
            last = piece[-1:]
        if tail:
            write_all(disk, descriptor, (b"" if last == b"\n" else b"\n") + tail)
        disk.fsync(descriptor)
    finally:
        disk.close(descriptor)
