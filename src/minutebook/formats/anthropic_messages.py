"""Anthropic's messages: a list of `{role, content}` with content blocks. Pure.

Cline, Roo and Kilo store their `api_conversation_history.json` in this form. Roo and Kilo hide
instead of deleting: a condensation ends in a summary (`isSummary`), and what is sent begins at
the last one; a truncation marks what it hides with the id of its marker. An id whose summary or
marker is gone hides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UNSET, Struct

from minutebook.formats.blocks import content_of, sort_blocks
from minutebook.formats.cline_history import FILES, TASKS, Task, forms, task_of
from minutebook.formats.conversations import Conversation, find, sample, several
from minutebook.formats.mapping import (
    counted,
    moment,
    role_of,
    stored,
    table,
    text,
    tools_in,
    usage,
    whole,
    with_call_ids,
    with_checkpoints,
)
from minutebook.formats.source import Source
from minutebook.formats.value import Format, LeftOut, Reading
from minutebook.formats.views import total
from minutebook.messages import Message, Part, ThinkPart, replace
from minutebook.records import SystemPrompt, Usage
from minutebook.turns import pair

_BLOCKS = frozenset(
    {
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "image",
        "document",
        "server_tool_use",
        "web_search_tool_result",
    }
)
"""Kinds of content blocks that only this form has."""
_OPENAI_ROLES = frozenset({"system", "developer", "tool", "function"})
_HISTORY_KEYS = (
    "condenseParent",
    "condenseId",
    "truncationParent",
    "truncationId",
    "isSummary",
    "ts",
)
"""Keys that Cline, Roo and Kilo add."""


def detect(source: Source) -> str | None:
    """Give the evidence that the messages are of this form and not of OpenAI's."""
    messages = sample(source)
    if not messages:
        return None
    for message in messages:
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            kind = table(block).get("type")
            if isinstance(kind, str) and kind in _BLOCKS:
                return f"messages with content blocks, one of them of the type {kind}"
    if any(message.get("type") == "reasoning" for message in messages):
        return "messages, and entries of the type reasoning between them"
    if any(role_of(message) in _OPENAI_ROLES for message in messages):
        return None
    for message in messages:
        if isinstance(message.get("content"), list):
            key = next((key for key in _HISTORY_KEYS if key in message), None)
            if key:
                return f"messages with content blocks and the key {key}"
    around = table(source.document)
    if "system" in around:
        return "messages beside a key system"
    if b'"tool_use_id"' in source.data:
        return "messages with content blocks, and the key tool_use_id"
    return None


def beside(source: Source) -> tuple[str, ...]:
    """Name what Cline, Roo and Kilo put beside a history: it says what is hidden."""
    name = source.path.replace("\\", "/").rpartition("/")[2]
    return (*FILES, TASKS) if name in _HISTORIES else ()


_HISTORIES = frozenset({"api_conversation_history.json", "claude_messages.json"})
"""The names of histories, the old one too."""


class _Item(Struct, frozen=True):
    """A record, whether it is sent, and the whole form of one that is sent shortened."""

    record: Message | Usage
    hidden: bool
    whole: Message | None = None


def read(source: Source, index: int) -> Reading:
    """Read one conversation of the file."""
    conversation = find(source, index)
    around, entries = conversation.around, conversation.messages
    system = _system_blocks(around)
    if not system and entries and role_of(entries[0]) in _OPENAI_ROLES:
        system, entries = [entries[0].get("content")], entries[1:]
    task = task_of(source.beside, source.name)
    items = _without_orphans(_items(entries, task))
    records, made_up = with_call_ids(item.record for item in items if not item.hidden)
    messages = [record for record in records if isinstance(record, Message)]
    prompt = Message(role="system", content=content_of(system)).text
    times = [
        item.record.at
        for item in items
        if isinstance(item.record, Message) and item.record.at is not None
    ]
    left_out = _left_out(items)
    counts = counted(
        messages,
        conversations=several(conversation),
        compactions=sum(entry.get("isSummary") is True for entry in conversation.messages),
        truncations=sum(entry.get("isTruncationMarker") is True for entry in conversation.messages)
        + bool(task.hidden),
        blanked=sum(item.why == "blanked" for item in left_out),
        made_up_ids=made_up,
        tools=tools_in(around),
    )
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints([*([SystemPrompt(content=prompt)] if prompt else ()), *records]),
        left_out=left_out,
        counts=counts,
        problems=tuple(conversation.problems),
        title=task.title,
        model=_model(conversation),
        session_id=text(around.get("sessionId")) or text(around.get("id")) or source.name,
        parent_session=task.parent,
        cwd=task.cwd,
        started=min(times, default=None),
        updated=max(times, default=None),
        spent=total(item.record for item in items if isinstance(item.record, Usage)),
    )


def _items(entries: Sequence[dict[str, Any]], task: Task) -> list[_Item]:
    """Turn the entries of a history into records, in order."""
    last = max(
        (at for at, entry in enumerate(entries) if entry.get("isSummary") is True), default=0
    )
    markers = {
        entry["truncationId"]
        for entry in entries
        if entry.get("isTruncationMarker") is True and text(entry.get("truncationId"))
    }
    whole_forms, sent_forms = forms(entries, task.edits)
    items: list[_Item] = []
    thoughts: list[Part] = []
    for at, entry in enumerate(whole_forms):
        hidden = at < last or at in task.hidden or text(entry.get("truncationParent")) in markers
        if entry.get("type") == "reasoning":
            thoughts.append(_thought(entry))
            continue
        if thoughts and entry.get("role") != "assistant":
            items.append(_Item(_reply(thoughts, entry), hidden))
            thoughts = []
        wholes = records_of(entry, thoughts)
        for record, before in zip(records_of(sent_forms[at], thoughts), wholes, strict=True):
            if not isinstance(before, Message) or before == record:
                items.append(_Item(record, hidden))
            else:
                items.append(_Item(record, hidden, before))
        thoughts = []
    if thoughts:
        items.append(_Item(_reply(thoughts, {}), hidden=False))
    return items


