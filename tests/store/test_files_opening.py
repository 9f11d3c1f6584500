"""Opening a session on files: what is made, what is refused, what is only read."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.codec import encode_line
from minutebook.errors import LogChanged, StoreError
from minutebook.records import Revert, Rotated
from minutebook.store.files import FileStore
from minutebook.store.metadata import Metadata
from minutebook.testing.disks import CHANGES, SYNCS, Call, WatchedDisk
from minutebook.testing.store import Mode, content, joined, line, lines

OPEN_ONLY: list[dict[str, Any]] = [{"create": False}, {"mode": "r"}]
MODES: list[Mode] = ["r", "w"]


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def seen(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Give each file's bytes, mode and time of change."""
    return {
        path.name: (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns)
        for path in folder.iterdir()
    }


def names_in(folder: Path) -> list[str]:
    """List a folder."""
    return sorted(path.name for path in folder.iterdir())


async def test_everything_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    """Folders 0700, files 0600: log, rotation, lock, metadata, what was set aside."""
    folder = tmp_path / "root" / "s"
    store = await FileStore.open(folder)
    await store.append([line(1)])
    await store.rewrite(keep=0, tail=[line(2)], reason="test")
    await store.close()
    folder.chmod(0o700)
    with (folder / "context.jsonl").open("ab") as log:
        log.write(b"torn")
    store = await FileStore.open(folder)
    await store.append([line(3)])
    await store.close()
    assert [path.stat().st_mode & 0o777 for path in (folder.parent, folder)] == [0o700, 0o700]
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        ".lock": 0o600,
        "context.jsonl": 0o600,
        "context_1.jsonl": 0o600,
        "context.bad.jsonl": 0o600,
        "session.json": 0o600,
    }


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[0m", "x" * 201])
async def test_a_session_needs_a_safe_name(tmp_path: Path, name: str) -> None:
    """Refused before anything is made."""
    with pytest.raises(StoreError, match="session id"):
        await FileStore.open(tmp_path / name)
    assert names_in(tmp_path) == []


async def test_a_missing_session_is_an_error_where_it_may_not_be_made(tmp_path: Path) -> None:
    """With create=False and for readers; nothing is made."""
    for options in OPEN_ONLY:
        with pytest.raises(StoreError, match="no such session"):
            await FileStore.open(tmp_path / "s", **options)
    (tmp_path / "s").mkdir()
    for options in OPEN_ONLY:
        with pytest.raises(StoreError, match=r"no context\.jsonl"):
            await FileStore.open(tmp_path / "s", **options)
    assert names_in(tmp_path) == ["s"]
    assert names_in(tmp_path / "s") == [".lock"]


async def test_opening_alone_writes_no_log(tmp_path: Path) -> None:
    """A session that was only opened holds its lock file, and an empty log is read."""
    store = await FileStore.open(tmp_path / "s")
    assert (lines(store), store.size, store.rotations()) == ([], 0, [])
    await store.close()
    assert names_in(tmp_path / "s") == [".lock"]


async def test_a_reader_writes_nothing(tmp_path: Path) -> None:
    """Names, bytes, modes and times are the same, and no operation changes anything."""
    folder = tmp_path / "s"
    store = await FileStore.open(folder)
    await store.append([line(1)])
    await store.rewrite(keep=0, tail=[line(2)], reason="test")
    await store.close()
    with (folder / "context.jsonl").open("ab") as log:
        log.write(b'{"role":"us')
    (folder / ".context.jsonl.new").write_bytes(b"left by a crash")
    (folder / "session.json").write_bytes(b"{")
    os.link(folder / "context.jsonl", folder / "context_2.jsonl")
    before = seen(folder)
    disk = WatchedDisk()
    reader = await FileStore.open(folder, mode="r", disk=disk)
    assert lines(reader) == joined(line(2))
    assert [problem.kind for problem in reader.problems] == ["torn"]
    assert [rotation.number for rotation in reader.rotations()] == [1]
    assert content(reader, 1) == line(1)
    assert reader.metadata_problem.startswith("session.json is damaged")
    with pytest.raises(StoreError, match="reading"):
        reader.append([line(3)])
    with pytest.raises(StoreError, match="reading"):
        reader.save_metadata(Metadata(id="s"))
    reader.refresh()
    await reader.close()
    assert seen(folder) == before
    assert disk.named(*CHANGES, *SYNCS) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to a folder without write access")
async def test_a_reader_needs_no_right_to_write(tmp_path: Path) -> None:
    """The folder and its files may be read-only."""
    folder = tmp_path / "s"
    store = await FileStore.open(folder)
    await store.append([line(1)])
    await store.close()
    folder.chmod(0o500)
    reader = await FileStore.open(folder, mode="r")
    assert lines(reader) == joined(line(1))
    await reader.close()
    folder.chmod(0o700)


async def test_a_read_only_file_system_can_be_read(tmp_path: Path) -> None:
    """A reader asks the disk for nothing that such a system refuses; a writer is told."""
    folder = tmp_path / "s"
    store = await FileStore.open(folder)
    await store.append([line(1)])
    await store.close()

    def refuse(call: Call) -> None:
        if call.name in CHANGES:
            raise OSError(30, "Read-only file system", call.path)

    reader = await FileStore.open(folder, mode="r", disk=WatchedDisk(refuse))
    assert lines(reader) == joined(line(1))
    await reader.close()
    with pytest.raises(StoreError, match="Read-only"):
        await FileStore.open(folder, disk=WatchedDisk(refuse))


async def test_a_symbolic_link_in_place_of_the_log_is_refused(tmp_path: Path) -> None:
    """It could lead out of the session; so could one in place of a rotation."""
    folder = tmp_path / "s"
    folder.mkdir()
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(line(1))
    (folder / "context_1.jsonl").symlink_to(outside)
    (folder / "context.jsonl").symlink_to(outside)
    for mode in MODES:
        with pytest.raises(StoreError, match="symbolic link"):
            await FileStore.open(folder, mode=mode)
    (folder / "context.jsonl").unlink()
    (folder / "context.jsonl").write_bytes(line(2))
    store = await FileStore.open(folder)
    assert store.rotations() == []
    with pytest.raises(StoreError, match="no rotation 1"):
        content(store, 1)
    rotated = await store.rewrite(keep=0, tail=(), reason="test")
    assert rotated.number == 2
    await store.close()
    assert outside.read_bytes() == line(1)


async def test_a_folder_in_place_of_the_log_is_refused(tmp_path: Path) -> None:
    """And a file in place of the folder."""
    (tmp_path / "s" / "context.jsonl").mkdir(parents=True)
    for mode in MODES:
        with pytest.raises(StoreError):
            await FileStore.open(tmp_path / "s", mode=mode)
    (tmp_path / "f").write_text("")
    with pytest.raises(StoreError):
        await FileStore.open(tmp_path / "f")


async def test_rotations_without_a_log_are_no_empty_session(tmp_path: Path) -> None:
    """The error names the newest; opened to restore one, it comes back."""
    folder = tmp_path / "s"
    store = await FileStore.open(folder)
    await store.append([line(1)])
    await store.rewrite(keep=0, tail=[line(2)], reason="test")
    await store.rewrite(keep=0, tail=[line(3)], reason="test")
    await store.close()
    (folder / "context.jsonl").unlink()
    for mode in MODES:
        with pytest.raises(StoreError, match=r"rotation 2 is there .*restore") as caught:
            await FileStore.open(folder, mode=mode)
        assert "context_2.jsonl" in str(caught.value)
    assert not (folder / "context.jsonl").exists()
    store = await FileStore.open(folder, allow_missing_log=True)
    assert [rotation.number for rotation in store.rotations()] == [1, 2]
    await store.rewrite(source=1, keep=len(line(1)), tail=[line(4)], reason="restore")
    assert content(store) == line(1) + line(4)
    await store.close()


@pytest.mark.parametrize(
    ("names", "named", "expected"),
    [
        ([], None, 1),
        (["context_1.jsonl"], None, 2),
        (["context_1.jsonl", "context_5.jsonl"], None, 6),
        (["context_007.jsonl"], None, 8),
        (["context_4.jsonl.zst"], None, 5),
        (["context_4.jsonl", "context_sub_9.jsonl"], None, 5),
        (["context_2.jsonl"], Rotated(12), 13),
        ([], Rotated(3), 4),
    ],
)
async def test_a_rotation_takes_the_number_after_the_highest(
    tmp_path: Path, names: list[str], named: Rotated | None, expected: int
) -> None:
    """Of those present, in any form, and those that a lineage record names; gaps stay."""
    folder = tmp_path / "s"
    folder.mkdir()
    for name in names:
        (folder / name).write_bytes(line(9))
    tail = [encode_line(Revert(content="r", origin=named))] if named else []
    (folder / "context.jsonl").write_bytes(line(1) + b"".join(tail))
    store = await FileStore.open(folder)
    rotated = await store.rewrite(keep=0, tail=[line(2)], reason="test")
    assert rotated.number == expected
    assert (folder / f"context_{expected}.jsonl").exists()
    await store.close()


async def test_leftovers_go_with_a_writers_first_write(tmp_path: Path) -> None:
    """Not when it opens, not when it reads."""
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "context.jsonl").write_bytes(line(1) + b"torn")
    (folder / ".context.jsonl.new").write_bytes(b"half")
    os.link(folder / "context.jsonl", folder / "context_1.jsonl")
    store = await FileStore.open(folder)
    lines(store)
    assert (folder / ".context.jsonl.new").exists()
    assert (folder / "context.jsonl").read_bytes().endswith(b"torn")
    await store.append([line(2)])
    await store.close()
    assert not (folder / ".context.jsonl.new").exists()
    assert not (folder / "context_1.jsonl").exists()
    assert (folder / "context.bad.jsonl").read_bytes() == b"torn\n"


