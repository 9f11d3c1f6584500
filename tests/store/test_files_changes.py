"""Another program at the same log: it is noticed, named, and nothing of anybody's is lost."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from minutebook.errors import LogChanged, StoreError
from minutebook.records import Rotated
from minutebook.store.files import FileStore
from minutebook.testing.disks import Call, WatchedDisk
from minutebook.testing.store import content, joined, line, lines

KIMI = b'{"role":"user","content":"from Kimi CLI"}\n'


def later(log: Path) -> None:
    """Move the file's time on: a change within one tick of its clock cannot be told by it."""
    status = log.stat()
    os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000_000))


def append(log: Path) -> None:
    with log.open("ab") as file:
        file.write(KIMI)


def cut(log: Path) -> None:
    os.truncate(log, log.stat().st_size - 5)


def replace(log: Path) -> None:
    other = log.with_name("other")
    other.write_bytes(log.read_bytes())
    other.rename(log)


def delete(log: Path) -> None:
    log.unlink()


def overwrite(log: Path) -> None:
    data = log.read_bytes()
    log.write_bytes(data[:-9] + b"X" + data[-8:])
    later(log)


def touch(log: Path) -> None:
    later(log)


CHANGES: list[tuple[Callable[[Path], None], str]] = [
    (append, "more"),
    (cut, "less"),
    (replace, "replaced"),
    (delete, "deleted"),
    (overwrite, "written over"),
]


@pytest.mark.parametrize(
    ("change", "word"), CHANGES, ids=lambda value: getattr(value, "__name__", "")
)
@pytest.mark.parametrize("written", [True, False], ids=["written", "only opened"])
async def test_a_change_is_named_and_nothing_is_written(
    tmp_path: Path, change: Callable[[Path], None], word: str, written: bool
) -> None:
    """Whether we have written before or have only read; for appends and for rewrites."""
    folder = tmp_path / "s"
    log = folder / "context.jsonl"
    folder.mkdir()
    log.write_bytes(line(1))
    store = await FileStore.open(folder)
    if written:
        await store.append([line(2)])
    else:
        lines(store)
    change(log)
    after = sorted(
        (path.name, path.stat().st_ino, path.stat().st_size) for path in folder.iterdir()
    )
    for _ in range(2):
        with pytest.raises(LogChanged, match=word) as caught:
            store.append([line(3)])
        assert not caught.value.written
        assert caught.value.path == str(log)
        with pytest.raises(LogChanged, match=word):
            await store.rewrite(keep=0, tail=[line(4)], reason="test")
    assert after == sorted(
        (path.name, path.stat().st_ino, path.stat().st_size) for path in folder.iterdir()
    )
    await store.close()


async def test_a_new_time_alone_is_no_change(tmp_path: Path) -> None:
    """Where only times differ, the end of the log decides."""
    store = await FileStore.open(tmp_path / "s")
    log = tmp_path / "s" / "context.jsonl"
    for number in range(1, 4):
        await store.append([line(number)])
        touch(log)
    assert lines(store) == joined(line(1), line(2), line(3))
    await store.close()


