"""One log file under its writer, below the store: attaching, comparing, errors translated."""

import errno
import os
from pathlib import Path

import pytest

from minutebook.errors import LogChanged, StoreError
from minutebook.store.disk import Disk
from minutebook.store.logfile import TAIL_BYTES, LogFile, as_store_error, translated
from minutebook.testing.disks import Call, FailAt, WatchedDisk


def attached(folder: Path, disk: Disk | None = None, data: bytes = b"one\n") -> LogFile:
    """Give a log file of some bytes."""
    (folder / "context.jsonl").write_bytes(data)
    file = LogFile(disk or Disk(), str(folder), writable=True)
    assert file.attach()
    return file


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EROFS, 'mode="r"'),
        (errno.EACCES, "owner"),
        (errno.EMFILE, "limit"),
        (errno.ELOOP, "symbolic link"),
        (errno.EIO, "check the disk"),
    ],
)
def test_errors_of_the_system_say_what_to_do(number: int, word: str) -> None:
    """One sentence with the file, the system's reason and a remedy."""
    cause = OSError(number, os.strerror(number))
    with pytest.raises(StoreError) as caught, translated("/s/context.jsonl"):
        raise cause
    assert str(caught.value).startswith("/s/context.jsonl: ")
    assert word in caught.value.remedy
    assert caught.value.__cause__ is cause


def test_other_errors_are_translated_without_a_remedy() -> None:
    """Also one that carries no number."""
    assert str(as_store_error(OSError("Odd"), "/p")) == "/p: odd"
    with translated("/p"):
        pass


def test_a_missing_log_is_not_attached(tmp_path: Path) -> None:
    """And what was attached before stays as it was."""
    file = attached(tmp_path)
    (tmp_path / "context.jsonl").unlink()
    assert not file.attach()
    assert file.size == 4
    with pytest.raises(LogChanged, match="deleted"):
        file.check()
    file.detach()
    file.detach()
    assert (file.size, file.descriptor) == (0, None)


@pytest.mark.parametrize("at", range(3))
def test_a_log_that_cannot_be_looked_at_is_not_attached(tmp_path: Path, at: int) -> None:
    """Its descriptor is closed again."""
    (tmp_path / "context.jsonl").write_bytes(b"one\n")
    disk = WatchedDisk(FailAt(at, errno.EIO))
    file = LogFile(disk, str(tmp_path), writable=True)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        file.attach()
    assert file.descriptor is None
    assert len(disk.named("open")) - 1 <= len(disk.named("close"))


@pytest.mark.parametrize("at", [1, 2])
def test_a_log_that_cannot_be_made_is_not_left_empty(tmp_path: Path, at: int) -> None:
    """The next try makes it."""
    disk = WatchedDisk(FailAt(at, errno.EIO))
    file = LogFile(disk, str(tmp_path), writable=True)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        file.create()
    assert list(tmp_path.iterdir()) == []
    file.create()
    file.check()
    file.detach()


@pytest.mark.parametrize("size", [0, 1, TAIL_BYTES - 1, TAIL_BYTES, TAIL_BYTES + 1, 5_000])
def test_the_end_of_the_log_is_known_after_writes_of_any_size(tmp_path: Path, size: int) -> None:
    """A change of its last byte is noticed, however it came there."""
    file = attached(tmp_path)
    file.write(b"x" * size + b"\n")
    file.write(b"y\n")
    log = tmp_path / "context.jsonl"
    file.check()
    changed = log.read_bytes()[:-2] + b"z\n"
    log.write_bytes(changed)
    os.utime(log, ns=(0, log.stat().st_mtime_ns + 1_000_000_000))
    with pytest.raises(LogChanged, match="written over"):
        file.check()
    file.detach()


def test_nothing_is_written_to_a_log_that_is_not_open(tmp_path: Path) -> None:
    """Nor is anything set aside, synced or cut."""
    file = LogFile(Disk(), str(tmp_path), writable=True)
    with pytest.raises(StoreError, match="not open"):
        file.write(b"x\n")
    file.sync()
    file.set_aside(0)
    file.close_last_line()
    assert list(tmp_path.iterdir()) == []


def test_closing_never_fails(tmp_path: Path) -> None:
    """What the system says on closing changes nothing: what counts was synced before."""
    disk = WatchedDisk()
    file = attached(tmp_path, disk)

    def failing(call: Call) -> None:
        if call.name == "close":
            raise OSError(errno.EIO, "Input/output error")

    disk.fault = failing
    assert file.attach()
    file.detach()


def test_a_reader_follows_what_is_appended(tmp_path: Path) -> None:
    """It takes what is new, and says when the log is another one or is gone."""
    file = LogFile(Disk(), str(tmp_path), writable=False)
    assert not file.advance()
    log = tmp_path / "context.jsonl"
    log.write_bytes(b"one\n")
    assert file.advance()
    assert file.size == 4
    log.write_bytes(b"one\ntwo\n")
    assert file.advance()
    assert file.size == 8
    log.rename(tmp_path / "context_1.jsonl")
    assert not file.advance()
    log.write_bytes(b"new\n")
    assert not file.advance()
    assert file.size == 8
    file.detach()
