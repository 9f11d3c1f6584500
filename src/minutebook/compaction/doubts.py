"""Find in a summary what its source doesn't bear out: names, numbers, outcomes. Pure.

A model that writes a summary may misspell a name, turn a number around, call a failure a
success, or tell of another conversation. None of this can be proved from outside, but each
leaves a trace: a name that stands nowhere in the source; a number that never stands beside
what it is said of; a claim whose nearest statements all say the opposite. What is found is a
doubt about one line, not a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from minutebook.compaction.claims import Claims
from minutebook.compaction.digest.names import kind_of, names_in
from minutebook.compaction.phrases import ALL
from minutebook.compaction.source import Source
from minutebook.messages import Message

Kind = Literal["name", "number", "outcome", "quote"]
"""`quote`: it is said nearly so in the source, but with another number or another outcome; in a
digest also whatever it quotes or has counted otherwise."""

DOUBTFUL_WEIGHT = 2.0
"""How much a line with a doubt takes from the score beside one without."""

_RECORDS = re.compile(
    r"records? \d+(?:\s*(?:to|and|[–,-])\s*\d+)*|"
    + "|".join(
        re.escape(phrases.record).replace(r"\{n\}", r"\d+")
        + r"(?:\s*(?:to|[–-]|至|,)\s*#?\d+)*(?!\w)"
        for phrases in ALL
    )
)
_QUOTED = re.compile(r"`([^`\s]+)`")
_QUOTED_WORD = re.compile(r"[A-Za-z][\w-]{3,}")
_RUN = re.compile(r"[^\s`|,()\[\]{}<>\"']+")
_SIGNS = re.compile(r"\w[_/.@$:]\w|[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]{2}|[A-Z]{2,}-\d")
_PROSE = re.compile(
    r"(?i:e\.g|i\.e|etc|vs|a\.k\.a)|[A-Za-z]+(?:[/-][A-Za-z]+)+|[A-Za-z-]+:[A-Za-z]+|\d+[a-z]{1,3}"
    r"|[A-Za-z]+\.[A-Z][a-z]+"
)
"""Words with a slash, a colon or a missing space between them, ordinals and measures."""
_MARKER = re.compile(r"^\s*(?:#{1,6}\s+)?(?:[-*+]\s+)?(?:\d{1,3}[.)]\s+)?(?:\[[ xX]\]\s+)?")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|(?<=[。！？；])")
_NUMBER = re.compile(
    r"(?<![\w.,/#:~-])(?:\d{1,2}(?::\d\d){1,2}|\d+(?:[.,]\d+)*(?:%|[A-Za-z]{1,2}\b)?)(?![\w/]|[.,:-]\d)"
)


class Doubt(Struct, frozen=True, kw_only=True):
    """Something in a summary that its source doesn't bear out."""

    kind: Kind
    what: str
    """The words that are doubted, as they stand."""
    line: int
    """Which line they stand in, from 1."""


class SummaryChecks(Struct, frozen=True, kw_only=True):
    """What came of checking a summary."""

    lines: int
    """How many lines say something."""
    doubts: tuple[Doubt, ...]

    @property
    def doubtful_lines(self) -> int:
        """How many lines hold a doubt."""
        return len({doubt.line for doubt in self.doubts})

    @property
    def score(self) -> float:
        """From 0 to 1: one without doubts; 0 where half of the lines or more hold one."""
        if not self.lines:
            return 0.0
        return max(0.0, 1.0 - DOUBTFUL_WEIGHT * self.doubtful_lines / self.lines)


def check_summary(text: str, covered: Sequence[Message]) -> SummaryChecks:
    """Check a summary against the messages that it covers, earlier summaries among them."""
    return Checker(covered).check(text)


class Checker:
    """Checks summaries against the messages that they cover, earlier summaries among them.

    The messages are read at the first check: in time linear in their text, half a second for
    200 000 tokens.
    """

    def __init__(self, covered: Sequence[Message]) -> None:
        """Take what is covered."""
        self._claims = Claims(Source(covered))

    def check(self, text: str) -> SummaryChecks:
        """Give the doubts about a summary."""
        lines = text.split("\n")
        found = [
            doubt for at, line in enumerate(lines, 1) for doubt in _doubts(at, line, self._claims)
        ]
        telling = sum(any(map(str.isalnum, line)) for line in lines)
        return SummaryChecks(lines=telling, doubts=tuple(found))


def _doubts(at: int, line: str, claims: Claims) -> list[Doubt]:
    """Give the doubts about one line."""
    body = _RECORDS.sub(" ", _MARKER.sub("", line))
    found: list[tuple[Kind, str]] = [
        ("name", name) for name in names_of(body) if not claims.source.knows(name)
    ]
    found += [
        ("number", number)
        for sentence in _SENTENCE.split(body)
        for number in numbers_in(sentence)
        if not claims.bears_number(number, sentence)
    ]
    found += [("outcome", word) for word in claims.contradicted(body)]
    if not found and claims.says_otherwise(body):
        found.append(("quote", body.strip()))
    return [Doubt(kind=kind, what=what, line=at) for kind, what in found]


def names_of(line: str) -> list[str]:
    """Give what a line writes as a name: references, and whatever has a name's signs.

    More than `names_in`, which leaves out what it doesn't know as a name: here it may be one
    that was misspelled.
    """
    found = dict.fromkeys(name for name in names_in(line) if kind_of(name) != "number")
    quoted = set(_QUOTED.findall(line))
    for run in _RUN.findall(line):
        name = run.strip(".,:;!?#+-()[]{}<>\"'`*=~")
        if name in found or len(name) < 3 or "…" in name or not any(map(str.isalpha, name)):
            continue
        signed = _SIGNS.search(name) and not _PROSE.fullmatch(name)
        if signed or (name in quoted and _QUOTED_WORD.fullmatch(name)):
            found[name] = None
    return [name for name in found if not any(name != other and name in other for other in found)]


def numbers_in(line: str) -> list[str]:
    """Give the numbers of a line that stand for themselves.

    Those that are a part of a name don't, and what is said to be about so many (~1100) can't
    be checked.
    """
    return list(dict.fromkeys(_NUMBER.findall(line)))