@pytest.mark.parametrize("change", [append, cut, replace, overwrite], ids=lambda f: f.__name__)
async def test_refreshing_takes_the_log_as_it_is(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    """Then appends go on behind it, and rewrites keep it."""
    store = await FileStore.open(tmp_path / "s")
    log = tmp_path / "s" / "context.jsonl"
    await store.append([line(1)])
    await store.append([line(2)])
    change(log)
    with pytest.raises(LogChanged):
        store.append([line(3)])
    found = log.read_bytes()
    store.refresh()
    expected = [one for one in lines(store) if one]
    assert content(store) == found
    await store.append([line(3)])
    assert lines(store) == [*expected, *joined(line(3))]
    rotated = await store.rewrite(keep=0, tail=[line(4)], reason="test")
    assert content(store, rotated.number).endswith(line(3))
    await store.close()


async def test_a_log_that_somebody_makes_first_is_noticed(tmp_path: Path) -> None:
    """Before the check, and between the check and our making it."""
    folder = tmp_path / "s"
    store = await FileStore.open(folder)
    (folder / "context.jsonl").write_bytes(KIMI)
    with pytest.raises(LogChanged, match="made it"):
        store.append([line(1)])
    store.refresh()
    await store.append([line(1)])
    assert lines(store) == joined(KIMI, line(1))
    await store.close()

    def sneak(call: Call) -> None:
        if call.name == "create" and call.file == "context.jsonl":
            Path(call.path).write_bytes(KIMI)

    store = await FileStore.open(tmp_path / "t", disk=WatchedDisk(sneak))
    with pytest.raises(LogChanged, match="made it"):
        store.append([line(1)])
    assert (tmp_path / "t" / "context.jsonl").read_bytes() == KIMI
    await store.close()


def sneaking(log: Path, *, times: int = 1) -> WatchedDisk:
    """Give a disk on which Kimi CLI appends between our check and our write."""
    left = times

    def sneak(call: Call) -> None:
        nonlocal left
        if call.name == "write" and call.path == str(log) and left and log.stat().st_size:
            left -= 1
            append(log)

    return WatchedDisk(sneak)


@pytest.mark.parametrize("batch", [[line(2)], [line(2), line(3)]], ids=["line", "batch"])
async def test_lines_that_somebody_got_before_are_whole_in_the_log(
    tmp_path: Path, batch: list[bytes]
) -> None:
    """The error says that ours are written; they are synced; refresh reads both on."""
    log = tmp_path / "s" / "context.jsonl"
    disk = sneaking(log)
    store = await FileStore.open(tmp_path / "s", disk=disk)
    await store.append([line(1)])
    disk.calls.clear()
    with pytest.raises(LogChanged) as caught:
        store.append(batch)
    assert caught.value.written
    assert [call.file for call in disk.named("fdatasync")] == ["context.jsonl"]
    with pytest.raises(LogChanged) as caught:
        store.append([line(4)])
    assert not caught.value.written
    store.refresh()
    assert lines(store) == joined(line(1), KIMI, *batch)
    await store.append([line(4)])
    assert lines(store) == joined(line(1), KIMI, *batch, line(4))
    await store.close()


async def test_a_failed_write_behind_somebodys_line_cuts_nothing_of_it_off(
    tmp_path: Path,
) -> None:
    """Half of ours may stay, as a torn line that is set aside; theirs is whole."""
    log = tmp_path / "s" / "context.jsonl"
    disk = sneaking(log)
    store = await FileStore.open(tmp_path / "s", disk=disk)
    await store.append([line(1)])
    sneak = disk.fault

    def short(call: Call) -> int | None:
        if sneak is not None:
            sneak(call)
        return 9 if call.name == "write" else None

    disk.fault = short
    with pytest.raises(LogChanged) as caught:
        store.append([line(2)])
    assert not caught.value.written
    disk.fault = None
    store.refresh()
    await store.append([line(3)])
    assert lines(store) == joined(line(1), KIMI, line(3))
    await store.close()


async def test_lines_got_before_and_not_synced_are_a_store_error(tmp_path: Path) -> None:
    """It is ours, and names the file."""
    log = tmp_path / "s" / "context.jsonl"
    disk = sneaking(log)
    store = await FileStore.open(tmp_path / "s", disk=disk)
    await store.append([line(1)])
    sneak = disk.fault

    def failing(call: Call) -> int | None:
        if call.name == "fdatasync":
            raise OSError(errno.EIO, "Input/output error")
        return sneak(call) if sneak else None

    disk.fault = failing
    with pytest.raises(StoreError) as caught:
        store.append([line(2)])
    assert caught.value.path == str(log)
    disk.fault = None
    await store.close()


async def test_what_comes_in_during_a_rewrite_stops_it(tmp_path: Path) -> None:
    """Checked again just before the rename: Kimi CLI's line stays in the log."""
    log = tmp_path / "s" / "context.jsonl"
    disk = WatchedDisk()
    store = await FileStore.open(tmp_path / "s", disk=disk)
    await store.append([line(1)])

    def sneak(call: Call) -> None:
        if call.name == "fsync_folder":
            append(log)

    disk.fault = sneak
    with pytest.raises(LogChanged):
        await store.rewrite(keep=0, tail=[line(2)], reason="test")
    disk.fault = None
    assert log.read_bytes() == line(1) + KIMI
    assert sorted(path.name for path in log.parent.iterdir()) == [
        ".lock",
        "context.jsonl",
        "session.json",
    ]
    store.refresh()
    await store.rewrite(keep=store.size, tail=[line(2)], reason="test")
    assert lines(store) == joined(line(1), KIMI, line(2))
    await store.close()


async def test_a_rotation_name_that_somebody_takes_is_passed_over(tmp_path: Path) -> None:
    """The next number is tried, and the tail is told the one that was got."""
    folder = tmp_path / "s"
    disk = WatchedDisk()
    store = await FileStore.open(folder, disk=disk)
    await store.append([line(1)])

    def sneak(call: Call) -> None:
        if call.name == "link" and call.file in {"context_1.jsonl", "context_2.jsonl"}:
            Path(call.path).write_bytes(KIMI)

    disk.fault = sneak
    told: list[Rotated] = []

    def tail(name: Rotated) -> list[bytes]:
        told.append(name)
        return []

    rotated = await store.rewrite(keep=0, tail=tail, reason="test")
    assert rotated.number == 3
    assert told == [rotated]
    assert (folder / "context_1.jsonl").read_bytes() == KIMI
    assert (folder / "context_3.jsonl").read_bytes() == line(1)
    await store.close()


@pytest.mark.parametrize("refused", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK])
async def test_where_links_are_not_supported_the_rotation_is_a_synced_copy(
    tmp_path: Path, refused: int
) -> None:
    """Whole or not there: it gets its name after it is synced."""
    folder = tmp_path / "s"
    disk = WatchedDisk()
    store = await FileStore.open(folder, disk=disk)
    await store.append([line(1)])

    def no_links(call: Call) -> None:
        if call.name == "link":
            raise OSError(refused, os.strerror(refused))

    disk.fault = no_links
    (folder / "context_2.jsonl").write_bytes(KIMI)
    disk.calls.clear()
    rotated = await store.rewrite(keep=0, tail=[line(2)], reason="test")
    again = await store.rewrite(keep=0, tail=[line(3)], reason="test")
    assert (rotated.number, again.number) == (3, 4)
    assert (folder / "context_3.jsonl").read_bytes() == line(1)
    assert (folder / "context_3.jsonl").stat().st_ino != (folder / "context.jsonl").stat().st_ino
    steps = [(call.name, call.file) for call in disk.calls]
    made = steps.index(("rename", "context_3.jsonl"))
    assert "fsync" in [name for name, _ in steps[:made]]
    assert [rotation.number for rotation in store.rotations()] == [2, 3, 4]
    await store.close()


async def test_another_error_of_linking_fails_the_rewrite(tmp_path: Path) -> None:
    """A disk that fails is not one without links."""
    disk = WatchedDisk()
    store = await FileStore.open(tmp_path / "s", disk=disk)
    await store.append([line(1)])

    def failing(call: Call) -> None:
        if call.name == "link":
            raise OSError(errno.EIO, "Input/output error")

    disk.fault = failing
    with pytest.raises(StoreError, match="input/output"):
        await store.rewrite(keep=0, tail=(), reason="test")
    disk.fault = None
    assert content(store) == line(1)
    await store.close()
