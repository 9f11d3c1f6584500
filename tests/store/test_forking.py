"""A fork on files: the kept part, the rotations it refers to, and the log's name last."""

import errno
from pathlib import Path

import pytest

from minutebook.errors import StoreError
from minutebook.store.files import FileStore
from minutebook.store.forking import write_fork
from minutebook.testing.disks import CHANGES, SYNCS, Call, WatchedDisk
from minutebook.testing.store import content, line


async def session(folder: Path) -> FileStore:
    """Open a session of two lines, whose first rotation has one other."""
    store = await FileStore.open(folder)
    await store.append([line(9)])
    await store.rewrite(keep=0, tail=[line(1), line(2)], reason="test")
    return store


@pytest.mark.parametrize("links", [True, False])
async def test_a_fork_has_the_kept_part_and_its_rotations(tmp_path: Path, links: bool) -> None:
    """Linked under the same number, or copied where links are refused; the source stays."""

    def fault(call: Call) -> None:
        if call.name == "link" and not links:
            raise OSError(errno.EPERM, "no links")

    store = await session(tmp_path / "s")
    before = {path.name: path.read_bytes() for path in (tmp_path / "s").iterdir()}
    fork = tmp_path / "forks" / "f"
    write_fork(
        store,
        str(fork),
        source=None,
        keep=len(line(1)),
        numbers=[1, 1],
        tail=line(3),
        disk=WatchedDisk(fault),
    )
    assert (fork / "context.jsonl").read_bytes() == line(1) + line(3)
    assert (fork / "context_1.jsonl").read_bytes() == line(9)
    inodes = [(tmp_path / name / "context_1.jsonl").stat().st_ino for name in ("s", "forks/f")]
    assert (inodes[0] == inodes[1]) is links
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "s").iterdir()}
    assert fork.stat().st_mode & 0o777 == 0o700
    await store.close()
    store = await FileStore.open(fork)
    await store.append([line(4)])
    assert content(store) == line(1) + line(3) + line(4)
    assert [rotation.number for rotation in store.rotations()] == [1]
    await store.close()


async def test_a_fork_may_begin_in_a_rotation_and_at_a_torn_line(tmp_path: Path) -> None:
    """What is kept never fuses with the tail."""
    store = await session(tmp_path / "s")
    write_fork(
        store, str(tmp_path / "f"), source=1, keep=len(line(9)) - 1, numbers=[], tail=line(3)
    )
    assert (tmp_path / "f" / "context.jsonl").read_bytes() == line(9) + line(3)
    await store.close()


async def test_the_log_gets_its_name_after_all_that_it_refers_to_is_synced(tmp_path: Path) -> None:
    """A crash leaves a folder without a log, or a whole fork."""
    disk = WatchedDisk()
    store = await session(tmp_path / "s")
    fork = tmp_path / "a" / "f"
    write_fork(store, str(fork), source=None, keep=5, numbers=[1], tail=b"", disk=disk)
    await store.close()
    steps = [(call.name, call.file) for call in disk.calls if call.name in CHANGES | SYNCS]
    named = steps.index(("rename", "context.jsonl"))
    assert ("link", "context_1.jsonl") in steps[:named]
    assert ("fsync", ".context.jsonl.new") in steps[:named]
    assert steps[named - 1] == ("fsync_folder", "f")
    assert steps[named + 1 : named + 4] == [
        ("fsync_folder", "f"),
        ("fsync_folder", "a"),
        ("fsync_folder", tmp_path.name),
    ]


async def test_a_fork_takes_no_folder_that_holds_something(tmp_path: Path) -> None:
    """Nor a name that is none; nothing is changed there."""
    store = await session(tmp_path / "s")
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "mine.txt").write_text("x")
    for name in ("f", "a\nb"):
        with pytest.raises(StoreError):
            write_fork(store, str(tmp_path / name), source=None, keep=0, numbers=[], tail=b"")
    assert [path.name for path in (tmp_path / "f").iterdir()] == ["mine.txt"]
    await store.close()


async def test_a_fork_on_a_full_disk_is_a_store_error(tmp_path: Path) -> None:
    """It names the folder."""

    def full(call: Call) -> None:
        if call.name == "write":
            raise OSError(errno.ENOSPC, "No space left on device")

    store = await session(tmp_path / "s")
    with pytest.raises(StoreError, match="space") as caught:
        write_fork(
            store,
            str(tmp_path / "f"),
            source=None,
            keep=5,
            numbers=[],
            tail=b"",
            disk=WatchedDisk(full),
        )
    assert caught.value.path == str(tmp_path / "f")
    assert not (tmp_path / "f" / "context.jsonl").exists()
    await store.close()
