"""Read a log's lines. No I/O: bytes in, records and problems out.

Reading is tolerant and never raises on data: a line that cannot be read is reported and
skipped, and never takes a good neighbour with it. Lines are split on the newline byte only, since
U+2028 and U+0085 are legal inside a JSON string. The fast decoder's verdict is final when
it accepts; what it refuses is tried once more by the slow path below.
"""

from __future__ import annotations

import json
from itertools import accumulate, count, pairwise
from operator import add
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from minutebook.codec import (
    REFUSED,
    SPECIAL_PREFIXES,
    checksum,
    clean,
    decode_message,
    decode_special,
    from_object,
    is_ours,
    special_decoder,
)
from minutebook.records import Batch, Checkpoint, Record, SystemPrompt, Tag, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

BATCH_PREFIX = b'{"role":"_batch"'
BOM = b"\xef\xbb\xbf"
RESCUE_FREE_BYTES = 1 << 20
"""How many bytes of one bad line are tried again in any case, in search of a good record."""
RESCUE_FACTOR = 8
"""And how many times a longer line's length; both bound a hostile line's time."""
PROBLEMS_SINGLE = 1_000
"""How many problems are told one by one; lines of a few bytes would take many times their size."""
WASTE_LIMIT_BYTES = 64 << 20
"""How many bytes of failing batches are summed before further ones fail unread."""

_COMMON = frozenset({SystemPrompt, Checkpoint, Usage, Tag})
_json = json.JSONDecoder(strict=False)


class Problem(Struct, frozen=True, kw_only=True):
    """One thing that was wrong with the stored bytes."""

    line: int
    """The line's number, from 1."""
    byte: int
    """Where the line begins in the file, from 0."""
    bytes: int
    """How many bytes it takes; of a rescued line what is not the good record."""
    kind: str
    """`bad`, `torn`, `mended`, `glued`, `rescued`, `batch`, or a word of a format's reader."""
    what: str
    """One sentence for people."""


class Entry(NamedTuple):
    """A record and where its bytes stand: `data[start:end]`, the newline left out."""

    record: Record
    start: int
    end: int


class Run(NamedTuple):
    """Consecutive records, read in one go; `_batch` records too, but none of lineage."""

    records: list[Record]
    starts: list[int]
    """Where each begins, and one more: where the line behind the last one begins. A record's
    bytes end one byte, the newline, before the next begins."""


