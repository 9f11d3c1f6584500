"""Write each fact as a line, with its worth. Pure.

What is newer, what the assistant itself used, and what shares words with the focus is worth
more. A name never stands alone: its line says in a sentence where it was met, and has at
least as many words of ours as names, since a bare list tells a reader nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise
from math import log, log2, sqrt

from minutebook.compaction.digest.facts import Facts, NameStat, Quote
from minutebook.compaction.digest.names import kind_of, names_in
from minutebook.compaction.digest.page import Line
from minutebook.compaction.digest.statements import quoted
from minutebook.compaction.phrases import USES, Phrases
from minutebook.compaction.relevance import Relevance
from minutebook.tokens.estimate import estimate_text

HALF_LIFE_RECORDS = 60
"""After so many records a fact is worth half. On ten real sessions the share of names
that are used again falls from 0.7 at once to a half after 30 messages and a quarter after
120."""

BRIEF_CHARS = 160
"""How much of a quote is written where the whole doesn't fit."""

NAME_TOKENS = 5
"""About what a name and its comma take; only bounds how many are looked at."""

KIND_WEIGHTS = {"number": 0.15, "id": 0.6, "url": 0.8}
"""Of the references of real sessions, so much less often than identifiers and paths were
numbers, hashes and links used again."""

CHANGES = ("write", "edit", "delete", "move")

CROWD_NAMES = 300
"""A place with three times as many names halves what each of them is worth."""

FOCUS_WEIGHT = 20.0
"""A focus is a wish that somebody has spoken, so it outweighs the age of a whole session."""

TASK_WEIGHT = 15.0
"""By what the worth of names is multiplied that were met in a file which the task names: it is
what the work is about, however long ago it was read. From 8 on every recorded session keeps
three quarters of what it uses later, at 10 to 20 alike."""

VISIBLE_WEIGHT = 0.1
"""What a name is worth that stands in a message which is kept."""


def quote_line(quote: Quote, phrases: Phrases) -> Line:
    """Write somebody's words and the record that they stand in."""
    ending = f" ({phrases.record.format(n=quote.record)})" if quote.record else ""
    brief = quoted(quote.text, BRIEF_CHARS)
    return Line(
        f"{quote.text}{ending}",
        quote.record,
        quote.weight,
        brief=f"{brief}{ending}" if brief != quote.text else "",
    )


def file_lines(facts: Facts, phrases: Phrases) -> list[Line]:
    """Write what was done to each file; a change counts thrice as much as a look."""
    lines = []
    for use in facts.files.values():
        uses = phrases.comma.join(
            phrases.uses[name].format(n=count)
            for name, count in zip(USES, use.counts, strict=True)
            if count
        )
        record = phrases.record.format(n=use.record)
        text = phrases.file.format(path=code(use.path), uses=uses, record=record)
        if use.note:
            text += f"{phrases.note}`{code(use.note)}`"
        by_name = dict(zip(USES, use.counts, strict=True))
        changed = sum(by_name[name] for name in CHANGES)
        worth = 0.3 + log2(1 + by_name["read"]) + 3 * log2(1 + changed)
        lines.append(Line(text, use.record, worth))
    return lines


def command_lines(facts: Facts, phrases: Phrases) -> list[Line]:
    """Write how often each command ran, how often it failed, and how it ended last."""
    lines = []
    for run in facts.commands.values():
        record = phrases.record.format(n=run.record)
        parts = [phrases.command.format(command=code(run.command), runs=run.runs, record=record)]
        if run.failures:
            parts.append(phrases.failed.format(n=run.failures))
        if run.outcome:
            parts.append(run.outcome)
        worth = log2(1 + run.runs) + bool(run.outcome) + bool(run.failures)
        lines.append(Line(phrases.note.join(parts), run.record, worth))
    return lines


def error_lines(facts: Facts, phrases: Phrases) -> list[Line]:
    """Write each error and whether the same thing worked later; the open ones count more."""
    lines = []
    for failure in facts.errors.values():
        record = phrases.record.format(n=failure.record)
        text = phrases.error.format(text=failure.text, source=code(failure.source), record=record)
        later = phrases.record.format(n=failure.resolved)
        ending = phrases.resolved.format(record=later) if failure.resolved else phrases.unresolved
        worth = 1.0 if failure.resolved else 4.0
        lines.append(Line(f"{text}{phrases.note}{ending}", failure.record, worth))
    return lines


def rank_names(
    facts: Facts, *, said: Collection[str], visible: Collection[str], focus: Collection[str]
) -> list[tuple[float, NameStat]]:
    """Give the names that stand in no line so far (*said*), each with its worth, best first."""
    ranked = []
    places = _place_worths(facts)
    for stat in facts.names.values():
        if stat.name not in said:
            place = places.get(_file_name(stat.place), 1.0)
            worth = _name_worth(stat, facts.last) * place * focused(stat.name, focus)
            ranked.append((worth * (VISIBLE_WEIGHT if stat.name in visible else 1.0), stat))
    return sorted(ranked, key=lambda pair: (-pair[0], pair[1].name))


