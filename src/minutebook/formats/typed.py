"""JSON Lines read into structs: fast where a line is strict JSON, patient where it is not. Pure.

A struct names the few keys that a format needs of each line, with `Any` for what may be of any
type and `Raw` for what is read only of some lines; so a line of a kind that says nothing of
the conversation costs one pass over its bytes and no values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Raw, Struct

from minutebook.formats.mapping import compact_json
from minutebook.formats.source import Line, at_line, lines, loads, values
from minutebook.lines import Problem

REFUSED = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
"""What the fast decoder raises on a text that it does not take."""
Kind = TypeVar("Kind", bound=Struct)


class Row(NamedTuple, Generic[Kind]):
    """One record of a file."""

    line: Line
    start: int
    """The byte at which its text begins."""
    end: int
    head: Kind


def rows(data: bytes, kind: type[Kind], problems: list[Problem]) -> Iterator[Row[Kind]]:
    """Read every line, in file order; several of one line that holds glued records.

    Every field of *kind* must take a value of any type. *problems* takes what was wrong, and
    the lines that are JSON but no object.
    """
    decode = msgspec.json.Decoder(kind).decode
    view = memoryview(data)
    for line in lines(data):
        try:
            head = decode(view[line.start : line.end])
        except REFUSED:
            yield from _patiently(data, line, decode, problems)
        else:
            yield Row(line, line.start, line.end, head)


def _patiently(data: bytes, line: Line, decode: Any, problems: list[Problem]) -> Iterator[Row[Any]]:
    """Read a line that is mended, glued, or no object."""
    for value in values(data, line, problems):
        if isinstance(value.value, dict):
            # A mended value has no bytes of its own, and a raw field needs some.
            text = compact_json(value.value).encode("utf-8", "replace")
            yield Row(line, value.start, value.end, decode(text))
        else:
            problems.append(at_line(line, "entry", "an entry is no object"))


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Give problems in the order of their places: those of raw fields are found later."""
    return tuple(sorted(problems, key=attrgetter("byte")))


def whole(data: bytes, row: Row[Any]) -> dict[str, Any]:
    """Read the whole record of a row; an empty one if it was mended beyond that."""
    value, _mended = loads(memoryview(data)[row.start : row.end])
    return value if isinstance(value, dict) else {}


def payload(raw: Raw, line: Line, problems: list[Problem]) -> dict[str, Any]:
    """Read a raw field of a line as an object; an empty one if it is missing or something else.

    Broken UTF-8 shows only here, since the line's own reading passes over raw fields.
    """
    if not len(raw):
        return {}
    value, mended = loads(memoryview(raw))
    if mended:
        problems.append(at_line(line, "mended", "invalid text was replaced by U+FFFD"))
    return value if isinstance(value, dict) else {}
