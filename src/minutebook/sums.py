"""Check sums over spans of the log, and the walk that verifies them. Pure.

A checkpoint's record carries the sum of the bytes since the record before it that carries
one, that record included; so do `_revert`, `_clear` and `_compaction`. The first span starts
after the leading system prompt, since a log may get its first prompt put before it later.
`_batch` lines are left out, since Kimi CLI drops them when it copies a log; they guard
themselves, and the walk looks at that too.

The sum is BLAKE2b of 16 bytes: in the standard library, and a span is summed only once, when
its checkpoint is set, so its speed (1.4 GB/s measured) does not matter much.
"""

from __future__ import annotations

import zlib
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct, structs

from minutebook.codec import REFUSED, SPECIAL_PREFIXES, decode_special, encode_line, is_ours
from minutebook.lines import BATCH_PREFIX, BOM, Scanner, flatten
from minutebook.records import Batch, Checkpoint, Clear, Compaction, Revert, SystemPrompt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from minutebook.records import Record

SUM_BYTES = 16
Summed = Checkpoint | Revert | Clear | Compaction
"""The records that end a span and begin the next."""
Verdict = Literal["good", "changed", "damaged", "unsummed"]

BATCH_HASH = b'"hash":"crc32:'
_NAMES = (b'"_checkpoint"', b'"_revert"', b'"_clear"', b'"_compaction"')


class Span(Struct, frozen=True, kw_only=True):
    """One span of the log, and what its sum says of it."""

    line: int
    """The number of its first line, from 1."""
    byte: int
    """Where it begins, from 0."""
    bytes: int
    verdict: Verdict
    """`changed`: as written by us, with lines of another program among it. `unsummed`: no
    record carries a sum for it, as at the log's end and in logs of other programs; it can be
    read, and more is not known."""
    summed: bool
    """Whether a record carries a sum for it."""


class SpanSum:
    """The sum of a span, line by line."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._hash = blake2b(digest_size=SUM_BYTES)

    def add(self, line: bytes) -> None:
        """Take one line, with or without its newline."""
        if not line.startswith(BATCH_PREFIX):
            self._hash.update(line)
            if not line.endswith(b"\n"):
                self._hash.update(b"\n")

    def copy(self) -> SpanSum:
        """Give a sum of the same lines, that goes on by itself."""
        other = SpanSum()
        other._hash = self._hash.copy()
        return other

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
    open_span, found = [before], []
    for line in lines:
        carrier = summed_record(line)
        written = line
        if carrier is not None:
            if carrier.sum is not None:
                written = with_sum(line, carrier, span_sum(b"".join(open_span)))
            open_span = []
        open_span.append(written)
        found.append(written)
    return found, b"".join(open_span)


def summed_record(line: bytes) -> Summed | None:
    """Give the record of a line that ends a span, whether or not it carries a sum."""
    if line.startswith(SPECIAL_PREFIXES):
        try:
            record: Record | None = decode_special(line)
        except REFUSED:
            record = _only_record(line)
    else:
        record = _only_record(line) if any(name in line for name in _NAMES) else None
    return record if isinstance(record, Summed) else None


def with_sum(line: bytes, record: Summed, value: str) -> bytes:
    """Give the line of *record* with another sum, every other byte as it was if that can be."""
    old = b'"sum":' + msgspec.json.encode(record.sum)
    if line.count(old) == 1:
        return line.replace(old, b'"sum":"%s"' % value.encode())
    return encode_line(structs.replace(record, sum=value))


class Verifier:
    """Walk a log in pieces and judge each span. Memory: the piece and the unfinished line."""

    def __init__(self) -> None:
        """Begin at the log's first byte."""
        self._rest: list[bytes] = []
        self._line = 0
        self._position = 0
        self._batch: _OpenBatch | None = None
        self._begin()

    def feed(self, data: bytes) -> Iterator[Span]:
        """Take bytes; give the spans that end in them."""
        if b"\n" not in data:
            self._rest.append(data)
            return
        lines = b"".join([*self._rest, data]).split(b"\n")
        self._rest = [lines.pop()]
        for line in lines:
            yield from self._take(line, b"\n")

    def finish(self) -> Iterator[Span]:
        """Give the open span at the end of the log, if there is anything in it."""
        rest = b"".join(self._rest)
        if rest:
            yield from self._take(rest, b"")
        if self._bytes:
            yield self._span(None)

    def _begin(self) -> None:
        self._all = SpanSum()
        self._own: SpanSum | None = None
        self._first_line, self._first_byte = self._line + 1, self._position
        self._bytes = 0
        self._ours = self._mixed = self._unread = self._broken = False

    def _take(self, line: bytes, newline: bytes) -> Iterator[Span]:
        """Take one line; it ends a span if its record carries a sum."""
        carrier = summed_record(line)
        if carrier is not None:
            if self._bytes or carrier.sum is not None:
                yield self._span(carrier.sum)
            self._begin()
        start, size = self._position, len(line) + len(newline)
        self._line += 1
        self._position += size
        if start <= len(BOM) and _is_prompt(line, start):
            self._begin()
            return
        self._bytes += size
        self._guard(line, newline)
        if line:
            self._add(line, start)

    def _guard(self, line: bytes, newline: bytes) -> None:
        """Look at a batch: its line is as we write it, and its lines are all there."""
        batch = self._batch
        if batch is not None:
            batch.add(line + newline)
            if batch.left <= 0:
                self._broken = self._broken or not batch.is_whole
                self._batch = None
        elif line.startswith(BATCH_PREFIX):
            self._batch = _OpenBatch.of(line)
            self._broken = self._broken or self._batch is None

    def _add(self, line: bytes, start: int) -> None:
        """Take a line into the sums: that of all lines, and that of ours alone."""
        if is_ours(line):
            self._ours = True
            if self._own is not None:
                self._own.add(line)
        else:
            # Until the first line of another program the two sums are one.
            self._own = self._own or self._all.copy()
            self._mixed = self._mixed or self._ours
            # A batch's line that is none any more: no other program writes such sums.
            self._broken = self._broken or BATCH_HASH in line
        self._all.add(line)
        self._unread = self._unread or not _readable(line, start)

    def _span(self, expected: str | None) -> Span:
        """End the span; a batch that is still open then is not whole."""
        self._broken = self._broken or self._batch is not None
        self._batch = None
        return Span(
            line=self._first_line,
            byte=self._first_byte,
            bytes=self._bytes,
            verdict=self._judge(expected),
            summed=expected is not None,
        )

    def _judge(self, expected: str | None) -> Verdict:
        if self._broken:
            return "damaged"
        if expected is None:
            if self._unread:
                return "damaged"
            return "changed" if self._mixed else "unsummed"
        if self._all.text() == expected:
            # A line that cannot be read is as it was when the sum was taken.
            return "good"
        if self._own is not None and not self._unread and self._own.text() == expected:
            return "changed"
        return "damaged"


