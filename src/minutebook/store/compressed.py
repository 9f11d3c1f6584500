"""Rotations at rest: compressed, and without the part that they share with another.

`context_<N>.jsonl.zst` is a Zstandard stream of one JSON line, the `Head`, and the bytes that
follow the shared part. The base is a rotation that lies there as a plain file, or one that is
compressed without a base of its own; never the live log, which grows. So a rotation is at
most two files away from its bytes.

Zstandard comes from the standard library, and before Python 3.14 from its backport.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from minutebook.errors import StoreError
from minutebook.store.disk import PIECE_BYTES, write_all

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from minutebook.store.disk import Disk

HEAD_BYTES_MAX = 4096
LEVEL = 3
"""Zstandard's own default: on JSON it gives most of what the higher levels do."""

Pieces = Generator[bytes, None, None]
"""Bytes in pieces of bounded size; closed by who takes them, since a file is open behind them."""
Base = Callable[[int, int], Pieces]
"""Gives the first so many bytes of the rotation of a number: (number, length)."""


class Head(Struct, frozen=True, kw_only=True):
    """The first line of a compressed rotation."""

    bytes: int
    """The length of the whole rotation."""
    hash: str
    """Its check sum, as `codec.checksum` writes it."""
    base: int | None = None
    """The rotation that holds the shared part."""
    shared: int = 0
    """How many bytes of the base come first."""
    shared_hash: str = ""
    """Their check sum."""
    modified: float = 0.0
    """When the rotation was last written before it was compressed, in seconds since 1970."""


def read_head(disk: Disk, path: str) -> Head:
    """Read what a compressed rotation says of itself.

    Raises:
        StoreError: If it is damaged.
        OSError: As the system does.
    """
    descriptor = disk.open(path, os.O_RDONLY)
    try:
        stream = _stream(disk, descriptor, path, piece_bytes=HEAD_BYTES_MAX)
        return _split_head(stream, path)[0]
    finally:
        disk.close(descriptor)


def read_compressed(disk: Disk, path: str, base: Base) -> Pieces:
    """Give a compressed rotation's bytes, in pieces of bounded size.

    Raises:
        StoreError: If it, or the part of its base that it shares, is not as it was.
        OSError: As the system does.
    """
    descriptor = disk.open(path, os.O_RDONLY)
    try:
        stream = _stream(disk, descriptor, path, piece_bytes=PIECE_BYTES)
        head, rest = _split_head(stream, path)
        running, size = 0, 0
        if head.base is not None:
            with closing(base(head.base, head.shared)) as pieces:
                for piece in pieces:
                    running, size = zlib.crc32(piece, running), size + len(piece)
                    yield piece
            if size != head.shared or _sum(running) != head.shared_hash:
                raise StoreError(f"its base, rotation {head.base}, was changed", path=path)
        for piece in chain([rest] if rest else [], stream):
            running, size = zlib.crc32(piece, running), size + len(piece)
            if size > head.bytes:
                break
            yield piece
        if size != head.bytes or _sum(running) != head.hash:
            raise StoreError("compressed rotation is damaged", path=path)
    finally:
        disk.close(descriptor)


def compressed_pieces(head: Head, rest: Pieces) -> Pieces:
    """Give the bytes of a compressed rotation; *rest* are those behind the shared part."""
    compressor = zstd.ZstdCompressor(LEVEL)
    line = msgspec.json.encode(head) + b"\n"
    # A block of its own, so that a list of rotations need not read more than that.
    data = compressor.compress(line, zstd.ZstdCompressor.FLUSH_BLOCK)
    with closing(rest):
        for piece in rest:
            data += compressor.compress(piece)
            if data:
                yield data
                data = b""
    yield data + compressor.flush()


def write_synced(disk: Disk, target: str, pieces: Iterable[bytes]) -> int:
    """Write pieces to a new file, synced; give its length in bytes.

    Raises:
        OSError: As the system does; *target* may then be there in part.
    """
    descriptor = disk.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    size = 0
    try:
        for piece in pieces:
            write_all(disk, descriptor, piece)
            size += len(piece)
        disk.fsync(descriptor)
    finally:
        disk.close(descriptor)
    return size


def _stream(disk: Disk, descriptor: int, path: str, *, piece_bytes: int) -> Iterator[bytes]:
    """Decompress a file, in pieces of at most so many bytes, and read it by as much."""
    decompressor = zstd.ZstdDecompressor()
    offset, size = 0, disk.fstat(descriptor).st_size
    data = b""
    while not decompressor.eof:
        if decompressor.needs_input:
            data = disk.read(descriptor, min(piece_bytes, size - offset), offset)
            offset += len(data)
            if not data:
                raise StoreError("compressed rotation is cut off", path=path)
        try:
            piece = decompressor.decompress(data, max_length=piece_bytes)
        except zstd.ZstdError as error:
            raise StoreError(f"compressed rotation is damaged ({error})", path=path) from error
        data = b""
        if piece:
            yield piece


def _split_head(stream: Iterator[bytes], path: str) -> tuple[Head, bytes]:
    """Read the first line; give the head and what came with it of the rest."""
    data = b""
    for piece in stream:
        data += piece
        if b"\n" in data or len(data) > HEAD_BYTES_MAX:
            break
    line, _, rest = data.partition(b"\n")
    try:
        return msgspec.json.decode(line, type=Head), rest
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(f"compressed rotation has no head ({error})", path=path) from error


def _sum(running: int) -> str:
    return f"crc32:{running:08x}"
