"""OpenAI's chat messages: a list, an object with `messages`, JSON Lines. Pure.

A first system (or developer) message is the system prompt; later ones stay in the history.
Old `function_call`s are calls without an id and get one, as do results of the role function.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from minutebook.formats.blocks import part_of as block_part
from minutebook.formats.conversations import find, sample, several
from minutebook.formats.mapping import (
    compact_json,
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
from minutebook.formats.value import Format, Reading
from minutebook.messages import (
    AudioPart,
    Function,
    ImagePart,
    MediaUrl,
    Message,
    Part,
    TextPart,
    ThinkPart,
    ToolCall,
    VideoPart,
)
from minutebook.records import Record, SystemPrompt, Usage

_ROLES = {"developer": "system", "function": "tool"}
"""Roles that have another name with us."""
_STAMPS = ("timestamp", "created_at", "created", "ts")
_CLUES = ("tool_calls", "function_call", "tool_call_id", "refusal", "reasoning_content")
"""Keys that only this form has."""


def detect(source: Source) -> str | None:
    """Give the evidence that the file holds messages, and nothing says that they are others."""
    messages = sample(source)
    if not messages:
        return None
    for message in messages:
        clue = next((key for key in _CLUES if key in message), None)
        if clue:
            return f"messages with role and content, one of them with the key {clue}"
        if role_of(message) in {"system", "developer", "tool", "function"}:
            return f"messages with role and content, one of them of the role {role_of(message)}"
    return "messages with role and content, and nothing that another form would have"


def read(source: Source, index: int) -> Reading:
    """Read one conversation of the file."""
    conversation = find(source, index)
    records: list[Record] = []
    for number, value in enumerate(conversation.messages):
        message = message_of(value)
        if not number and message.role == "system":
            records.append(SystemPrompt(content=message.text))
        else:
            records.append(message)
        if "usage" in value and message.role == "assistant":
            counts = usage_of(table(value["usage"]), text(value.get("model")))
            records += [] if counts is None else [counts]
    around = conversation.around
    named, made_up = with_call_ids(records)
    messages = [record for record in named if isinstance(record, Message)]
    usages = [record for record in records if isinstance(record, Usage)]
    times = [message.at for message in messages if message.at is not None]
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints(named),
        counts=counted(
            messages,
            conversations=several(conversation),
            made_up_ids=made_up,
            tools=tools_in(around),
        ),
        problems=tuple(conversation.problems),
        title=text(around.get("title")),
        model=next((item.model for item in reversed(usages) if item.model), "")
        or text(around.get("model")),
        session_id=text(around.get("id")) or source.name,
        started=min(times, default=None),
        updated=max(times, default=None),
    )


def message_of(value: dict[str, Any]) -> Message:
    """Make a message of one of OpenAI's."""
    role = role_of(value)
    role = _ROLES.get(role, role)
    parts = [*_thinking(value), *_parts(value.get("content"))]
    refusal = value.get("refusal")
    if isinstance(refusal, str) and refusal:
        parts.append(TextPart(refusal))
    stamps = (moment(value[key]) for key in _STAMPS if key in value)
    name = value.get("name")
    return Message(
        role=role,
        content=stored(parts),
        name=name if isinstance(name, str) else None,
        tool_calls=_calls(value) or None,
        tool_call_id=text(value.get("tool_call_id")) if role == "tool" else None,
        at=next((stamp for stamp in stamps if stamp is not None), None),
        origin=role if role in {"assistant", "tool"} else None,
    )


def _thinking(value: dict[str, Any]) -> list[Part]:
    """Give a reply's thinking, which servers write beside the content under several names.

    The blocks are preferred: they have the signature, and the other keys repeat their text.
    """
    blocks = value.get("thinking_blocks")
    if isinstance(blocks, list) and blocks:
        return [block_part(block) for block in blocks]
    thought = text(value.get("reasoning_content")) or text(value.get("reasoning"))
    return [ThinkPart(thought)] if thought else []


def _parts(content: object) -> list[Part]:
    """Make parts of any content."""
    if isinstance(content, str):
        return [TextPart(content)] if content else []
    if content is None:
        return []
    return [_part(item) for item in (content if isinstance(content, list) else [content])]


def _part(item: object) -> Part:
    """Make a part of one item of a content list; what has no place in ours is kept whole."""
    match item:
        case {"type": "input_text" | "output_text", "text": str(words)}:
            return TextPart(words)
        case {"type": "refusal", "refusal": str(words)}:
            return TextPart(words)
        case {"type": "think", "think": str(thought)}:
            encrypted = table(item).get("encrypted")
            return ThinkPart(thought, encrypted if isinstance(encrypted, str) else UNSET)
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            return ImagePart(MediaUrl(url))
        case {"type": "audio_url", "audio_url": {"url": str(url)}}:
            return AudioPart(MediaUrl(url))
        case {"type": "video_url", "video_url": {"url": str(url)}}:
            return VideoPart(MediaUrl(url))
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind)}}:
            return AudioPart(MediaUrl(f"data:audio/{kind};base64,{data}"))
        case _:
            return block_part(item)


def _calls(value: dict[str, Any]) -> tuple[ToolCall, ...]:
    """Give a reply's calls, old ones and such of custom tools too."""
    given = value.get("tool_calls")
    calls = (
        [_call(call) for call in given or () if isinstance(call, dict)]
        if isinstance(given, list)
        else []
    )
    old = value.get("function_call")
    if isinstance(old, dict) and not calls:
        calls.append(_call({"function": old}))
    return tuple(calls)


def _call(call: dict[str, Any]) -> ToolCall:
    """Make a call of one; arguments that are a value become compact JSON text."""
    what = next(
        (call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call
    )
    arguments = what.get("arguments", what.get("input", UNSET))
    if not (arguments is None or arguments is UNSET or isinstance(arguments, str)):
        arguments = compact_json(arguments)
    return ToolCall(
        type=text(call.get("type")) or "function",
        id=text(call.get("id")),
        function=Function(name=text(what.get("name")), arguments=arguments),
    )


def usage_of(reported: dict[str, Any], model: str) -> Usage | None:
    """Make a usage record of what a reply carries; cached input is part of the prompt's count."""
    prompt = whole(reported.get("prompt_tokens"))
    cached = whole(table(reported.get("prompt_tokens_details")).get("cached_tokens"))
    if prompt is not None and cached is not None and cached > prompt:
        cached = None
    details = table(reported.get("completion_tokens_details"))
    return usage(
        fresh=None if prompt is None else prompt - (cached or 0),
        cache_read=cached,
        output=whole(reported.get("completion_tokens")),
        reasoning=whole(details.get("reasoning_tokens")),
        model=model,
    )


FORMAT = Format(
    name="openai-chat",
    description="OpenAI chat messages: a JSON list, an object with messages, or JSON Lines",
    looks_for="objects with role and content, in a list, under messages or traj, or one a line",
    detect=detect,
    read=read,
)
