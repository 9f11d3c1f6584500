"""Disks for tests do what they say: note, fail, cut short."""

import errno
import os
from pathlib import Path

import pytest

from minutebook.testing.disks import Call, FailAt, WatchedDisk


def test_a_watched_disk_notes_what_is_done_and_lets_it_fail(tmp_path: Path) -> None:
    """The calls carry paths, also where the system takes a descriptor."""
    fault = FailAt(2, errno.EIO, lasting=True)
    disk = WatchedDisk(fault)
    path = str(tmp_path / "f")
    descriptor = disk.open(path, os.O_RDWR | os.O_CREAT)
    disk.write(descriptor, b"a")
    for _ in range(2):
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            disk.fdatasync(descriptor)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        disk.close(descriptor)
    assert fault.hit == Call("fdatasync", path)
    assert [(call.name, call.file) for call in disk.calls] == [
        ("create", "f"),
        ("write", "f"),
        ("fdatasync", "f"),
        ("fdatasync", "f"),
        ("close", "f"),
    ]
    assert disk.named("write") == [Call("write", path)]
