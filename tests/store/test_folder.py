"""A session's folder: found or made with all above it, and cleared of what a crash left."""

import os
from pathlib import Path

import pytest

from minutebook.errors import StoreError
from minutebook.store.disk import Disk
from minutebook.store.folder import clear_leftovers, find_folder, highest_number, sync_folders
from minutebook.store.logfile import LogFile
from minutebook.testing.disks import Call, WatchedDisk


def test_missing_folders_are_made_and_their_parents_named(tmp_path: Path) -> None:
    """Those that hold new names, and those above that may: another process may have made them."""
    folder = tmp_path / "a" / "b" / "c"
    unsynced = find_folder(Disk(), str(folder), create=True)
    assert unsynced[:3] == [str(tmp_path / "a" / "b"), str(tmp_path / "a"), str(tmp_path)]
    assert all(path.stat().st_mode & 0o777 == 0o700 for path in folder.parents[:2])
    assert find_folder(Disk(), str(folder), create=True) == unsynced
    assert find_folder(Disk(), str(folder), create=False) == []
    assert len(unsynced) == len(set(unsynced)) <= len(folder.parents)


def test_folders_of_other_users_are_not_ours_to_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is one that may not be opened; any other error is raised."""
    monkeypatch.setattr(os, "geteuid", lambda: -1)
    assert find_folder(Disk(), str(tmp_path / "s"), create=True) == []

    def fault(call: Call) -> None:
        raise PermissionError(13, "Permission denied") if call.file == "no" else OSError(5, "i/o")

    disk = WatchedDisk(fault)
    sync_folders(disk, [str(tmp_path / "no")])
    with pytest.raises(OSError, match="i/o"):
        sync_folders(disk, [str(tmp_path / "no"), str(tmp_path)])


def test_a_missing_folder_may_not_always_be_made(tmp_path: Path) -> None:
    """Then nothing is."""
    with pytest.raises(StoreError, match="no such session"):
        find_folder(Disk(), str(tmp_path / "a" / "b"), create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    """At the end of the path or on the way to it."""
    (tmp_path / "f").write_text("")
    for path in ("f", "f/s"):
        with pytest.raises((StoreError, NotADirectoryError)):
            find_folder(Disk(), str(tmp_path / path), create=True)


def test_a_folder_that_another_process_makes_meanwhile_is_found(tmp_path: Path) -> None:
    """Two that open the same new session at once do not fail each other."""

    def other(call: Call) -> None:
        if call.name == "make_folder":
            Path(call.path).mkdir(exist_ok=True)

    folder = tmp_path / "a" / "b"
    unsynced = find_folder(WatchedDisk(other), str(folder), create=True)
    assert unsynced[:2] == [str(tmp_path / "a"), str(tmp_path)]
    assert folder.is_dir()


def test_the_highest_number_counts_every_form_of_a_name(tmp_path: Path) -> None:
    """Compressed ones, leading zeros; nothing else."""
    assert highest_number(Disk(), str(tmp_path)) == 0
    for name in ("context_2.jsonl", "context_007.jsonl", "context.jsonl", "context_sub_9.jsonl"):
        (tmp_path / name).write_text("")
    assert highest_number(Disk(), str(tmp_path)) == 7
    (tmp_path / "context_11.jsonl.zst").write_text("")
    assert highest_number(Disk(), str(tmp_path)) == 11


def test_leftovers_are_cleared_and_nothing_else(tmp_path: Path) -> None:
    """Half-written new files, and a second name of the log; real rotations stay."""
    log = tmp_path / "context.jsonl"
    log.write_text("log")
    (tmp_path / "context_1.jsonl").write_text("old")
    os.link(log, tmp_path / "context_2.jsonl")
    for name in (".context.jsonl.new", ".session.json.new", "session.json", "mine.txt"):
        (tmp_path / name).write_text("x")
    file = LogFile(Disk(), str(tmp_path), writable=True)
    assert file.attach()
    clear_leftovers(Disk(), file)
    file.detach()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "context.jsonl",
        "context_1.jsonl",
        "mine.txt",
        "session.json",
    ]
