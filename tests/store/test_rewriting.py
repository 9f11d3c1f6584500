"""The steps of a rewrite, below the store: their order, and what each leaves behind."""

import errno
import os
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import StoreError
from minutebook.store.disk import PIECE_BYTES, Disk
from minutebook.store.logfile import LogFile
from minutebook.store.rewriting import (
    checksum_of,
    read_pieces,
    replace_log,
    take_rotation,
    write_new,
)
from minutebook.testing.disks import CHANGES, SYNCS, Call, WatchedDisk

BOM = b"\xef\xbb\xbf"


def log_of(folder: Path, data: bytes, disk: Disk | None = None) -> LogFile:
    """Give an attached log of these bytes."""
    (folder / "context.jsonl").write_bytes(data)
    file = LogFile(disk or Disk(), str(folder), writable=True)
    assert file.attach()
    return file


def test_the_steps_come_in_the_order_that_keeps_the_log_whole(tmp_path: Path) -> None:
    """Link, new file, its sync, the folder's sync, rename; the last sync is the store's."""
    disk = WatchedDisk()
    file = log_of(tmp_path, b"one\ntwo\n", disk)
    disk.calls.clear()
    new, rotated = replace_log(
        disk, file, 1, head=[], source=file.descriptor or 0, keep=4, tail=[b"three\n"]
    )
    file.replaced(new)
    steps = [(call.name, call.file) for call in disk.calls if call.name in CHANGES | SYNCS]
    assert [step for step in steps if step != ("unlink", ".context.jsonl.new")] == [
        ("link", "context_1.jsonl"),
        ("create", ".context.jsonl.new"),
        ("copy", ".context.jsonl.new"),
        ("write", ".context.jsonl.new"),
        ("fsync", ".context.jsonl.new"),
        ("fsync_folder", tmp_path.name),
        ("rename", "context.jsonl"),
    ]
    assert (rotated.number, rotated.bytes) == (1, 8)
    assert (tmp_path / "context.jsonl").read_bytes() == b"one\nthree\n"
    file.detach()


def test_there_must_be_a_log_to_rewrite(tmp_path: Path) -> None:
    """A rotation can be the source, but something has to become the next rotation."""
    (tmp_path / "x").write_bytes(b"one\n")
    source = Disk().open(str(tmp_path / "x"), os.O_RDONLY)
    file = LogFile(Disk(), str(tmp_path), writable=True)
    with pytest.raises(StoreError, match="no log"):
        replace_log(Disk(), file, 1, head=[], source=source, keep=0, tail=())
    Disk().close(source)


LINES = st.lists(st.sampled_from([b"a\n", b"bb\n", b"c" * 300 + b"\n"]), max_size=4)


@given(st.data(), LINES, LINES, LINES, st.booleans(), st.booleans())
def test_a_new_log_is_head_then_what_is_kept_then_tail(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    head: list[bytes],
    old: list[bytes],
    tail: list[bytes],
    marked: bool,
    torn: bool,
) -> None:
    """Whatever is kept ends with a newline, and a byte-order mark is first or gone."""
    folder = tmp_path_factory.mktemp("s")
    before = (BOM if marked else b"") + b"".join(old) + (b"torn" if torn else b"")
    keep = data.draw(st.integers(0, len(before)))
    (folder / "old").write_bytes(before)
    source = Disk().open(str(folder / "old"), os.O_RDONLY)
    Disk().close(write_new(Disk(), str(folder), head=head, source=source, keep=keep, tail=tail))
    Disk().close(source)

    kept = before[:keep]
    if any(head):
        kept = kept.removeprefix(BOM) if len(kept) >= 3 else b"" if marked else kept
    if kept and not kept.endswith(b"\n"):
        kept += b"\n"
    expected = b"".join([*head, kept, *tail])
    assert (folder / ".context.jsonl.new").read_bytes() == expected


def test_a_long_tail_is_written_in_pieces(tmp_path: Path) -> None:
    """It need not be in memory as a whole."""
    (tmp_path / "old").write_bytes(b"")
    disk = WatchedDisk()
    source = disk.open(str(tmp_path / "old"), os.O_RDONLY)
    line = b"x" * (PIECE_BYTES // 2) + b"\n"
    disk.close(
        write_new(
            disk, str(tmp_path), head=[], source=source, keep=0, tail=(line for _ in range(5))
        )
    )
    disk.close(source)
    assert len(disk.named("write")) == 3
    assert (tmp_path / ".context.jsonl.new").read_bytes() == line * 5


def test_a_check_sum_over_pieces_is_that_of_the_whole(tmp_path: Path) -> None:
    """Pieces end where the file does, also if it is shorter than was said."""
    data = os.urandom(PIECE_BYTES + 10)
    (tmp_path / "f").write_bytes(data)
    descriptor = Disk().open(str(tmp_path / "f"), os.O_RDONLY)
    pieces = list(read_pieces(Disk(), descriptor, 0, len(data) + 99))
    Disk().close(descriptor)
    assert [len(piece) for piece in pieces] == [PIECE_BYTES, 10]
    assert checksum_of(iter(pieces)) == f"crc32:{zlib.crc32(data):08x}"


@pytest.mark.parametrize("name", ["copy", "fsync", "rename", "create"])
def test_a_copy_that_fails_leaves_no_rotation(tmp_path: Path, name: str) -> None:
    """Where links are not supported: neither the copy nor a part of it."""

    def fault(call: Call) -> None:
        if call.name in {"link", name}:
            number = errno.EPERM if call.name == "link" else errno.ENOSPC
            raise OSError(number, os.strerror(number))

    disk = WatchedDisk(fault)
    file = log_of(tmp_path, b"one\n", disk)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        take_rotation(disk, str(tmp_path), 1, file.descriptor or 0, file.size)
    assert [path.name for path in tmp_path.iterdir()] == ["context.jsonl"]
    file.detach()
