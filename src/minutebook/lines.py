"""Read a log's lines. No I/O: bytes in, records and problems out.

Reading is tolerant and never raises on data: a line that cannot be read is reported and
skipped, and never takes a good neighbour with it. Lines are split on the newline byte only, since
U+2028 and U+0085 are legal inside a JSON string. The fast decoder's verdict is final when
it accepts; what it refuses is tried once more by the slow path below.
"""

from __future__ import annotations

import json
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
)
from minutebook.messages import Message
from minutebook.records import Batch, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BATCH_PREFIX = b'{"role":"_batch"'
BOM = b"\xef\xbb\xbf"
RESCUE_FREE_BYTES = 1 << 20
"""How many bytes of one bad line are tried again in any case, in search of a good record."""
RESCUE_FACTOR = 8
"""And how many times a longer line's length; both bound a hostile line's time."""
WASTE_LIMIT_BYTES = 64 << 20
"""How many bytes of failing batches are summed before further ones fail unread."""

_json = json.JSONDecoder(strict=False)


class Problem(Struct, frozen=True, kw_only=True):
    """One thing that was wrong with the stored bytes."""

    line: int
    """The line's number, from 1."""
    byte: int
    """Where the line begins in the file, from 0."""
    bytes: int
    """How many bytes it takes; of a rescued line what stands before the good record."""
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
    """Consecutive messages with nothing between them, read in one go."""

    messages: list[Message]
    starts: list[int]
    ends: list[int]


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

        Each name is bound outside of the loop and each line costs one decode, three appends
        and two comparisons; `benchmarks` holds it beside the bare decode.
        """
        base = position = self.offset
        pieces = data[:cut].split(b"\n")
        tail = pieces.pop()
        number, decode, special = self.line, decode_message, SPECIAL_PREFIXES
        run = Run([], [], [])
        messages, starts, ends = run
        careful = self._failed is not None
        for raw in pieces:
            number += 1
            start = position
            position += len(raw) + 1
            if not careful and not raw.startswith(special):
                try:
                    message = decode(raw)
                except REFUSED:
                    pass
                else:
                    if message.role >= "a":
                        messages.append(message)
                        starts.append(start)
                        ends.append(position - 1)
                        continue
            if messages:
                yield run
                run = Run([], [], [])
                messages, starts, ends = run
            self.line = number
            if not careful and not raw.startswith(BATCH_PREFIX):
                try:
                    record = decode_special(raw)
                except REFUSED:
                    pass
                else:
                    if type(record) is not Batch:
                        yield Entry(record, start, position - 1)
                    continue
            if self._batch_waits(data, raw, start, position - base, final=final):
                self.line = number - 1
                self.offset = start
                return
            yield from self._careful(raw, start, data, position - base)
            careful = self._failed is not None
        if messages:
            yield run
        self.line = number
        if tail:
            self.line += 1
            yield from self._careful(tail, position, data, len(data), torn=True)
            position += len(tail)
        self.offset = position
        self._keep(data[cut:])

    def _batch_waits(self, data: bytes, raw: bytes, start: int, after: int, *, final: bool) -> bool:
        """Tell whether the line opens a batch that goes on in the next piece; keep it then."""
        failed = self._failed
        if final or start < self._inside:
            return False
        if failed is not None and start < failed.end and failed.left > 0 and is_ours(raw):
            return False
        batch = _as_batch(raw)
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
                    self._failed = failed._replace(left=failed.left - len(inside))
                    return
                if others[0].start > start:
                    # Another program's record behind the batch's last bytes, on the same line.
                    self._close_failed(others[0].start)
                    yield from _without_batches(others)
                    return
            self._close_failed(start)
        batch = _as_batch(raw) if start >= self._inside else None
        if batch is None:
            yield from self._slow(raw, start, torn=torn)
        else:
            self._open_batch(batch, start, len(raw) + 1, data, after)

    def _open_batch(self, batch: Batch, start: int, length: int, data: bytes, after: int) -> None:
        """Check a batch: its lines count if the next `bytes` bytes are there and unharmed."""
        end = after + batch.bytes
        # Hostile headers that each claim the rest of the file must not cost quadratic time.
        affordable = self._wasted <= WASTE_LIMIT_BYTES + 8 * start
        whole = batch.bytes > 0 and end <= len(data) and affordable
        if whole and checksum(data[after:end]) == batch.hash:
            self._inside = start + length + batch.bytes
            return
        self._wasted += min(max(batch.bytes, 0), len(data) - after)
        stop = start + length + max(batch.bytes, 0)
        self._failed = _FailedBatch(start, stop, batch.n, self.line, batch.n)

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
            size = found[0].start - start if kind == "rescued" else len(raw)
            self.problems.append(
                Problem(line=self.line, byte=start, bytes=size, kind=kind, what=what)
            )
        yield from _without_batches(found)


def scan(data: bytes) -> tuple[list[Entry], list[Problem]]:
    """Read a whole log that is in memory: all its entries and all its problems."""
    scanner = Scanner()
    entries = list(flatten([*scanner.feed(data), *scanner.finish()]))
    return entries, scanner.problems


def flatten(found: Iterable[Run | Entry]) -> Iterator[Entry]:
    """Give what a scanner found one record at a time."""
    for item in found:
        if isinstance(item, Run):
            yield from map(Entry, item.messages, item.starts, item.ends)
        else:
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