class Scanner:
    """Read a log in pieces: feed bytes, get entries; problems are collected on the side.

    The entries are the same however the bytes are cut into pieces. Memory: the piece, the
    unfinished line before it, and an unfinished batch as a whole. Time is linear in the
    bytes, hostile ones too.
    """

    def __init__(self, *, offset: int = 0, line: int = 0) -> None:
        """Begin at byte *offset* after *line* lines."""
        self.problems: list[Problem] = []
        self.offset = offset
        """Up to where everything has been read: the end of the last whole line or batch."""
        self.line = line
        self._kept: list[bytes] = []
        self._size = 0
        self._need = 0
        self._inside = offset
        self._failed: _FailedBatch | None = None
        self._wasted = 0

    def feed(self, data: bytes) -> Iterator[Run | Entry]:
        """Read on. Only whole lines and whole batches are given out; the rest is kept."""
        self._kept.append(data)
        self._size += len(data)
        if b"\n" in data and self._size >= self._need:
            whole = self._take()
            cut = whole.rfind(b"\n") + 1
            yield from self._lines(whole, cut, final=False)

    def finish(self) -> Iterator[Run | Entry]:
        """Read what is left: an unfinished last line is a record if it is whole, else torn."""
        whole = self._take()
        if whole:
            yield from self._lines(whole, len(whole), final=True)
        self._close_failed(self.offset)

    def _take(self) -> bytes:
        """Give all that is kept as one piece."""
        whole = self._kept[0] if len(self._kept) == 1 else b"".join(self._kept)
        self._kept, self._size, self._need = [], 0, 0
        return whole

    def _keep(self, rest: bytes, need: int = 0) -> None:
        """Keep what cannot be read yet, until at least *need* bytes are there."""
        if rest:
            self._kept, self._size = [rest], len(rest)
        self._need = need

    def _lines(self, data: bytes, cut: int, *, final: bool) -> Iterator[Run | Entry]:
        """Give the records of `data[:cut]`: the hot loop of every opening.

        A line that is read fast costs a decode, an append and two comparisons; it adds exactly
        one record to the run, so where each stands is worked out for all at once.
        `benchmarks` holds this beside the bare decode.
        """
        base, before = self.offset, self.line
        pieces = (data if cut == len(data) else data[:cut]).split(b"\n")
        tail = pieces.pop()
        decode, decode_other, special = decode_message, special_decoder.decode, SPECIAL_PREFIXES
        records: list[Record] = []
        take, first = records.append, 0
        known, position = 0, base  # the line of that index begins at that byte
        for raw in pieces:
            if self._failed is None:
                try:
                    if raw.startswith(special):
                        record = decode_other(raw)
                        kind = type(record)
                        if kind in _COMMON:
                            take(record)
                            continue
                        if isinstance(record, Batch):
                            index = first + len(records)
                            position += _length(pieces, known, index)
                            known = index
                            if self._pass_batch(record, data, raw, position, base):
                                take(record)
                                continue
                    else:
                        message = decode(raw)
                        if message.role >= "a":
                            take(message)
                            continue
                except REFUSED:
                    pass
            index = first + len(records)
            if records:
                yield _run(records, pieces[first:index], position - _length(pieces, first, known))
                records = []
                take = records.append
            position += _length(pieces, known, index)
            known, first = index, index + 1
            after = position - base + len(raw) + 1
            self.line = before + index + 1
            if self._batch_waits(data, raw, position, after, final=final):
                self.line -= 1
                self.offset = position
                return
            yield from self._careful(raw, position, data, after)
        if records:
            yield _run(records, pieces[first:], position - _length(pieces, first, known))
        self.line = before + len(pieces)
        position += _length(pieces, known, len(pieces))
        if tail:
            self.line += 1
            yield from self._careful(tail, position, data, len(data), torn=True)
        self.offset = position + len(tail)
        self._keep(data[cut:])

    def _pass_batch(self, batch: Batch, data: bytes, raw: bytes, start: int, base: int) -> bool:
        """Check a batch that is there as a whole; True if its lines may be read as any others."""
        if start < self._inside:
            # One that guards a page of a batch which is whole.
            return True
        after = start - base + len(raw) + 1
        end = after + batch.bytes
        if batch.bytes <= 0 or end > len(data) or self._wasted:
            return False
        if checksum(memoryview(data)[after:end]) != batch.hash:
            return False
        self._inside = base + end
        return True

    def _batch_waits(self, data: bytes, raw: bytes, start: int, after: int, *, final: bool) -> bool:
        """Tell whether the line opens a batch that goes on in the next piece; keep it then."""
        failed = self._failed
        if final or start < self._inside:
            return False
        if failed is not None and start < failed.end and failed.left > 0 and is_ours(raw):
            return False
        batch = _as_batch(raw[_glued(raw) :])
        if batch is None or after + batch.bytes <= len(data):
            return False
        begin = after - len(raw) - 1
        self._keep(data[begin:], need=after - begin + batch.bytes)
        return True

    def _careful(
        self, raw: bytes, start: int, data: bytes, after: int, *, torn: bool = False
    ) -> Iterator[Entry]:
        """Read one line that may open a batch, belong to a failed one, or be damaged."""
        failed = self._failed
        if failed is not None:
            if start < failed.end and failed.left > 0:
                inside = list(_entries(raw, start, []))
                others = [
                    entry
                    for entry in inside
                    if not is_ours(raw[entry.start - start : entry.end - start])
                ]
                if not others:
                    taken = sum(type(entry.record) is not Batch for entry in inside)
                    self._failed = failed._replace(left=failed.left - taken)
                    return
                if others[0].start > start:
                    # Another program's record behind the batch's last bytes, on the same line.
                    self._close_failed(others[0].start)
                    yield from _without_batches(others)
                    return
            self._close_failed(start)
        glued = _glued(raw)
        batch = _as_batch(raw[glued:]) if start >= self._inside else None
        if batch is None:
            yield from self._slow(raw, start, torn=torn)
        else:
            if glued:
                yield from self._slow(raw[:glued], start)
            if self._open_batch(batch, start + glued, len(raw) - glued + 1, data, after):
                yield Entry(batch, start + glued, start + len(raw))

    def _open_batch(self, batch: Batch, start: int, length: int, data: bytes, after: int) -> bool:
        """Check a batch: its lines count if the next `bytes` bytes are there and unharmed."""
        end = after + batch.bytes
        # Hostile headers that each claim the rest of the file must not cost quadratic time.
        affordable = self._wasted <= WASTE_LIMIT_BYTES + 8 * start
        whole = batch.bytes > 0 and end <= len(data) and affordable
        if whole and checksum(data[after:end]) == batch.hash:
            self._inside = start + length + batch.bytes
            return True
        self._wasted += min(max(batch.bytes, 0), len(data) - after)
        stop = start + length + max(batch.bytes, 0)
        self._failed = _FailedBatch(start, stop, batch.n, self.line, batch.n)
        return False

    def _close_failed(self, end: int) -> None:
        """Report the failed batch, now that it is known where it ends."""
        failed, self._failed = self._failed, None
        if failed is None:
            return
        got = failed.n - failed.left
        self.problems.append(
            Problem(
                line=failed.line,
                byte=failed.start,
                bytes=end - failed.start,
                kind="batch",
                what=f"batch of {failed.n} is not whole ({got} of its lines are there); "
                "set aside as one",
            )
        )

    def _slow(self, raw: bytes, start: int, *, torn: bool = False) -> Iterator[Entry]:
        """Read one line that the fast path does not take."""
        notes: list[tuple[str, str]] = []
        found = list(_entries(raw, start, notes))
        if torn and not found:
            notes = [("torn", f"last line is torn: {len(raw)} bytes without their end")]
        for kind, what in notes:
            size = len(raw)
            if kind == "rescued":
                size -= found[0].end - found[0].start
            self._note(Problem(line=self.line, byte=start, bytes=size, kind=kind, what=what))
        yield from _without_batches(found)

    def _note(self, problem: Problem) -> None:
        """Add a problem; where there are very many, bad lines in a row become one."""
        if len(self.problems) >= PROBLEMS_SINGLE and problem.kind == "bad":
            last = self.problems[-1]
            if last.kind == "bad" and last.byte + last.bytes + 1 == problem.byte:
                self.problems[-1] = Problem(
                    line=last.line,
                    byte=last.byte,
                    bytes=problem.byte + problem.bytes - last.byte,
                    kind="bad",
                    what=f"{problem.line - last.line + 1} lines in a row are no records",
                )
                return
        self.problems.append(problem)


