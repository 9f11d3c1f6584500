"""Read a few bytes out of a base64 payload, wherever they stand, and nothing else of it. Pure."""

from __future__ import annotations

import re
from binascii import a2b_base64
from typing import Final

PAYLOAD_LENGTH = 512
"""From how many characters on a value that is all base64 is taken for a payload."""

_HEAD_LENGTH = 256
"""A data URI's own head (type, parameters, `;base64,`) ends within this many characters."""

_BASE64: Final = re.compile(r"[A-Za-z0-9+/=_-]*")


def bytes_at(text: str, start: int, offset: int, count: int) -> bytes:
    """Decode *count* bytes from *offset* on of the base64 that begins at *start* of *text*.

    Only these characters are looked at. Gives fewer bytes at the payload's end, and none
    for what is not base64.
    """
    skipped = offset % 3
    first = start + offset // 3 * 4
    piece = text[first : first + -(-(skipped + count) // 3) * 4]
    if "-" in piece or "_" in piece:
        piece = piece.replace("-", "+").replace("_", "/")
    try:
        decoded = a2b_base64(piece[: len(piece) // 4 * 4])
    except ValueError:
        return b""
    return decoded[skipped : skipped + count]


def size_bytes(text: str, start: int) -> int:
    """Give how many bytes the base64 holds that begins at *start* of *text*; by its length."""
    return (len(text) - start) * 3 // 4


def number(data: bytes) -> int:
    """Read a number, highest byte first; formats that write it the other way pass it turned."""
    return int.from_bytes(data, "big")


def payload_start(url: str) -> int:
    """Give where the payload of a base64 data URI begins; 0 for any other address."""
    if url[:5].lower() != "data:":
        return 0
    comma = url.find(",", 0, _HEAD_LENGTH)
    return comma + 1 if comma > 0 and url[:comma].lower().endswith(";base64") else 0


def looks_like_base64(text: str) -> bool:
    """Judge by length and by both ends: letters and digits, and nothing but base64."""
    if len(text) < PAYLOAD_LENGTH:
        return False
    head, tail = text[:PAYLOAD_LENGTH], text[-_HEAD_LENGTH:].rstrip("\r\n")
    return (
        bool(_BASE64.fullmatch(head) and _BASE64.fullmatch(tail))
        and any(character.isdigit() for character in head)
        and head.lower() != head
    )
