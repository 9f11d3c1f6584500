"""What a provider answered, as a message for the log. Pure, no SDK.

Each function takes the whole reply or the message in it: a mapping, or an SDK's object. Texts,
thinking with its signature, calls and what only the provider can read are kept as they came; a
part of a kind that is not known here is kept whole. What stands beside a text (citations) or for
one (a spoken answer) is kept as a part behind it, under its own name. A call without an id gets
one from its place. Usage is not read: give the reply's own to `Session.append(…, usage=…)`.

Ids of calls are the provider's. A request's own, mapped ids need no mapping back here, since no
reply names a call of an earlier one: where one has to know them, see `view.sent_ids`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minutebook.errors import InvalidMessage
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
    as_content,
)
from minutebook.providers.ciphers import GEMINI_LEAD

Body = Mapping[str, Any]


def from_openai(reply: object) -> Message:
    """Read a reply of OpenAI Chat Completions, or of a server that speaks like it.

    Raises:
        InvalidMessage: If it is of another shape.
    """
    return _read(reply, _chat)


def from_responses(reply: object) -> Message:
    """Read a reply of OpenAI's Responses API; raises as `from_openai` does."""
    return _read(reply, _responses)


def from_anthropic(reply: object) -> Message:
    """Read a reply of Anthropic Messages; raises as `from_openai` does."""
    return _read(reply, _anthropic)


def from_gemini(reply: object) -> Message:
    """Read a reply of Gemini's; raises as `from_openai` does.

    Of a batch of calls only the first one's thought signature is kept, as the API gives no other.
    A candidate that was blocked or cut off before its first word gives an empty message.
    """
    return _read(reply, _gemini)


def _read(reply: object, reader: Callable[[Body], Message]) -> Message:
    dump = getattr(reply, "model_dump", None)
    body = dump(mode="json") if callable(dump) else reply
    if not isinstance(body, Mapping):
        raise InvalidMessage(f"a reply is a mapping or an SDK's object, not {type(reply).__name__}")
    try:
        return reader(body)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise InvalidMessage(f"no reply of this provider: {error!r}") from error


def _made(parts: Iterable[Part], calls: Iterable[ToolCall]) -> Message:
    said, asked = list(parts), tuple(calls)
    words: list[object] = [part.text for part in said if isinstance(part, TextPart)]
    words += [part.think for part in said if isinstance(part, ThinkPart)]
    words += [word for one in asked for word in (one.id, one.name, one.arguments)]
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"{word!r} is no text")
    return Message(
        "assistant", as_content(said) if said else "", tool_calls=asked or None, origin="assistant"
    )


def _chat(body: Body) -> Message:
    item: Body = body["choices"][0]["message"] if "choices" in body else body
    parts: list[Part] = []
    thinking = item.get("reasoning_content") or item.get("reasoning")
    if isinstance(thinking, str) and thinking:
        parts.append(ThinkPart(thinking))
    parts += _beside(item, "reasoning_details")
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for part in content or ():
        known = part.get("type") == "text"
        parts += [TextPart(part["text"])] if known and part["text"] else []
        parts += [] if known else [OtherPart(dict(part))]
    if item.get("refusal"):
        parts.append(TextPart(item["refusal"]))
    spoken = item.get("audio") or {}
    if spoken.get("transcript") and not content:
        parts.append(TextPart(spoken["transcript"]))
    parts += [part for key in ("audio", "annotations") for part in _beside(item, key)]
    calls = list(item.get("tool_calls") or ())
    if item.get("function_call"):
        calls.append({"function": item["function_call"]})
    return _made(parts, [_chat_call(one, number) for number, one in enumerate(calls)])


def _chat_call(one: Body, number: int) -> ToolCall:
    call_id = one.get("id") or f"call_{number}"
    if one.get("type") == "custom":
        return _call("custom", call_id, one["custom"]["name"], one["custom"]["input"])
    function = one["function"]
    arguments = function.get("arguments") or ""
    if isinstance(arguments, Mapping):
        # Some servers that speak like it give the object instead of its text.
        arguments = json.dumps(arguments, ensure_ascii=False)
    return _call("function", call_id, function["name"], arguments)


