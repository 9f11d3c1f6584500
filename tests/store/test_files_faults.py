"""Disks that fail: memory and disk agree afterwards, and once the cause is gone it works again."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from minutebook.errors import LogChanged, StoreError
from minutebook.store.contract import RewriteUnsynced
from minutebook.store.files import FileStore
from minutebook.testing.disks import Call, FailAt, WatchedDisk
from minutebook.testing.store import content, joined, line, lines
from tests.cases import case

EIO = OSError(errno.EIO, "Input/output error")
KIMI = b'{"role":"user","content":"from Kimi CLI"}\n'


class Failing:
    """A fault for the operations of some names, while it is on."""

    def __init__(self, *names: str, file: str = "", error: OSError = EIO) -> None:
        self.names = names
        self.file = file
        self.error = error
        self.on = True

    def __call__(self, call: Call) -> None:
        if self.on and call.name in self.names and call.file.startswith(self.file):
            raise self.error


async def opened(folder: Path, disk: WatchedDisk) -> FileStore:
    """Open a session that has one line, safe on the disk."""
    store = await FileStore.open(folder, disk=disk)
    await store.append([line(1)])
    disk.calls.clear()
    return store


async def on_disk(folder: Path) -> list[bytes]:
    """Read the log as another process would."""
    reader = await FileStore.open(folder, mode="r")
    found = lines(reader)
    await reader.close()
    return found


# Appending.


async def test_a_first_append_is_safe_with_all_names_that_lead_to_it(tmp_path: Path) -> None:
    """Acknowledged only when the file, its folder and every folder made for it are synced."""
    disk = WatchedDisk()
    store = await FileStore.open(tmp_path / "a" / "b" / "s", disk=disk)
    receipt = store.append([line(1)])
    assert not receipt.done()
    await receipt
    synced = [call.path for call in disk.named("fdatasync", "fsync", "fsync_folder")]
    above = [str(tmp_path / name) for name in ("a/b", "a", "")]
    log = str(tmp_path / "a/b/s/context.jsonl")
    assert {path.rstrip("/") for path in above} <= set(synced)
    assert synced[-2:] == [log, str(tmp_path / "a/b/s")]
    disk.calls.clear()
    await store.append([line(2)])
    assert [call.name for call in disk.named("fdatasync", "fsync", "fsync_folder")] == ["fdatasync"]
    await store.close()


async def test_a_first_append_waits_for_its_names_in_process_durability_too(
    tmp_path: Path,
) -> None:
    """A log whose name is lost would be lost with all that follows; later ones do not wait."""
    store = await FileStore.open(tmp_path / "s", durability="process")
    receipts = [store.append([line(1)])]
    await receipts[0]
    receipts.append(store.append([line(2)]))
    assert receipts[1].done()
    await store.close()


async def test_concurrent_appends_share_a_sync(tmp_path: Path) -> None:
    """A hundred of them take a handful, and lie in the order of their calls."""
    disk = WatchedDisk()
    store = await opened(tmp_path / "s", disk)
    await asyncio.gather(*(store.append([line(number)]) for number in range(2, 102)))
    assert len(disk.named("fdatasync")) <= 2
    assert lines(store) == joined(*map(line, range(1, 102)))
    await store.close()


async def test_an_append_is_one_write_on_a_descriptor_kept_open(tmp_path: Path) -> None:
    """The whole batch at once, without opening or closing anything."""
    disk = WatchedDisk()
    store = await opened(tmp_path / "s", disk)
    await store.append([line(2), line(3), line(4)])
    assert [call.name for call in disk.calls] == ["stat", "write", "position", "fdatasync"]
    await store.close()


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
@pytest.mark.parametrize("name", ["write", "stat", "position"])
async def test_a_failed_append_changes_nothing(tmp_path: Path, error: int, name: str) -> None:
    """The error is ours and names the file; once the cause is gone, the next try works."""
    fault = Failing(name, file="context", error=OSError(error, os.strerror(error)))
    fault.on = False
    disk = WatchedDisk(fault)
    store = await opened(tmp_path / "s", disk)
    fault.on = True
    for _ in range(2):
        with pytest.raises(StoreError) as caught:
            store.append([line(2), line(3)])
        assert caught.value.path == str(tmp_path / "s" / "context.jsonl")
        assert not isinstance(caught.value, LogChanged)
    fault.on = False
    assert await on_disk(tmp_path / "s") == joined(line(1)) == lines(store)
    await store.append([line(2), line(3)])
    assert await on_disk(tmp_path / "s") == joined(line(1), line(2), line(3)) == lines(store)
    assert store.size == (tmp_path / "s" / "context.jsonl").stat().st_size
    await store.close()


@pytest.mark.parametrize("count", [0, 1, 40])
async def test_a_short_write_is_cut_off_again(tmp_path: Path, count: int) -> None:
    """A second write could come after somebody else's: all of it in one, or none."""
    disk = WatchedDisk()
    store = await opened(tmp_path / "s", disk)
    disk.fault = lambda call: count if call.name == "write" else None
    with pytest.raises(StoreError, match="not all bytes"):
        store.append([line(2)])
    disk.fault = None
    assert (tmp_path / "s" / "context.jsonl").read_bytes() == line(1)
    await store.append([line(3)])
    assert lines(store) == joined(line(1), line(3))
    await store.close()


