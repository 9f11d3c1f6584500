"""Check a digest word by word: what it quotes and what it has counted. Pure.

A digest is written by rule, so each of its lines can be worked out again: its counts from the
facts of the messages that it covers, its quotes from their words. A line that comes out
otherwise was changed, or is of another conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from minutebook.compaction.digest.entries import code, short_place
from minutebook.compaction.digest.facts import Facts
from minutebook.compaction.digest.gather import gather
from minutebook.compaction.digest.parse import CONTINUED, ENTRY, HEADING, read_line
from minutebook.compaction.doubts import Doubt, SummaryChecks
from minutebook.compaction.phrases import ALL, SECTIONS, Phrases
from minutebook.compaction.source import Source
from minutebook.messages import Message

_CUT = re.compile(r"\[…\d+…\]|…|: ")
_ESCAPE = re.compile(r"\\[nrt]")
_WORD = re.compile(r"\w+")
_STATE = re.compile(r" \([\w -]{3,20}\)\Z")


def check_digest(text: str, covered: Sequence[Message]) -> SummaryChecks:
    """Check a digest against the messages that it covers, earlier summaries among them."""
    return DigestChecker(covered).check(text)


class DigestChecker:
    """Checks digests against the messages that they cover, which are read once."""

    def __init__(self, covered: Sequence[Message]) -> None:
        """Read what is covered."""
        self._facts = gather(covered)
        self._quotes = {phrases.language: _Quotes(covered, phrases) for phrases in ALL}

    def check(self, text: str) -> SummaryChecks:
        """Give the doubts about a digest; of a text that is none every line is doubted."""
        phrases = next((one for one in ALL if text.startswith(one.lead.partition("{")[0])), None)
        if phrases is None:
            lines = [line for line in text.split("\n") if line.strip()]
            doubts = [Doubt(kind="quote", what=line, line=at) for at, line in enumerate(lines, 1)]
            return SummaryChecks(lines=len(lines), doubts=tuple(doubts))
        quotes = self._quotes[phrases.language]
        found: list[Doubt] = []
        entries = list(_entries(text, phrases))
        twice = _named_twice(entries, phrases)
        for at, section, entry in entries:
            if at in twice or not _holds(section, entry, self._facts, quotes, phrases):
                found.append(Doubt(kind="quote", what=entry, line=at))
        return SummaryChecks(lines=len(entries), doubts=tuple(found))


def _named_twice(entries: Sequence[tuple[int, str, str]], phrases: Phrases) -> set[int]:
    """Give the lines of names that share one: on a page each name stands once."""
    first: dict[str, int] = {}
    twice: set[int] = set()
    for at, section, entry in entries:
        told = Facts()
        if section != "names" or not read_line(told, phrases, section, entry):
            continue
        counts = [stat.uses + stat.sights for stat in told.names.values()]
        if max(counts) > min(counts):
            # A name that the line has twice counts twice.
            twice.add(at)
        for name in told.names:
            if name in first:
                twice |= {at, first[name]}
            first[name] = at
    return twice


def _entries(text: str, phrases: Phrases) -> Iterator[tuple[int, str, str]]:
    """Give (line, section, entry) of the lead, each heading and each entry of a digest."""
    sections = {phrases.headings[section]: section for section in SECTIONS}
    section, start, entry = "lead", 1, ""
    for at, line in enumerate(text.split("\n"), 1):
        if line.startswith(CONTINUED) and entry:
            entry += f"\n{line[len(CONTINUED) :]}"
            continue
        if entry:
            yield start, section, entry
        start, entry = at, ""
        if line.startswith(HEADING):
            section = sections.get(line[len(HEADING) :].strip(), "")
            if not section:
                yield at, "", line
        elif line.startswith(ENTRY):
            entry = line[len(ENTRY) :]
        elif line.strip():
            yield at, "lead", line
    if entry:
        yield start, section, entry


def _holds(section: str, entry: str, facts: Facts, quotes: _Quotes, phrases: Phrases) -> bool:
    """Tell whether an entry can be worked out from the facts and words of the source."""
    if section == "lead":
        return entry == phrases.lead.format(first=facts.first, last=facts.last, count=facts.count)
    told = Facts()
    if section and read_line(told, phrases, section, entry):
        return _counted(told, facts)
    if section == "open":
        # An entry of a to-do list has its state, which no message says in these words.
        return quotes.bare(entry) in {quote.text for quote in facts.open}
    return bool(section) and quotes.stands(entry)


def _counted(told: Facts, facts: Facts) -> bool:
    """Tell whether the counts of one line are those of the facts."""
    if told.files:
        (use,) = told.files.values()
        known = facts.files.get(use.path)
        return known is not None and (use.counts, use.record, use.note) == (
            known.counts,
            known.record,
            code(known.note),
        )
    if told.commands:
        (run,) = told.commands.values()
        return any(
            (run.runs, run.failures, run.record, run.outcome)
            == (known.runs, known.failures, known.record, known.outcome)
            for command, known in facts.commands.items()
            if code(command) == run.command
        )
    if told.errors:
        (failure,) = told.errors.values()
        return any(
            (failure.text, failure.source, failure.record, failure.resolved)
            == (known.text, code(known.source), known.record, known.resolved)
            for known in facts.errors.values()
        )
    return _named(told, facts)


def _named(told: Facts, facts: Facts) -> bool:
    """Tell whether the names of one line are known, as often and as late as it says."""
    known = [facts.names[name] for name in told.names if name in facts.names]
    if len(known) < len(told.names):
        return False
    times = sum(stat.uses or stat.sights for stat in known) / max(len(known), 1)
    said = {stat.uses or stat.sights for stat in told.names.values()}
    records = {stat.record for stat in told.names.values()}
    places = {stat.place for stat in told.names.values()} - {""}
    if places and places != {code(short_place(stat.place)) for stat in known}:
        return False
    return said == {max(round(times), 1)} and records == {max(stat.record for stat in known)}


class _Quotes:
    """The words of a source, for looking up what is quoted from it."""

    def __init__(self, covered: Sequence[Message], phrases: Phrases) -> None:
        self._words = f" {' '.join(_WORD.findall(Source(covered).text))} "
        self._record = re.compile(
            r"\(" + re.escape(phrases.record).replace(r"\{n\}", r"(\d+)") + r"\)\Z"
        )
        self._tools = {call.name for message in covered for call in message.calls}
        self._records = {message.seq for message in covered}

    def bare(self, entry: str) -> str:
        """Give an entry without the record that it names."""
        return self._record.sub("", entry).rstrip()

    def stands(self, entry: str) -> bool:
        """Tell whether every piece of a quote stands in the source, and its record is there."""
        record = self._record.search(entry)
        if record and int(record[1]) not in self._records:
            return False
        text = self.bare(entry)
        for piece in _CUT.split(_STATE.sub("", text.strip())):
            words = " ".join(_WORD.findall(_ESCAPE.sub(" ", piece)))
            # A call is quoted as its tool's name and its subject, which the source has apart.
            tool, _, subject = words.partition(" ")
            if words not in self._words and not (tool in self._tools and subject in self._words):
                return False
        return True
