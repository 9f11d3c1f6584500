"""How far a log is safe: receipts, and what a failed sync leaves of them."""

import errno
from pathlib import Path

import pytest

from minutebook.errors import StoreError
from minutebook.store.contract import Landed, Span
from minutebook.store.durable import Durable
from minutebook.store.logfile import LogFile
from minutebook.testing.disks import Call, WatchedDisk


def durable(folder: Path, disk: WatchedDisk, *, syncs: bool) -> tuple[LogFile, Durable]:
    """Give the syncing side of a log of four bytes."""
    (folder / "context.jsonl").write_bytes(b"one\n")
    file = LogFile(disk, str(folder), writable=True)
    assert file.attach()
    return file, Durable(disk, file, syncs=syncs)


async def test_without_syncs_an_append_has_landed_at_once(tmp_path: Path) -> None:
    """Unless the names that lead to the log are not safe yet: then the first one waits."""
    file, safe = durable(tmp_path, WatchedDisk(), syncs=False)
    safe.attached()
    receipt = safe.acknowledge(Span(4, 8))
    assert isinstance(receipt, Landed)
    safe.named()
    waiting = safe.acknowledge(Span(8, 12))
    assert not waiting.done()
    assert await waiting == Span(8, 12)
    assert safe.acknowledge(Span(12, 16)).done()
    await safe.close()
    file.detach()


async def test_a_log_of_another_process_is_synced_before_it_is_built_on(tmp_path: Path) -> None:
    """With its name: that process may have been killed before it could."""
    disk = WatchedDisk()
    file, safe = durable(tmp_path, disk, syncs=True)
    safe.attached()
    disk.calls.clear()
    safe.sync_what_is_not()
    assert [(call.name, call.path) for call in disk.calls] == [
        ("fdatasync", str(tmp_path / "context.jsonl")),
        ("fsync_folder", str(tmp_path)),
    ]
    disk.calls.clear()
    safe.sync_what_is_not()
    assert disk.calls == []
    await safe.close()
    file.detach()


async def test_nothing_goes_back_while_a_sync_still_runs(tmp_path: Path) -> None:
    """Its outcome decides how far back."""
    disk = WatchedDisk()
    file, safe = durable(tmp_path, disk, syncs=True)
    safe.attached()
    receipt = safe.acknowledge(Span(0, 4))
    safe.distrust("half a write")
    with pytest.raises(StoreError, match="still running"):
        safe.recover()
    await receipt
    await safe.drain()
    safe.recover()
    assert not safe.broken
    await safe.close()
    file.detach()


async def test_a_failed_sync_says_from_where_nothing_counts(tmp_path: Path) -> None:
    """The size is that of the last good one until the way back is gone."""

    def fault(call: Call) -> None:
        if call.name == "fdatasync":
            raise OSError(errno.EIO, "Input/output error")

    disk = WatchedDisk()
    file, safe = durable(tmp_path, disk, syncs=True)
    safe.attached()
    file.write(b"two\n")
    disk.fault = fault
    with pytest.raises(StoreError, match="nothing since the last sync counts"):
        await safe.acknowledge(Span(4, 8))
    assert safe.size == 4
    disk.fault = None
    safe.settle()
    safe.settle()
    assert (safe.size, safe.broken) == (4, "")
    assert (tmp_path / "context.jsonl").read_bytes() == b"one\n"
    await safe.close()
    file.detach()
