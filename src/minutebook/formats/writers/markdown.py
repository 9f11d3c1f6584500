"""A session as Markdown, for people. Pure.

It is not read again. Media are named and not shown, thinking stands in a folded block, and every
text of others stands in a fence that nothing in it can close.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from minutebook.codec import clean
from minutebook.formats.mapping import compact_json
from minutebook.formats.source import loads
from minutebook.formats.writers.conversation import prompt_of, stamp
from minutebook.formats.writers.value import About, Writer, Written
from minutebook.messages import (
    AudioPart,
    ImagePart,
    Message,
    OtherPart,
    Part,
    TextPart,
    ThinkPart,
    ToolCall,
    VideoPart,
)
from minutebook.providers.media import placeholder
from minutebook.records import Checkpoint, Record, SystemPrompt, Usage

_FENCE_TICKS_MIN = 3
_TICKS = re.compile(r"`+")
_LOST = ((ImagePart, "images"), (AudioPart, "sounds"), (VideoPart, "films"))


def write(records: Sequence[Record], about: About) -> Written:
    """Write a page. Lost are what media show, signatures, and records that nobody said."""
    lost: Counter[str] = Counter()
    blocks = [*_head(records, about)]
    for record in records:
        match record:
            case Message():
                blocks += _message(record)
                lost["signatures"] += sum(
                    isinstance(part, ThinkPart) and bool(part.encrypted) for part in record.parts
                )
                for kind, name in _LOST:
                    lost[name] += sum(isinstance(part, kind) for part in record.parts)
            case Usage():
                blocks.append(f"*{_words(record)}*")
            case Checkpoint():
                lost["checkpoints"] += 1
            case SystemPrompt():
                pass
            case _:
                lost["other_records"] += 1
    data = "\n\n".join(clean(block) for block in blocks).encode() + b"\n"
    return Written(data=data, lost={name: count for name, count in lost.items() if count})


def _head(records: Sequence[Record], about: About) -> Iterator[str]:
    yield f"# {_line(about.title or about.session_id)}"
    known = {
        "Session": about.session_id,
        "Written": stamp(about.at),
        "Model": about.model,
        "Folder": about.cwd,
    }
    yield "\n".join(f"- {name}: {_line(value)}" for name, value in known.items() if value)
    prompt = prompt_of(records)
    if prompt:
        yield "## System prompt"
        yield _fenced(prompt)


def _message(message: Message) -> Iterator[str]:
    """Give a message's heading and its parts."""
    who = message.role if message.name is None else f"{message.role} {message.name}"
    others = {"user", "assistant", "tool", None}
    origin = "" if message.origin in others else f" ({message.origin})"
    when = "" if message.at is None else f", {stamp(message.at)}"
    answered = f" `{_line(message.tool_call_id)}`" if message.tool_call_id else ""
    yield f"## {_line(who)}{answered}{origin}{when}"
    for part in message.parts:
        yield _part(part, fenced=message.role != "assistant")
    for call in message.calls:
        yield _call(call)


def _part(part: Part, *, fenced: bool) -> str:
    """Give a part. A reply is Markdown already; what others say may be anything."""
    match part:
        case TextPart(text=text):
            return _fenced(text) if fenced else text
        case ThinkPart(think=think):
            return f"<details><summary>Thinking</summary>\n\n{_fenced(think)}\n\n</details>"
        case ImagePart() | AudioPart() | VideoPart():
            return _fenced(placeholder(part))
        case OtherPart(data=data):
            return _fenced(compact_json(data), "json")


def _call(call: ToolCall) -> str:
    value, _mended = loads(call.arguments.encode("utf-8", "replace"))
    is_json = isinstance(value, dict | list)
    shown = json.dumps(value, ensure_ascii=False, indent=2) if is_json else call.arguments
    name = f"Call of **{_line(call.name)}** `{_line(call.id)}`"
    return f"{name}\n\n{_fenced(shown, 'json' if is_json else '')}"


def _words(usage: Usage) -> str:
    """Say what a call cost."""
    parts = [
        f"{count} {name}"
        for name, count in (
            ("input", usage.input),
            ("from the cache", usage.cache_read),
            ("to the cache", usage.cache_write),
            ("output", usage.output),
        )
        if count
    ]
    lead = f"{usage.token_count} tokens{', estimated' if usage.estimated else ''}"
    return f"{lead}: {', '.join(parts)}" if parts else lead


def _fenced(text: str, language: str = "") -> str:
    """Give a text in a fence longer than any run of ticks in it."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(_FENCE_TICKS_MIN, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _line(text: str) -> str:
    """Give a text on one line."""
    return " ".join(text.split())


WRITER = Writer(
    name="markdown",
    description="Markdown: a page for people, which is not read again",
    write=write,
)
