"""A session's folder: finding or making it, its rotations, and what a crash left in it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from minutebook.errors import StoreError
from minutebook.store.disk import discard, is_file
from minutebook.store.names import (
    EXPANDED,
    NEW_LOG,
    NEW_METADATA,
    NEW_ROTATION,
    rotation_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minutebook.store.disk import Disk
    from minutebook.store.logfile import LogFile


def find_folder(disk: Disk, folder: str, *, create: bool) -> list[str]:
    """Make a folder and those above it where they are missing.

    Gives the folders whose new names may not be safe on the disk yet, outermost last: a
    process that was killed may have made what is there, so they are all those above it that
    belong to this user.

    Raises:
        StoreError: If it is missing and may not be made, or is a file.
        OSError: As the system does.
    """
    missing = []
    path = folder
    while not _is_folder(disk, path):
        missing.append(path)
        path = os.path.dirname(path)
    if missing and not create:
        raise StoreError(
            "no such session", path=folder, remedy="check the path, or open with create=True"
        )
    for name in reversed(missing):
        # Two that open the same new session at once do not fail each other.
        with suppress(FileExistsError):
            disk.make_folder(name)
    return list(_unsynced(disk, folder)) if create else []


def _unsynced(disk: Disk, folder: str) -> Iterator[str]:
    """Give the folders that hold the names of *folder* and of those above it that are ours."""
    status = disk.stat(folder)
    device = status.st_dev
    while status.st_uid == os.geteuid() and status.st_dev == device:
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        yield parent
        folder, status = parent, disk.stat(parent)


def sync_folders(disk: Disk, folders: list[str]) -> None:
    """Make names safe; a folder that may not be opened was not made by this user.

    Raises:
        OSError: As the system does.
    """
    for folder in folders:
        with suppress(PermissionError):
            disk.fsync_folder(folder)


def _is_folder(disk: Disk, path: str) -> bool:
    try:
        status = disk.stat(path)
    except FileNotFoundError:
        return False
    if is_file(status):
        raise StoreError("is a file, not a session's folder", path=path)
    return True


def highest_number(disk: Disk, folder: str) -> int:
    """Give the highest number that any rotation in the folder has, compressed ones too."""
    return max((rotation_number(name) or 0 for name in disk.names(folder)), default=0)


def clear_leftovers(disk: Disk, file: LogFile) -> None:
    """Unlink what a crash left: half-written new files, and a spare link of the log.

    Only for the writer that holds the lock, before its first write.
    """
    for name in (NEW_LOG, NEW_METADATA, EXPANDED, NEW_ROTATION):
        discard(disk, os.path.join(file.folder, name))
    for name in disk.names(file.folder):
        path = os.path.join(file.folder, name)
        if rotation_number(name) is not None and file.is_same(disk.stat(path)):
            disk.unlink(path)