def _length(pieces: Sequence[bytes], first: int, stop: int) -> int:
    """Give how many bytes the lines from one index to another take, newlines included."""
    if first > stop:
        return -_length(pieces, stop, first)
    return sum(map(len, pieces[first:stop])) + stop - first


def _run(records: list[Record], lines: Sequence[bytes], start: int) -> Run:
    """Say where each record stands whose line is one of consecutive *lines*."""
    return Run(records, list(map(add, accumulate(map(len, lines), initial=start), count())))


def scan(data: bytes) -> tuple[list[Entry], list[Problem]]:
    """Read a whole log that is in memory: all its entries and all its problems."""
    scanner = Scanner()
    entries = list(flatten([*scanner.feed(data), *scanner.finish()]))
    return entries, scanner.problems


def flatten(found: Iterable[Run | Entry]) -> Iterator[Entry]:
    """Give what a scanner found one record at a time, `_batch` records left out."""
    for item in found:
        if isinstance(item, Run):
            for record, (start, behind) in zip(item.records, pairwise(item.starts), strict=True):
                if type(record) is not Batch:
                    yield Entry(record, start, behind - 1)
        elif type(item.record) is not Batch:
            yield item


class _FailedBatch(NamedTuple):
    """A batch that does not count, while its lines pass by."""

    start: int
    end: int
    left: int
    line: int
    n: int


def _without_batches(found: Iterable[Entry]) -> Iterator[Entry]:
    """Leave out `_batch` lines that open no batch: glued to something, or inside of one."""
    return (entry for entry in found if type(entry.record) is not Batch)


