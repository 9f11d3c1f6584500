"""Records as a conversation that another agent takes: calls answered, ids unique. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from math import inf

from msgspec import Struct

from minutebook.codec import clean
from minutebook.messages import (
    AudioPart,
    Function,
    ImagePart,
    Message,
    OtherPart,
    Part,
    TextPart,
    ThinkPart,
    ToolCall,
    VideoPart,
    replace,
)
from minutebook.providers.arguments import sendable
from minutebook.providers.ciphers import OPENAI_LEAD
from minutebook.providers.ids import UniqueIds
from minutebook.providers.media import placeholder
from minutebook.providers.view import NOT_RUN, UNKNOWN_OUTCOME
from minutebook.records import Record, SystemPrompt, Usage
from minutebook.turns import pair

_MAKERS = (
    ("anthropic", ("claude",)),
    ("openai", ("gpt", "o1", "o3", "o4", "codex")),
)
"""How the names of each maker's models begin."""


class Said(Struct, frozen=True):
    """A message, and what the provider counted for it."""

    message: Message
    usage: Usage | None = None


def prompt_of(records: Iterable[Record]) -> str:
    """Give the system prompt, empty if there is none or it is blank. The last one counts."""
    prompts = [record.content for record in records if isinstance(record, SystemPrompt)]
    return clean(prompts[-1]) if prompts and prompts[-1].strip() else ""


def said(records: Iterable[Record]) -> list[Said]:
    """Give the messages, each reply with the usage that stands behind it; the last one counts.

    Estimates are nobody's count and belong to no reply.
    """
    found: list[Said] = []
    reply = -1
    for record in records:
        if isinstance(record, Message):
            if record.role == "assistant":
                reply = len(found)
            elif record.role != "tool":
                reply = -1
            found.append(Said(record))
        elif isinstance(record, Usage) and reply >= 0 and not record.estimated:
            found[reply] = Said(found[reply].message, record)
    return found


def settled(conversation: Sequence[Said]) -> Iterator[Said]:
    """Give a conversation in which each call is answered behind its message, as answers came.

    As in `view`: a missing result becomes a marked one, results without a call are left out,
    ids are unique, and arguments that are no JSON object become `{}`. The input of a custom
    tool is a text and stays, whatever it says.
    """
    messages = [item.message for item in conversation]
    results = pair(messages).results
    ids = UniqueIds()
    for index, item in enumerate(conversation):
        message = item.message
        if message.role == "tool":
            continue
        if message.role != "assistant" or not message.calls:
            yield item
            continue
        named = [_named(call, ids, f"call_{index}_{at}") for at, call in enumerate(message.calls)]
        yield Said(replace(message, tool_calls=tuple(call for call, _ in named)), item.usage)
        answers = [results.get((index, number)) for number in range(len(named))]
        order = sorted(range(len(named)), key=lambda number: _place(answers[number]))
        for number in order:
            call, whole = named[number]
            at = answers[number]
            if at is not None:
                yield Said(replace(messages[at], tool_call_id=call.id))
            else:
                text = UNKNOWN_OUTCOME if whole else NOT_RUN
                yield Said(Message("tool", text, tool_call_id=call.id, origin="notice"))


def _place(answer: int | None) -> float:
    """Give the order of an answer: as they came, those that never came last."""
    return inf if answer is None else answer


def _named(call: ToolCall, ids: UniqueIds, unnamed: str) -> tuple[ToolCall, bool]:
    """Give a call with an id of its own and arguments that can be sent, and if they were whole."""
    name = ids.give(clean(call.id) if call.id.strip() else unnamed)
    if call.type == "custom":
        function = Function(clean(call.name), clean(call.arguments))
        return ToolCall(call.type, name, function), True
    arguments = sendable(call.arguments)
    function = Function(clean(call.name), arguments.text)
    return ToolCall("function", name, function), arguments.whole


def shown(message: Message) -> list[Part]:
    """Give the parts of a message that a file can hold.

    Blank texts are left out. Only users and results show media; those of others, and sounds
    and films, are named by a text.
    """
    return [part for found in message.parts if (part := _shown(found, message.role)) is not None]


def stamp(seconds: float) -> str:
    """Write a moment as agents do: UTC, in milliseconds. A time that no calendar has is 1970."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        moment = datetime.fromtimestamp(0, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(part: Part, role: str) -> Part | None:
    match part:
        case TextPart(text=text):
            return TextPart(clean(text)) if text.strip() else None
        case ImagePart() if role in {"user", "tool"}:
            return part
        case ImagePart() | AudioPart() | VideoPart():
            return TextPart(clean(placeholder(part)))
        case ThinkPart() | OtherPart():
            return part if role == "assistant" else None


def maker_of(part: ThinkPart, model: str, maker: str) -> str:
    """Say whose the opaque text of a part is; empty for what has none, or nobody's.

    *model* is that of the reply, *maker* what is said of the whole session.
    """
    if not part.encrypted:
        return ""
    if part.encrypted.startswith(OPENAI_LEAD):
        return "openai"
    name = model.rpartition("/")[2].lower()
    return next((found for found, leads in _MAKERS if name.startswith(leads)), maker)
