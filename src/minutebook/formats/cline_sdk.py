"""Cline's newer store: `<id>.messages.json`, with a manifest and a compaction beside it. Pure.

The messages are Anthropic's with ids, times and figures. A compaction leaves them as they are
and stands in a file of its own, `<id>.compaction.json`, which says what is sent in the place of
the messages it was made of; it counts only while its hash fits them (see `cline_sidecar`).
Older versions wrote the compacted messages in the place of the others: then only those are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from minutebook.formats.anthropic_messages import model_of, records_of
from minutebook.formats.blocks import content_of
from minutebook.formats.cline_sidecar import fits
from minutebook.formats.mapping import (
    compact_json,
    counted,
    moment,
    table,
    text,
    with_call_ids,
    with_checkpoints,
)
from minutebook.formats.source import Source, loads, whole_file
from minutebook.formats.value import Format, Reading, only_one
from minutebook.formats.views import Item, arrange, matched, total
from minutebook.lines import Problem
from minutebook.messages import Message, replace
from minutebook.records import SystemPrompt, Usage

_MESSAGES = ".messages.json"
_MARKS = frozenset({"agent", "updated_at", "system_prompt", "source_message_count"})
"""Keys of which such a file has at least one beside its version."""

Entry = dict[str, Any]


def detect(source: Source) -> str | None:
    """Give the evidence that the file is of Cline's newer store."""
    document = table(source.document)
    messages = document.get("messages")
    if not isinstance(messages, list) or not isinstance(document.get("version"), int):
        return None
    if "sessionId" in document and not _MARKS.isdisjoint(document):
        return "an object with the keys version, sessionId and messages"
    if "source_message_count" in document:
        return "an object with the keys version, source_message_count and messages"
    return None


def beside(source: Source) -> tuple[str, ...]:
    """Name the session's manifest and its compaction."""
    name = _stem(source)
    return (f"{name}.json", f"{name}.compaction.json") if name else ()


def _stem(source: Source) -> str:
    """Give the session's name, of a file that is named as the store names it."""
    name = source.path.replace("\\", "/").rpartition("/")[2]
    stem = name.removesuffix(_MESSAGES)
    safe = all(char.isalnum() or char in "_-." for char in stem)
    return stem if stem != name and safe else ""


class _Sent(Struct, frozen=True, kw_only=True):
    """What is sent: entries, in order, and where they come from."""

    written: list[Entry]
    """Every entry; those of a compaction that are no mere copies behind what it was made of."""
    sent: list[int]
    compacted: int = 0
    """How many entries a compaction was made of, 0 without one."""


def read(source: Source, index: int) -> Reading:
    """Read a session."""
    only_one(source, index)
    document = table(source.document)
    problems: list[Problem] = list(source.document_problems)
    name = _stem(source)
    manifest = table(loads(source.beside.get(f"{name}.json", b"{}"))[0])
    sidecar = table(loads(source.beside.get(f"{name}.compaction.json", b"{}"))[0])
    entries = [entry for entry in document["messages"] if isinstance(entry, dict)]
    found = _projected(source, entries, sidecar, problems)
    items: list[Item] = []
    places: list[range] = []
    for entry in found.written:
        start = len(items)
        items += [Item(record=record) for record in _records(entry)]
        places.append(range(start, len(items)))
    records, left_out = arrange(
        items,
        sent=[place for at in found.sent for place in places[at]],
        counted_from=sum(len(spot) for spot in places[: found.compacted]),
    )
    named, made_up = with_call_ids(records)
    messages = [record for record in named if isinstance(record, Message)]
    prompt = _prompt(sidecar if found.compacted else {}, document)
    times = [
        item.record.at
        for item in items
        if isinstance(item.record, Message) and item.record.at is not None
    ]
    about = table(manifest.get("metadata"))
    kinds = [text(table(entry.get("metadata")).get("kind")) for entry in found.written]
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints([*([SystemPrompt(content=prompt)] if prompt else ()), *named]),
        left_out=left_out,
        counts=counted(
            messages,
            compactions=sum(kind.startswith("compaction") for kind in kinds),
            made_up_ids=made_up,
            message_ids=sum(bool(text(entry.get("id"))) for entry in found.written),
        ),
        problems=tuple(problems),
        title=text(about.get("title")) or text(manifest.get("title")),
        agent="Cline",
        model=next(filter(None, map(model_of, reversed(found.written))), "")
        or text(manifest.get("model")),
        session_id=text(document.get("sessionId"))
        or text(document.get("conversation_id"))
        or source.name.removesuffix(".messages"),
        parent_session=text(table(about.get("fork")).get("forkedFromSessionId")),
        cwd=text(manifest.get("cwd")),
        started=min(times, default=moment(manifest.get("started_at"))),
        updated=max(times, default=moment(document.get("updated_at"))),
        spent=total(item.record for item in items if isinstance(item.record, Usage)),
    )


