"""The lines of a JSON Lines file, split and cleared of what is none. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from minutebook.formats.mapping import compact_json
from minutebook.formats.source import lines, values
from minutebook.lines import Problem


class Row(Struct):
    """One record on its way to the mended file."""

    value: Any
    raw: bytes
    """Its text as it stands in the file; empty once *value* is to be written anew."""

    def change(self, **keys: Any) -> None:
        """Give some of its keys other values."""
        self.value = {**self.value, **keys}
        self.raw = b""


class Mended(Struct, frozen=True, kw_only=True):
    """A file that its agent reads."""

    data: bytes
    actions: tuple[str, ...]
    """What was done, one sentence each; empty if nothing had to be."""
    aside: bytes = b""
    """The bytes that are no record, each run on a line."""


def split(data: bytes) -> tuple[list[Row], list[str], bytes]:
    """Give the records of a file, what was done to get them, and what is none."""
    rows: list[Row] = []
    actions: list[str] = []
    aside: list[bytes] = []
    for line in lines(data):
        problems: list[Problem] = []
        found = values(data, line, problems)
        mended = any(problem.kind == "mended" for problem in problems)
        actions += [f"line {line.number}: {problem.what}" for problem in problems]
        rows += [Row(one.value, b"" if mended else data[one.start : one.end]) for one in found]
        if not found:
            aside.append(data[line.start : line.end])
    if rows and not data.endswith(b"\n"):
        actions.append("the last line was closed")
    return rows, actions, b"".join(piece + b"\n" for piece in aside)


def joined(rows: Iterable[Row]) -> bytes:
    """Write rows, each on its line."""
    return b"".join(
        (row.raw or compact_json(row.value).encode("utf-8", "replace")) + b"\n" for row in rows
    )
