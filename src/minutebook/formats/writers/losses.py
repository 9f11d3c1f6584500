"""What a written session does not hold, found by reading it back. Pure.

Nothing is said of what would be lost; what was written is compared with what was given. The
names: `messages` and `calls` that are gone, and `added` messages (marked results of calls
that had none, neutral first ones); `roles`, `texts`, `thinking`, `signatures`, `images`,
`sounds`, `films`, `unknown_parts`, `arguments`, `tool_names`, `call_ids`, `names`, `origins`,
`times`, `pins` and `order` of parts that are gone or others; `system_prompt`, `checkpoints`,
`usages`, `usage_parts` (the sum is right, the buckets are not) and `other_records`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

from minutebook.formats.mapping import compact_json
from minutebook.formats.source import loads
from minutebook.formats.value import Reading
from minutebook.formats.views import matched
from minutebook.formats.writers.conversation import Said, said
from minutebook.messages import (
    AudioPart,
    ImagePart,
    Message,
    OtherPart,
    Part,
    TextPart,
    ThinkPart,
    VideoPart,
)
from minutebook.records import Batch, Checkpoint, Record, SystemPrompt, Usage

_SAME_MOMENT_SECONDS = 0.001
"""Time stamps are written in milliseconds."""
_KEY_CHARACTERS = 200
"""How much of a text is looked at to find a message again."""
_COUNTED = ("input", "cache_read", "cache_write", "output")


def losses(records: Sequence[Record], back: Reading) -> dict[str, int]:
    """Compare records with what was read of the file that they were written to."""
    found: Counter[str] = Counter()
    given, kept = said(records), said(back.records)
    places = _places([item.message for item in given], [item.message for item in kept])
    found["messages"] = len(given) - len(places)
    found["added"] = len(kept) - len(places)
    for at, other in places.items():
        _compare(given[at].message, kept[other].message, found)
    figures = [(at, item.usage) for at, item in enumerate(given) if item.usage is not None]
    for at, usage in figures:
        count = kept[places[at]].usage if at in places else None
        if count is None or count.token_count != usage.token_count:
            found["usages"] += 1
        else:
            found["usage_parts"] += _counts(count) != _counts(usage)
    found["usages"] += max(_loose(records, given) - _loose(back.records, kept), 0)
    found["system_prompt"] = int(_prompt(records) != _prompt(back.records))
    found["checkpoints"] = max(_checkpoints(records) - _checkpoints(back.records), 0) + sum(
        isinstance(record, Checkpoint) and record.label is not None for record in records
    )
    known = Message | Usage | SystemPrompt | Checkpoint | Batch
    found["other_records"] = sum(not isinstance(record, known) for record in records)
    return {name: count for name, count in found.items() if count}


def _places(given: Sequence[Message], kept: Sequence[Message]) -> dict[int, int]:
    """Find each given message in what was kept: by what it says, as many as can be in order.

    Those between that say something else are taken one by one, as long as they can be the same.
    """
    found = matched([_key(message) for message in given], [_key(message) for message in kept])
    anchors = [(at, other) for other, at in enumerate(found) if at is not None]
    places = dict(anchors)
    start, begin = 0, 0
    for end, stop in (*anchors, (len(given), len(kept))):
        between = zip(range(start, end), range(begin, stop), strict=False)
        places |= takewhile(lambda pair: _alike(given[pair[0]], kept[pair[1]]), between)
        start, begin = end + 1, stop + 1
    return places


def _alike(given: Message, kept: Message) -> bool:
    """Tell whether a message can be what became of another one."""
    return (given.role in _CLEAR_ROLES or kept.role in _CLEAR_ROLES) <= (given.role == kept.role)


_CLEAR_ROLES = frozenset({"assistant", "tool"})
"""Roles that nothing else becomes."""


def _key(message: Message) -> tuple[object, ...]:
    """Give what a message is found by: whose it is, its first words, what it calls."""
    words = "".join(message.text.split())[:_KEY_CHARACTERS]
    role = message.role if message.role in _CLEAR_ROLES else ""
    return role, words, tuple(call.name for call in message.calls)


def _compare(given: Message, kept: Message, found: Counter[str]) -> None:
    """Count what is gone of one message."""
    before = sum(found.values())
    found["roles"] += given.role != kept.role
    found["texts"] += any(
        isinstance(part, TextPart) and part.text not in kept.text for part in given.parts
    )
    for kind, name in _KINDS:
        found[name] += _gone(_contents(given.parts, kind), _contents(kept.parts, kind))
    found["signatures"] += _gone(_signatures(given.parts), _signatures(kept.parts))
    found["calls"] += max(len(given.calls) - len(kept.calls), 0)
    for call, other in zip(given.calls, kept.calls, strict=False):
        found["tool_names"] += call.name != other.name
        found["call_ids"] += call.id != other.id
        found["arguments"] += _value(call.arguments) != _value(other.arguments)
    found["call_ids"] += given.tool_call_id != kept.tool_call_id
    found["names"] += given.name is not None and given.name != kept.name
    found["origins"] += given.origin is not None and given.origin != kept.origin
    found["pins"] += given.pin
    if given.at is not None:
        near = kept.at is not None and abs(given.at - kept.at) < _SAME_MOMENT_SECONDS
        found["times"] += not near
    if sum(found.values()) == before:
        found["order"] += list(map(type, given.parts)) != list(map(type, kept.parts))


_KINDS: tuple[tuple[type[Part], str], ...] = (
    (ThinkPart, "thinking"),
    (ImagePart, "images"),
    (AudioPart, "sounds"),
    (VideoPart, "films"),
    (OtherPart, "unknown_parts"),
)


def _contents(parts: Iterable[Part], kind: type[Part]) -> list[object]:
    """Give what the parts of one kind hold."""
    return [_content(part) for part in parts if isinstance(part, kind)]


def _content(part: Part) -> object:
    match part:
        case ThinkPart(think=think):
            return think
        case ImagePart(image_url=link):
            return link.url
        case AudioPart(audio_url=link):
            return link.url
        case VideoPart(video_url=link):
            return link.url
        case OtherPart(data=data):
            return data
        case TextPart(text=text):
            return text


def _signatures(parts: Iterable[Part]) -> list[object]:
    return [part.encrypted for part in parts if isinstance(part, ThinkPart) and part.encrypted]


def _gone(given: Iterable[object], kept: Iterable[object]) -> int:
    """Count the entries that are in no place of the other list; each entry there once."""
    return (Counter(map(compact_json, given)) - Counter(map(compact_json, kept))).total()


def _value(arguments: str) -> Any:
    """Give what arguments say, however they are spelled. None at all is an empty object."""
    if not arguments.strip() or arguments.strip() == "null":
        return {}
    value, _mended = loads(arguments.encode("utf-8", "replace"))
    return value if isinstance(value, dict | list) else arguments


def _counts(usage: Usage) -> tuple[int, ...]:
    """Give the buckets of a usage, a zero for one that was not counted."""
    return tuple(getattr(usage, name) or 0 for name in _COUNTED)


def _loose(records: Iterable[Record], conversation: Iterable[Said]) -> int:
    """Count the usage records that belong to no reply."""
    placed = sum(item.usage is not None for item in conversation)
    return sum(isinstance(record, Usage) for record in records) - placed


def _prompt(records: Iterable[Record]) -> str:
    prompts = [record.content for record in records if isinstance(record, SystemPrompt)]
    return prompts[-1].strip() if prompts else ""


def _checkpoints(records: Iterable[Record]) -> int:
    return sum(isinstance(record, Checkpoint) for record in records)
