"""What several formats need to turn another agent's values into our records. Pure.

Values come from other programs: whatever has an unexpected type is taken as missing.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from minutebook.formats.source import loads
from minutebook.messages import (
    AudioPart,
    Content,
    ImagePart,
    Message,
    OtherPart,
    Part,
    TextPart,
    VideoPart,
    as_content,
    replace,
)
from minutebook.records import Checkpoint, Record, Usage
from minutebook.turns import is_real_user

MOMENT_LIMIT = 32_503_680_000.0
"""The year 3000, in seconds since 1970: a later time stamp is none."""
_MILLISECONDS_FROM = 1e11
"""A number from here on counts milliseconds: as seconds it would be the year 5138."""
CLEARED_NOTICE = "[The agent no longer sends this result. The transcript has it whole.]"
"""What stands for a result that an agent cleared to save room. Our words: the client puts its
own in when it sends, and the file does not hold them."""
_encode = msgspec.json.Encoder().encode


def text(value: object) -> str:
    """Give a string as it is, and anything else as the empty string."""
    return value if isinstance(value, str) else ""


def table(value: object) -> dict[str, Any]:
    """Give a JSON object as it is, and anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def whole(value: object) -> int | None:
    """Give a count: an integer that is not negative (and no boolean), else none."""
    return value if type(value) is int and 0 <= value < 1 << 53 else None


def role_of(entry: dict[str, Any]) -> str:
    """Give a message's role; `unknown` for none, and for one that would be a special record."""
    role = text(entry.get("role"))
    return "unknown" if not role or role.startswith("_") else role


def moment(value: object) -> float | None:
    """Give a time stamp in seconds since 1970, from a number or an ISO 8601 text.

    A number may count seconds or milliseconds; a text without a zone is taken as UTC.
    """
    if isinstance(value, str):
        try:
            when = datetime.fromisoformat(value)
        except ValueError:
            return None
        zoned = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        seconds = zoned.timestamp()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value < MOMENT_LIMIT * 1000:
            return None
        seconds = value / 1000 if value >= _MILLISECONDS_FROM else float(value)
    else:
        return None
    return seconds if 0 <= seconds < MOMENT_LIMIT else None


def compact_json(value: object) -> str:
    """Write a JSON value without spaces and with every character as itself."""
    try:
        return _encode(value).decode()
    except (TypeError, ValueError, OverflowError):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except RecursionError:
        # As deep as the decoder goes, and a few calls further down than it stood.
        return '{"unreadable":"nested too deeply"}'


def stored(parts: Sequence[Part]) -> str | tuple[Part, ...]:
    """Give parts in their stored form: empty text for none, a string for one text part."""
    return as_content(tuple(parts)) if parts else ""


def usage(
    *,
    fresh: int | None,
    output: int | None,
    cache_read: int | None = None,
    cache_write: int | None = None,
    reasoning: int | None = None,
    model: str = "",
) -> Usage | None:
    """Make a usage record of disjoint counts; none if nothing was counted."""
    total = sum(count or 0 for count in (fresh, output, cache_read, cache_write))
    if not total:
        return None
    return Usage(
        token_count=total,
        content=f"{total} tokens",
        input=fresh,
        output=output,
        cache_read=cache_read,
        cache_write=cache_write,
        reasoning=reasoning,
        model=model or None,
    )


def with_checkpoints(records: Iterable[Record]) -> tuple[Record, ...]:
    """Put a checkpoint before each real user turn, with ids from 0.

    Records that have checkpoints already stay as they are.
    """
    given = tuple(records)
    if any(isinstance(record, Checkpoint) for record in given):
        return given
    result: list[Record] = []
    number = 0
    for record in given:
        if isinstance(record, Message) and is_real_user(record):
            result.append(Checkpoint(id=number, content=f"checkpoint {number}", at=record.at))
            number += 1
        result.append(record)
    return tuple(result)


def with_call_ids(records: Iterable[Record]) -> tuple[list[Record], int]:
    """Give each call without an id one that is unique, and its result the same, by position.

    A result without an id belongs to the first open call of the last reply that has calls.
    The second value is how many ids were made up.
    """
    given = list(records)
    used = {call.id for record in given if isinstance(record, Message) for call in record.calls}
    names = (f"made-up-{number}" for number in range(1, 1 << 53))
    free = (name for name in names if name not in used)
    open_ids: deque[str] = deque()
    answered: set[str] = set()
    result: list[Record] = []
    made = 0
    for record in given:
        named = record
        if isinstance(record, Message) and record.calls:
            named = reply = _named(record, free)
            made += sum(not call.id for call in record.calls)
            open_ids, answered = deque(call.id for call in reply.calls), set()
        elif isinstance(record, Message) and record.tool_call_id:
            answered.add(record.tool_call_id)
        elif isinstance(record, Message) and record.role == "tool":
            while open_ids and open_ids[0] in answered:
                open_ids.popleft()
            if open_ids:
                named = replace(record, tool_call_id=open_ids.popleft())
        result.append(named)
    return result, made


def _named(message: Message, free: Iterator[str]) -> Message:
    """Give a reply whose calls all have ids."""
    if all(call.id for call in message.calls):
        return message
    calls = [
        call if call.id else msgspec.structs.replace(call, id=next(free)) for call in message.calls
    ]
    return replace(message, tool_calls=tuple(calls))


def counted(messages: Iterable[Message], **more: int) -> dict[str, int]:
    """Count the media of messages, and leave out of *more* what is zero."""
    counts = dict.fromkeys(("images", "sounds", "films", "unknown_parts"), 0)
    for message in messages:
        if not isinstance(message.content, tuple):
            continue
        for part in message.content:
            match part:
                case ImagePart():
                    counts["images"] += 1
                case AudioPart():
                    counts["sounds"] += 1
                case VideoPart():
                    counts["films"] += 1
                case OtherPart():
                    counts["unknown_parts"] += 1
                case _:
                    pass
    return {name: count for name, count in {**counts, **more}.items() if count}


def tools_in(around: dict[str, Any]) -> int:
    """Count the tools that stand beside messages: a list, or the JSON text of one.

    The messages of a session have no place for them.
    """
    given = around.get("tools")
    if isinstance(given, str):
        given, _mended = loads(given.encode("utf-8", "replace"))
    return len(given) if isinstance(given, list) else 0


def leading_text(content: Content) -> str:
    """Give the text that a message begins with; empty when it begins with something else."""
    if isinstance(content, tuple):
        first = content[0] if content else None
        return first.text if isinstance(first, TextPart) else ""
    return content or ""
