"""What a summary is checked against: all that the covered messages say, indexed. Pure.

Names are held as they stand and by their pieces, statements (sentences and lines) by their
words. Built once for a compaction; linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from minutebook.compaction.calls import decode
from minutebook.compaction.digest.names import reference
from minutebook.messages import Message

STATEMENT_CHARS_MAX = 400
"""A longer line is data; only its beginning is read as a statement."""

STATEMENTS_MAX = 60_000
"""How many statements are held; the newest, since they hold."""

TEXT_CHARS_MAX = 8_000_000
"""How much of the text is read for statements, from its end: some 2 000 000 tokens."""

PIECE_CHARS_MIN = 3
"""A method's name has so many letters; what is shorter after a point is an ending."""

_RUN = re.compile(
    r"https?://[^\s<>\"'`|\\^{}\[\]]+|[A-Za-z0-9_$@~/.À-ɏ][\w$@~/.+:%#À-ɏ-]*[\w/]|[\w$]"
)
_PIECE = re.compile(r"[A-Za-z_$À-ɏ][\w$À-ɏ]*|\d+(?:[.,]\d+)*")
_ESCAPE = re.compile(r"\\[nrt]")
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n")


class Source:
    """The text of some messages: their words, what was called with, and what came out."""

    def __init__(self, messages: Sequence[Message]) -> None:
        """Take the messages; nothing is read before it is asked for."""
        self._messages = messages

    @cached_property
    def text(self) -> str:
        """All text that a summary may tell of, thinking left out."""
        pieces = []
        for message in self._messages:
            pieces.append(message.text)
            for call in message.calls:
                pieces += (call.name, *_strings(decode(call.arguments) or call.arguments))
        return _ESCAPE.sub("\n", "\n".join(pieces))

    @cached_property
    def runs(self) -> frozenset[str]:
        """Every run of characters that may be a name, as it stands and as a name."""
        found = set(_RUN.findall(self.text))
        return frozenset(found | {name for run in found if (name := reference(run))})

    @cached_property
    def pieces(self) -> frozenset[str]:
        """Every word and number, whatever it is part of."""
        return frozenset(_PIECE.findall(self.text))

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """Every sentence or line, in order; the newest if there are too many."""
        lines = [line.strip() for line in _END.split(self.text[-TEXT_CHARS_MAX:])]
        found = [line[:STATEMENT_CHARS_MAX].rstrip() for line in lines if line]
        return tuple(found[-STATEMENTS_MAX:])

    @cached_property
    def components(self) -> frozenset[str]:
        """Every part of a path between slashes."""
        return frozenset(
            part for run in self.runs if "/" in run or "." in run for part in run.split("/")
        )

    def knows(self, name: str) -> bool:
        """Tell whether a name stands in the source, whole or as the pieces that it is made of.

        A path may be put together of a folder and a file that are both named, a method of a
        class and its name; a piece that stands nowhere gives it away.
        """
        if name in self.runs or self._stands(name):
            return True
        if "/" in name:
            return self._knows_path(name)
        both = name.split("-")
        if len(both) == 2 and all(side in self.runs for side in both):
            return True
        pieces = _PIECE.findall(name)
        if len(pieces) < 2 or len(pieces[-1]) < PIECE_CHARS_MIN:
            return False
        joined = any(sign in name for sign in (".", "::", "->", "#", ":", "(", "="))
        return joined and all(piece in self.pieces for piece in pieces)

    def _knows_path(self, path: str) -> bool:
        """Tell whether a path is a known folder with a known file in it."""
        folder, _, file = path.rstrip("/").rpartition("/")
        parts = [part for part in folder.split("/") if part not in {"", ".", "..", "~"}]
        return (
            (not folder.strip("./~") or self._stands(folder.lstrip("./~")))
            and (file in self.components or file in self.runs)
            and all(part in self.components for part in parts)
        )

    def _stands(self, text: str) -> bool:
        """Tell whether a text stands somewhere, with no letter or digit on either side."""
        for at in _places(self.text, text):
            before, after = self.text[at - 1 : at], self.text[at + len(text) : at + len(text) + 1]
            if not (_is_inner(before) and _is_inner(text[0])) and not (
                _is_inner(after) and _is_inner(text[-1])
            ):
                return True
        return False


def _strings(value: object) -> Iterator[str]:
    """Give all texts and numbers of decoded arguments, and their names."""
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += [*reversed(item.values()), *item]
        elif isinstance(item, list):
            waiting += reversed(item)
        elif item is not None:
            yield str(item)


def _is_inner(char: str) -> bool:
    return char.isalnum() or char == "_"


def _places(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)
