"""A page with a token budget, filled line by line. Pure but for the page itself.

The page belongs to one `render` and is handed out to nobody.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from minutebook.compaction.digest.names import names_in
from minutebook.compaction.digest.parse import CONTINUED, ENTRY, HEADING
from minutebook.compaction.phrases import SECTIONS, Phrases
from minutebook.tokens.estimate import estimate_text

ALWAYS = frozenset(("task", "rules"))
"""What a person said to hold from then on doesn't get coarser."""


class Line(Struct, frozen=True, gc=False):
    """A line that may be written."""

    text: str
    record: int
    worth: float
    order: int = 0
    """Its place among the lines of its section, which decides between equal records."""
    brief: str = ""
    """A shorter form, where there is one."""


class Page:
    """The lines that were chosen so far, and the room that is left."""

    def __init__(self, lead: str, phrases: Phrases, budget_tokens: int) -> None:
        """Begin a page with its first line."""
        self.left = budget_tokens - estimate_text(lead)
        """The tokens that are left; below 0 if not even the lead fits."""
        self.told = 0
        """Lines up to this record were told by an earlier summary."""
        self.left_for_told = budget_tokens
        """What such lines may still take."""
        self._lead = lead
        self._phrases = phrases
        self._budget_tokens = budget_tokens
        self._chosen: dict[str, list[Line]] = {section: [] for section in SECTIONS}
        self._said: set[str] = set()

    def fill(self, section: str, lines: Iterable[Line], quota_tokens: int) -> None:
        """Add the most worthy lines that fit the quota and are on no part of the page yet."""
        left = quota_tokens
        for line in sorted(lines, key=lambda line: -line.worth):
            before = self.left
            if line.text in self._said:
                continue
            if self.add(section, line, left) or self._add_brief(section, line, left):
                self._said.add(line.text)
                left -= before - self.left

    def add(self, section: str, line: Line, quota_tokens: int | None = None) -> bool:
        """Add one line if it fits the quota, the page, and what earlier lines may take."""
        cost = estimate_text(f"\n{ENTRY}{line.text}")
        if not self._chosen[section]:
            cost += estimate_text(f"\n\n{HEADING}{self._phrases.headings[section]}")
        if cost > self.left or (quota_tokens is not None and cost > quota_tokens):
            return False
        if line.record <= self.told and section not in ALWAYS:
            if cost > self.left_for_told:
                return False
            self.left_for_told -= cost
        self._chosen[section].append(line)
        self.left -= cost
        return True

    def texts(self) -> list[str]:
        """Give the texts of all lines on the page."""
        return [line.text for lines in self._chosen.values() for line in lines]

    def names(self) -> set[str]:
        """Give the names that stand on the page."""
        return {name for text in self.texts() for name in names_in(text)}

    def finish(self) -> str:
        """Put the page together; the lines of a section stand in the order of their records.

        Together the lines may take a little more than one by one: then the least worthy of
        the longest section goes, until the page is within its budget.
        """
        text = self._write()
        while estimate_text(text) > self._budget_tokens and self.texts():
            longest = max(self._chosen.values(), key=len)
            longest.remove(min(longest, key=lambda line: line.worth))
            text = self._write()
        return text

    def _add_brief(self, section: str, line: Line, quota_tokens: int) -> bool:
        if not line.brief:
            return False
        short = Line(line.brief, line.record, line.worth, line.order)
        return self.add(section, short, quota_tokens)

    def _write(self) -> str:
        blocks = [self._lead]
        for section, chosen in self._chosen.items():
            if chosen:
                heading = f"{HEADING}{self._phrases.headings[section]}"
                entries = [
                    ENTRY + text.replace("\n", f"\n{CONTINUED}") for text in self._said_once(chosen)
                ]
                blocks.append("\n".join([heading, *entries]))
        return "\n\n".join(blocks)

    def _said_once(self, chosen: list[Line]) -> list[str]:
        """Give the lines' texts in order; of quotes from one record only the first says which."""
        texts = []
        before = 0
        for line in sorted(chosen, key=lambda line: (line.record, line.order)):
            ending = f" ({self._phrases.record.format(n=line.record)})"
            repeated = line.record == before and line.text.endswith(ending)
            texts.append(line.text.removesuffix(ending) if repeated else line.text)
            before = line.record
        return texts
