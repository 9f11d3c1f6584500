"""Messages of the three APIs as messages of the log. Pure.

One message of Anthropic's with results becomes several of ours. What is of a kind that is not
known here is kept whole as an `OtherPart`, and the item is `opaque`: a conversation with such
an item is recorded and never rewritten, since nobody knows what may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from minutebook.gateway.wires import Api
from minutebook.messages import (
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    Part,
    TextPart,
    ThinkPart,
    ToolCall,
    as_content,
    call,
)

ORIGINS = {"user": "user", "assistant": "assistant", "tool": "tool"}
_FAILED = "<system>ERROR: the tool failed.</system>"


class Mapped(Struct, frozen=True):
    """The messages of one item."""

    messages: tuple[Message, ...]
    opaque: bool = False


class _Unknown(ValueError):
    """Something is of a kind that is not known."""


def map_item(api: Api, raw: bytes) -> Mapped:
    """Give the messages that an item of a request stands for. Never raises for valid JSON."""
    item = msgspec.json.decode(raw)
    if not isinstance(item, dict):
        return _whole({"type": "_value", "value": item})
    try:
        match api:
            case "chat":
                return Mapped((chat_message(item),))
            case "messages":
                return Mapped(tuple(anthropic_messages(item)))
            case "responses":
                return Mapped((response_item(item),))
    except (_Unknown, KeyError, TypeError, AttributeError):
        return _whole(item)


def _whole(item: dict[str, Any]) -> Mapped:
    role = item.get("role")
    speaker = "assistant" if role == "assistant" else "user"
    data = {**item, "type": f"_item:{item.get('type', 'message')}"}
    return Mapped((Message(speaker, (OtherPart(data),), origin=ORIGINS[speaker]),), opaque=True)


def chat_message(item: Mapping[str, Any]) -> Message:
    """Map a message of Chat Completions."""
    role = item["role"]
    if role not in {"user", "assistant", "tool", "system", "developer"}:
        raise _Unknown
    if item.get("function_call") or item.get("audio"):
        raise _Unknown
    parts = _parts(item.get("content"))
    refusal, thinking = item.get("refusal"), item.get("reasoning_content")
    if refusal:
        parts.append(TextPart(_text(refusal)))
    if thinking and role == "assistant":
        parts.insert(0, ThinkPart(_text(thinking)))
    calls = tuple(_chat_call(one) for one in item.get("tool_calls") or () if role == "assistant")
    return Message(
        role,
        as_content(parts) if parts else "",
        name=item["name"] if isinstance(item.get("name"), str) else None,
        tool_calls=calls or None,
        tool_call_id=_text(item["tool_call_id"]) if role == "tool" else None,
        origin=ORIGINS.get(role),
    )


def _chat_call(one: Mapping[str, Any]) -> ToolCall:
    if one.get("type", "function") != "function":
        raise _Unknown
    function = one["function"]
    return call(_text(one["id"]), _text(function["name"]), _text(function.get("arguments") or ""))


def anthropic_messages(item: Mapping[str, Any]) -> list[Message]:
    """Map a message of Anthropic's: its results one by one, then what else it says."""
    role, content = item["role"], item["content"]
    if role not in {"user", "assistant"}:
        raise _Unknown
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    results: list[Message] = []
    parts: list[Part] = []
    calls: list[ToolCall] = []
    for block in blocks:
        match block["type"]:
            case "tool_result" if role == "user":
                found = _parts(block.get("content"))
                if block.get("is_error"):
                    found.insert(0, TextPart(_FAILED))
                identity = _text(block["tool_use_id"])
                content = as_content(found) if found else ""
                results.append(Message("tool", content, tool_call_id=identity, origin="tool"))
            case "tool_use" if role == "assistant":
                arguments = msgspec.json.encode(block["input"]).decode()
                calls.append(call(_text(block["id"]), _text(block["name"]), arguments))
            case "thinking" if role == "assistant":
                parts.append(ThinkPart(_text(block["thinking"]), _text(block["signature"])))
            case "redacted_thinking" if role == "assistant":
                parts.append(OtherPart(dict(block)))
            case _:
                parts += _parts([block])
    if parts or calls or not results:
        spoken = as_content(parts) if parts else ""
        results.append(Message(role, spoken, tool_calls=tuple(calls) or None, origin=ORIGINS[role]))
    return results


def response_item(item: Mapping[str, Any]) -> Message:
    """Map an item of the Responses API."""
    match item.get("type", "message"):
        case "message":
            role = item["role"]
            if role not in {"user", "assistant", "system", "developer"}:
                raise _Unknown
            parts = _parts(item["content"])
            return Message(role, as_content(parts) if parts else "", origin=ORIGINS.get(role))
        case "function_call":
            made = call(_text(item["call_id"]), _text(item["name"]), _text(item["arguments"]))
            return Message("assistant", "", tool_calls=(made,), origin="assistant")
        case "function_call_output":
            parts = _parts(item["output"])
            content = as_content(parts) if parts else ""
            return Message("tool", content, tool_call_id=_text(item["call_id"]), origin="tool")
        case "reasoning":
            texts = [_text(one["text"]) for one in item.get("summary") or ()]
            secret = item.get("encrypted_content")
            part = ThinkPart("\n".join(texts), secret if isinstance(secret, str) else "")
            return Message("assistant", (part,), origin="assistant")
        case _:
            raise _Unknown


def _parts(content: object) -> list[Part]:
    if content is None:
        return []
    if isinstance(content, str):
        return [TextPart(content)] if content else []
    if not isinstance(content, list):
        raise _Unknown
    return [_part(block) for block in content]


def _part(block: Mapping[str, Any]) -> Part:
    if block.get("citations"):
        raise _Unknown
    match block["type"]:
        case "text" | "input_text" | "output_text":
            return TextPart(_text(block["text"]))
        case "refusal":
            return TextPart(_text(block["refusal"]))
        case "image_url":
            return ImagePart(MediaUrl(_text(block["image_url"]["url"])))
        case "input_image":
            return ImagePart(MediaUrl(_text(block["image_url"])))
        case "image":
            source = block["source"]
            if source["type"] == "base64":
                url = f"data:{_text(source['media_type'])};base64,{_text(source['data'])}"
                return ImagePart(MediaUrl(url))
            return ImagePart(MediaUrl(_text(source["url"])))
        case _:
            raise _Unknown


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Unknown
    return value
