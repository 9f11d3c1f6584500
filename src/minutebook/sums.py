"""Check sums over spans of the log, and the walk that verifies them. Pure.

A checkpoint's record carries the sum of the bytes since the record before it that carries
one, that record included; so do `_revert`, `_clear` and `_compaction`. The first span starts
after the leading system prompt, since a log may get its first prompt put before it later.
`_batch` lines are left out: Kimi CLI drops them when it copies a log.

The sum is BLAKE2b of 16 bytes: in the standard library, and a span is summed only once, when
its checkpoint is set, so its speed (1.4 GB/s measured) does not matter much.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from minutebook.codec import REFUSED, SPECIAL_PREFIXES, decode_special, encode_line, is_ours
from minutebook.lines import BATCH_PREFIX, BOM, Scanner
from minutebook.records import Checkpoint, Clear, Compaction, Revert

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SUM_BYTES = 16
Summed = Checkpoint | Revert | Clear | Compaction
"""The records that end a span and begin the next."""


class Span(Struct, frozen=True, kw_only=True):
    """One span of the log, and what its sum says of it."""

    line: int
    """The number of its first line, from 1."""
    byte: int
    """Where it begins, from 0."""
    bytes: int
    verdict: Literal["good", "changed", "damaged", "unsummed"]
    """`changed`: as written by us, with lines of another program among it. `unsummed`: no
    record carries a sum for it, as at the log's end and in logs of other programs."""


class SpanSum:
    """The sum of a span, line by line."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._hash = blake2b(digest_size=SUM_BYTES)

    def add(self, line: bytes) -> None:
        """Take one line, with or without its newline."""
        if not line.startswith(BATCH_PREFIX):
            self._hash.update(line if line.endswith(b"\n") else line + b"\n")

    def text(self) -> str:
        """Give the sum as records carry it."""
        return f"b2:{self._hash.hexdigest()}"


def span_sum(data: bytes) -> str:
    """Give the sum of a span's bytes."""
    total = SpanSum()
    for line in data.split(b"\n"):
        if line:
            total.add(line)
    return total.text()


def resummed(lines: Iterable[bytes], before: bytes) -> tuple[list[bytes], bytes]:
    """Give lines that follow other bytes now, their sums made anew.

    *before* are the bytes since the last record with a sum that stands before them. Gives
    also the bytes of the span that is open behind the last line.
    """
    open_span, found = before, []
    for line in lines:
        carrier = summed_record(line)
        written = line
        if carrier is not None:
            if carrier.sum is not None:
                written = encode_line(with_sum(carrier, span_sum(open_span)))
            open_span = b""
        open_span += written
        found.append(written)
    return found, open_span


def summed_record(line: bytes) -> Summed | None:
    """Give the record of a line that ends a span, whether or not it carries a sum."""
    if not line.startswith(SPECIAL_PREFIXES):
        return None
    try:
        record = decode_special(line)
    except REFUSED:
        return None
    return record if isinstance(record, Summed) else None


def with_sum(record: Summed, value: str) -> Summed:
    """Give the record with another sum."""
    changed: Summed = structs.replace(record, sum=value)
    return changed


class Verifier:
    """Walk a log in pieces and judge each span. Memory: the piece and the unfinished line."""

    def __init__(self) -> None:
        """Begin at the log's first byte."""
        self._rest: list[bytes] = []
        self._line = 0
        self._position = 0
        self._begin(0)

    def feed(self, data: bytes) -> Iterator[Span]:
        """Take bytes; give the spans that end in them."""
        if b"\n" not in data:
            self._rest.append(data)
            return
        lines = b"".join([*self._rest, data]).split(b"\n")
        self._rest = [lines.pop()]
        for line in lines:
            yield from self._take(line)

    def finish(self) -> Iterator[Span]:
        """Give the open span at the end of the log, if there is anything in it."""
        rest = b"".join(self._rest)
        if rest:
            yield from self._take(rest)
        if self._bytes:
            yield self._span("damaged" if self._bad else "unsummed")

    def _begin(self, byte: int) -> None:
        self._all, self._own = SpanSum(), SpanSum()
        self._first_line, self._first_byte = self._line + 1, byte
        self._bytes = 0
        self._foreign = self._bad = False

    def _take(self, line: bytes) -> Iterator[Span]:
        """Take one line; it ends a span if its record carries a sum."""
        carrier = summed_record(line)
        if carrier is not None:
            if self._bytes or carrier.sum is not None:
                yield self._span(self._judge(carrier.sum))
            self._begin(self._position)
        self._line += 1
        size = len(line) + 1
        if self._line == 1 and _is_prompt(line):
            self._begin(size)
        else:
            self._bytes += size
            self._add(line)
        self._position += size

    def _add(self, line: bytes) -> None:
        if not line:
            return
        self._all.add(line)
        if is_ours(line):
            self._own.add(line)
        else:
            self._foreign = True
            self._bad = self._bad or not _readable(line)

    def _judge(self, expected: str | None) -> Literal["good", "changed", "damaged", "unsummed"]:
        if expected is None:
            return "damaged" if self._bad else "unsummed"
        if self._all.text() == expected:
            return "good"
        if self._foreign and not self._bad and self._own.text() == expected:
            return "changed"
        return "damaged"

    def _span(self, verdict: Literal["good", "changed", "damaged", "unsummed"]) -> Span:
        return Span(
            line=self._first_line, byte=self._first_byte, bytes=self._bytes, verdict=verdict
        )


def _is_prompt(line: bytes) -> bool:
    return b'"_system_prompt"' in line.removeprefix(BOM)[:40]


def _readable(line: bytes) -> bool:
    """Tell whether another program's line is whole."""
    scanner = Scanner()
    found = [*scanner.feed(line + b"\n"), *scanner.finish()]
    return bool(found) and not scanner.problems