def name_lines(
    ranked: Sequence[tuple[float, NameStat]], phrases: Phrases, room_tokens: int
) -> list[Line]:
    """Write as many names as there may be room for, grouped by where they were met.

    The lines that are worth most come first.
    """
    groups: dict[tuple[str, bool], list[tuple[float, NameStat]]] = {}
    for worth, stat in ranked[: max(room_tokens, 0) // NAME_TOKENS]:
        place = "" if stat.place == stat.name else short_place(stat.place)
        groups.setdefault((place, stat.uses > 0), []).append((worth, stat))
    size = phrases.names_per_line
    loose = {used: groups.pop(("", used), []) for used in (True, False)}
    lines = []
    for (place, used), members in groups.items():
        rest = len(members) % size
        whole = len(members) if rest * 2 >= size else len(members) - rest
        # A line for a few names costs more than they do: they go to the others.
        loose[used] += members[whole:]
        lines += _lines_of(place, members[:whole], phrases)
    for members in loose.values():
        members.sort(key=lambda pair: -pair[0])
        lines += _lines_of("", members, phrases)
    return sorted(lines, key=lambda line: -line.worth)


def _lines_of(
    place: str, members: Sequence[tuple[float, NameStat]], phrases: Phrases
) -> list[Line]:
    """Write the names of one place, those worth most in the first line."""
    size = phrases.names_per_line
    return [
        _name_line(place, members[start : start + size], phrases)
        for start in range(0, len(members), size)
    ]


def weighed(line: Line, order: int, last: int, focus: Collection[str]) -> Line:
    """Lower a line's worth by its age, and raise it by the terms of the focus that it holds.

    *last* is the newest record that is covered, *order* the line's place in its section.
    """
    worth = line.worth * freshness(last - line.record) * focused(line.text, focus)
    return Line(line.text, line.record, worth, order, line.brief)


def nearer(lines: Sequence[Line], relevance: Relevance) -> list[Line]:
    """Raise each line's worth by how near it is to the focus."""
    factors = relevance.factors([line.text for line in lines])
    return [
        Line(line.text, line.record, line.worth * factor, line.order, line.brief)
        for line, factor in zip(lines, factors, strict=True)
    ]


def nearer_names(
    ranked: Sequence[tuple[float, NameStat]], relevance: Relevance
) -> list[tuple[float, NameStat]]:
    """Raise each name's worth by how near it and its place are to the focus, best first."""
    factors = relevance.factors([f"{stat.name} {stat.place}".strip() for _, stat in ranked])
    raised = [(worth * factor, stat) for (worth, stat), factor in zip(ranked, factors, strict=True)]
    return sorted(raised, key=lambda pair: (-pair[0], pair[1].name))


def focus_terms(focus: str) -> frozenset[str]:
    """Give what to look for in lines so as to find those about the focus.

    Words of three letters and more; of a script without spaces, every two characters.
    """
    words = [word.strip(".,:;!?\"'()") for word in focus.lower().split()]
    terms: set[str] = set()
    for word in words:
        pairs = ["".join(pair) for pair in pairwise(word)]
        wide = {pair for pair in pairs if min(pair) > "\u2e7f"}
        terms |= wide or {word}
    return frozenset(term for term in terms if len(term) > 2 or term > "\u2e7f")


def focused(text: str, focus: Collection[str]) -> float:
    """Give by what a text's worth is multiplied for the terms of the focus that it holds."""
    if not focus:
        return 1.0
    lower = text.lower()
    return 1.0 + FOCUS_WEIGHT * sum(term in lower for term in focus)


def freshness(age_records: int) -> float:
    """Give how much of its worth a fact has kept after so many records; 1 at once."""
    return 1 / (1 + max(age_records, 0) / HALF_LIFE_RECORDS)


def code(text: str) -> str:
    """Make a text fit between back quotes, on one line."""
    return text.replace("`", "'").replace("\n", " ")


def _name_line(place: str, members: Sequence[tuple[float, NameStat]], phrases: Phrases) -> Line:
    """Write one line of names; its worth is that of its names for each token."""
    newest = max(stat.record for _, stat in members)
    times = sum(stat.uses or stat.sights for _, stat in members) / len(members)
    if members[0][1].uses:
        template = phrases.names_used if place else phrases.loose_names_used
    else:
        template = phrases.names if place else phrases.loose_names
    text = template.format(
        place=code(place),
        names=phrases.comma.join(stat.name for _, stat in members),
        times=max(round(times), 1),
        record=phrases.record.format(n=newest),
    )
    return Line(text, newest, sum(worth for worth, _ in members) / max(estimate_text(text), 1))


def _name_worth(stat: NameStat, last: int) -> float:
    """Rank a name by how likely it is used again.

    Measured on ten real sessions: of the names that the assistant had written itself
    once, twice, three times, a quarter, two fifths and nearly half were used again, of the
    others one in twenty; being seen in more outputs raises both.
    """
    uses = min(0.25 + 0.15 * stat.uses, 1.0) if stat.uses else 0.1
    sights = 1 + 0.3 * min(stat.sights, 6)
    weight = KIND_WEIGHTS.get(kind_of(stat.name), 1.0)
    return uses * sights * weight * freshness(last - stat.record)


def _place_worths(facts: Facts) -> dict[str, float]:
    """Give by what the worth of names met in a file is multiplied: it is read and changed often.

    By the file's last part, since one file goes by many paths. Of the names in files that
    were read again and again, or changed, up to nine in ten were used again on real sessions;
    of those in the output of a search, one in twenty. A place with very many names (a large
    file, a long diff) doesn't push out all others.
    """
    reads: dict[str, int] = {}
    for use in facts.files.values():
        name = _file_name(use.path)
        reads[name] = reads.get(name, 0) + use.counts[USES.index("read")]
    crowds = Counter(_file_name(stat.place) for stat in facts.names.values() if stat.place)
    task = facts.task.text if facts.task is not None else ""
    worths = {
        name: (1 + log(1 + reads.get(name, 0))) / sqrt(1 + count / CROWD_NAMES)
        for name, count in crowds.items()
    }
    for name in {_file_name(named) for named in names_in(task)} & worths.keys():
        worths[name] *= TASK_WEIGHT
    return worths


def _file_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def short_place(place: str) -> str:
    """Name a place by its last two parts: the whole path stands under the files."""
    if "/" not in place or " " in place:
        return place
    return "/".join(place.rstrip("/").split("/")[-2:])