def _glued(raw: bytes) -> int:
    """Tell where a `_batch` record begins that stands behind something else on its line."""
    return max(0, raw.rfind(BATCH_PREFIX))


def _as_batch(raw: bytes) -> Batch | None:
    """Give the `_batch` record of a line, if it is one."""
    if b'"_batch"' not in raw[:200]:
        return None
    try:
        record = decode_special(raw)
    except REFUSED:
        return None
    return record if isinstance(record, Batch) else None


def _entries(raw: bytes, start: int, notes: list[tuple[str, str]]) -> Iterator[Entry]:
    """Give the records of one difficult line; *notes* takes (kind, sentence) of its faults."""
    body, begin = raw, start
    if start == 0 and body.startswith(BOM):
        body, begin = body[len(BOM) :], len(BOM)
    if body.endswith(b"\r"):
        body = body[:-1]
    if not body.strip():
        return
    plain = _plain(body, begin) if b"\0" not in body else None
    if plain is not None:
        yield plain
        return
    if b"\0" in body:
        whole = _before_zeros(body, begin)
        if whole is not None:
            zeros = begin + len(body) - whole.end
            notes.append(("rescued", f"{zeros} NUL bytes stand behind a good record"))
            yield whole
            return
        zeros = body.count(b"\0")
        notes.append(("bad", f"{len(body)} bytes, {zeros} of them NUL, are no record"))
    else:
        found, mended = _objects(body, begin)
        if found:
            if mended:
                notes.append(("mended", "invalid text was replaced by U+FFFD where it is shown"))
            if len(found) > 1:
                notes.append(("glued", f"{len(found)} records stand on one line"))
            yield from found
            return
        notes.append(("bad", f"{len(body)} bytes are no record"))
    rescued = _rescue(body, begin)
    if rescued is not None:
        notes[-1] = ("rescued", f"{rescued.start - begin} damaged bytes before a good record")
        yield rescued


def _before_zeros(body: bytes, begin: int) -> Entry | None:
    """Give a whole record behind which nothing but zeros were left of what came next."""
    ended = body.rstrip(b"\0")
    return _plain(ended, begin) if b"\0" not in ended else None


def _plain(body: bytes, begin: int) -> Entry | None:
    """Give a line's record by the fast decoders, whatever the order of its keys."""
    try:
        message = decode_message(body)
        record: Record = message if message.role[:1] != "_" else decode_special(body)
    except REFUSED:
        return None
    return Entry(record, begin, begin + len(body))


def _objects(body: bytes, begin: int) -> tuple[list[Entry], bool]:
    """Read a line as one or more JSON objects by the standard library, non-strict.

    Gives no entry unless the whole line is made of records. The second value tells whether
    text had to be mended.
    """
    text = body.decode("utf-8", "surrogateescape")
    found: list[Entry] = []
    position, at_byte, mended = 0, begin, False
    while position < len(text):
        try:
            value, stop = _json.raw_decode(text, position)
            cleaned = clean(value)
            record = from_object(cleaned)
            mended = mended or _not_strict(text[position:stop], value, cleaned)
        except (ValueError, RecursionError):
            return [], False
        after = at_byte + len(text[position:stop].encode("utf-8", "surrogateescape"))
        found.append(Entry(record, at_byte, after))
        while stop < len(text) and text[stop] in " \t\r":
            stop += 1
            after += 1
        position, at_byte = stop, after
    return found, mended


def _not_strict(text: str, value: object, cleaned: object) -> bool:
    """Tell whether a strict JSON reader would have refused the text."""
    if value != cleaned:
        return True
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return True
    return False


def _rescue(body: bytes, begin: int) -> Entry | None:
    """Find a whole record at the end of a line whose start is torn."""
    left = RESCUE_FREE_BYTES + RESCUE_FACTOR * len(body)
    position = body.find(b'{"role":', max(1, body.rfind(b"\0")))
    while position >= 0 and left > 0:
        part = body[position:]
        found = _plain(part, begin + position)
        if found is None:
            several, _mended = _objects(part, begin + position)
            found = several[0] if len(several) == 1 else None
        if found is not None:
            return found
        left -= len(part)
        position = body.find(b'{"role":', position + 1)
    return None