async def test_half_a_write_that_cannot_be_cut_off_is_left_behind(tmp_path: Path) -> None:
    """Every write fails until the log stands on fresh blocks; then the half is gone."""
    disk = WatchedDisk()
    store = await opened(tmp_path / "s", disk)

    def broken(call: Call) -> int | None:
        if call.name in {"truncate", "copy"}:
            raise EIO
        return 20 if call.name == "write" else None

    disk.fault = broken
    with pytest.raises(StoreError, match="could not be cut off"):
        store.append([line(2)])
    assert store.size == len(line(1))
    assert content(store) == line(1)
    for _ in range(2):
        with pytest.raises(StoreError, match="going back"):
            store.append([line(2)])
        with pytest.raises(StoreError, match="going back"):
            await store.rewrite(keep=0, tail=(), reason="test")
    disk.fault = None
    await store.append([line(3)])
    assert (tmp_path / "s" / "context.jsonl").read_bytes() == line(1) + line(3)
    await store.close()


async def test_after_a_failed_sync_nothing_since_the_last_good_one_counts(tmp_path: Path) -> None:
    """All waiting appends fail; the synced part is copied to fresh blocks before the next."""
    fault = Failing("fdatasync")
    fault.on = False
    disk = WatchedDisk(fault)
    folder = tmp_path / "s"
    store = await opened(folder, disk)
    inode = (folder / "context.jsonl").stat().st_ino
    fault.on = True
    receipts = [store.append([line(number)]) for number in (2, 3, 4)]
    outcomes = await asyncio.gather(*receipts, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreError] * 3
    assert store.size == len(line(1))
    assert content(store) == line(1)
    fault.names = ("fdatasync", "fsync", "rename", "copy")
    for _ in range(2):
        with pytest.raises(StoreError, match="going back"):
            store.append([line(5)])
    fault.on = False
    await store.append([line(6)])
    assert await on_disk(folder) == joined(line(1), line(6)) == lines(store)
    assert (folder / "context.jsonl").stat().st_ino != inode
    await store.close()


async def test_appends_made_while_the_sync_fails_fail_with_it(tmp_path: Path) -> None:
    """Also those that came after it had begun."""
    disk = WatchedDisk()
    store = await opened(tmp_path / "s", disk)
    later: list[object] = []
    loop = asyncio.get_running_loop()

    def failing(call: Call) -> None:
        if call.name == "fdatasync":
            done = asyncio.run_coroutine_threadsafe(join_in(), loop)
            done.result()
            raise EIO

    async def join_in() -> None:
        later.append(store.append([line(3)]))

    disk.fault = failing
    first = store.append([line(2)])
    with pytest.raises(StoreError):
        await first
    disk.fault = None
    with pytest.raises(StoreError):
        await later[0]  # type: ignore[misc]
    await store.append([line(4)])
    assert lines(store) == joined(line(1), line(4))
    await store.close()


@pytest.mark.parametrize("name", ["open", "copy", "fsync", "rename", "fsync_folder", "create"])
async def test_the_way_back_may_fail_at_any_step_and_is_tried_again(
    tmp_path: Path, name: str
) -> None:
    """Until it works every write raises; the log is whole at every moment."""
    disk = WatchedDisk(fault := Failing("fdatasync"))
    fault.on = False
    folder = tmp_path / "s"
    store = await opened(folder, disk)
    fault.on = True
    with pytest.raises(StoreError):
        await store.append([line(2)])
    fault.names = (name,)
    for _ in range(2):
        with pytest.raises(StoreError):
            store.append([line(3)])
        assert (await on_disk(folder))[:1] == joined(line(1))
    fault.on = False
    await store.append([line(4)])
    assert await on_disk(folder) == joined(line(1), line(4)) == lines(store)
    await store.close()