def records_of(entry: dict[str, Any], thoughts: Sequence[Part]) -> Iterator[Message | Usage]:
    """Give an entry's results, its message, and its usage."""
    role = role_of(entry)
    blocks = sort_blocks(entry.get("content"), role=role)
    at = _stamp(entry)
    for result in blocks.results:
        yield replace(result, at=at)
    if role == "assistant":
        yield replace(_reply((*thoughts, *blocks.parts), entry), tool_calls=blocks.calls or None)
        counts = _usage(entry)
        if counts is not None:
            yield counts
    elif blocks.parts or not blocks.results:
        yield Message(role=role, content=stored(blocks.parts), at=at, origin=_origin(entry))


def _reply(parts: Sequence[Part], entry: dict[str, Any]) -> Message:
    """Make a reply; a summary may stand in the place of one."""
    origin = _origin(entry) or "assistant"
    return Message(role="assistant", content=stored(parts), at=_stamp(entry), origin=origin)


def _origin(entry: dict[str, Any]) -> str | None:
    """Say who wrote an entry, where its keys do."""
    if entry.get("isSummary") is True:
        return "summary"
    return "notice" if entry.get("isTruncationMarker") is True else None


def _thought(entry: dict[str, Any]) -> ThinkPart:
    """Make a part of a reasoning entry, which Roo stores in front of the reply it belongs to."""
    summary = entry.get("summary")
    said = [table(item).get("text") for item in (summary if isinstance(summary, list) else ())]
    thought = text(entry.get("text")) or "\n".join(map(text, said))
    encrypted = entry.get("encrypted_content")
    return ThinkPart(thought, encrypted if isinstance(encrypted, str) else UNSET)


def _stamp(entry: dict[str, Any]) -> float | None:
    """Give an entry's time."""
    return moment(entry.get("ts", entry.get("timestamp")))


def _without_orphans(items: list[_Item]) -> list[_Item]:
    """Hide the results whose call is hidden: they are not sent either."""
    if not any(item.hidden for item in items):
        return items
    places = [
        at for at, item in enumerate(items) if not item.hidden and isinstance(item.record, Message)
    ]
    sent = [item.record for item in items if not item.hidden and isinstance(item.record, Message)]
    gone = {places[orphan] for orphan in pair(sent).orphans}
    return [
        _Item(item.record, item.hidden or at in gone, item.whole) for at, item in enumerate(items)
    ]


def _left_out(items: Sequence[_Item]) -> tuple[LeftOut, ...]:
    """Give the hidden messages in order, each in front of the next one that is sent."""
    left_out: list[LeftOut] = []
    whole_ones: list[LeftOut] = []
    before = 0
    for item in items:
        if not isinstance(item.record, Message):
            continue
        if item.hidden:
            message = item.record if item.whole is None else item.whole
            left_out.append(LeftOut(message=message, before=before, why="compacted"))
            continue
        if item.whole is not None:
            whole_ones.append(LeftOut(message=item.whole, before=before, why="blanked"))
        before += 1
    return (*left_out, *whole_ones)


def _system_blocks(around: dict[str, Any]) -> list[Any]:
    """Give the system prompt's blocks; Cline's newer files call it `system_prompt`."""
    given = around.get("system") or around.get("system_prompt") or ()
    return list(given) if isinstance(given, list | tuple) else [given]


def _model(conversation: Conversation) -> str:
    """Give the model of the last entry that names one, else of the object around."""
    for entry in reversed(conversation.messages):
        name = model_of(entry)
        if name:
            return name
    return text(conversation.around.get("model"))


def model_of(entry: dict[str, Any]) -> str:
    """Give the model that an entry names, in Anthropic's key or in one of Cline's."""
    about = table(entry.get("modelInfo"))
    return text(entry.get("model")) or text(about.get("modelId")) or text(about.get("id"))


def _usage(entry: dict[str, Any]) -> Usage | None:
    """Make a usage record of an entry's own figures.

    Anthropic's counts are disjoint. In Cline's the input includes what was read from and
    written to the cache.
    """
    own = table(entry.get("usage"))
    if own:
        return usage(
            fresh=whole(own.get("input_tokens")),
            cache_read=whole(own.get("cache_read_input_tokens")),
            cache_write=whole(own.get("cache_creation_input_tokens")),
            output=whole(own.get("output_tokens")),
            model=model_of(entry),
        )
    metrics = table(entry.get("metrics"))
    tokens = table(metrics.get("tokens"))
    sent = whole(metrics.get("inputTokens", tokens.get("prompt")))
    cached = whole(metrics.get("cacheReadTokens", tokens.get("cached")))
    written = whole(metrics.get("cacheWriteTokens"))
    fresh = None if sent is None else max(sent - (cached or 0) - (written or 0), 0)
    return usage(
        fresh=fresh,
        cache_read=cached,
        cache_write=written,
        output=whole(metrics.get("outputTokens", tokens.get("completion"))),
        model=model_of(entry),
    )


FORMAT = Format(
    name="anthropic",
    description="Anthropic messages: a JSON list of role and content blocks (Cline, Roo, Kilo)",
    looks_for="JSON objects with role and content blocks such as tool_use and tool_result",
    detect=detect,
    read=read,
    beside=beside,
)
