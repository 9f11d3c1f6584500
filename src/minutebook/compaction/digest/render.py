"""Write facts as a digest that fits a token budget. Pure: equal facts give equal text.

First the task, then each section gets its share of the budget, filled by worth; then the
names that stand in no line so far get what is left, and last any lines that still fit.
"""

from __future__ import annotations

from collections.abc import Collection

from minutebook.compaction.digest.entries import (
    command_lines,
    error_lines,
    file_lines,
    focus_terms,
    name_lines,
    nearer,
    nearer_names,
    quote_line,
    rank_names,
    weighed,
)
from minutebook.compaction.digest.facts import Facts, Quote
from minutebook.compaction.digest.page import Line, Page
from minutebook.compaction.digest.statements import quoted
from minutebook.compaction.phrases import Phrases
from minutebook.compaction.relevance import Relevance

SHARES = {
    "rules": 0.12,
    "focus": 0.08,
    "open": 0.08,
    "requests": 0.18,
    "errors": 0.08,
    "files": 0.18,
    "decisions": 0.14,
    "commands": 0.06,
    "earlier": 0.25,
}
"""What each section may take of the budget at first, in the order in which they are filled.
What one leaves over is the names', who have no share of their own."""

QUOTA_TOKENS_MIN = 80
"""In a small digest each section may still take a line or two, the first ones first."""

NAMES_SHARE = 0.6
"""What the names may take at first; what the other sections leave after that, they may too."""

NAME_WORTH_MIN = 0.05
"""Names of less worth come after all else: numbers that only an output held, say."""

EARLIER_SHARE = 0.40
"""What earlier summaries told takes at most this share of a new one, while there is anything
newer to tell: from one compaction to the next, what is old gets coarser. Each line still names
the record that it is from."""

TASK_SHARE = 0.15
"""What the task may take of the budget, before all others."""

TASK_CHARS = (1_200, 600, 300, 150, 80)
"""How much of the task is quoted: the first of these that fits its share."""


def render(
    facts: Facts,
    budget_tokens: int,
    phrases: Phrases,
    *,
    focus: str = "",
    visible: Collection[str] = (),
    relevance: Relevance | None = None,
) -> str:
    """Write *facts* in at most *budget_tokens* tokens; empty if not even the lead fits.

    Names in *visible* stand in messages that are kept, and are worth little here.
    """
    lead = phrases.lead.format(first=facts.first, last=facts.last, count=facts.count)
    page = Page(lead, phrases, budget_tokens)
    if page.left < 0:
        return ""
    _add_task(page, facts, phrases, max(int(budget_tokens * TASK_SHARE), QUOTA_TOKENS_MIN))
    page.told, page.left_for_told = facts.told, int(budget_tokens * EARLIER_SHARE)
    terms = focus_terms(focus)
    lines = _lines(facts, phrases, terms)
    if relevance is not None:
        lines = {section: nearer(found, relevance) for section, found in lines.items()}
    for section, share in SHARES.items():
        page.fill(section, lines[section], max(int(budget_tokens * share), QUOTA_TOKENS_MIN))
    names = rank_names(facts, said=page.names(), visible=frozenset(visible), focus=terms)
    if relevance is not None:
        names = nearer_names(names, relevance)
    worthy = [(worth, stat) for worth, stat in names if worth >= NAME_WORTH_MIN]
    page.fill("names", name_lines(worthy, phrases, page.left), int(budget_tokens * NAMES_SHARE))
    # What the newer part has left over, the older one may take after all.
    page.left_for_told = page.left
    for section in SHARES:
        page.fill(section, lines[section], page.left)
    said = page.names()
    rest = [(worth, stat) for worth, stat in names if stat.name not in said]
    page.fill("names", name_lines(rest, phrases, page.left), page.left)
    return page.finish()


def _add_task(page: Page, facts: Facts, phrases: Phrases, quota_tokens: int) -> None:
    """Write the task, as much of it as fits its share."""
    if facts.task is None:
        return
    for chars_max in TASK_CHARS:
        quote = Quote(quoted(facts.task.text, chars_max), facts.task.record)
        if page.add("task", quote_line(quote, phrases), quota_tokens):
            return


def _lines(facts: Facts, phrases: Phrases, focus: Collection[str]) -> dict[str, list[Line]]:
    """Write every fact but the task and the names as a line of its section."""
    quotes: dict[str, list[Quote]] = {
        "rules": facts.rules,
        "focus": facts.focus,
        "open": facts.open,
        "requests": facts.requests,
        "decisions": facts.decisions,
        "earlier": facts.earlier,
    }
    found = {
        section: [quote_line(quote, phrases) for quote in held] for section, held in quotes.items()
    }
    found["files"] = file_lines(facts, phrases)
    found["commands"] = command_lines(facts, phrases)
    found["errors"] = error_lines(facts, phrases)
    return {
        section: [weighed(line, order, facts.last, focus) for order, line in enumerate(lines)]
        for section, lines in found.items()
    }
