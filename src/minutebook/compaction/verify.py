"""Check a planned history from both sides, before it is committed. Pure.

From the old history's side: pins word for word, exchanges whole, and every reference, to-do
entry and directive that the task or the newest part still uses there to be read. From the
new summary's side, where it came from outside: names, numbers and outcomes that its source
doesn't bear out, and its language.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from minutebook.compaction.digest.facts import LISTED, Facts
from minutebook.compaction.digest.gather import gather
from minutebook.compaction.shown import Shown, needed_names
from minutebook.messages import Message
from minutebook.turns import pair

if TYPE_CHECKING:
    from minutebook.compaction.doubts import Doubt
    from minutebook.compaction.plan import Request

NEEDED_WEIGHT = 0.4
"""What the score loses if nothing that is still used can be read any more."""

DOUBTS_WEIGHT = 0.5
"""What it loses if every line of a summary from outside is doubtful."""

LANGUAGE_WEIGHT = 0.1
"""What it loses for a summary in another language than the conversation's."""

LISTED_MAX = 20
"""How many of each kind are named; more are counted."""


class Checks(Struct, frozen=True, kw_only=True):
    """What a planned history was checked for, and what came of it."""

    score: float
    """From 0 to 1. 0 if a pin is not word for word or an exchange is split; else 1 less what
    is missing and doubted, each by its weight."""
    pins: int
    """How many pinned messages there are."""
    pins_lost: tuple[int, ...] = ()
    """The `seq` of those that are not there word for word."""
    exchanges_split: tuple[int, ...] = ()
    """The `seq` of calls whose results are not all where they were."""
    needed: int = 0
    """How many references, to-do entries and directives are still in use."""
    needed_lost: tuple[str, ...] = ()
    """Those that can be read nowhere any more; at most `LISTED_MAX` are named."""
    needed_lost_count: int = 0
    lines: int = 0
    """How many lines the summary from outside has; 0 without one."""
    doubts: tuple[Doubt, ...] = ()
    """What its source doesn't bear out; at most `LISTED_MAX` are named."""
    doubtful_lines: int = 0
    language: str = ""
    """The conversation's language by its English name; empty if it isn't clear."""
    summary_language: str = ""
    """The language of the summary from outside; empty if it isn't clear or there is none."""

    @property
    def language_matches(self) -> bool:
        """Whether the summary is in the conversation's language, as far as can be told."""
        return (
            not self.language or not self.summary_language or self.language == self.summary_language
        )

    @property
    def parts(self) -> dict[str, Any]:
        """The checks as plain values, for the report and the `_compaction` record."""
        return {
            "score": round(self.score, 3),
            "pins": self.pins,
            "pins_lost": list(self.pins_lost),
            "exchanges_split": list(self.exchanges_split),
            "needed": self.needed,
            "needed_lost": list(self.needed_lost),
            "needed_lost_count": self.needed_lost_count,
            "lines": self.lines,
            "doubtful_lines": self.doubtful_lines,
            "doubts": [
                {"kind": doubt.kind, "what": doubt.what, "line": doubt.line}
                for doubt in self.doubts
            ],
            "language": self.language,
            "summary_language": self.summary_language,
        }


def verify(request: Request, history: Sequence[Message], facts: Facts | None = None) -> Checks:
    """Check *history*, which is to take the place of the request's.

    *facts* are those of the request's history, if they are at hand. Linear in both histories,
    beside the check of a summary from outside (see `doubts`).
    """
    there: dict[int | None, Message] = {
        message.seq: message for message in history if message.seq is not None
    }
    lost = tuple(
        message.seq or 0
        for message in request.history
        if message.seq in request.pins and not _same(there.get(message.seq), message)
    )
    split = _split(request.history, there)
    known = gather(request.history) if facts is None else facts
    needed, missing = _needed(request.history, history, known)
    pins = sum(message.seq in request.pins for message in request.history)
    checks = Checks(
        score=_score(lost, split, len(missing), needed, 0.0, other_language=False),
        pins=pins,
        pins_lost=lost,
        exchanges_split=split,
        needed=needed,
        needed_lost=tuple(missing[:LISTED_MAX]),
        needed_lost_count=len(missing),
    )
    return checks if request.summary is None else _with_summary(request, history, checks)


def _with_summary(request: Request, history: Sequence[Message], checks: Checks) -> Checks:
    """Add what came of checking the summary from outside, if it was used."""
    from msgspec import structs

    from minutebook.compaction.doubts import check_summary
    from minutebook.compaction.language import guess, language_of

    written = request.summary
    used = written is not None and any(
        message.seq is None and written.text.strip() in message.text for message in history
    )
    if written is None or not used:
        return checks
    # What it tells of messages that are kept is told truly, too.
    found = check_summary(written.text, request.history)
    checks = structs.replace(
        checks,
        lines=found.lines,
        doubts=found.doubts[:LISTED_MAX],
        doubtful_lines=found.doubtful_lines,
        language=language_of(request.history),
        summary_language=guess([written.text]),
    )
    share = found.doubtful_lines / found.lines if found.lines else 1.0
    score = _score(
        checks.pins_lost,
        checks.exchanges_split,
        checks.needed_lost_count,
        checks.needed,
        share,
        other_language=not checks.language_matches,
    )
    return structs.replace(checks, score=score)


def _score(
    pins_lost: Sequence[int],
    split: Sequence[int],
    missing: int,
    needed: int,
    doubtful: float,
    *,
    other_language: bool,
) -> float:
    if pins_lost or split:
        return 0.0
    lost = missing / needed if needed else 0.0
    return max(
        0.0,
        1.0 - NEEDED_WEIGHT * lost - DOUBTS_WEIGHT * doubtful - LANGUAGE_WEIGHT * other_language,
    )


def _same(now: Message | None, before: Message) -> bool:
    """Tell whether a message is there word for word."""
    return now is before or (
        now is not None
        and (now.role, now.parts, now.calls, now.tool_call_id)
        == (before.role, before.parts, before.calls, before.tool_call_id)
    )


def _split(before: Sequence[Message], there: dict[int | None, Message]) -> tuple[int, ...]:
    """Give the calls that stand without a result that they had, or the other way round."""
    wrong = {
        before[head].seq or 0
        for (head, _), result in pair(before).results.items()
        if (before[head].seq in there) != (before[result].seq in there)
    }
    return tuple(sorted(wrong))


def _needed(
    before: Sequence[Message], after: Sequence[Message], facts: Facts
) -> tuple[int, list[str]]:
    """Count what is still in use, and give what of it can be read nowhere any more."""
    shown = Shown(after)
    names = needed_names(before)
    missing = sorted(name for name in names if name not in shown.names and not shown.says(name))
    quotes = [quote.text for quote in facts.rules]
    quotes += [
        quote.text.rpartition(" (")[0] or quote.text
        for quote in facts.open
        if quote.weight >= LISTED
    ]
    missing += [text for text in quotes if not shown.quotes(text)]
    return len(names) + len(quotes), missing
