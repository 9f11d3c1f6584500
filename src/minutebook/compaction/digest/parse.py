"""Read a summary of ours back into facts, so that it is carried on and not told again. Pure.

The lines are read by the very templates that wrote them (`phrases`), in whatever language.
A line that cannot be read is kept as a quote: nothing is lost for want of a pattern. A
summary that is not ours (another agent's, or a model's) is carried line by line.
"""

from __future__ import annotations

import re
from functools import lru_cache

from minutebook.compaction.digest.facts import (
    LISTED,
    Command,
    Facts,
    Failure,
    FileUse,
    Quote,
    add_quote,
)
from minutebook.compaction.digest.names import names_in
from minutebook.compaction.digest.statements import (
    cut,
    decision_weight,
    is_rule,
    open_items,
    unmarked,
)
from minutebook.compaction.phrases import ALL, SECTIONS, USES, Phrases
from minutebook.messages import Message

HEADING = "## "
ENTRY = "- "
CONTINUED = "  "

FOREIGN_LINE_CHARS_MAX = 500
"""How much of one line of a foreign summary is carried."""

_STATE = re.compile(r"\([\w -]{3,20}\)\Z")
"""How `gather` marks an entry of a to-do list: with its state."""
_PLACE = re.compile(r"\{(\w+)\}")
_STORED_WEIGHTS = {
    "task": 1.0,
    "requests": 1.0,
    "rules": 1.0,
    "focus": 1.0,
    "open": 1.0,
    "decisions": 2.0,
    "earlier": 1.0,
}
"""The sections of quotes, and what a quote that was once chosen weighs from then on."""


def read_summary(message: Message, facts: Facts) -> None:
    """Add what a summary says to *facts*; the caller has made sure that it is one."""
    text = message.text
    record = message.seq or 0
    for phrases in ALL:
        lead = _pattern(phrases.lead).match(text)
        if lead:
            facts.cover(int(lead["first"]), int(lead["last"]), int(lead["count"]))
            facts.told = max(facts.told, int(lead["last"]))
            current, before = "", 0
            for section, entry in _entries(text[lead.end() :], phrases):
                before = before if section == current else 0
                before = _read_entry(facts, phrases, section, entry, before)
                current = section
            return
    facts.cover(record, record, 1)
    facts.told = max(facts.told, record)
    lines = [unmarked(line) for line in text.split("\n") if sum(map(str.isalnum, line)) >= 3]
    for index, line in enumerate(lines):
        weight = _foreign_weight(line) * (1.5 if index * 3 >= len(lines) * 2 else 1.0)
        add_quote(facts.earlier, Quote(cut(line, FOREIGN_LINE_CHARS_MAX), record, weight))
    facts.meet(names_in(text), record, place="", own=False)


def has_lead(text: str) -> bool:
    """Tell whether a summary's text begins with our lead: then it can be read by its lines."""
    return any(_pattern(phrases.lead).match(text) for phrases in ALL)


def is_ledger(message: Message) -> bool:
    """Tell whether a message is a ledger of ours: its origin says notice, its lead the rest."""
    return message.origin == "notice" and any(
        message.text.startswith(phrases.ledger_lead.partition("{")[0]) for phrases in ALL
    )


def read_ledger(message: Message, facts: Facts) -> None:
    """Add what a ledger says to *facts*; the caller has made sure that it is one."""
    text = message.text
    for phrases in ALL:
        lead = _pattern(phrases.ledger_lead).match(text)
        if lead:
            for line in text[lead.end() :].split("\n"):
                if line.startswith(ENTRY):
                    _read_ledger_line(facts, phrases, line[len(ENTRY) :])
            return


def _read_ledger_line(facts: Facts, phrases: Phrases, line: str) -> None:
    """Add one line of a ledger to the facts that it is of."""
    for template, quotes, weight in (
        (phrases.ledger_rule, facts.rules, 1.0),
        (phrases.ledger_todo, facts.open, LISTED),
    ):
        found = _pattern(template.replace("{record}", phrases.record)).fullmatch(line)
        if found:
            add_quote(quotes, Quote(found["text"], int(found["n"]), weight))
            return
    if not _read_names(facts, phrases, line):
        _read_error(facts, phrases, line)


def _foreign_weight(line: str) -> float:
    """Rank a line of a summary that isn't ours: what decides, forbids or is open, before code.

    Its last third counts more (see the caller): summaries end with what is to be done.
    """
    if line[0] not in "*`\"'(" and not line[0].isalnum() and line.isascii():
        return 0.3
    if decision_weight(line) or is_rule(line) or open_items(line):
        return 2.0
    return 1.0 if len(line.split()) > 3 else 0.5


def _entries(text: str, phrases: Phrases) -> list[tuple[str, str]]:
    """Give (section, entry) of each entry; an entry may have several lines.

    The section is empty for what stands under a heading that isn't ours.
    """
    sections = {phrases.headings[section]: section for section in SECTIONS}
    found: list[tuple[str, str]] = []
    section: str | None = None
    for line in text.split("\n"):
        if line.startswith(HEADING):
            section = sections.get(line[len(HEADING) :].strip(), "")
        elif section is not None and line.startswith(ENTRY):
            found.append((section, line[len(ENTRY) :]))
        elif found and line.startswith(CONTINUED):
            found[-1] = (found[-1][0], f"{found[-1][1]}\n{line[len(CONTINUED) :]}")
    return found


