"""Compare what a line claims with the statements of a source that are nearest to it. Pure.

Nearness is shared words, rare ones counting more. Of the outcomes that people and programs
tell, only whether it went well or not is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from math import log

from msgspec import Struct

from minutebook.compaction.digest.names import kind_of, names_in
from minutebook.compaction.source import Source

NEIGHBOUR_CHARS_MIN = 4
"""A shorter word beside a number (all, the, are) stands beside many."""

STEM_CHARS = 6
"""Words are compared by their first letters, so that endings don't tell them apart."""

NEAR_MIN = 0.30
"""A statement that shares less of a line's weight than this says nothing about it."""

CLAIM_NEAR_MIN = 0.22
"""The same of a statement that contradicts a claim. At this, three quarters of turned outcomes
are found in summaries by models, and one line in sixty is doubted without a reason."""

CLEARER = 1.2
"""By how much the opposite must be nearer than what agrees, to contradict a line."""

AROUND = 3
"""So many statements before and behind one are said of the same."""

FORM_WORDS_MIN = 4
"""With fewer spaces than this, a text is the same as another by chance."""

CANDIDATES_MAX = 1_000
"""How many statements are looked at for one word; the newest."""

_WORD = re.compile(r"[^\W\d_]{3,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
_NUMBERED = re.compile(r"\b[A-Za-z]+-?\d+\b")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_COUNTED = re.compile(r"\b\d+ (?:passed|failed|passing|failing|errors?|failures?)\b")
_SAID = re.compile(r"[\w#§]+")
_QUOTED = re.compile(r"[\"“]([^\"“”]{20,})[\"”]")
_PLACE = re.compile(r"(?<=[\w\]]):\d+(?::\d+)?|:L?\d+-L?\d+|\(\d+,\d+\)|^\s*\d+(?:→|[:|\t-](?!\d))")
"""Where something stands: `app.py:12`, `app.py(12,3)`, and the numbers before lines of files."""
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_GOOD = re.compile(
    r"✅|✓|✔|\[[xX]\]|\b(?:pass(?:es|ed|ing)?|succe(?:ss\w*|eds?|eded)|works?|worked|working|fixed"
    r"|resolved|solved|completed?|done|finished|implemented|verified|confirmed|clean(?:ly)?|green"
    r"|ok|okay|enabled|supported|merged|accepted|correct(?:ly)?|exit code:? 0)\b"
    r"|no (?:errors?|failures?|problems?|issues?|warnings?)|通过|成功|修复|完成|解决|正常",
    re.IGNORECASE,
)
_BAD = re.compile(
    r"❌|✗|✘|\[ \]|\b(?:fail(?:s|ed|ing|ures?)?|errors?|broken?|breaks|unresolved|unsolved"
    r"|incomplete|unfinished|pending|unsuccessful\w*|crash(?:es|ed)?|rejected|denied|disabled"
    r"|unsupported|missing|incorrect(?:ly)?|wrong(?:ly)?|exit code:? [1-9]\d*)\b"
    r"|失败|错误|未完成|未解决|出错",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"(?:\b(?:not?|never|no longer|cannot|without|isn't|doesn't|don't|didn't|wasn't|aren't|can't"
    r"|won't|couldn't|yet to|un)\s+(?:\w+\s+){0,2}|不|没有?|未)$",
    re.IGNORECASE,
)


class Near(Struct, frozen=True, gc=False):
    """A statement that is near to a line."""

    share: float = 0.0
    """How much of the line's weight it shares."""
    at: int = -1


class Claims:
    """Reads the statements of one source for what they bear out."""

    def __init__(self, source: Source) -> None:
        """Take a source; its statements are indexed at the first question."""
        self.source = source

    def bears_number(self, number: str, line: str) -> bool:
        """Tell whether a number stands in the source beside something that the line names.

        Beside: in one statement with a name, with words that make up a good part of the line,
        or next to the word that it stands next to in the line.
        """
        digits = _DIGITS.search(number)
        statements = self._with_number.get(digits[0], ()) if digits else ()
        names = {name for name in names_in(line) if kind_of(name) != "number"}
        stems = terms_of(line)
        whole = sum(map(self._weight, stems))
        beside = _neighbours(number, line)
        for at in statements:
            statement = self.source.statements[at]
            if number not in statement:
                # 30 ms are no 30 s.
                continue
            if any(name in statement for name in names):
                return True
            if sum(map(self._weight, stems & terms_of(statement))) >= NEAR_MIN * whole:
                return True
            if beside & _neighbours(number, statement) and self._is_about(at, names):
                return True
        return _counts_itself(number, line) or (":" in number and number in self.source.text)

    def _is_about(self, at: int, names: set[str]) -> bool:
        """Tell whether one of some names stands near a statement; true if there are none."""
        around = "\n".join(self.source.statements[max(at - AROUND, 0) : at + AROUND + 1])
        return not names or any(name in around for name in names)

    def contradicted(self, line: str) -> Iterator[str]:
        """Give the words of a line that say how something went, where the source says otherwise.

        Of statements that are about equally near the last one holds.
        """
        mine = outcome_words(line)
        if not mine or len({good for _, good in mine}) > 1:
            # A line that tells of both is a story; which part is of what can't be told.
            return
        if any(count in self.source.text for count in _COUNTED.findall(line)):
            # A count of outcomes that stands there as it is.
            return
        (word, good), *_ = mine
        agreeing, opposite = self._nearest(line, good=good)
        if opposite.share < CLAIM_NEAR_MIN:
            return
        later = opposite.at > agreeing.at and opposite.share >= agreeing.share / CLEARER
        if later or opposite.share > CLEARER * agreeing.share:
            yield word

    def says_otherwise(self, line: str) -> bool:
        """Tell whether the source says the very same but for numbers and outcomes."""
        for text in (line, *_QUOTED.findall(line)):
            form = form_of(text)
            if form.count(" ") >= FORM_WORDS_MIN and (said := self._forms.get(form)):
                plain = _plain(text)
                if all(plain != _plain(self.source.statements[at]) for at in said):
                    return True
        return False

    def _nearest(self, line: str, *, good: bool) -> tuple[Near, Near]:
        """Give the nearest statement that agrees, and the nearest that doesn't."""
        terms = {term: self._weight(term) for term in terms_of(line)}
        whole = sum(terms.values())
        best = {True: Near(), False: Near()}
        shares: dict[int, float] = {}
        for term, weight in terms.items():
            if weight:
                for at in self._index.get(term, ())[-CANDIDATES_MAX:]:
                    shares[at] = shares.get(at, 0.0) + weight / whole
        for at, share in sorted(shares.items()):
            if share >= NEAR_MIN / 2:
                for _, said in outcome_words(self.source.statements[at]):
                    if share >= best[said].share:
                        best[said] = Near(share, at)
        return best[good], best[not good]

    def _weight(self, term: str) -> float:
        count = len(self._index.get(term, ()))
        everything = len(self.source.statements)
        return log((everything + 1) / count) if count else log(everything + 1)

    @cached_property
    def _index(self) -> dict[str, list[int]]:
        """The statements of each term, in order."""
        index: dict[str, list[int]] = {}
        for at, statement in enumerate(self.source.statements):
            for term in terms_of(statement):
                index.setdefault(term, []).append(at)
        return index

    @cached_property
    def _forms(self) -> dict[str, list[int]]:
        """The statements of each form."""
        forms: dict[str, list[int]] = {}
        for at, statement in enumerate(self.source.statements):
            forms.setdefault(form_of(statement), []).append(at)
        return forms

    @cached_property
    def _with_number(self) -> dict[str, list[int]]:
        """The statements of each number."""
        index: dict[str, list[int]] = {}
        for at, statement in enumerate(self.source.statements):
            # `app.py:12` is a place, not a dozen.
            for number in set(_DIGITS.findall(_PLACE.sub(" ", statement))):
                index.setdefault(number, []).append(at)
        return index


def terms_of(text: str) -> frozenset[str]:
    """Give what a statement is about: its names, and the stems of words that tell no outcome."""
    plain = _BAD.sub(" ", _GOOD.sub(" ", text))
    terms = {*names_in(plain), *_NUMBERED.findall(plain)}
    for word in _WORD.findall(plain.lower()):
        if _WIDE.match(word):
            terms.update(word[at : at + 2] for at in range(len(word) - 1))
        else:
            terms.add(word[:STEM_CHARS])
    return frozenset(terms)


def outcome_words(text: str) -> list[tuple[str, bool]]:
    """Give the words that tell how something went, each with whether it went well."""
    found = []
    for pattern, good in ((_GOOD, True), (_BAD, False)):
        for word in pattern.finditer(text):
            negated = _NOT.search(text[: word.start()]) is not None
            found.append((word[0], good is not negated))
    return found


def form_of(text: str) -> str:
    """Give a text's words, with one sign for every number and for every word of outcome."""
    return _plain(_BAD.sub("§", _GOOD.sub("§", re.sub(r"\d+", "#", text))))


def _plain(text: str) -> str:
    return " ".join(_SAID.findall(text.lower()))


def _neighbours(number: str, text: str) -> frozenset[str]:
    """Give the stems of the words right before and right after a number."""
    found: set[str] = set()
    for place in re.finditer(rf"(?<![\w.]){re.escape(number.rstrip('%'))}(?![\w]|\.\d)", text):
        after = _WORD.search(text[place.end() : place.end() + 24])
        before = _WORD.findall(text[max(place.start() - 24, 0) : place.start()])
        if after and after.start() <= 3:
            found.add(after[0].lower()[:STEM_CHARS])
        if before:
            found.add(before[-1].lower()[:STEM_CHARS])
    return frozenset(word for word in found if len(word) >= NEIGHBOUR_CHARS_MIN)


def _counts_itself(number: str, line: str) -> bool:
    """Tell whether a line lists as many things as it says."""
    if not number.isdigit() or not 1 < int(number) <= 30:
        return False
    listed = line.count("`") // 2
    commas = line.count(",") + line.count("、") + 1
    return int(number) in {listed, commas, line.count(" and ") + commas}
