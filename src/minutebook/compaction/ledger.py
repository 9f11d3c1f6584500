"""The ledger: exact words that a compaction carries on by rule, in a message beside the summary.

Whoever writes the summary, a model or the digest, exact words may get lost in it. So the last
thing that a compaction does is to look through everything that it was given for what stands
nowhere in the new history any more: a person's directives, entries of the to-do list, errors
that were not solved, and references (paths, identifiers, numbers, links, ids). What the task
and the newest part name comes first; of the rest, what is most likely to be used again.

A ledger is a message of its own with the origin `notice`. The next compaction reads it back
and writes a new one; it is never given to a model to be retold. Its lines are sentences, with
more ordinary words than references. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from minutebook.compaction.digest.entries import (
    error_lines,
    focus_terms,
    name_lines,
    nearer_names,
    rank_names,
)
from minutebook.compaction.digest.facts import LISTED, Facts, NameStat, Quote
from minutebook.compaction.digest.names import told_in
from minutebook.compaction.digest.page import Line
from minutebook.compaction.digest.parse import ENTRY, is_ledger
from minutebook.compaction.digest.statements import cut
from minutebook.compaction.plan import MADE, Draft, Goal, Item, made
from minutebook.compaction.shown import Shown, needed_names
from minutebook.messages import Message
from minutebook.tokens.estimate import MESSAGE_OVERHEAD_TOKENS, estimate_text
from minutebook.turns import cuts

if TYPE_CHECKING:
    from minutebook.compaction.phrases import Phrases

__all__ = ["LEDGER_TOKENS_MAX", "is_ledger", "ledger_room", "with_ledger", "without_ledgers"]

LEDGER_TOKENS_MAX = 6_000
"""A ledger is not larger, however large the target: with the room that there is then, what is
used again stands in messages that are kept."""

LEDGER_TOKENS_MIN = 60
"""For less the lead alone isn't worth it."""

NAME_TOKENS = 7
"""About what a name takes, with its share of its line's words."""

QUOTE_TOKENS = 40
"""About what a directive, an entry or an error takes."""

QUOTES_SHARE_MAX = 0.3
"""Directives, to-do entries and errors together take at most this share of the ledger."""

QUOTE_CHARS_MAX = 200
"""How much of one directive, entry or error is quoted."""

NEEDED_FACTOR = 1_000.0
"""By what a reference's worth is multiplied that the task or the newest part names."""


def ledger_room(facts: Facts, room_tokens: int, share: float) -> int:
    """Give what a ledger of these facts may take: no more than it can use."""
    most = min(int(room_tokens * share), LEDGER_TOKENS_MAX)
    quotes = len(facts.rules) + len(facts.open) + len(facts.errors)
    wanted = LEDGER_TOKENS_MIN + NAME_TOKENS * len(facts.names) + QUOTE_TOKENS * quotes
    return max(min(most, wanted), 0)


def without_ledgers(draft: Draft) -> Draft:
    """Give the draft without the ledgers of earlier compactions: a new one takes their place."""
    items = [item for item in draft.items if not is_ledger(item.message) or draft.guarded(item)]
    return draft if len(items) == len(draft.items) else draft.replaced(items)


def with_ledger(draft: Draft, goal: Goal, room_tokens: int) -> tuple[Draft, str]:
    """Add the ledger of a draft, in at most *room_tokens*, and say what is in it.

    The same draft and nothing to say if there is nothing that it lacks, or no room.
    """
    if goal.facts is None or room_tokens < LEDGER_TOKENS_MIN:
        return draft, ""
    text = write(goal.facts, draft, goal, room_tokens - MESSAGE_OVERHEAD_TOKENS)
    if not text:
        return draft, ""
    item = made(Message(role="user", content=text, origin="notice"))
    entries = text.count(f"\n{ENTRY}")
    return draft.replaced(_insert(draft, item)), f"{entries} lines of exact words are carried on"


def write(facts: Facts, draft: Draft, goal: Goal, room_tokens: int) -> str:
    """Write what *facts* know and the draft doesn't show; empty if that is nothing."""
    phrases = goal.phrases
    lead = phrases.ledger_lead.format(first=facts.first, last=facts.last)
    left = room_tokens - estimate_text(lead)
    shown = Shown(draft.messages)
    lines: list[str] = []
    quotes_left = int(left * QUOTES_SHARE_MAX)
    for line in _quotes(facts, shown, phrases):
        cost = estimate_text(f"\n{ENTRY}{line}")
        if cost <= quotes_left:
            lines.append(line)
            quotes_left -= cost
            left -= cost
    told = shown.names | {name for line in lines for name in told_in(line)}
    needed = needed_names(draft.request.history)
    ranked = rank_names(facts, said=told, visible=(), focus=focus_terms(draft.request.focus))
    if goal.relevance is not None:
        ranked = nearer_names(ranked, goal.relevance)
    ranked = [
        (worth * (NEEDED_FACTOR if stat.name in needed else 1.0), stat) for worth, stat in ranked
    ]
    for named in _by_worth(ranked, phrases, left):
        cost = estimate_text(f"\n{ENTRY}{named.text}")
        if cost <= left:
            lines.append(named.text)
            left -= cost
    # Each line was rounded by itself: together they may take a token more than their sum.
    while lines and estimate_text(_page(lead, lines)) > room_tokens:
        lines.pop()
    return _page(lead, lines) if lines else ""


def _page(lead: str, lines: Sequence[str]) -> str:
    return "\n".join([lead, *(f"{ENTRY}{line}" for line in lines)])


def _quotes(facts: Facts, shown: Shown, phrases: Phrases) -> Iterator[str]:
    """Give the lines of directives, to-do entries and unsolved errors, the newest first."""
    for quote in reversed(facts.rules):
        if not shown.quotes(quote.text):
            yield _quoted(quote, phrases.ledger_rule, phrases)
    for quote in facts.open:
        if quote.weight >= LISTED and not shown.quotes(
            quote.text.rpartition(" (")[0] or quote.text
        ):
            yield _quoted(quote, phrases.ledger_todo, phrases)
    open_errors = Facts(
        errors={
            source: failure
            for source, failure in facts.errors.items()
            if not failure.resolved and not shown.says(failure.text)
        }
    )
    for line in sorted(error_lines(open_errors, phrases), key=lambda line: -line.record):
        yield line.text


def _quoted(quote: Quote, template: str, phrases: Phrases) -> str:
    text = cut(" ".join(quote.text.split()), QUOTE_CHARS_MAX)
    return template.format(text=text, record=phrases.record.format(n=quote.record))


def _by_worth(
    ranked: Sequence[tuple[float, NameStat]], phrases: Phrases, room_tokens: int
) -> list[Line]:
    """Give lines of names, those worth most first."""
    ordered = sorted(ranked, key=lambda pair: (-pair[0], pair[1].name))
    return name_lines(ordered, phrases, room_tokens)


def _insert(draft: Draft, item: Item) -> list[Item]:
    """Put the ledger behind the summary, else behind what was shortened last, else first.

    It splits no exchange and stands before what is not answered yet.
    """
    items = list(draft.items)
    history = draft.request.history
    places = [
        at
        for at, other in enumerate(items)
        if other.source == MADE or other.message is not history[other.source]
    ]
    summaries = [at for at in places if items[at].message.origin == "summary"]
    last_reply = max(
        (at for at, other in enumerate(items) if other.message.role == "assistant"), default=0
    )
    wanted = min(max(summaries or places, default=-1) + 1, last_reply)
    place = max(cut_ for cut_ in cuts([other.message for other in items]) if cut_ <= wanted)
    return [*items[:place], item, *items[place:]]
