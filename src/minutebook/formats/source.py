"""The bytes of a session file, and tolerant ways to take JSON out of them. Pure.

Nothing here raises on data: what cannot be read becomes a problem. Strict JSON goes through
the fast decoder; what that refuses (a lone surrogate, NaN, a raw control character, a broken
UTF-8 byte) is tried once more by the standard library and reported as mended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from minutebook.codec import clean
from minutebook.lines import BOM, Problem

OBJECTS_LOOKED_AT = 64
"""How many values at the head of a JSON Lines file are looked at to recognise its format."""
_BLANK = b" \t\r\n"
_NOT_BLANK = re.compile(rb"[^ \t\r\n\0]")
_REFUSED = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_decode = msgspec.json.Decoder().decode
_standard = json.JSONDecoder(strict=False)
# Strings as a whole, so that brackets inside them do not count; a quote that never closes ends
# the search. Possessive: linear time whatever the bytes.
_TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{},]', re.DOTALL)


class Absent:
    """Stands for "no value", since null is one."""


ABSENT = Absent()


class Value(NamedTuple):
    """A JSON value and where its text stands: `data[start:end]`."""

    value: Any
    start: int
    end: int


class Line(NamedTuple):
    """One physical line: its number from 1 and `data[start:end]`, the newline left out."""

    number: int
    start: int
    end: int


class Source:
    """A session file in memory. What is worked out of its bytes is worked out once."""

    def __init__(
        self,
        data: bytes,
        *,
        path: str = "",
        name: str = "",
        beside: Mapping[str, bytes] | None = None,
    ) -> None:
        """Take the bytes; *path* is for messages, *name* the file's or session's own name.

        *beside* holds other files of the same session by their path relative to this one's
        folder, as `Format.beside` asks for them.
        """
        self.data = data
        self.path = path
        self.name = name
        self.beside: Mapping[str, bytes] = beside or {}

    def take_over(self, other: Source) -> None:
        """Take over what was worked out of the same bytes."""
        kept = {"data", "path", "name", "beside"}
        found = {key: value for key, value in vars(other).items() if key not in kept}
        vars(self).update(found)

    @cached_property
    def blank(self) -> bool:
        """Whether there is nothing but white space."""
        return _NOT_BLANK.search(self.data.removeprefix(BOM)) is None

    @cached_property
    def objects(self) -> tuple[Any, ...]:
        """The JSON values of the first `OBJECTS_LOOKED_AT` lines."""
        found: list[Any] = []
        for line in islice(lines(self.data), OBJECTS_LOOKED_AT):
            found += [item.value for item in values(self.data, line, [])]
        return tuple(found)

    @cached_property
    def several_lines(self) -> bool:
        """Whether the first line is a whole JSON value, and not the only line: JSON Lines."""
        first = list(islice(lines(self.data), 2))
        return len(first) == 2 and bool(values(self.data, first[0], []))

    @cached_property
    def _document(self) -> tuple[Any, tuple[Problem, ...]]:
        """The file as one JSON value, with what had to be done to read it."""
        data = self.data
        start = len(BOM) if data.startswith(BOM) else 0
        if data[start : start + 4096].lstrip(_BLANK)[:1] not in (b"[", b"{") or self.several_lines:
            return ABSENT, ()
        value, mended = loads(data[start:])
        if value is not ABSENT:
            what = "invalid text was replaced by U+FFFD where it is shown"
            return value, (whole_file(data, "mended", what),) if mended else ()
        rest = _cut_to_last_element(data[start:])
        value, _mended = loads(rest) if rest else (ABSENT, False)
        if value is ABSENT:
            return ABSENT, ()
        return value, (whole_file(data, "torn", "file is cut short; its whole entries are read"),)

    @property
    def document(self) -> Any:
        """The whole file as one JSON value, `ABSENT` if it is none.

        A file that is cut short gives the whole entries of its outermost list.
        """
        return self._document[0]

    @property
    def document_problems(self) -> tuple[Problem, ...]:
        """What was wrong with the document."""
        return self._document[1]


def whole_file(data: bytes, kind: str, what: str) -> Problem:
    """Give a problem that concerns a file as a whole."""
    return Problem(line=1, byte=0, bytes=len(data), kind=kind, what=what)


def at_line(line: Line, kind: str, what: str) -> Problem:
    """Give a problem of one line."""
    size = line.end - line.start
    return Problem(line=line.number, byte=line.start, bytes=size, kind=kind, what=what)


def lines(data: bytes) -> Iterator[Line]:
    """Give the lines that are not blank, split on line feeds only, without a BOM or one CR."""
    start = len(BOM) if data.startswith(BOM) else 0
    number, size = 0, len(data)
    while start < size:
        number += 1
        end = data.find(b"\n", start)
        after = end + 1
        if end < 0:
            end = after = size
        stop = end - 1 if end > start and data[end - 1] == 0x0D else end
        if stop > start and not (stop - start < 64 and data[start:stop].isspace()):
            yield Line(number, start, stop)
        start = after


def loads(text: bytes | memoryview) -> tuple[Any, bool]:
    """Read one JSON value; `ABSENT` if it is none. Tells whether its text had to be mended."""
    try:
        return _decode(text), False
    except _REFUSED:
        pass
    raw = bytes(text)
    # A writer escapes NUL; raw ones come from lost blocks.
    if b"\0" in raw:
        return ABSENT, False
    try:
        return clean(json.loads(raw.decode("utf-8", "surrogateescape"), strict=False)), True
    except (ValueError, RecursionError):
        return ABSENT, False


def values(data: bytes, line: Line, problems: list[Problem]) -> list[Value]:
    """Read the values of one line: one, several that are glued, or none.

    *problems* takes what was wrong.
    """
    text = memoryview(data)[line.start : line.end]
    value, mended = loads(text)
    if value is not ABSENT:
        if mended:
            problems.append(at_line(line, "mended", "invalid text was replaced by U+FFFD"))
        return [Value(value, line.start, line.end)]
    found = _glued(bytes(text), line.start)
    size = line.end - line.start
    if found:
        problems.append(at_line(line, "glued", f"{len(found)} records stand on one line"))
    elif line.end == len(data):
        problems.append(at_line(line, "torn", f"last line is torn: {size} bytes without an end"))
    else:
        problems.append(at_line(line, "bad", f"{size} bytes are no record"))
    return found


def _glued(raw: bytes, start: int) -> list[Value]:
    """Read a line as JSON objects one behind the other; none unless all of it is read."""
    if b"\0" in raw:
        return []
    text = raw.decode("utf-8", "surrogateescape")
    found: list[Value] = []
    position, at = 0, start
    while position < len(text):
        try:
            value, stop = _standard.raw_decode(text, position)
            value = clean(value)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict):
            return []
        end = at + len(text[position:stop].encode("utf-8", "surrogateescape"))
        found.append(Value(value, at, end))
        while stop < len(text) and text[stop] in " \t\r":
            stop, end = stop + 1, end + 1
        position, at = stop, end
    return found


def _cut_to_last_element(data: bytes) -> bytes:
    """Cut a torn JSON document behind the last whole element of its outermost list.

    Empty when no list was begun, or none of its elements is whole.
    """
    closers: list[bytes] = []
    # The depth of the outermost list, and where its last whole element ends.
    outer, cut = 0, 0
    for token in _TOKENS.finditer(data):
        mark = token[0]
        if mark == b'"':
            break
        if mark == b"[":
            closers.append(b"]")
            outer = outer or len(closers)
        elif mark == b"{":
            closers.append(b"}")
        elif mark in {b"]", b"}"}:
            if not closers or closers.pop() != mark:
                break
            if len(closers) == outer:
                cut = token.end()
            elif len(closers) < outer:
                outer = cut = 0
            if not closers:
                break
        elif mark == b"," and len(closers) == outer:
            cut = token.start()
    return data[:cut] + b"".join(reversed(closers[:outer])) if outer and cut else b""
