"""Rotations are found and read wherever their bytes are: plain, compressed, or on the way."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import StoreError
from minutebook.store.disk import Disk
from minutebook.store.files import FileStore
from minutebook.store.rotated import ATTEMPTS, find, opened, rotation_pieces
from minutebook.testing.disks import Call, WatchedDisk
from tests.store.retired import compress, contents, listed, make_rotations, read


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with rotation 1 sharing its beginning with 2, both compressed, and 3 plain."""
    made = tmp_path_factory.mktemp("s")
    make_rotations(made, 3)
    compress(made, 1, 2)
    return made


def test_the_list_says_what_is_there(folder: Path) -> None:
    """Lengths as logs, what they take on the disk, and which shares with which."""
    one, two, three = listed(folder)

    assert [(item.number, item.compressed, item.base) for item in (one, two, three)] == [
        (1, True, 2),
        (2, True, None),
        (3, False, None),
    ]
    whole = contents(folder)
    assert [item.bytes for item in (one, two, three)] == [len(whole[n]) for n in (1, 2, 3)]
    assert one.stored_bytes < two.stored_bytes < three.stored_bytes == three.bytes
    assert all(item.stored_bytes == Path(item.path).stat().st_size for item in (one, two, three))


@given(st.data())
def test_any_part_of_one_is_that_part_of_its_bytes(folder: Path, data: st.DataObject) -> None:
    """From anywhere to anywhere, or to the end."""
    number = data.draw(st.integers(1, 3))
    whole = contents(folder)[number]
    start = data.draw(st.integers(0, len(whole) + 5))
    end = data.draw(st.none() | st.integers(0, len(whole) + 5))

    assert read(folder, number, start, end) == whole[start:end]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_one_is_opened_for_copying(folder: Path, number: int) -> None:
    """A compressed one is laid out in a file without a name."""
    whole, before = contents(folder), sorted(folder.iterdir())
    rotations = listed(folder)
    with opened(Disk(), rotations, find(rotations, number, "")) as (descriptor, size):
        assert os.pread(descriptor, size + 1, 0) == whole[number]
        assert sorted(folder.iterdir()) == before


def test_of_one_that_is_there_twice_the_plain_one_counts(tmp_path: Path) -> None:
    """Whatever the compressed one holds: gc was interrupted before it could unlink the other."""
    made = make_rotations(tmp_path, 2)
    compress(tmp_path, 1)
    (tmp_path / "context_1.jsonl").write_bytes(made[1])
    (tmp_path / "context_1.jsonl.zst").write_bytes(b"half written")

    for backwards in (False, True):
        found = listed(tmp_path, Sorted(backwards=backwards))
        assert [(item.number, item.compressed) for item in found] == [(1, False), (2, False)]
    assert contents(tmp_path) == made


class Sorted(Disk):
    """A disk that lists a folder in one order."""

    def __init__(self, *, backwards: bool) -> None:
        self.backwards = backwards

    def names(self, path: str) -> list[str]:
        return sorted(super().names(path), reverse=self.backwards)


def test_one_that_cannot_be_read_is_listed_without_a_length(tmp_path: Path) -> None:
    """So that its number is not given again, and a person sees that it is there."""
    make_rotations(tmp_path, 1)
    (tmp_path / "context_7.jsonl.zst").write_bytes(b"no stream")
    (tmp_path / "context_8.jsonl.zst").write_bytes(b"")

    assert [(item.number, item.bytes) for item in listed(tmp_path)][1:] == [(7, -1), (8, -1)]
    with pytest.raises(StoreError, match="damaged"):
        read(tmp_path, 7)


def test_what_is_no_rotation_is_not_listed(tmp_path: Path) -> None:
    """Links, folders, other names, and a spare link of the log itself."""
    make_rotations(tmp_path, 1)
    (tmp_path / "context_2.jsonl").symlink_to("context_1.jsonl")
    (tmp_path / "context_3.jsonl").mkdir()
    (tmp_path / "context_4.jsonl.gz").write_bytes(b"")
    (tmp_path / "context_5.jsonl").hardlink_to(tmp_path / "context.jsonl")

    assert [item.number for item in listed(tmp_path)] == [1]


def test_a_base_of_a_base_is_refused(tmp_path: Path) -> None:
    """A rotation is at most two files away from its bytes, itself as its base least of all."""
    make_rotations(tmp_path, 3)
    compress(tmp_path, 1)
    (tmp_path / "context_2.jsonl").unlink()
    os.link(tmp_path / "context_1.jsonl.zst", tmp_path / "context_2.jsonl.zst")

    with pytest.raises(StoreError, match="its base, rotation 2, has a base itself"):
        read(tmp_path, 1)


def test_a_base_that_is_missing_is_named(tmp_path: Path) -> None:
    """Its number stands in the error."""
    make_rotations(tmp_path, 2)
    compress(tmp_path, 1)
    (tmp_path / "context_2.jsonl").unlink()

    with pytest.raises(StoreError, match=r"no rotation 2 \(there is 1\)"):
        read(tmp_path, 1)
    with pytest.raises(StoreError, match=r"no rotation 5 \(there is none\)"):
        find([], 5, "folder")


def test_a_reader_finds_one_that_is_compressed_meanwhile(tmp_path: Path) -> None:
    """Between its list and its reading, and while it makes its list."""
    made = make_rotations(tmp_path, 3)
    rotations = listed(tmp_path)
    compress(tmp_path, 1, 2)
    for number in (1, 2, 3):
        rotation = find(rotations, number, "")
        assert b"".join(rotation_pieces(Disk(), rotations, rotation, 0, None)) == made[number]

    def late(call: Call) -> None:
        if call.name == "stat" and call.file == "context_3.jsonl" and not call_done:
            call_done.append(call)
            compress(tmp_path, 3)

    call_done: list[Call] = []
    found = listed(tmp_path, WatchedDisk(late))
    assert [(item.number, item.compressed) for item in found] == [(1, True), (2, True), (3, True)]
    assert call_done


def test_a_list_that_never_holds_still_is_given_up(tmp_path: Path) -> None:
    """After some attempts, with our own error."""
    make_rotations(tmp_path, 1)
    attempts: list[Call] = []

    def gone(call: Call) -> None:
        if call.name == "stat" and call.file == "context_1.jsonl":
            attempts.append(call)
            raise FileNotFoundError(errno.ENOENT, "gone")

    with pytest.raises(StoreError, match="change while"):
        listed(tmp_path, WatchedDisk(gone))
    assert len(attempts) == ATTEMPTS


async def test_a_store_reads_and_restores_compressed_ones(tmp_path: Path) -> None:
    """`pieces` and `rewrite` take them as they take plain ones."""
    whole = make_rotations(tmp_path, 3)
    compress(tmp_path, 1, 2)
    store = await FileStore.open(tmp_path)
    assert b"".join(store.pieces(1, start=5, end=90)) == whole[1][5:90]

    await store.rewrite(source=1, keep=len(whole[1]), tail=[b'{"role":"_x"}\n'], reason="restore")

    assert b"".join(store.pieces()) == whole[1] + b'\n{"role":"_x"}\n'
    assert [rotation.number for rotation in store.rotations()] == [1, 2, 3, 4]
    await store.close()
