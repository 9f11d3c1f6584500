"""Spell a view as an OpenAI Responses request: `instructions` and `input`. Pure, no SDK.

The rules beyond those of `view`:

- A message is an item of its own, and so are each call and each result. A reply's text is a plain
  text: output items of earlier replies would need the ids that the API gave them.
- Call ids have at most 64 characters and are unique; what fits already stays.
- Thinking goes along if OpenAI made it, as a reasoning item directly before what it led to; the
  API refuses what it did not make, and reasoning with nothing behind it.
- System messages inside the history have the role `developer`.
- Pictures are data or fetched by the API; sounds, films and other pictures are a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from minutebook.messages import (
    AudioPart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ThinkPart,
    VideoPart,
)
from minutebook.providers.ciphers import maker_of
from minutebook.providers.ids import ids_for, name_like
from minutebook.providers.media import PICTURE_TYPES, data_of, is_http, placeholder
from minutebook.providers.stated import NEUTRAL_START

CALL_ID_CHARACTERS_MAX = 64
"""The API answers 400 `string_above_max_length` to a longer `call_id`."""

NAME_CHARACTERS_MAX = 64
"""The API reference: a function's name has letters, digits, `_` and `-`, 64 at most."""


Item = dict[str, Any]


def encode(system_prompt: str | None, messages: Sequence[Message]) -> dict[str, Any]:
    """Give the request's `instructions` (only if there is a prompt) and `input`.

    *messages* are those of a view: calls answered in place, ids unique, nothing empty.
    """
    body: dict[str, Any] = {} if system_prompt is None else {"instructions": system_prompt}
    id_of = ids_of(messages)
    items = [item for message in messages for item in _items(message, id_of)]
    body["input"] = items or [_spoken("user", [_text(NEUTRAL_START)])]
    return body


def ids_of(messages: Sequence[Message]) -> dict[str, str]:
    """Give the id that each call is sent with."""
    return ids_for(messages, characters_max=CALL_ID_CHARACTERS_MAX)


def _items(message: Message, id_of: dict[str, str]) -> Iterator[Item]:
    match message.role:
        case "tool":
            call_id = id_of[message.tool_call_id or ""]
            output = _output([_seen(part) for part in message.parts])
            yield {"type": "function_call_output", "call_id": call_id, "output": output}
        case "assistant":
            yield from _reply(message, id_of)
        case "user":
            yield _spoken("user", [_seen(part) for part in message.parts])
        case _:
            yield _spoken("developer", [_text(message.text)])


def _reply(message: Message, id_of: dict[str, str]) -> Iterator[Item]:
    """Give reasoning, text and calls in their order; texts between reasoning are one item each."""
    waiting: list[Item] = []
    texts: list[str] = []
    for part in message.parts:
        match part:
            case TextPart(text=text):
                texts.append(text)
            case ThinkPart(encrypted=str(cipher)) if maker_of(cipher) == "openai":
                if texts:
                    yield from _said(waiting, texts)
                    waiting, texts = [], []
                waiting.append(_reasoning(part.think, cipher))
            case _:
                pass
    if texts or message.calls:
        yield from _said(waiting, texts)
    for call in message.calls:
        yield {
            "type": "function_call",
            "call_id": id_of[call.id],
            "name": name_like(call.name, characters_max=NAME_CHARACTERS_MAX),
            "arguments": call.arguments,
        }


def _said(waiting: Sequence[Item], texts: Sequence[str]) -> Iterator[Item]:
    """Give a text with the reasoning before it; reasoning alone belongs to the calls behind it."""
    yield from waiting
    if texts:
        yield {"type": "message", "role": "assistant", "content": "".join(texts)}


def _reasoning(think: str, cipher: str) -> Item:
    summary = [{"type": "summary_text", "text": think}] if think.strip() else []
    return {"type": "reasoning", "summary": summary, "encrypted_content": cipher}


def _spoken(role: str, content: list[Item]) -> Item:
    return {"type": "message", "role": role, "content": content}


def _output(content: list[Item]) -> str | list[Item]:
    texts = [item["text"] for item in content if item["type"] == "input_text"]
    return "\n".join(texts) if len(texts) == len(content) else content


def _seen(part: Part) -> Item:
    """Give the content of a part of a user's message or of a result."""
    match part:
        case TextPart(text=text):
            return _text(text)
        case ImagePart():
            address = part.image_url.url
            data = data_of(address)
            if is_http(address) or (data and data.media_type in PICTURE_TYPES):
                return {"type": "input_image", "image_url": address, "detail": "auto"}
            return _text(placeholder(part))
        case AudioPart() | VideoPart():
            return _text(placeholder(part))
        case _:  # pragma: no cover - a view has no other part in these messages
            raise AssertionError(part)


def _text(text: str) -> Item:
    return {"type": "input_text", "text": text}