async def test_metadata_is_made_with_the_first_write_and_kept(tmp_path: Path) -> None:
    """What the caller says of a new session; what is there already wins; damage is mended."""
    folder = tmp_path / "s"
    about = Metadata(id="s", title="t", agent="a")
    store = await FileStore.open(folder, about=about)
    assert not (folder / "session.json").exists()
    await store.append([line(1)])
    await store.close()
    store = await FileStore.open(folder, about=Metadata(id="s", title="other"))
    assert (store.metadata, store.metadata_problem) == (about, "")
    store.save_metadata(Metadata(id="s", title="new"))
    await store.close()
    store = await FileStore.open(folder)
    assert store.metadata.title == "new"
    await store.close()
    (folder / "session.json").write_bytes(b'{"id":"s","ti')
    store = await FileStore.open(folder)
    assert store.metadata == Metadata(id="s")
    assert store.metadata_problem.startswith("session.json is damaged")
    await store.append([line(2)])
    await store.close()
    assert (await reopened(folder)).metadata_problem == ""


async def reopened(folder: Path) -> FileStore:
    """Open for reading and close."""
    reader = await FileStore.open(folder, mode="r")
    await reader.close()
    return reader


async def test_a_deleted_folder_is_a_clear_error(tmp_path: Path) -> None:
    """Not a new empty session: neither on writing, nor on refreshing, nor after it."""
    for first in (True, False):
        folder = tmp_path / f"s{first}"
        store = await FileStore.open(folder)
        if first:
            await store.append([line(1)])
        shutil.rmtree(folder)
        for _ in range(2):
            with pytest.raises(LogChanged, match="deleted"):
                await store.append([line(2)])
            with pytest.raises(LogChanged, match="deleted"):
                await store.rewrite(keep=0, tail=(), reason="test")
            with pytest.raises(LogChanged, match="deleted"):
                store.refresh()
        await store.close()
        assert not folder.exists()


async def test_a_failed_opening_frees_the_lock(tmp_path: Path) -> None:
    """The next one gets in."""
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "context.jsonl").symlink_to("x")
    with pytest.raises(StoreError):
        await FileStore.open(folder)
    (folder / "context.jsonl").unlink()
    store = await FileStore.open(folder)
    await store.close()
