"""The lines of a Claude Code transcript, without what they say. Pure.

Half of a transcript's bytes are the client's own copies (`toolUseResult`, progress, snapshots),
so each line is read for its place in the tree alone, and later only the lines that are needed
are read for their content. Facts: `formats.md` section 3, measured on versions 2.0.64 to 2.1.199.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, TypeVar, get_args

import msgspec
from msgspec import Struct, ValidationError, structs

from minutebook.formats.mapping import table
from minutebook.formats.source import Line, lines, values
from minutebook.lines import Problem

CHAINED = frozenset({"user", "assistant", "attachment", "system", "progress"})
"""The kinds of records that form the tree; of the others none has a parent."""


class MessageHead(Struct, frozen=True):
    """What of an API message is needed to place its line."""

    id: str | None = None
    model: str | None = None


class AttachmentHead(Struct, frozen=True):
    """What an attachment is."""

    type: str | None = None


class CompactedIds(Struct, frozen=True, rename="camel"):
    """What a microcompaction names."""

    compacted_tool_ids: list[str] | None = None


class Head(Struct, frozen=True, rename="camel"):
    """The keys of a record that say what it is and where it stands."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    """The record before a compaction's boundary; it often names nothing in the file."""
    session_id: str | None = None
    cwd: str | None = None
    version: str | None = None
    timestamp: str | None = None
    subtype: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_api_error_message: bool | None = None
    is_compact_summary: bool | None = None
    message: MessageHead | None = None
    attachment: AttachmentHead | None = None
    microcompact_metadata: CompactedIds | None = None
    leaf_uuid: str | None = None
    summary: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None


class Record(NamedTuple):
    """One record: where its JSON text stands, and what it is."""

    line: Line
    start: int
    end: int
    head: Head


Kind = TypeVar("Kind", bound=Struct)
_decode = msgspec.json.Decoder(Head).decode
_REFUSED = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


def records(data: bytes) -> tuple[list[Record], list[Problem]]:
    """Read every line's head, in file order. What cannot be read is a problem."""
    found: list[Record] = []
    problems: list[Problem] = []
    view = memoryview(data)
    for line in lines(data):
        try:
            head = _decode(view[line.start : line.end])
        except _REFUSED:
            found += [
                Record(line, value.start, value.end, lenient(Head, value.value))
                for value in values(data, line, problems)
                if isinstance(value.value, dict)
            ]
        else:
            found.append(Record(line, line.start, line.end, head))
    return found, problems


def lenient(kind: type[Kind], value: object) -> Kind:
    """Make a struct of a JSON object; a key whose value has another type counts as missing."""
    given = table(value)
    taken: dict[str, Any] = {}
    for key, name, wanted, inner in _keys(kind):
        if key not in given:
            continue
        try:
            taken[name] = msgspec.convert(given[key], wanted)
        except ValidationError:
            if inner is not None:
                taken[name] = lenient(inner, given[key])
    return kind(**taken)


@cache
def _keys(kind: type[Struct]) -> tuple[tuple[str, str, Any, type[Struct] | None], ...]:
    """Give a struct's fields: the key in JSON, the name, the type, and the struct inside of it."""
    found = []
    for field in structs.fields(kind):
        kinds = [item for item in get_args(field.type) if isinstance(item, type)]
        inner = next((item for item in kinds if issubclass(item, Struct)), None)
        found.append((field.encode_name, field.name, field.type, inner))
    return tuple(found)
