"""Conversations in plain files: a list of messages, alone, in an object, or many a file. Pure.

A file is one JSON value or JSON Lines. A line, or an entry of the outermost list, is a message,
or else a conversation: a list of messages, or an object with one under `messages` or `traj`.
OpenAI's and Anthropic's messages stand in the same containers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Generic, TypeVar

from msgspec import Struct

from minutebook.errors import FormatError
from minutebook.formats.mapping import table
from minutebook.formats.source import (
    ABSENT,
    OBJECTS_LOOKED_AT,
    Line,
    Source,
    at_line,
    lines,
    values,
)
from minutebook.lines import Problem

_LISTS = ("messages", "traj")
"""The keys under which an object holds its messages; `traj` in tau-bench's results."""
_SAYS = frozenset({"content", "tool_calls", "function_call"})


class Conversation(Struct, frozen=True, kw_only=True):
    """One conversation as it stands in the file."""

    messages: list[dict[str, Any]]
    around: dict[str, Any]
    """The object that holds the messages, empty if none does: system, model, tools."""
    total: int
    """How many conversations the file holds."""
    problems: list[Problem]


def is_message(value: object) -> bool:
    """Tell whether a JSON value is a message of a chat, or a reasoning entry of Roo's."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("role"), str) and not _SAYS.isdisjoint(value):
        return True
    return value.get("type") == "reasoning"


def messages_in(value: object) -> list[Any] | None:
    """Give the messages that a JSON value holds as a conversation; none if it is none."""
    found = value
    if isinstance(value, dict):
        found = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    return found if isinstance(found, list) and any(map(is_message, found[:8])) else None


def sample(source: Source) -> list[dict[str, Any]]:
    """Give the messages at the head of a file; none if it does not begin with messages."""
    if source.document is ABSENT:
        heads = list(source.objects)
    else:
        heads = [value for value, _ in islice(_entries(source, []), OBJECTS_LOOKED_AT)]
    found = messages_in(heads[0]) if heads else None
    if found is None and heads and is_message(heads[0]):
        found = heads
    return [item for item in found or () if is_message(item)]


def find(source: Source, index: int) -> Conversation:
    """Read one conversation of a file, and how many there are. Memory: that one, and a line.

    A file of several gives a problem of the kind `several`, so that none is chosen silently.

    Raises:
        FormatError: If there is no conversation of that index.
    """
    problems: list[Problem] = []
    single: list[dict[str, Any]] = []
    chosen: tuple[Any, dict[str, Any], Line] | None = None
    total = 0
    for value, line in _entries(source, problems):
        found = None if single else messages_in(value)
        if found is not None:
            if total == index:
                chosen = found, table(value), line
            total += 1
        elif is_message(value) and not total:
            single.append(value)
        else:
            problems.append(at_line(line, "entry", "an entry is neither message nor conversation"))
    if single and index == 0:
        return Conversation(messages=single, around={}, total=1, problems=problems)
    if chosen is None:
        total = 1 if single else total
        there = f"holds {total}, counted from 0" if total else "holds none"
        raise FormatError(f"there is no conversation {index}: the file {there}", path=source.path)
    entries, around, line = chosen
    strange = [number for number, entry in enumerate(entries) if not is_message(entry)]
    if strange:
        what = f"{len(strange)} entries are no messages, the first is number {strange[0]} from 0"
        problems.append(at_line(line, "entry", what))
    if total > 1:
        what = f"the file holds {total} conversations; this is number {index} from 0"
        problems.append(at_line(line, "several", what))
    messages = [entry for entry in entries if is_message(entry)]
    return Conversation(messages=messages, around=around, total=total, problems=problems)


Found = TypeVar("Found")


class Chosen(Struct, Generic[Found], frozen=True, kw_only=True):
    """One conversation of a file that may hold several, in whatever form."""

    value: Found
    total: int
    """How many the file holds."""
    problems: list[Problem]


def choose(source: Source, index: int, take: Callable[[object], Found | None]) -> Chosen[Found]:
    """Take one conversation out of a file: of a list's entries, of lines, or the whole value.

    *take* gives of a value what it holds as a conversation, none if it holds none. A file of
    several gives a problem of the kind `several`, so that none is chosen silently.

    Raises:
        FormatError: If there is no conversation of that index.
    """
    problems: list[Problem] = []
    chosen: tuple[Found, Line] | None = None
    total = 0
    for value, line in single_values(source, problems):
        found = take(value)
        if found is None:
            problems.append(at_line(line, "entry", "an entry is no conversation"))
            continue
        if total == index:
            chosen = found, line
        total += 1
    if chosen is None:
        there = f"holds {total}, counted from 0" if total else "holds none"
        raise FormatError(f"there is no conversation {index}: the file {there}", path=source.path)
    value, line = chosen
    if total > 1:
        what = f"the file holds {total} conversations; this is number {index} from 0"
        problems.append(at_line(line, "several", what))
    return Chosen(value=value, total=total, problems=problems)


def single_values(source: Source, problems: list[Problem]) -> Iterator[tuple[Any, Line]]:
    """Give the values of a file: its lines, the entries of its list, or its one value."""
    document = source.document
    if document is ABSENT:
        for line in lines(source.data):
            for value in values(source.data, line, problems):
                yield value.value, line
        return
    problems += source.document_problems
    whole = Line(1, 0, len(source.data))
    yield from (
        (value, whole) for value in (document if isinstance(document, list) else [document])
    )


def several(conversation: Conversation | Chosen[Any]) -> int:
    """Give how many conversations the file holds, 0 if it is this one alone."""
    return conversation.total if conversation.total > 1 else 0


def _entries(source: Source, problems: list[Problem]) -> Iterator[tuple[Any, Line]]:
    """Give the values of a file that are each a message or a conversation."""
    document = source.document
    if document is ABSENT:
        for line in lines(source.data):
            for value in values(source.data, line, problems):
                yield value.value, line
        return
    problems += source.document_problems
    whole = Line(1, 0, len(source.data))
    if isinstance(document, list) and messages_in(document) is None:
        yield from ((value, whole) for value in document)
    else:
        yield document, whole
