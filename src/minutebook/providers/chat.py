"""Spell a view as the `messages` of an OpenAI Chat Completions request. Pure, no SDK.

The rules beyond those of `view`:

- The system prompt is the first message; system and developer messages inside the history
  stay where they are. Roles may come in any order here.
- Results are text. What a tool showed (pictures, sounds) stands in a user message behind the
  results of its batch, which names the calls.
- One text is a string. Several texts of a reply, a result or a system message are joined by
  line breaks, since many servers take only a string there; a user's stay parts.
- Thinking is left out, and a Kimi model gets it as `reasoning_content`: Moonshot's API refuses
  calls of a thinking model that come without it. Such a model also gets films and `ms://`
  addresses, which are its own, and a developer message as a system message.
- Call ids have 40 characters at most, tool names 64 of letters, digits, `_` and `-`.
- Pictures that are neither of the four known types nor fetched by http, and sounds that are
  neither wav nor mp3, are named by a text; films too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from minutebook.messages import (
    AudioPart,
    ImagePart,
    Message,
    Part,
    TextPart,
    VideoPart,
)
from minutebook.providers.ids import CALL_ID_CHARACTERS_MAX, ids_for, name_like
from minutebook.providers.media import (
    PICTURE_TYPES,
    MediaPart,
    address_of,
    data_of,
    is_http,
    placeholder,
)
from minutebook.providers.stated import NEUTRAL_START, SHOWN_BELOW

NAME_CHARACTERS_MAX = 64
"""The API reference: a function's name has letters, digits, `_` and `-`, 64 at most."""


SHOWN_HERE = "<system>From the result of the call {call}:</system>"
"""What stands before the media of a result."""

SOUND_FORMATS = {
    "audio/wav": "wav",
    "audio/wave": "wav",
    "audio/x-wav": "wav",
    "audio/mp3": "mp3",
    "audio/mpeg": "mp3",
}
"""The media types of the two formats that `input_audio` takes."""

_KIMI = re.compile(r"(?:.*/)?(?:kimi|moonshot)[^/]*", re.IGNORECASE)
_PARTICIPANT = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_BUILT_IN = re.compile(r"\$[a-zA-Z0-9_-]{1,63}")
"""Kimi's own functions, which its API runs by itself."""

Item = dict[str, Any]


def encode(
    system_prompt: str | None, messages: Sequence[Message], *, model: str = ""
) -> list[Item]:
    """Give the request's `messages`.

    *messages* are those of a view: calls answered in place, ids unique, nothing empty.
    *model* matters only by being one of Moonshot's: `kimi…` or `moonshot…`, alone or behind
    a vendor's name and a slash.
    """
    return list(_Encoder(kimi=_KIMI.fullmatch(model) is not None).encode(system_prompt, messages))


def ids_of(messages: Sequence[Message]) -> dict[str, str]:
    """Give the id that each call is sent with."""
    return ids_for(messages, characters_max=CALL_ID_CHARACTERS_MAX)


class _Encoder:
    """Spells messages one after the other; holds the ids given and the media to be shown."""

    def __init__(self, *, kimi: bool) -> None:
        self._kimi = kimi
        self._id_of: dict[str, str] = {}
        self._shown: list[Item] = []

    def encode(self, system_prompt: str | None, messages: Sequence[Message]) -> Iterator[Item]:
        self._id_of = ids_of(messages)
        if system_prompt is not None:
            yield {"role": "system", "content": system_prompt}
        elif not messages:
            yield {"role": "user", "content": NEUTRAL_START}
        for message in messages:
            if message.role != "tool":
                yield from self._flush()
            yield self._item(message)
        yield from self._flush()

    def _flush(self) -> Iterator[Item]:
        """Give the media of the batch that has just ended, if it had any."""
        if self._shown:
            yield {"role": "user", "content": self._shown}
            self._shown = []

    def _item(self, message: Message) -> Item:
        match message.role:
            case "tool":
                return self._result(message)
            case "assistant":
                return self._reply(message)
            case "user":
                return _named("user", message, self._content(message))
            case role:
                role = "system" if self._kimi else role
                return _named(role, message, message.text)

    def _content(self, message: Message) -> str | list[Item]:
        parts = message.parts
        if len(parts) == 1 and isinstance(parts[0], TextPart):
            return parts[0].text
        return [self._seen(part) for part in parts]

    def _reply(self, message: Message) -> Item:
        item = _named("assistant", message, message.text or None)
        if self._kimi and message.thinking.strip():
            item["reasoning_content"] = message.thinking
        if message.calls:
            item["tool_calls"] = [
                self._call(call.id, call.name, call.arguments) for call in message.calls
            ]
        return item

    def _call(self, call_id: str, name: str, arguments: str) -> Item:
        if not (self._kimi and _BUILT_IN.fullmatch(name)):
            name = name_like(name, characters_max=NAME_CHARACTERS_MAX)
        return {
            "id": self._id_of[call_id],
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }

    def _result(self, message: Message) -> Item:
        call_id = self._id_of[message.tool_call_id or ""]
        items = [self._seen(part) for part in message.parts]
        texts = [item["text"] for item in items if item["type"] == "text"]
        media = [item for item in items if item["type"] != "text"]
        if media:
            self._shown += [_text(SHOWN_HERE.format(call=call_id)), *media]
        return {
            "role": "tool",
            "tool_call_id": call_id,
            "content": "\n".join(texts) or SHOWN_BELOW,
        }

    def _seen(self, part: Part) -> Item:
        """Give the part of a user message; a text for what the API does not take."""
        match part:
            case TextPart(text=text):
                return _text(text)
            case ImagePart() | AudioPart() | VideoPart():
                return self._medium(part) or _text(placeholder(part))
            case _:  # pragma: no cover - a view has no other part in these messages
                raise AssertionError(part)

    def _medium(self, part: MediaPart) -> Item | None:
        address = address_of(part)
        data = data_of(address)
        match part:
            case ImagePart() if is_http(address) or (data and data.media_type in PICTURE_TYPES):
                return {"type": "image_url", "image_url": {"url": address}}
            case AudioPart() if data and data.media_type in SOUND_FORMATS:
                sound = {"data": data.base64, "format": SOUND_FORMATS[data.media_type]}
                return {"type": "input_audio", "input_audio": sound}
            case ImagePart() if self._kimi and _is_kimis(address):
                return {"type": "image_url", "image_url": {"url": address}}
            case VideoPart() if self._kimi and (data or is_http(address) or _is_kimis(address)):
                return {"type": "video_url", "video_url": {"url": address}}
            case _:
                return None


def _is_kimis(address: str) -> bool:
    """Tell whether an address is a file that was uploaded to Moonshot."""
    return address.startswith("ms://") and len(address) > len("ms://")


def _named(role: str, message: Message, content: str | list[Item] | None) -> Item:
    """Give a message, with its author's name where the API takes that name."""
    item: Item = {"role": role, "content": content}
    if message.name and _PARTICIPANT.fullmatch(message.name):
        item["name"] = message.name
    return item


def _text(text: str) -> Item:
    return {"type": "text", "text": text}