@pytest.mark.parametrize("file", ["s", "b", "a"])
async def test_a_folder_that_cannot_be_synced_fails_the_first_append(
    tmp_path: Path, file: str
) -> None:
    """Its own, or one of those made above it; the next try syncs them all again."""
    fault = Failing("fsync_folder", file=file)
    disk = WatchedDisk(fault)
    folder = tmp_path / "a" / "b" / "s"
    store = await FileStore.open(folder, disk=disk)
    with pytest.raises(StoreError):
        await store.append([line(1)])
    fault.on = False
    await store.append([line(2)])
    assert {"s", "b", "a"} <= {call.file for call in disk.named("fsync_folder")}
    assert await on_disk(folder) == joined(line(2))
    await store.close()


async def test_on_the_way_back_nothing_of_another_program_is_lost(tmp_path: Path) -> None:
    """What it appended after our failed sync stops us; refreshed, all is read and safe."""
    fault = Failing("fdatasync")
    fault.on = False
    disk = WatchedDisk(fault)
    log = tmp_path / "s" / "context.jsonl"
    store = await opened(tmp_path / "s", disk)
    fault.on = True
    with pytest.raises(StoreError):
        await store.append([line(2)])
    fault.on = False
    with log.open("ab") as file:
        file.write(KIMI)
    with pytest.raises(LogChanged):
        store.append([line(3)])
    assert log.read_bytes().endswith(KIMI)
    inode = log.stat().st_ino
    store.refresh()
    assert log.stat().st_ino != inode
    assert lines(store)[-1:] == joined(KIMI)
    await store.append([line(3)])
    assert lines(store)[-2:] == joined(KIMI, line(3))
    await store.close()


@pytest.mark.parametrize("change", ["replace", "delete"])
async def test_on_the_way_back_another_log_is_noticed(tmp_path: Path, change: str) -> None:
    """It was replaced or deleted while ours could not be trusted."""
    fault = Failing("fdatasync")
    fault.on = False
    disk = WatchedDisk(fault)
    log = tmp_path / "s" / "context.jsonl"
    store = await opened(tmp_path / "s", disk)
    fault.on = True
    with pytest.raises(StoreError):
        await store.append([line(2)])
    fault.on = False
    log.unlink()
    if change == "replace":
        log.write_bytes(KIMI)
    with pytest.raises(LogChanged):
        store.append([line(3)])
    if change == "replace":
        store.refresh()
        await store.append([line(3)])
        assert lines(store) == joined(KIMI, line(3))
    else:
        with pytest.raises(LogChanged):
            store.refresh()
    await store.close()


async def test_refreshing_after_a_failed_sync_goes_back_first(tmp_path: Path) -> None:
    """What only the page cache shows is not read as if it were safe."""
    fault = Failing("fdatasync")
    fault.on = False
    disk = WatchedDisk(fault)
    store = await opened(tmp_path / "s", disk)
    fault.on = True
    with pytest.raises(StoreError):
        await store.append([line(2)])
    fault.on = False
    store.refresh()
    assert lines(store) == joined(line(1))
    await store.close()


# Setting aside.


async def append(store: FileStore, one: bytes) -> None:
    """Append one line and wait for it."""
    await store.append([one])


@pytest.mark.parametrize("at", range(60))
async def test_setting_a_torn_tail_aside_may_fail_anywhere(tmp_path: Path, at: int) -> None:
    """Each operation of the first append in turn: nothing is lost, and it is tried again."""
    folder = tmp_path / "s"
    folder.mkdir()
    torn = b'{"role":"user","content":"torn'
    (folder / "context.jsonl").write_bytes(line(1) + torn)
    disk = WatchedDisk()
    store = await FileStore.open(folder, disk=disk)
    disk.fault = fault = FailAt(at, errno.EIO)
    appended = [line(1)]
    (outcome,) = await asyncio.gather(append(store, line(2)), return_exceptions=True)
    assert not isinstance(outcome, LogChanged)
    if not isinstance(outcome, StoreError):
        appended.append(line(2))
    assert (fault.hit is None) == (at >= fault.seen)
    disk.fault = None
    await store.append([line(3)])
    await store.close()
    assert await on_disk(folder) == joined(*appended, line(3))
    assert torn in (folder / "context.bad.jsonl").read_bytes()


# The cases.


async def test_c069_a_full_disk_loses_no_record(tmp_path: Path) -> None:
    """C069.1, .2, .3: what was acknowledged is there, once; afterwards appends go on."""
    case("C069")
    room = 40_000
    disk = WatchedDisk()
    folder = tmp_path / "s"
    store = await FileStore.open(folder, disk=disk)

    def full(call: Call) -> int | None:
        if call.name == "write" and call.file == "context.jsonl":
            left = room - store.size
            if left < 1_100:
                return max(left, 0)
        return None

    disk.fault = full
    written = []
    for number in range(100):
        try:
            await store.append([line(number + 1, "x" * 1_000)])
        except StoreError:
            continue
        written.append(number + 1)
    assert 30 < len(written) < 100
    assert len(await on_disk(folder)) == len(written)
    disk.fault = None
    for number in range(101, 106):
        await store.append([line(number, "x" * 1_000)])
        written.append(number)
    await store.close()
    assert await on_disk(folder) == joined(*(line(number, "x" * 1_000) for number in written))