def _prompt(sidecar: dict[str, Any], document: dict[str, Any]) -> str:
    """Give the system prompt: the compaction's own, else that of the messages."""
    given = sidecar.get("system_prompt", document.get("system_prompt"))
    blocks = given if isinstance(given, list) else [given]
    return Message(role="system", content=content_of(blocks)).text


def _projected(
    source: Source, entries: list[Entry], sidecar: dict[str, Any], problems: list[Problem]
) -> _Sent:
    """Say what is sent: the entries, or where a compaction fits them, that and what follows."""
    messages = sidecar.get("messages")
    whole = _Sent(written=entries, sent=list(range(len(entries))))
    if not isinstance(messages, list) or "source_message_count" not in sidecar:
        return whole
    count = fits(sidecar, entries)
    if count is None:
        what = "the compaction beside the messages does not fit them, so it is not used"
        problems.append(whole_file(source.data, "sidecar", what))
        return whole
    compacted = [entry for entry in messages if isinstance(entry, dict)]
    written = entries[:count]
    sent: list[int] = []
    originals = [_key(entry, at) for at, entry in enumerate(written)]
    copies = [_key(entry, -at - 1) for at, entry in enumerate(compacted)]
    for entry, original in zip(compacted, matched(originals, copies), strict=True):
        if original is not None and _says(entry) == _says(written[original]):
            sent.append(original)
            continue
        sent.append(len(written))
        written.append(entry)
    sent += range(len(written), len(written) + len(entries) - count)
    return _Sent(written=[*written, *entries[count:]], sent=sent, compacted=count)


def _key(entry: Entry, number: int) -> object:
    """Name an entry: by its id, else as one that has no copy."""
    return text(entry.get("id")) or number


def _says(entry: Entry) -> str:
    return compact_json([entry.get("role"), entry.get("content")])


def _records(entry: Entry) -> Sequence[Message | Usage]:
    """Give what an entry says, as records."""
    content = entry.get("content")
    if isinstance(content, list):
        content = [_block(block) for block in content]
    records = list(records_of({**entry, "content": content}, ()))
    kind = table(entry.get("metadata")).get("kind")
    if kind == "compaction_summary":
        return [
            replace(record, origin="summary") if isinstance(record, Message) else record
            for record in records
        ]
    return records


def _block(block: object) -> object:
    """Give a block as one of Anthropic's: a file that was named becomes a text with its content."""
    given = table(block)
    if given.get("type") == "file" and isinstance(given.get("content"), str):
        path = text(given.get("path"))
        return {"type": "text", "text": f"[file {path}]\n{given['content']}"}
    return block


FORMAT = Format(
    name="cline-sdk",
    description="Cline's newer store: a session's <id>.messages.json",
    looks_for="an object with the keys version, sessionId and messages (Cline's newer store)",
    detect=detect,
    read=read,
    beside=beside,
)
