"""Anthropic's content blocks, which Claude Code, Cline, Roo and Kilo store too. Pure.

A user's message that mixes results and text becomes the results, one tool message each, and
behind them a user message with the rest.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct

from minutebook.formats.mapping import compact_json, leading_text, stored, table, text
from minutebook.messages import (
    Function,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    Part,
    TextPart,
    ThinkPart,
    ToolCall,
    tool,
)

_ERROR_LEAD = "<system>ERROR"


class Blocks(Struct, frozen=True, kw_only=True):
    """The blocks of one message, sorted by what they are for us."""

    parts: tuple[Part, ...]
    calls: tuple[ToolCall, ...]
    results: tuple[Message, ...]
    """Tool messages, in the order of the blocks."""


def sort_blocks(content: object, *, role: str) -> Blocks:
    """Sort a message's content. Only a reply has calls, and no reply has results.

    What is of no known kind, or stands where it does not belong, becomes an `OtherPart`.
    """
    parts: list[Part] = []
    calls: list[ToolCall] = []
    results: list[Message] = []
    for block in content if isinstance(content, list) else [content]:
        given = table(block)
        kind = given.get("type")
        if kind == "tool_use" and role == "assistant":
            calls.append(call_of(given))
        elif kind == "tool_result" and role != "assistant":
            results.append(result_of(given))
        elif block is not None and block != "":
            parts.append(part_of(block))
    return Blocks(parts=tuple(parts), calls=tuple(calls), results=tuple(results))


def call_of(block: dict[str, Any]) -> ToolCall:
    """Make a call of a `tool_use` block; the arguments become compact JSON text.

    Arguments that are a text already, as a torn stream leaves them, stay as they are.
    """
    given = block.get("input", UNSET)
    arguments = given if given is UNSET or isinstance(given, str) else compact_json(given)
    return ToolCall(
        type="function",
        id=text(block.get("id")),
        function=Function(name=text(block.get("name")), arguments=arguments),
    )


def result_of(block: dict[str, Any]) -> Message:
    """Make a tool message of a `tool_result` block; an error is marked in Kimi CLI's way."""
    content = content_of(block.get("content"))
    error = block.get("is_error") is True and not leading_text(content).startswith(_ERROR_LEAD)
    return tool(text(block.get("tool_use_id")), content, error=error)


def content_of(content: object) -> str | tuple[Part, ...]:
    """Make content of a text, a block, or a list of blocks; empty text of nothing."""
    blocks = content if isinstance(content, list) else [content]
    return stored([part_of(block) for block in blocks if block is not None and block != ""])


def part_of(block: object) -> Part:
    """Make a part of one block; what has no place in ours is kept whole.

    So is redacted thinking: as a `ThinkPart` without text it could not be told from thinking
    whose text is empty and that is signed, and each goes back to its provider as what it was.
    """
    if isinstance(block, str):
        return TextPart(block)
    if not isinstance(block, dict):
        return OtherPart({"type": "unknown", "value": block})
    match block:
        case {"type": "text", "text": str(words)}:
            return TextPart(words)
        case {"type": "thinking", "thinking": str(thought)}:
            signature = block.get("signature")
            return ThinkPart(thought, signature if isinstance(signature, str) else UNSET)
        case {"type": "image", "source": {"type": "base64", "data": str(data), **source}}:
            kind = text(source.get("media_type")) or "image/png"
            return ImagePart(MediaUrl(f"data:{kind};base64,{data}"))
        case {"type": "image", "source": {"type": "url", "url": str(url)}}:
            return ImagePart(MediaUrl(url))
        case _:
            return OtherPart(block)
