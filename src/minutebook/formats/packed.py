"""Transcripts at rest: Codex compresses its old rollouts with Zstandard. Pure."""

from __future__ import annotations

import sys

from minutebook.errors import FormatError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAGIC = b"\x28\xb5\x2f\xfd"
"""How a Zstandard stream begins (RFC 8878)."""
UNPACKED_BYTES_MAX = 4 << 30
"""How much is unpacked at most: a small file can claim to be without end."""
_PIECE_BYTES = 1 << 20
_ROTATION = b'{"bytes":'
"""How a packed rotation of our own begins, which may lack what it shares with another."""


def unpacked(data: bytes, *, path: str) -> bytes:
    """Give the bytes of a transcript, unpacked if they are packed.

    One that is cut off gives what there is of it.

    Raises:
        FormatError: If it is damaged, too large, or a packed rotation of a session of ours.
    """
    if not data.startswith(MAGIC):
        return data
    decompressor = zstd.ZstdDecompressor()
    pieces: list[bytes] = []
    size, given = 0, data
    while not decompressor.eof:
        try:
            piece = decompressor.decompress(given, max_length=_PIECE_BYTES)
        except zstd.ZstdError as error:
            raise FormatError(f"packed file is damaged ({error})", path=path) from error
        given = b""
        size += len(piece)
        if size > UNPACKED_BYTES_MAX:
            raise FormatError(f"packed file holds more than {UNPACKED_BYTES_MAX} bytes", path=path)
        pieces.append(piece)
        if decompressor.needs_input and not decompressor.eof:
            break
    found = b"".join(pieces)
    if found.startswith(_ROTATION):
        raise FormatError("a packed rotation of a session: open the session's folder", path=path)
    return found