# Rewriting.


async def rewriting(folder: Path, at: int, error: int) -> tuple[FileStore, FailAt, WatchedDisk]:
    """Open a session of two lines and one rotation on a disk about to fail."""
    disk = WatchedDisk()
    store = await opened(folder, disk)
    await store.rewrite(keep=store.size, tail=[line(2)], reason="test")
    disk.fault = fault = FailAt(at, error)
    return store, fault, disk


@pytest.mark.parametrize("source", [None, 1], ids=["log", "rotation"])
@pytest.mark.parametrize("at", range(60))
async def test_a_rewrite_may_fail_at_any_operation(
    tmp_path: Path, at: int, source: int | None
) -> None:
    """Before the rename all is as before; from it on the new log is in force."""
    folder = tmp_path / "s"
    store, fault, disk = await rewriting(folder, at, errno.EIO)
    keep = len(line(1))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    work = store.rewrite(head=[line(9)], source=source, keep=keep, tail=[line(3)], reason="test")
    (outcome,) = await asyncio.gather(work, return_exceptions=True)
    done = not isinstance(outcome, StoreError)
    if isinstance(outcome, RewriteUnsynced):
        done = True
        assert outcome.rotation.number == 2
        assert outcome.path == str(folder / "context.jsonl")
    elif isinstance(outcome, StoreError):
        after = {path.name: path.read_bytes() for path in folder.iterdir()}
        leftovers = {".context.jsonl.new", "context_2.jsonl"}
        hit = fault.hit
        assert hit is not None
        if hit.name == "unlink":
            after = {name: data for name, data in after.items() if name not in leftovers}
        assert after == before
    disk.fault = None
    expected = [line(9), line(1), line(3)] if done else [line(1), line(2)]
    assert lines(store) == joined(*expected)
    await store.append([line(4)])
    assert await on_disk(folder) == joined(*expected, line(4))
    rotated = await store.rewrite(keep=0, tail=[line(5)], reason="test")
    assert content(store, rotated.number) == b"".join([*expected, line(4)])
    await store.close()


async def test_there_are_not_more_operations_than_were_tried(tmp_path: Path) -> None:
    """The loops above end where a rewrite and a first append do."""
    store, fault, _ = await rewriting(tmp_path / "s", 10_000, errno.EIO)
    await store.rewrite(head=[line(9)], source=1, keep=5, tail=[line(3)], reason="test")
    assert 10 < fault.seen < 60
    await store.close()


@pytest.mark.parametrize("whole", [True, False])
async def test_a_failed_sync_of_the_old_log_fails_the_rewrite(tmp_path: Path, whole: bool) -> None:
    """What was not safe before it is not trusted afterwards."""
    disk = WatchedDisk()
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "context.jsonl").write_bytes(line(1)[: None if whole else -1])
    store = await FileStore.open(folder, disk=disk)
    disk.fault = Failing("fdatasync")
    for _ in range(2):
        with pytest.raises(StoreError, match=r"input/output|sync failed"):
            await store.rewrite(keep=0, tail=[line(2)], reason="test")
    disk.fault = None
    await store.append([line(3)])
    assert lines(store) == joined(line(1), line(3))
    await store.close()


async def test_an_error_of_a_rewrite_says_what_it_was_for(tmp_path: Path) -> None:
    """In a note, since the sentence names the file and the system's reason."""
    store = await opened(tmp_path / "s", WatchedDisk())
    with pytest.raises(StoreError) as caught:
        await store.rewrite(keep=-1, tail=(), reason="revert")
    assert caught.value.__notes__ == ["while rewriting the log for revert"]
    await store.close()


async def test_closing_waits_for_syncs_and_refuses_what_comes_after(tmp_path: Path) -> None:
    """A rewrite that was waiting for its turn is refused too."""
    store = await opened(tmp_path / "s", WatchedDisk())
    receipts = [store.append([line(number)]) for number in (2, 3)]
    rewriting = asyncio.ensure_future(store.rewrite(keep=0, tail=(), reason="test"))
    await asyncio.sleep(0)
    await store.close()
    assert all(receipt.done() for receipt in receipts)
    with pytest.raises(StoreError, match="closed"):
        await rewriting
    assert await on_disk(tmp_path / "s") == joined(line(1), line(2), line(3))