def _beside(holder: Body, key: str) -> list[Part]:
    """Give what stands in a reply under a name of its own, if there is anything."""
    return [OtherPart({"type": key, key: holder[key]})] if holder.get(key) else []


def _responses(body: Body) -> Message:
    parts: list[Part] = []
    calls: list[ToolCall] = []
    for item in body["output"]:
        match item["type"]:
            case "message":
                parts += [part for one in item["content"] for part in _output_parts(one)]
            case "reasoning":
                # Models whose reasoning is open give it as content, the others a summary of it.
                texts = item.get("content") or item.get("summary") or ()
                said = "\n".join(one["text"] for one in texts)
                parts.append(ThinkPart(said, item.get("encrypted_content") or None))
            case "function_call":
                calls.append(_call("function", item["call_id"], item["name"], item["arguments"]))
            case "custom_tool_call":
                calls.append(_call("custom", item["call_id"], item["name"], item["input"]))
            case _:
                parts.append(OtherPart(dict(item)))
    return _made(parts, calls)


def _output_parts(part: Body) -> list[Part]:
    match part["type"]:
        case "output_text":
            return [TextPart(part["text"]), *_beside(part, "annotations")]
        case "refusal":
            return [TextPart(part["refusal"])]
        case _:
            return [OtherPart(dict(part))]


def _anthropic(body: Body) -> Message:
    parts: list[Part] = []
    calls: list[ToolCall] = []
    for block in body["content"]:
        match block["type"]:
            case "text":
                parts += [TextPart(block["text"]), *_beside(block, "citations")]
            case "thinking":
                parts.append(ThinkPart(block["thinking"], block.get("signature") or None))
            case "tool_use":
                arguments = json.dumps(block["input"], ensure_ascii=False)
                calls.append(_call("function", block["id"], block["name"], arguments))
            case _:
                parts.append(OtherPart(dict(block)))
    return _made(parts, calls)


def _gemini(body: Body) -> Message:
    if "candidates" in body:
        content: Body = body["candidates"][0].get("content") or {}
        said = content.get("parts") or ()
    else:
        said = body["parts"]
    parts: list[Part] = []
    calls: list[ToolCall] = []
    for part in said:
        signature = _either(part, "thoughtSignature", "thought_signature")
        asked = _either(part, "functionCall", "function_call")
        if signature and not (asked and calls):
            parts.append(ThinkPart("", f"{GEMINI_LEAD}{signature}"))
        if asked:
            arguments = json.dumps(asked.get("args") or {}, ensure_ascii=False)
            made = asked.get("id") or f"call_{len(calls)}"
            calls.append(_call("function", made, asked["name"], arguments))
        elif isinstance(part.get("text"), str):
            text = part["text"]
            parts.append(ThinkPart(text) if part.get("thought") else TextPart(text))
        else:
            parts.append(_shown(part))
    return _made(parts, calls)


def _shown(part: Body) -> Part:
    data = _either(part, "inlineData", "inline_data")
    kind = _either(data, "mimeType", "mime_type") if isinstance(data, Mapping) else None
    content = data.get("data") if isinstance(data, Mapping) else None
    if isinstance(kind, str) and kind.startswith("image/") and isinstance(content, str):
        # The SDK dumps bytes in the alphabet for addresses, the API takes and gives the other.
        standard = content.replace("-", "+").replace("_", "/")
        return ImagePart(MediaUrl(f"data:{kind};base64,{standard}"))
    return OtherPart({"type": "_gemini", **part})


def _either(value: Body, one: str, other: str) -> Any:
    """Give a value by its name on the wire, or in the SDK."""
    found = value.get(one)
    return value.get(other) if found is None else found


def _call(kind: str, call_id: str, name: str, arguments: str) -> ToolCall:
    return ToolCall(kind, call_id, Function(name, arguments))
