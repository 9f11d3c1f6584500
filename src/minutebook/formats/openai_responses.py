"""Items of OpenAI's Responses API in plain files. Pure.

A list of items, one item a line, a request (`input`, `instructions`), a response (`output`,
`usage`), a conversation (`items` or `data`), or an exchange of request and response. Items that
the provider compacted are opaque and go along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from minutebook.formats.conversations import single_values
from minutebook.formats.items import CLUES, Piece, groups, joined, piece_of
from minutebook.formats.mapping import (
    counted,
    moment,
    table,
    text,
    tools_in,
    usage,
    whole,
    with_call_ids,
    with_checkpoints,
)
from minutebook.formats.source import ABSENT, Source, at_line
from minutebook.formats.value import Format, Reading, only_one
from minutebook.formats.views import total
from minutebook.lines import Problem
from minutebook.messages import Message
from minutebook.records import Record, SystemPrompt, Usage

_LISTS = ("input", "output", "items", "data")
"""Under what keys an object holds items, in the order in which they follow one another."""
_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file"})
"""Kinds of contents that only this form has."""
_INNER = ("request", "response")
"""What an exchange of a call and its reply is made of."""


def detect(source: Source) -> str | None:
    """Give the evidence that the file holds items."""
    document = source.document
    if document is ABSENT:
        head: object = list(source.objects)
    else:
        head = document
    for item in _items(head):
        kind = text(item.get("type"))
        if kind in CLUES:
            return f"items, one of them of the type {kind}"
        content = item.get("content")
        for part in content if isinstance(content, list) else ():
            known = table(part).get("type")
            if "role" in item and isinstance(known, str) and known in _PARTS:
                return f"messages with contents of the type {known}"
    whole_one = table(document if document is not ABSENT else None)
    if whole_one.get("object") == "response" and isinstance(whole_one.get("output"), list):
        return "an object with the key output that says it is a response"
    return None


def _items(value: object) -> Iterator[dict[str, Any]]:
    """Give the items that a value holds, in order: an item, a list of them, or objects of such."""
    for entry in value if isinstance(value, list) else [value]:
        holders = _holders(entry)
        for holder in holders:
            yield from _held(holder)
        if not holders and isinstance(entry, dict):
            yield entry


def _holders(value: object) -> list[dict[str, Any]]:
    """Give the objects that hold items: the value itself, or the two of an exchange."""
    given = table(value)
    inner = [table(given.get(key)) for key in _INNER]
    return [found for found in (given, *inner) if _holds(found)]


def _holds(given: dict[str, Any]) -> bool:
    return "type" not in given and any(isinstance(given.get(key), list) for key in _LISTS)


def _held(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the items of an object, those that went in before those that came out."""
    for key in _LISTS:
        found = given.get(key)
        if isinstance(found, str) and key == "input":
            yield {"type": "message", "role": "user", "content": found}
        for item in found if isinstance(found, list) else ():
            if isinstance(item, dict):
                yield item


class _Around(Struct, frozen=True, kw_only=True):
    """What stands around the items."""

    instructions: str = ""
    model: str = ""
    id: str = ""
    parent: str = ""
    tools: int = 0
    at: float | None = None


def read(source: Source, index: int) -> Reading:
    """Read the conversation of the file."""
    only_one(source, index)
    problems: list[Problem] = []
    written: list[Piece | Usage | None] = []
    around = _Around()
    snapshots = 0
    for value, line in single_values(source, problems):
        holders = _holders(value)
        for found in holders:
            around = _known(found, around)
        for item in _items(value):
            if "type" not in item and "role" not in item:
                problems.append(at_line(line, "entry", "an entry is no item"))
                continue
            piece = piece_of(item, at=moment(item.get("created_at")) or around.at)
            snapshots += piece is None
            written.append(piece)
        for found in holders:
            counts = _usage(table(found.get("usage")), text(found.get("model")))
            written += [] if counts is None else [counts, None]
    records, prompt = _records(written, around.instructions)
    named, made_up = with_call_ids(records)
    messages = [record for record in named if isinstance(record, Message)]
    usages = [record for record in named if isinstance(record, Usage)]
    times = [message.at for message in messages if message.at is not None]
    opaque = [
        piece
        for piece in written
        if isinstance(piece, Piece) and piece.origin == "summary" and piece.of_reply
    ]
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints([*([SystemPrompt(content=prompt)] if prompt else ()), *named]),
        counts=counted(
            messages,
            opaque=len(opaque),
            compactions=len(opaque),
            snapshots=snapshots,
            made_up_ids=made_up,
            tools=around.tools,
        ),
        problems=tuple(problems),
        model=next((item.model for item in reversed(usages) if item.model), "") or around.model,
        session_id=around.id or source.name,
        parent_session=around.parent,
        started=min(times, default=None),
        updated=max(times, default=None),
        spent=total(usages),
    )


def _known(found: dict[str, Any], before: _Around) -> _Around:
    """Add what an object says around its items to what was known."""
    conversation = found.get("conversation")
    name = text(conversation) or text(table(conversation).get("id")) or text(found.get("id"))
    return _Around(
        instructions=text(found.get("instructions")) or before.instructions,
        tools=tools_in(found) or before.tools,
        model=text(found.get("model")) or before.model,
        id=name or before.id,
        parent=before.parent or text(found.get("previous_response_id")),
        at=moment(found.get("created_at")) or before.at,
    )


def _records(
    written: Sequence[Piece | Usage | None], instructions: str
) -> tuple[list[Record], str]:
    """Put pieces together to messages, each reply with its usage; and the system prompt.

    That is the instructions, or else the first message if it is the developer's.
    """
    pieces = [entry if isinstance(entry, Piece) else None for entry in written]
    units: list[tuple[int, Record]] = []
    reply = -1
    for group in groups(pieces):
        found = [piece for at in group if (piece := pieces[at]) is not None]
        units.append((group[0], joined(found)))
    for at, entry in enumerate(written):
        if isinstance(entry, Usage):
            units.append((at if reply < 0 else reply, entry))
            reply = -1
        elif entry is not None and entry.of_reply:
            reply = at
    records = [record for _, record in sorted(units, key=lambda unit: unit[0])]
    first = records[0] if records else None
    if not instructions and isinstance(first, Message) and first.role == "system":
        return records[1:], first.text
    return records, instructions


def _usage(reported: dict[str, Any], model: str) -> Usage | None:
    """Make a usage record of a response's figures: what was cached is part of the input."""
    sent = whole(reported.get("input_tokens"))
    cached = whole(table(reported.get("input_tokens_details")).get("cached_tokens"))
    if sent is not None and cached is not None and cached > sent:
        cached = None
    details = table(reported.get("output_tokens_details"))
    return usage(
        fresh=None if sent is None else sent - (cached or 0),
        cache_read=cached,
        output=whole(reported.get("output_tokens")),
        reasoning=whole(details.get("reasoning_tokens")),
        model=model,
    )


FORMAT = Format(
    name="openai-responses",
    description="OpenAI Responses items: a list, one a line, a request, a response",
    looks_for="items of types such as function_call, or contents of the type input_text",
    detect=detect,
    read=read,
)
