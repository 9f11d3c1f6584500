"""Whether a log is a copy that another program made of an earlier one. Pure.

When Kimi CLI reverts, it copies a log line by line and leaves out what it does not know. The
check sums of what is left then do not fit, and yet nothing is damaged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from minutebook.codec import REFUSED, SPECIAL_PREFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KEPT_SPECIALS = (b'"_system_prompt"', b'"_usage"', b'"_checkpoint"')
KEPT_ROLES = frozenset({"system", "user", "assistant", "tool"})
"""What Kimi CLI 1.52 takes over; it leaves out every other record, and lines that are none."""
ROLE_BYTES = 28
"""Where the role of a special record stands."""


class _Role(Struct):
    role: str


_decoder = msgspec.json.Decoder(_Role)


def copied_bytes(log: Iterable[bytes], original: Iterable[bytes]) -> int:
    """Give how much of a log's beginning is a copy of *original* with records left out.

    Both are given in pieces. Reads them only as far as they agree; memory is a piece of each.
    """
    copied = 0
    originals = _lines(original)
    for line in _lines(log):
        for other in originals:
            if other == line:
                break
            if not _is_left_out(other):
                return copied
        else:
            return copied
        copied += len(line)
    return copied


def _is_left_out(line: bytes) -> bool:
    """Tell whether Kimi CLI leaves a line out of its copy."""
    if line.startswith(SPECIAL_PREFIXES):
        return not any(name in line[:ROLE_BYTES] for name in KEPT_SPECIALS)
    try:
        return _decoder.decode(line).role not in KEPT_ROLES
    except REFUSED:
        return True


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Give the whole lines of bytes that come in pieces, each with its newline."""
    rest = b""
    for piece in pieces:
        lines = (rest + piece).split(b"\n")
        rest = lines.pop()
        yield from (line + b"\n" for line in lines)
    if rest:
        yield rest
