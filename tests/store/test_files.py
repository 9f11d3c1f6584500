"""The store on files keeps every promise of the contract, however durable it is asked to be."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from minutebook.store.files import FileStore
from minutebook.testing.disks import Call, WatchedDisk
from minutebook.testing.store import Mode, StoreConformance


class OnFiles(StoreConformance):
    """A session's folder in the test's own folder."""

    durability: Literal["disk", "process"]

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "s"
        self.log = self.folder / "context.jsonl"
        self.disk = WatchedDisk()

    async def open(self, mode: Mode = "w") -> FileStore:
        if not self.log.exists() and mode == "r":
            self.tamper(b"")
        return await FileStore.open(
            self.folder, mode=mode, durability=self.durability, disk=self.disk
        )

    def outside(self) -> bytes:
        return self.log.read_bytes()

    def tamper(self, log: bytes) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.log.write_bytes(log)
        # A change within the same tick of the file system's clock cannot be seen by its time.
        later = self.log.stat().st_mtime_ns + 1_000_000_000
        os.utime(self.log, ns=(later, later))

    @contextmanager
    def failing(self) -> Iterator[None]:
        def full(call: Call) -> int | None:
            if call.name == "write":
                raise OSError(errno.ENOSPC, "No space left on device")
            return None

        self.disk.fault = full
        yield
        self.disk.fault = None


class TestFileStoreOnDisk(OnFiles):
    durability = "disk"


class TestFileStoreInProcess(OnFiles):
    durability = "process"
