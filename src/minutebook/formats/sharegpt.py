"""ShareGPT conversations: `conversations` with turns of `from` and `value`. Pure.

A file is one such object, a list of them, or one a line. A variant has `messages` whose contents
are parts of `type` and `value`. A call is a turn of its own with a JSON text of name and
arguments and no id; the observation behind it is its result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec import UNSET, Struct

from minutebook.formats.conversations import choose, several, single_values
from minutebook.formats.mapping import (
    compact_json,
    counted,
    stored,
    table,
    text,
    tools_in,
    with_call_ids,
    with_checkpoints,
)
from minutebook.formats.source import ABSENT, Source, loads
from minutebook.formats.value import Format, Reading
from minutebook.messages import Function, Message, OtherPart, Part, TextPart, ThinkPart, ToolCall
from minutebook.records import Record, SystemPrompt

_ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "function_call": "assistant",
    "system": "system",
    "observation": "tool",
    "tool": "tool",
    "function": "tool",
    "tool_response": "tool",
}
"""What the names of speakers mean; any other is kept as a role that is not known."""
_LOOKED_AT = 8


class _Conversation(Struct, frozen=True, kw_only=True):
    """The turns of a conversation, and the object around them."""

    turns: list[dict[str, Any]]
    around: dict[str, Any]


def _taken(value: object) -> _Conversation | None:
    """Give the conversation that a value holds, none if it holds none."""
    around = table(value)
    turns = around.get("conversations")
    if not isinstance(turns, list):
        turns = around.get("messages")
        if not isinstance(turns, list) or not any(map(_has_values, turns[:_LOOKED_AT])):
            return None
    found = [turn for turn in turns if isinstance(turn, dict)]
    return _Conversation(turns=found, around=around) if found else None


def _has_values(turn: object) -> bool:
    """Tell whether a message has contents of type and value."""
    content = table(turn).get("content")
    parts = content if isinstance(content, list) else []
    return any("type" in table(part) and "value" in table(part) for part in parts)


def detect(source: Source) -> str | None:
    """Give the evidence that the file holds conversations of this form."""
    if source.document is ABSENT:
        heads: list[Any] = list(source.objects[:_LOOKED_AT])
    else:
        heads = [value for value, _ in islice(single_values(source, []), _LOOKED_AT)]
    for value in heads:
        found = _taken(value)
        if found is None:
            continue
        if "conversations" not in found.around:
            return "messages with contents that have the keys type and value"
        first = found.turns[0]
        if "from" in first and "value" in first:
            return "conversations with the keys from and value"
        if "role" in first and "content" in first:
            return "an object with the key conversations, and messages in it"
    return None


def read(source: Source, index: int) -> Reading:
    """Read one conversation of the file."""
    chosen = choose(source, index, _taken)
    found = chosen.value
    records: list[Record] = []
    prompt = text(found.around.get("system"))
    for number, turn in enumerate(found.turns):
        message = _message(turn)
        if not number and message.role == "system" and not prompt:
            prompt = message.text
        elif _belongs_to(records, turn, message):
            before = records[-1]
            assert isinstance(before, Message)
            records[-1] = _with_calls(before, message)
        else:
            records.append(message)
    named, made_up = with_call_ids(_spread(records))
    messages = [record for record in named if isinstance(record, Message)]
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints([*([SystemPrompt(content=prompt)] if prompt else ()), *named]),
        counts=counted(
            messages,
            conversations=several(chosen),
            made_up_ids=made_up,
            tools=tools_in(found.around),
        ),
        problems=tuple(chosen.problems),
        session_id=text(found.around.get("id")) or source.name,
    )


def _belongs_to(records: Sequence[Record], turn: dict[str, Any], message: Message) -> bool:
    """Tell whether a turn is a call that belongs to the reply before it."""
    before = records[-1] if records else None
    call = _speaker(turn) == "function_call" and bool(message.calls)
    return call and isinstance(before, Message) and before.role == "assistant"


def _with_calls(before: Message, message: Message) -> Message:
    """Give a reply with the calls of the turn behind it."""
    return Message(
        role="assistant",
        content=before.content,
        tool_calls=(*before.calls, *message.calls),
        origin="assistant",
    )


def _spread(records: Sequence[Record]) -> Iterator[Record]:
    """Give one result for each of several calls where one observation answers them all.

    An observation that is a list with as many entries as there are calls is their results.
    """
    for number, record in enumerate(records):
        before = records[number - 1] if number else None
        calls = before.calls if isinstance(before, Message) else ()
        if not (isinstance(record, Message) and record.role == "tool" and len(calls) > 1):
            yield record
            continue
        entries, _mended = loads(record.text.encode("utf-8", "replace"))
        if isinstance(entries, list) and len(entries) == len(calls):
            for entry in entries:
                said = entry if isinstance(entry, str) else compact_json(entry)
                yield Message(role="tool", content=said, tool_call_id="", origin="tool")
        else:
            yield record


def _speaker(turn: dict[str, Any]) -> str:
    return text(turn.get("from")) or text(turn.get("role"))


def _message(turn: dict[str, Any]) -> Message:
    """Make a message of a turn."""
    speaker = _speaker(turn)
    role = _ROLES.get(speaker, speaker)
    if not role or role.startswith("_"):
        role = "unknown"
    content = turn.get("value", turn.get("content"))
    parts: list[Part] = []
    calls: list[ToolCall] = []
    if speaker == "function_call":
        calls = _calls(content)
        content = None if calls else content
    for item in content if isinstance(content, list) else [content]:
        given = table(item)
        if given.get("type") == "tool_call" and role == "assistant":
            found = _calls(given.get("value"))
            calls += found
            parts += [] if found else [OtherPart(given)]
        elif item is not None and item != "":
            parts.append(_part(item))
    return Message(
        role=role,
        content=stored(parts),
        tool_calls=tuple(calls) or None if role == "assistant" else None,
        tool_call_id="" if role == "tool" else None,
        origin=role if role in {"assistant", "tool"} else None,
    )


def _part(item: object) -> Part:
    """Make a part of one content; what has no place in ours is kept whole."""
    match item:
        case str():
            return TextPart(item)
        case {"type": "text", "value": str(words)}:
            return TextPart(words)
        case {"type": "reasoning", "value": str(thought)}:
            return ThinkPart(thought)
        case dict():
            return OtherPart(item)
        case _:
            return OtherPart({"type": "unknown", "value": item})


def _calls(value: object) -> list[ToolCall]:
    """Read calls: JSON of a name and arguments, or a list of such; none of anything else."""
    given: object = value
    if isinstance(value, str):
        given, _mended = loads(value.encode("utf-8", "replace"))
    entries = given if isinstance(given, list) else [given]
    if not entries or not all(isinstance(table(entry).get("name"), str) for entry in entries):
        return []
    return [_call(table(entry)) for entry in entries]


def _call(entry: dict[str, Any]) -> ToolCall:
    arguments = entry.get("arguments", UNSET)
    if not (arguments is None or arguments is UNSET or isinstance(arguments, str)):
        arguments = compact_json(arguments)
    return ToolCall(
        type="function",
        id=text(entry.get("id")),
        function=Function(name=entry["name"], arguments=arguments),
    )


FORMAT = Format(
    name="sharegpt",
    description="ShareGPT: conversations of from and value, a list, an object, or JSON Lines",
    looks_for="objects with conversations of from and value, or contents of type and value "
    "(ShareGPT)",
    detect=detect,
    read=read,
)
