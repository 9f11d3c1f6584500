"""The disk in memory does what the real one does, and notes it."""

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.store.disk import Disk
from minutebook.testing.memory_disk import (
    EMPTY,
    Bind,
    Cut,
    Mark,
    MemoryDisk,
    Move,
    State,
    Sync,
    Unbind,
    Write,
    change,
)

FLAGS = [
    os.O_RDWR | os.O_CREAT,
    os.O_RDWR | os.O_CREAT | os.O_APPEND,
    os.O_RDWR | os.O_CREAT | os.O_EXCL,
    os.O_RDWR | os.O_CREAT | os.O_TRUNC,
    os.O_RDWR,
    os.O_RDONLY,
]
NAMES = st.sampled_from(["f", "g", "d/f", "d", "none/f", "f/x"])
FILES = st.sampled_from(["f", "g", "d/f", "none/f", "f/x"])
"""No store opens a folder to read it, so those are not tried."""
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), FILES, st.sampled_from(FLAGS), st.binary(max_size=9)),
        st.tuples(st.just("link"), NAMES, NAMES),
        st.tuples(st.just("rename"), st.sampled_from(["f", "g"]), st.sampled_from(["f", "g"])),
        st.tuples(st.just("unlink"), st.sampled_from(["f", "g", "d/f", "none/f"])),
        st.tuples(st.just("make_folder"), st.sampled_from(["d", "e", "none/f", "f/x"])),
        st.tuples(st.just("truncate"), NAMES, st.integers(0, 5)),
        st.tuples(st.just("copy"), st.sampled_from(["f", "g"]), st.integers(0, 4)),
        st.tuples(st.just("names"), NAMES),
        st.tuples(st.just("stat"), NAMES),
    ),
    max_size=14,
)


def outcome(action: Callable[[], object]) -> object:
    """Give what an action gives, or the number of its error."""
    try:
        return action()
    except OSError as error:
        return error.errno


def play(disk: Disk, root: str, step: tuple[object, ...]) -> object:
    """Do one step and give what it gave, so far as both disks have to agree."""
    name, *arguments = step
    paths: list[Any] = [f"{root}/{one}" if isinstance(one, str) else one for one in arguments]
    match name:
        case "write":
            path, flags, data = paths
            descriptor = disk.open(path, flags)
            written = flags != os.O_RDONLY and disk.write(descriptor, data)
            found = disk.read(descriptor, 100, 0), disk.position(descriptor), written
            disk.fdatasync(descriptor)
            disk.close(descriptor)
            return found
        case "truncate":
            path, length = paths
            descriptor = disk.open(path, os.O_RDWR)
            size = disk.fstat(descriptor).st_size
            disk.truncate(descriptor, min(size, length))
            disk.fsync(descriptor)
            disk.close(descriptor)
            return size
        case "copy":
            path, length = paths
            source = disk.open(path, os.O_RDONLY)
            target = disk.open(f"{root}/copy", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            try:
                disk.copy(source, target, 1, length)
                return disk.read(target, 100, 0)
            finally:
                disk.close(source)
                disk.close(target)
        case "stat":
            status = disk.stat(*paths)
            return status.st_mode, status.st_size * (status.st_mode & 0o100000 != 0)
        case "names":
            return sorted(disk.names(*paths))
        case _:
            return getattr(disk, str(name))(*paths)


@given(STEPS)
def test_it_agrees_with_the_real_disk(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[object, ...]]
) -> None:
    """Whatever is done: what comes back, which errors come, and what is there afterwards."""
    root = tmp_path_factory.mktemp("root")
    memory, real = MemoryDisk(), Disk()
    memory.make_folder("/root")
    for disk, where in ((memory, "/root"), (real, str(root))):
        disk.make_folder(f"{where}/d")
    for step in steps:
        expected = outcome(partial(play, real, str(root), step))
        assert outcome(partial(play, memory, "/root", step)) == expected, step
    assert sorted(memory.names("/root")) == sorted(path.name for path in root.iterdir())


def test_operations_are_noted_in_order() -> None:
    """Each with the file or folder that it is about."""
    disk = MemoryDisk(State({3: b"one"}, {0: {"a": 1}, 1: {"f": 3}}))
    appending = disk.open("/a/f", os.O_RDWR | os.O_APPEND)
    disk.write(appending, b"two")
    disk.truncate(appending, 2)
    disk.fdatasync(appending)
    disk.mark("expected")
    disk.link("/a/f", "/a/g")
    disk.rename("/a/g", "/a/f")
    disk.make_folder("/b")
    disk.unlink("/a/f")
    disk.fsync_folder("/a")
    disk.close(appending)
    assert disk.operations == [
        Write(3, 3, b"two"),
        Cut(3, 2),
        Sync(3),
        Mark("expected"),
        Bind(1, "g", 3),
        Move(1, "g", "f", 3),
        Bind(0, "b", 4, is_folder=True),
        Unbind(1, "f"),
        Sync(1),
    ]


def test_a_sync_can_be_left_out_by_its_place_in_the_code() -> None:
    """So that the checker can be checked."""

    def forgetful(disk: MemoryDisk) -> None:
        disk.fsync_folder("/")

    disk = MemoryDisk()
    forgetful(disk)
    (site,) = disk.sites
    assert site.startswith("forgetful test_a_sync_can_be_left_out")
    assert disk.operations == [Sync(0)]
    skipping = MemoryDisk(skip=frozenset({site}))
    forgetful(skipping)
    assert skipping.sites == {site}
    assert skipping.operations == []


def test_a_failed_sync_is_noted_as_failed() -> None:
    """What was not safe before it may never become so."""

    def fault(name: str, path: str) -> None:
        if name == "fsync":
            raise OSError(errno.EIO, "i/o", path)

    disk = MemoryDisk()
    disk.fault = fault
    descriptor = disk.open("/f", os.O_RDWR | os.O_CREAT)
    with pytest.raises(OSError, match="i/o"):
        disk.fsync(descriptor)
    assert disk.operations[-1] == Sync(1, failed=True)


def test_the_lock_file_is_a_real_one_without_a_name(tmp_path: Path) -> None:
    """The system's lock works on it, and no crash leaves it behind."""
    disk = MemoryDisk(EMPTY)
    descriptor = disk.open("/.lock", os.O_RDWR | os.O_CREAT)
    assert os.pwrite(descriptor, b"x", 0) == 1
    disk.close(descriptor)
    assert disk.names("/") == []
    assert disk.operations == []


def test_names_do_not_move_between_folders() -> None:
    """A store has no need of it, so it is refused rather than modelled."""
    disk = MemoryDisk(State({3: b""}, {0: {"a": 1, "f": 3}, 1: {}}))
    with pytest.raises(OSError, match="cross-device"):
        disk.rename("/f", "/a/f")


def test_a_write_behind_the_end_leaves_zeros_between() -> None:
    """As on a real file system."""
    files = {1: bytearray(b"a")}
    change(files, {}, Write(1, 3, b"b"))
    assert files[1] == b"a\0\0b"
