"""In which line of a TOML text each key stands, which Python's TOML reader does not tell. Pure.

The text has been read already, so it is TOML; nothing is checked here. Of a text that is none
the places are those up to where it stops making sense.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

Path = tuple[str | int, ...]
"""The keys that lead to a value; of the elements of an array, their index from 0."""

_TOKEN = re.compile(
    r"""
    (?P<string>\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
    | (?P<comment>\#[^\n]*)
    | (?P<line>\n)
    | (?P<sign>[\[\]{}=,.])
    | (?P<word>[^\s\[\]{}=,.\#"']+)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r'\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(["\\]))')
_DEPTH_MAX = 100


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def places(text: str) -> dict[Path, int]:
    """Give the line, from 1, of each table and each key of a TOML text.

    Of a table that is begun several times (by its parts, say) the first line counts.
    """
    found: dict[Path, int] = {}
    _Reader(list(_tokens(text)), found).read()
    return found


def line_of(found: dict[Path, int], path: Path) -> int | None:
    """Give the line of a value: its own, else that of the nearest thing around it."""
    for length in range(len(path), 0, -1):
        if path[:length] in found:
            return found[path[:length]]
    return None


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind != "comment":
            yield _Token(kind, match[0], line)
        line += match[0].count("\n")


class _Reader:
    """Walks once over the tokens, and notes where each key stands."""

    def __init__(self, tokens: list[_Token], found: dict[Path, int]) -> None:
        self._tokens = tokens
        self._found = found
        self._at = 0
        self._counts: dict[Path, int] = {}

    def read(self) -> None:
        """Read statement by statement: headers, and keys with their values."""
        table: Path = ()
        while (token := self._peek()) is not None:
            if token.kind == "line":
                self._at += 1
                continue
            if token.text == "[":
                table = self._header()
            else:
                self._assignment(table, 0)
            self._skip_to_line()

    def _header(self) -> Path:
        self._at += 1
        token = self._peek()
        is_array = token is not None and token.text == "["
        self._at += is_array
        line = self._tokens[self._at - 1].line
        keys = self._keys()
        path: Path = ()
        for key in keys[:-1]:
            path = self._newest((*path, key), line)
        if keys:
            path = (*path, keys[-1])
            if is_array:
                self._note(path, line)
                self._counts[path] = self._counts.get(path, -1) + 1
            path = self._newest(path, line)
        self._at += 1 + is_array
        return path

    def _newest(self, path: Path, line: int) -> Path:
        """Give the path of a table; of an array of tables, that of its newest element."""
        if path in self._counts:
            path = (*path, self._counts[path])
        self._note(path, line)
        return path

    def _assignment(self, table: Path, depth: int) -> None:
        """Read `key = value`; a dotted key names every table on its way."""
        path, line = table, self._tokens[self._at].line
        for key in self._keys():
            path = (*path, key)
            self._note(path, line)
        following = self._peek()
        if following is not None and following.text == "=":
            self._at += 1
            self._value(path, depth)

    def _value(self, path: Path, depth: int) -> None:
        token = self._peek()
        if token is None or depth > _DEPTH_MAX:
            self._at = len(self._tokens)
        elif token.text == "[":
            self._elements(path, depth)
        elif token.text == "{":
            self._members(path, depth)
        else:
            while (token := self._peek()) and token.kind != "line" and token.text not in {*",]}"}:
                self._at += 1

    def _elements(self, path: Path, depth: int) -> None:
        self._at += 1
        index = 0
        while (token := self._peek()) is not None and token.text != "]":
            if token.kind == "line" or token.text == ",":
                self._at += 1
                continue
            self._note((*path, index), token.line)
            before = self._at
            self._value((*path, index), depth + 1)
            self._at += self._at == before
            index += 1
        self._at += 1

    def _members(self, path: Path, depth: int) -> None:
        self._at += 1
        while (token := self._peek()) is not None and token.text != "}":
            if token.kind == "line" or token.text == ",":
                self._at += 1
                continue
            before = self._at
            self._assignment(path, depth + 1)
            self._at += self._at == before
        self._at += 1

    def _keys(self) -> list[str]:
        """Read a key with its dots."""
        keys = []
        while (token := self._peek()) is not None:
            if token.kind == "word":
                keys.append(token.text)
            elif token.kind == "string":
                keys.append(_unquoted(token.text))
            elif token.text != ".":
                break
            self._at += 1
        return keys

    def _skip_to_line(self) -> None:
        while (token := self._peek()) is not None and token.kind != "line":
            self._at += 1

    def _peek(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _note(self, path: Path, line: int) -> None:
        self._found.setdefault(path, line)


def _unquoted(text: str) -> str:
    """Give a quoted key's name; the escapes that stand for a letter are read."""
    if text[0] == "'":
        return text[1:-1]
    return _ESCAPE.sub(lambda m: m[3] or chr(int(m[1] or m[2], 16)), text[1:-1])
