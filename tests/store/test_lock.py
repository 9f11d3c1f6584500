"""One writer: the lock is the system's, on a file that is never replaced, and names its holder."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from minutebook.errors import SessionLocked, StoreError
from minutebook.store.disk import Disk
from minutebook.store.files import FileStore
from minutebook.store.lock import Lock
from minutebook.testing.store import line, lines

HOLD = """
import asyncio, sys
from minutebook.store.files import FileStore

async def main():
    store = await FileStore.open(sys.argv[1])
    await store.append([b'{"role":"user","content":"from the other process"}\\n'])
    print("held", flush=True)
    sys.stdin.read()
    await store.close()

asyncio.run(main())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lock"


def test_a_lock_is_held_by_one_and_free_once_released(path: Path) -> None:
    """Releasing twice does no harm."""
    first, second = Lock(Disk(), str(path)), Lock(Disk(), str(path))
    assert first.acquire()
    assert not second.acquire()
    first.release()
    first.release()
    assert second.acquire()
    second.release()


def test_the_holder_is_written_into_the_file(path: Path) -> None:
    """Process, host and time, in a file that its owner alone may read."""
    lock = Lock(Disk(), str(path))
    path.write_text("x" * 500)
    assert lock.acquire()
    signed = json.loads(path.read_text())
    assert (signed["pid"], signed["host"]) == (os.getpid(), socket.gethostname())
    assert signed["since"] > 0
    assert path.stat().st_mode & 0o777 == 0o600
    lock.release()


def test_a_refused_writer_leaves_the_file_alone(path: Path) -> None:
    """Neither truncated nor replaced nor unlinked; the error names who holds it."""
    lock = Lock(Disk(), str(path))
    assert lock.acquire()
    before, inode = path.read_bytes(), path.stat().st_ino
    other = Lock(Disk(), str(path))
    assert not other.acquire()
    error = other.refused("/s")
    assert isinstance(error, SessionLocked)
    assert (error.pid, error.host) == (os.getpid(), socket.gethostname())
    assert (path.read_bytes(), path.stat().st_ino) == (before, inode)
    lock.release()
    assert path.stat().st_ino == inode


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"pid":"x","host":7}', b"\xff"])
def test_a_lock_file_that_names_nobody_still_locks(path: Path, text: bytes) -> None:
    """The name is for people; the lock is the system's."""
    lock = Lock(Disk(), str(path))
    assert lock.acquire()
    path.write_bytes(text)
    other = Lock(Disk(), str(path))
    assert not other.acquire()
    error = other.refused("/s")
    assert (error.pid, error.host) == (None, "")
    path.unlink()
    assert other.refused("/s").pid is None
    lock.release()


def test_a_lock_that_cannot_be_had_is_a_store_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A symbolic link, a file system without flock, a system without it."""
    path.symlink_to(path.parent / "elsewhere")
    with pytest.raises(StoreError, match="cannot open"):
        Lock(Disk(), str(path)).acquire()
    path.unlink()

    def refuse(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("minutebook.store.lock.fcntl.flock", refuse)
    with pytest.raises(StoreError, match="cannot lock"):
        Lock(Disk(), str(path)).acquire()


def test_a_failure_to_sign_costs_the_name_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk keeps nobody from locking."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    lock = Lock(Disk(), str(path))
    assert lock.acquire()
    lock.release()


def holder(folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that holds a session until it is told to end."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def test_a_killed_process_leaves_the_lock_free(tmp_path: Path) -> None:
    """Another process holds it and is named; killed, its lines stay and the lock is free."""
    folder = tmp_path / "s"
    with holder(folder) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(SessionLocked) as caught:
            await FileStore.open(folder)
        assert caught.value.pid == child.pid
        child.kill()
        child.wait()
    store = await FileStore.open(folder)
    await store.append([line(2)])
    assert [b"from the other" in one for one in lines(store)] == [True, False]
    await store.close()


async def test_a_writer_may_wait_for_the_lock(tmp_path: Path) -> None:
    """It gets in once the other is done, or is refused when its time is over."""
    first = await FileStore.open(tmp_path / "s")
    with pytest.raises(SessionLocked):
        await FileStore.open(tmp_path / "s", lock_timeout=0.05)
    waiting = asyncio.ensure_future(FileStore.open(tmp_path / "s", lock_timeout=30))
    done, _ = await asyncio.wait([waiting], timeout=0.05)
    assert not done
    await first.close()
    second = await waiting
    await second.close()