def read_line(facts: Facts, phrases: Phrases, section: str, entry: str) -> bool:
    """Add an entry that a template has written to the facts of its section; False if none has."""
    readers = {
        "files": _read_file,
        "commands": _read_command,
        "errors": _read_error,
        "names": _read_names,
    }
    reader = readers.get(section)
    return reader is not None and reader(facts, phrases, entry)


def _read_entry(facts: Facts, phrases: Phrases, section: str, entry: str, before: int) -> int:
    """Add one entry to the facts of its section, and give the record that it stands in.

    A quote without a record is from the same one as the quote *before* it.
    """
    if read_line(facts, phrases, section, entry):
        return 0
    found = _pattern(f"{{text}} ({phrases.record})").fullmatch(entry)
    text, record = (found["text"], int(found["n"])) if found else (entry, before)
    quote = Quote(text, record, _STORED_WEIGHTS.get(section, 1.0))
    if section == "open" and _STATE.search(text):
        quote = Quote(text, record, LISTED)
    if section == "focus" and decision_weight(text):
        # On its page it stands once; the focus will be another one, the decision stays.
        add_quote(facts.decisions, quote)
    if section == "task":
        _read_task(facts, quote)
    elif section in _STORED_WEIGHTS:
        add_quote(getattr(facts, section), quote)
    else:
        add_quote(facts.earlier, quote)
    facts.meet(names_in(text), record, place="", own=section in {"focus", "decisions"})
    return record


def _read_task(facts: Facts, quote: Quote) -> None:
    """Take the task of an earlier summary, unless a kept message already tells it."""
    if facts.task is None:
        facts.task = quote
    elif facts.task.record != quote.record:
        add_quote(facts.requests, quote)


def _read_file(facts: Facts, phrases: Phrases, entry: str) -> bool:
    template = phrases.file.replace("{record}", phrases.record)
    line, note = _split_note(entry, phrases)
    found = _pattern(template).fullmatch(line)
    if found is None:
        return False
    counts = []
    for use in USES:
        count = re.search(_pattern(phrases.uses[use]).pattern, found["uses"])
        counts.append(int(count["n"]) if count else 0)
    path, record = found["path"], int(found["n"])
    facts.files[path] = FileUse(path, tuple(counts), record, note.strip("`"))
    facts.meet((path, *names_in(note)), record, place=path, own=True)
    return True


def _read_command(facts: Facts, phrases: Phrases, entry: str) -> bool:
    template = phrases.command.replace("{record}", phrases.record)
    line, rest = _split_note(entry, phrases)
    found = _pattern(template).fullmatch(line)
    if found is None:
        return False
    failed, outcome = 0, rest
    first, _, after = rest.partition(phrases.note)
    count = _pattern(phrases.failed).fullmatch(first)
    if count:
        failed, outcome = int(count["n"]), after
    command, record = found["command"], int(found["n"])
    facts.commands[command] = Command(command, int(found["runs"]), failed, record, outcome)
    facts.meet(names_in(command), record, place="", own=True)
    return True


def _read_error(facts: Facts, phrases: Phrases, entry: str) -> bool:
    template = phrases.error.replace("{record}", phrases.record) + phrases.note
    later = phrases.resolved.replace("{record}", phrases.record.replace("{n}", "{later}"))
    found = _pattern(template + later).fullmatch(entry)
    found = found or _pattern(template + phrases.unresolved).fullmatch(entry)
    if found is None:
        return False
    text, source, record = found["text"], found["source"], int(found["n"])
    resolved = int(found.groupdict().get("later") or 0)
    facts.errors[source] = Failure(text, source, record, resolved)
    facts.meet(names_in(text), record, place="", own=False)
    return True


def _read_names(facts: Facts, phrases: Phrases, entry: str) -> bool:
    for template, own in (
        (phrases.names_used, True),
        (phrases.loose_names_used, True),
        (phrases.names, False),
        (phrases.loose_names, False),
    ):
        found = _pattern(template.replace("{record}", phrases.record)).fullmatch(entry)
        if found:
            place = found.groupdict().get("place", "")
            names = found["names"].split(phrases.comma)
            times = int(found["times"])
            facts.meet(names, int(found["n"]), place=place, own=own, times=times)
            return True
    return False


def _split_note(entry: str, phrases: Phrases) -> tuple[str, str]:
    """Give a line and what follows its first note mark outside of the quoted beginning."""
    after = entry.find("`", 1) + 1
    mark = entry.find(phrases.note, after)
    if mark < 0:
        return entry, ""
    return entry[:mark], entry[mark + len(phrases.note) :]


@lru_cache(maxsize=128)
def _pattern(template: str) -> re.Pattern[str]:
    """Turn a template into the pattern of what it writes; numbers are read as numbers."""
    numbers = {"n", "later", "first", "last", "count", "runs", "times"}
    pieces = []
    at = 0
    for place in _PLACE.finditer(template):
        inner = r"\d+" if place[1] in numbers else ".+?"
        pieces += [re.escape(template[at : place.start()]), f"(?P<{place[1]}>{inner})"]
        at = place.end()
    pieces.append(re.escape(template[at:]))
    return re.compile("".join(pieces), re.DOTALL)