class _OpenBatch:
    """The lines of a batch, while they pass by."""

    def __init__(self, batch: Batch) -> None:
        """Begin behind the batch's own line."""
        self.left = batch.bytes
        """How many of its bytes are still to come."""
        self._hash = batch.hash
        self._running = 0

    @classmethod
    def of(cls, line: bytes) -> _OpenBatch | None:
        """Read a batch's own line; None if it is not what we write, to the byte."""
        try:
            batch = decode_special(line)
        except REFUSED:
            return None
        if not isinstance(batch, Batch) or batch.bytes <= 0:
            return None
        content = f"batch of {batch.n}"
        written = encode_line(structs.replace(batch, content=content))
        return cls(batch) if written == line + b"\n" else None

    def add(self, line: bytes) -> None:
        """Take the next line, its newline included."""
        self.left -= len(line)
        self._running = zlib.crc32(line, self._running)

    @property
    def is_whole(self) -> bool:
        """Whether the bytes taken are those of the batch."""
        return self.left == 0 and f"crc32:{self._running:08x}" == self._hash


class _Role(Struct):
    """As much of a line as tells that it is a record."""

    role: str


_role_decoder = msgspec.json.Decoder(_Role)


def _readable(line: bytes, start: int) -> bool:
    """Tell whether a line is a record, or several; mended text is no damage."""
    try:
        _role_decoder.decode(line)
    except REFUSED:
        scanner = Scanner(offset=start)
        found = [*scanner.feed(line + b"\n"), *scanner.finish()]
        blank = not found and not scanner.problems
        return blank or (bool(found) and all(p.kind == "mended" for p in scanner.problems))
    return True


def _is_prompt(line: bytes, start: int) -> bool:
    """Tell whether a line at the log's start is the system prompt."""
    return b'"_system_prompt"' in line and isinstance(_only_record(line, start), SystemPrompt)


def _only_record(line: bytes, start: int = 0) -> Record | None:
    """Read a line's record whatever the order of its keys; None if it is none, or several."""
    found = list(flatten(Scanner(offset=start).feed(line + b"\n")))
    return found[0].record if len(found) == 1 else None
