"""The states that a power loss may leave: what has to be among them, and what may not."""

import os
from random import Random

import pytest

from minutebook.testing.crashes import PAGE_BYTES, Left, Sampling, states
from minutebook.testing.memory_disk import EMPTY, MemoryDisk, State

ALL = Sampling(Random(1), 10_000, 10_000)


def left(disk: MemoryDisk, sampling: Sampling = ALL) -> list[Left]:
    """Give all states that may be left."""
    return list(states(disk, sampling))


def files(found: list[Left], path: str) -> set[bytes | None]:
    """Give what a file may hold, by its path; None where it is not there."""
    return {read(one.state, path) for one in found}


def read(state: State, path: str) -> bytes | None:
    """Read a file of a state."""
    node = 0
    for name in path.split("/"):
        names = state.folders.get(node, {})
        if name not in names:
            return None
        node = names[name]
    return state.files[node]


def disk_with(data: bytes = b"", *, marked: bool = True) -> tuple[MemoryDisk, int]:
    """Give a disk with one file whose bytes and name are safe, open for appending."""
    disk = MemoryDisk(State({3: data}, {0: {"f": 3}}))
    if marked:
        disk.mark("mark")
    return disk, disk.open("/f", os.O_RDWR | os.O_APPEND)


def test_what_was_synced_is_there() -> None:
    """Before the sync it may be absent, cut at its edges and in the middle, or zero."""
    disk, file = disk_with(b"old ")
    disk.write(file, b"new bytes")
    assert files(left(disk), "f") >= {
        b"old ",
        b"old n",
        b"old new ",
        b"old new byte",
        b"old new bytes",
        b"old " + b"\0" * 9,
        b"old \0",
    }
    disk.fdatasync(file)
    disk.mark("again")
    found = [one for one in left(disk) if one.expected == "again"]
    assert files(found, "f") == {b"old new bytes"}


def test_a_cut_is_tried_at_the_ends_of_lines_and_pages() -> None:
    """Where a reader could be deceived."""
    disk, file = disk_with()
    disk.write(file, b"one\ntwo\n" + b"x" * (2 * PAGE_BYTES))
    lengths = {len(one or b"") for one in files(left(disk), "f")}
    assert lengths >= {0, 1, 3, 4, 7, 8, PAGE_BYTES, 2 * PAGE_BYTES, 2 * PAGE_BYTES + 7}


def test_pages_are_lost_one_by_one() -> None:
    """Those of the file, not of the write; what lay there before stays."""
    disk, file = disk_with(b"o" * 100)
    disk.write(file, b"n" * (2 * PAGE_BYTES))
    found = files(left(disk), "f")
    first = b"o" * 100 + b"\0" * (PAGE_BYTES - 100) + b"n" * (PAGE_BYTES + 100)
    second = b"o" * 100 + b"n" * (PAGE_BYTES - 100) + b"\0" * PAGE_BYTES + b"n" * 100
    assert {first, second} <= found
    assert all(one is not None and one.startswith(b"o" * 100) for one in found)


def test_a_batch_may_lose_the_page_that_opens_it() -> None:
    """Any page of a write may be lost, whatever stands in it."""
    disk, file = disk_with()
    batch = b'{"role":"_batch"' + b"b" * PAGE_BYTES
    disk.write(file, batch)
    torn = b"\0" * PAGE_BYTES + batch[PAGE_BYTES:]
    assert {torn, batch, b"\0" * len(batch)} <= files(left(disk), "f")


def test_writes_survive_without_those_before_them() -> None:
    """Zeros stand for what is missing."""
    disk, file = disk_with()
    disk.write(file, b"one")
    disk.write(file, b"two")
    assert files(left(disk), "f") >= {b"", b"one", b"onetwo", b"\0\0\0two"}


def test_a_cut_may_not_have_happened_though_a_later_write_has() -> None:
    """Then the write lies over what was cut off."""
    disk, file = disk_with(b"0123456789")
    disk.truncate(file, 4)
    disk.write(file, b"ab")
    assert files(left(disk), "f") >= {b"0123456789", b"0123", b"0123ab6789", b"0123ab"}


def test_names_survive_in_any_subset() -> None:
    """Given, taken and put in another's place, each whole, until their folder is synced."""
    disk = MemoryDisk(State({3: b"old", 4: b"new"}, {0: {"f": 3, "g": 4}}))
    disk.mark("mark")
    disk.link("/f", "/h")
    disk.rename("/g", "/f")
    found = {tuple(sorted(one.state.folders[0].items())) for one in left(disk)}
    assert found == {
        (("f", 3), ("g", 4)),
        (("f", 3), ("g", 4), ("h", 3)),
        (("f", 4),),
        (("f", 4), ("h", 3)),
    }
    disk.fsync_folder("/")
    disk.mark("again")
    last = [one for one in left(disk) if one.expected == "again"]
    assert [sorted(one.state.folders[0]) for one in last] == [["f", "h"]]


def test_a_folder_whose_name_is_lost_is_lost_with_all_that_is_in_it() -> None:
    """However well its own content was synced."""
    disk = MemoryDisk(EMPTY)
    disk.make_folder("/a")
    file = disk.open("/a/f", os.O_RDWR | os.O_CREAT)
    disk.write(file, b"data")
    disk.fsync(file)
    disk.fsync_folder("/a")
    disk.mark("mark")
    assert {read(one.state, "a/f") for one in left(disk)} == {None, b"data"}
    disk.fsync_folder("/")
    disk.mark("again")
    assert {read(one.state, "a/f") for one in left(disk) if one.expected == "again"} == {b"data"}


def test_after_a_failed_sync_no_other_makes_it_safe() -> None:
    """The system takes the pages for clean, though the disk lacks them."""
    disk, file = disk_with()
    disk.write(file, b"data")

    def fault(name: str, path: str) -> None:
        raise OSError(5, name, path)

    disk.fault = fault
    with pytest.raises(OSError, match="fdatasync"):
        disk.fdatasync(file)
    disk.fault = None
    disk.fdatasync(file)
    assert b"" in files(left(disk), "f")


def test_nothing_is_given_before_the_first_mark_or_the_beginning() -> None:
    """And the same state under the same mark only once."""
    disk, file = disk_with(marked=False)
    disk.write(file, b"data")
    assert left(disk) == []
    disk.mark("mark")
    found = left(disk)
    assert {one.after for one in found} == {2}
    disk.fstat(file)
    assert len(left(disk)) == len(found)
    assert list(states(disk, ALL, begin=3)) == []


def test_where_there_are_too_many_some_are_drawn() -> None:
    """The same ones each time; that nothing and that everything is left is always among them."""
    disk = MemoryDisk(EMPTY)
    disk.mark("mark")
    for name in "abcdefghij":
        disk.close(disk.open(f"/{name}", os.O_RDWR | os.O_CREAT))
    few = Sampling(Random(3), 5, 5)
    found = [one.state.folders[0] for one in left(disk, few)]
    assert found == [one.state.folders[0] for one in left(disk, few._replace(random=Random(3)))]
    kept = {tuple(sorted(names)) for names in found}
    assert kept >= {(), tuple("abcdefghij"), tuple("abcdefghi")}
    assert len(kept) < 200


def test_links_of_one_file_are_told_from_copies() -> None:
    """A store looks at the inode: two such states are not the same."""
    disk = MemoryDisk(State({3: b"x", 4: b"x"}, {0: {"f": 3}}))
    disk.mark("mark")
    disk.link("/f", "/g")
    linked = left(disk)
    assert any(one.state.folders[0].get("g") == 3 for one in linked)
    assert len(linked) == 2
