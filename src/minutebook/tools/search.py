"""Find texts by the words in them, in languages with and without spaces. Pure.

A word is looked for as a part of others, so that `config` finds `ConfigError` and
`app_config`; one of up to three Latin letters or digits only by itself, or `is` would be
everywhere. Scripts without spaces have no words to split at: there every two neighbours are
looked for. What is rare weighs more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import log

WORDS_MAX = 64
"""How many words of a query count."""
SHORT = 3
LEAD_CHARACTERS = 200
"""How much an excerpt shows before what was found, at most: from the line's beginning if near."""

# Han, kana, Hangul (whose words change at their ends) and Thai.
_SPACELESS = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
    "\u3040-\u30ff\u31f0-\u31ff\u1100-\u11ff\uac00-\ud7af\u0e00-\u0e7f"
)
_RUN = re.compile(rf"[{_SPACELESS}]+|[^\W{_SPACELESS}]+")
_STARTS_SPACELESS = re.compile(rf"[{_SPACELESS}]")


def words_of(query: str) -> tuple[str, ...]:
    """Give what a query looks for, each once, in order, without regard to case."""
    found: dict[str, None] = {}
    for run in _RUN.findall(query.casefold()):
        if _STARTS_SPACELESS.match(run) and len(run) > 1:
            found.update(dict.fromkeys(run[at : at + 2] for at in range(len(run) - 1)))
        else:
            found[run] = None
    return tuple(found)[:WORDS_MAX]


def search(texts: Sequence[str], words: Sequence[str]) -> list[int]:
    """Give the positions of the texts that hold any of the words, the best first.

    Equal ones come with the last first. A word counts once however often it stands there.
    Takes time in proportion to the texts' length times the number of words.
    """
    folded = [text.casefold() for text in texts]
    scores = [0.0] * len(texts)
    for word in words:
        is_in = _finder(word)
        holders = [at for at, text in enumerate(folded) if is_in(text)]
        for at in holders:
            scores[at] += log(1 + len(texts) / len(holders))
    ranked = sorted(range(len(texts)), key=lambda at: (-scores[at], -at))
    return [at for at in ranked if scores[at] > 0]


def excerpt_start(text: str, words: Sequence[str]) -> int:
    """Give where to begin reading a text, so that the longest of the words in it is in sight."""
    for word in sorted(words, key=len, reverse=True):
        found = re.search(_pattern(word), text, re.IGNORECASE)
        if found is not None:
            earliest = max(0, found.start() - LEAD_CHARACTERS)
            line = text.find("\n", earliest, found.start()) + 1 if earliest else 0
            return line or earliest
    return 0


def _finder(word: str) -> Callable[[str], bool]:
    if not _is_short(word):
        return lambda text: word in text
    pattern = re.compile(_pattern(word))
    return lambda text: pattern.search(text) is not None


def _pattern(word: str) -> str:
    escaped = re.escape(word)
    return rf"(?<![0-9a-z]){escaped}(?![0-9a-z])" if _is_short(word) else escaped


def _is_short(word: str) -> bool:
    return len(word) <= SHORT and word.isascii()
