"""The seam does what the system does, with private modes, and decides nothing."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.store.disk import PIECE_BYTES, Disk, discard, is_file, write_all
from minutebook.testing.disks import WatchedDisk


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_files_and_folders_are_private_whatever_the_umask(
    disk: Disk, tmp_path: Path, umask: int
) -> None:
    """0600 and 0700."""
    disk.make_folder(str(tmp_path / "d"))
    descriptor = disk.open(str(tmp_path / "d" / "f"), os.O_WRONLY | os.O_CREAT)
    disk.close(descriptor)
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "d" / "f").stat().st_mode & 0o777 == 0o600


def test_a_symbolic_link_is_not_followed(disk: Disk, tmp_path: Path) -> None:
    """Neither opened, nor described, nor linked through."""
    target = tmp_path / "target"
    target.write_text("t")
    link = tmp_path / "link"
    link.symlink_to(target)
    with pytest.raises(OSError) as caught:
        disk.open(str(link), os.O_RDONLY)
    assert caught.value.errno == errno.ELOOP
    assert not is_file(disk.stat(str(link)))
    assert is_file(disk.stat(str(target)))


def test_a_file_is_written_read_cut_and_named(disk: Disk, tmp_path: Path) -> None:
    """Every method, once, does what its name says."""
    path = str(tmp_path / "f")
    descriptor = disk.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    write_all(disk, descriptor, b"0123456789")
    assert disk.position(descriptor) == 10
    assert disk.read(descriptor, 4, 3) == b"3456"
    disk.truncate(descriptor, 6)
    disk.fdatasync(descriptor)
    disk.fsync(descriptor)
    assert disk.fstat(descriptor).st_size == 6
    disk.close(descriptor)
    disk.link(path, path + "2")
    with pytest.raises(FileExistsError):
        disk.link(path, path + "2")
    disk.rename(path, path + "3")
    disk.fsync_folder(str(tmp_path))
    assert sorted(disk.names(str(tmp_path))) == ["f2", "f3"]
    disk.unlink(path + "2")
    discard(disk, path + "2")
    assert disk.names(str(tmp_path)) == ["f3"]


@pytest.mark.parametrize("fallback", [None, errno.EXDEV, errno.ENOSYS, errno.EOPNOTSUPP])
def test_bytes_are_copied_in_the_kernel_or_through_the_process(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fallback: int | None
) -> None:
    """Where the kernel cannot copy between two files, the bytes pass through here."""
    data = os.urandom(PIECE_BYTES + 70_000)
    (tmp_path / "a").write_bytes(data)
    if fallback is not None:

        def refuse(*_: object, **__: object) -> int:
            raise OSError(fallback, "no")

        monkeypatch.setattr(os, "copy_file_range", refuse)
    source = disk.open(str(tmp_path / "a"), os.O_RDONLY)
    target = disk.open(str(tmp_path / "b"), os.O_RDWR | os.O_CREAT)
    write_all(disk, target, b"head")
    disk.copy(source, target, 5, len(data) - 9)
    with pytest.raises(OSError, match="ended"):
        disk.copy(source, target, len(data) - 3, 4)
    disk.close(source)
    disk.close(target)
    assert (tmp_path / "b").read_bytes() == b"head" + data[5:-4] + data[-3:]


def test_other_errors_of_a_copy_are_raised(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is no reason to try the other way."""

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "copy_file_range", full)
    (tmp_path / "a").write_bytes(b"abc")
    source = disk.open(str(tmp_path / "a"), os.O_RDONLY)
    target = disk.open(str(tmp_path / "b"), os.O_RDWR | os.O_CREAT)
    with pytest.raises(OSError, match="full"):
        disk.copy(source, target, 0, 3)
    disk.close(source)
    disk.close(target)


def test_writing_all_takes_as_many_writes_as_it_needs(tmp_path: Path) -> None:
    """Short writes are gone on from where they ended; a write of nothing is an error."""
    counts = iter([3, 1, 2])
    disk = WatchedDisk(lambda call: next(counts, 0) if call.name == "write" else None)
    descriptor = disk.open(str(tmp_path / "f"), os.O_RDWR | os.O_CREAT)
    write_all(disk, descriptor, b"abcdef")
    with pytest.raises(OSError, match="nothing"):
        write_all(disk, descriptor, b"more")
    disk.close(descriptor)
    assert (tmp_path / "f").read_bytes() == b"abcdef"
