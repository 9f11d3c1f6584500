"""Spell a view as an Anthropic Messages request: `system` and `messages`. Pure, no SDK.

The rules beyond those of `view`:

- `messages` alternates: neighbours of one role are one message of several blocks (the API
  would join them itself). Results stand first in the user message after their calls.
- The first message is a user's; where it would not be, a stated neutral one stands before it.
- Ids match `^[a-zA-Z0-9_-]+$` and are unique; what fits already stays.
- A system or developer message inside the history is user text between `<system>` tags.
- Thinking that has a signature goes along byte for byte, at its place, in old turns too:
  the API ignores what it has no use for, and leaving it out later would change what was sent.
  Thinking without a signature, or with that of another provider, is left out, and so is
  thinking at the end of a message, which the API refuses. Redacted thinking goes along as it is.
- Pictures are base64 or fetched by the API; sounds, films and other pictures are a text.
- A result that begins with Kimi CLI's error mark has `is_error`, unless it holds a picture,
  with which the API refuses the flag.
- A reply at the very end (a prefill) ends without white space. Whether a model takes a prefill
  at all, and thinking in it, depends on the model: end with a user message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
from minutebook.providers.arguments import as_object
from minutebook.providers.ciphers import maker_of
from minutebook.providers.ids import ids_for, name_like
from minutebook.providers.media import PICTURE_TYPES, data_of, is_http, placeholder
from minutebook.providers.stated import ERROR_LEAD, NEUTRAL_START

NAME_CHARACTERS_MAX = 128
"""The API's pattern for a tool's name is `^[a-zA-Z0-9_-]{1,128}$`."""


Block = dict[str, Any]


def encode(system_prompt: str | None, messages: Sequence[Message]) -> dict[str, Any]:
    """Give the request's `system` (only if there is a prompt) and `messages`.

    *messages* are those of a view: calls answered in place, ids unique, nothing empty.
    """
    body: dict[str, Any] = {} if system_prompt is None else {"system": system_prompt}
    id_of = ids_of(messages)
    turns: list[dict[str, Any]] = []
    for message in messages:
        role, blocks = _blocks(message, id_of)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    if not turns or turns[0]["role"] != "user":
        turns.insert(0, {"role": "user", "content": [_text(NEUTRAL_START)]})
    _trim(turns[-1])
    body["messages"] = turns
    return body


def ids_of(messages: Sequence[Message]) -> dict[str, str]:
    """Give the id that each call is sent with."""
    return ids_for(messages, spelled=name_like)


def redacted(part: OtherPart) -> str | None:
    """Give the cipher text of a redacted thinking block; none if it is something else."""
    data = part.data.get("data")
    if part.data.get("type") == "redacted_thinking" and isinstance(data, str):
        return data if data and data.isascii() else None
    return None


def _blocks(message: Message, id_of: dict[str, str]) -> tuple[str, list[Block]]:
    """Give role and blocks of one message."""
    match message.role:
        case "tool":
            return "user", [_result(message, id_of[message.tool_call_id or ""])]
        case "assistant":
            return "assistant", _reply(message, id_of)
        case "user":
            return "user", [_seen(part) for part in message.parts]
        case _:
            return "user", [_text(f"<system>{message.text}</system>")]


def _reply(message: Message, id_of: dict[str, str]) -> list[Block]:
    blocks = [block for part in message.parts if (block := _said(part))]
    if not message.calls:
        while blocks and blocks[-1]["type"] != "text":
            blocks.pop()
    return blocks + [
        {
            "type": "tool_use",
            "id": id_of[call.id],
            "name": name_like(call.name, characters_max=NAME_CHARACTERS_MAX),
            "input": as_object(call.arguments),
        }
        for call in message.calls
    ]


def _said(part: Part) -> Block | None:
    """Give the block of a part of a reply; none for thinking that cannot go along."""
    match part:
        case TextPart(text=text):
            return _text(text)
        case ThinkPart(think=think, encrypted=str(signature)) if _is_own(signature):
            return {"type": "thinking", "thinking": think, "signature": signature}
        case OtherPart():
            return {"type": "redacted_thinking", "data": redacted(part)}
        case _:
            return None


def _is_own(signature: str) -> bool:
    """Tell whether a signature may be Anthropic's: the API refuses those of others."""
    return bool(signature) and maker_of(signature) == "other"


def _seen(part: Part) -> Block:
    """Give the block of a part of a user's message or of a result."""
    match part:
        case TextPart(text=text):
            return _text(text)
        case ImagePart():
            return _picture(part)
        case AudioPart() | VideoPart():
            return _text(placeholder(part))
        case _:  # pragma: no cover - a view has no other part in these messages
            raise AssertionError(part)


def _picture(part: ImagePart) -> Block:
    address = part.image_url.url
    data = data_of(address)
    if data and data.media_type in PICTURE_TYPES:
        source = {"type": "base64", "media_type": data.media_type, "data": data.base64}
        return {"type": "image", "source": source}
    if is_http(address):
        return {"type": "image", "source": {"type": "url", "url": address}}
    return _text(placeholder(part))


def _result(message: Message, call_id: str) -> Block:
    blocks = [_seen(part) for part in message.parts]
    block: Block = {"type": "tool_result", "tool_use_id": call_id, "content": blocks}
    failed = str(blocks[0].get("text", "")).startswith(ERROR_LEAD)
    if failed and all(inner["type"] == "text" for inner in blocks):
        block["is_error"] = True
    return block


def _trim(last: dict[str, Any]) -> None:
    """Take the white space from the end of a reply that is the last message."""
    block = last["content"][-1]
    if last["role"] == "assistant" and block["type"] == "text":
        block["text"] = block["text"].rstrip()


def _text(text: str) -> Block:
    return {"type": "text", "text": text}
