"""A compressed rotation reads as the plain one did, or says that it is damaged."""

import os
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.codec import checksum
from minutebook.errors import StoreError
from minutebook.store.compressed import (
    HEAD_BYTES_MAX,
    Base,
    Head,
    compressed_pieces,
    read_compressed,
    read_head,
    write_synced,
)
from minutebook.store.disk import Disk
from minutebook.testing.disks import WatchedDisk
from tests.store.retired import text

if sys.version_info >= (3, 14):
    from compression.zstd import compress
else:
    from backports.zstd import compress

BASE = text(20_000, 1)
WHOLE = BASE[:15_000] + text(30_000, 2)


def pieces_of(data: bytes, size: int = 7_000) -> Generator[bytes, None, None]:
    """Give bytes in pieces."""
    for start in range(0, len(data), size):
        yield data[start : start + size]


def base_of(data: bytes) -> Base:
    """Stand in for the rotation that holds the shared part."""
    return lambda _number, length: pieces_of(data[:length])


def head_of(whole: bytes, shared: int = 0, base: int | None = None) -> Head:
    """Make a rotation's head."""
    return Head(
        bytes=len(whole),
        hash=checksum(whole),
        base=base,
        shared=shared,
        shared_hash=checksum(whole[:shared]) if base is not None else "",
        modified=5.5,
    )


def written(path: Path, head: Head, rest: bytes) -> str:
    """Write a compressed rotation; give its path."""
    write_synced(Disk(), os.fspath(path), compressed_pieces(head, pieces_of(rest)))
    return os.fspath(path)


def reread(path: str, base: bytes = b"") -> bytes:
    """Read a compressed rotation."""
    return b"".join(read_compressed(Disk(), path, base_of(base)))


@given(st.binary(max_size=300), st.binary(max_size=300), st.integers(1, 50))
def test_what_was_written_is_read(shared: bytes, rest: bytes, size: int) -> None:
    """Any bytes, however they are cut, with and without a shared part."""
    whole = shared + rest
    for base, count in ((None, 0), (9, len(shared))):
        head = head_of(whole, count, base)
        data = b"".join(compressed_pieces(head, pieces_of(whole[count:], size)))
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            assert reread(file.name, shared + b"more") == whole
            assert read_head(Disk(), file.name) == head


def test_a_shared_part_takes_no_room(tmp_path: Path) -> None:
    """What follows it is all that is stored, compressed."""
    alone = written(tmp_path / "1", head_of(WHOLE), WHOLE)
    sharing = written(tmp_path / "2", head_of(WHOLE, 15_000, 9), WHOLE[15_000:])

    assert reread(alone) == reread(sharing, BASE) == WHOLE
    assert Path(sharing).stat().st_size < Path(alone).stat().st_size < len(WHOLE) / 2


def test_one_that_is_the_beginning_of_its_base(tmp_path: Path) -> None:
    """Nothing follows the shared part, and an empty one is one too."""
    whole = BASE[:9_000]
    assert reread(written(tmp_path / "1", head_of(whole, 9_000, 9), b""), BASE) == whole
    assert reread(written(tmp_path / "2", head_of(b""), b"")) == b""


@pytest.mark.parametrize(
    "base", [b"", BASE[:14_999], b"X" + BASE[1:], BASE[:14_999] + b"\0" + BASE[15_000:]]
)
def test_a_base_that_was_changed_is_noticed(tmp_path: Path, base: bytes) -> None:
    """Cut or written over, before anything of the rotation's own is given."""
    path = written(tmp_path / "1", head_of(WHOLE, 15_000, 9), WHOLE[15_000:])

    with pytest.raises(StoreError, match="its base, rotation 9, was changed"):
        reread(path, base)


def test_a_base_may_have_grown(tmp_path: Path) -> None:
    """Only the shared part matters."""
    path = written(tmp_path / "1", head_of(WHOLE, 15_000, 9), WHOLE[15_000:])
    assert reread(path, BASE[:15_000] + b"other") == WHOLE


def test_a_damaged_file_gives_our_error_or_what_it_was(tmp_path: Path) -> None:
    """Cut anywhere, or a bit flipped anywhere; a flip may hit a bit that says nothing."""
    path = tmp_path / "1"
    whole = WHOLE[:3_000]
    good = b"".join(compressed_pieces(head_of(whole), pieces_of(whole)))
    survived = 0
    for place in range(len(good)):
        path.write_bytes(good[:place])
        with pytest.raises(StoreError, match=r"cut off|damaged|no head"):
            reread(os.fspath(path))
        path.write_bytes(good[:place] + bytes([good[place] ^ (1 << place % 8)]) + good[place + 1 :])
        try:
            found = reread(os.fspath(path))
        except StoreError:
            continue
        assert found == whole
        survived += 1
    assert survived < len(good) / 20


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"no head\n",
        b"[1]\n",
        b'{"bytes": 5}\n',
        b'{"bytes": "5", "hash": ""}\n',
        b"\xff\n",
        b"[" * 100_000,
        b"x" * (HEAD_BYTES_MAX + 10),
    ],
)
def test_a_stream_without_a_head_is_no_rotation(tmp_path: Path, start: bytes) -> None:
    """Whatever stands in its place."""
    path = tmp_path / "1"
    path.write_bytes(compress(start))

    for reading in (lambda: read_head(Disk(), os.fspath(path)), lambda: reread(os.fspath(path))):
        with pytest.raises(StoreError, match="has no head"):
            reading()
    path.write_bytes(start)
    with pytest.raises(StoreError, match=r"cut off|damaged"):
        read_head(Disk(), os.fspath(path))


def test_a_stream_that_grows_beyond_its_head_is_stopped(tmp_path: Path) -> None:
    """A hostile one gives no more than it says, and one that says less is damaged."""
    path = tmp_path / "1"
    head = msgspec.json.encode(head_of(b"x" * 10)) + b"\n"
    path.write_bytes(compress(head + b"x" * 50_000_000))
    given: list[bytes] = []

    with pytest.raises(StoreError, match="damaged"):
        given += read_compressed(Disk(), os.fspath(path), base_of(b""))

    assert sum(map(len, given)) <= 10


def test_a_head_is_read_without_the_rest(tmp_path: Path) -> None:
    """Listing many rotations reads the beginning of each."""
    path = written(tmp_path / "1", head_of(WHOLE), WHOLE)
    os.truncate(path, 200)

    assert read_head(Disk(), path) == head_of(WHOLE)


def test_descriptors_are_given_back(tmp_path: Path) -> None:
    """Also when a reader stops in the middle, or the writing fails."""
    disk = WatchedDisk()
    path = written(tmp_path / "1", head_of(WHOLE), WHOLE)
    reading = read_compressed(disk, path, base_of(b""))
    next(reading)
    reading.close()
    read_head(disk, path)
    with pytest.raises(FileExistsError):
        write_synced(disk, path, pieces_of(b"x"))
    opened = len(disk.named("open", "create"))
    assert len(disk.named("close")) == opened - 1
