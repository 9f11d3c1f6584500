"""Spell a view as a Gemini request: `systemInstruction` and `contents`. Pure, no SDK.

The rules beyond those of `view`:

- Contents alternate between `user` and `model`: neighbours of the user's are one content. The
  first is a user's, and so is the last; where it would not be, a stated neutral one stands there.
  It stands between two replies in a row too: the first of them was followed by it when it was the
  last, and what was sent stays.
- The results of one batch stand in one user content, directly behind the model's content with
  the calls, in their order, with nothing else in it. What a user says behind them is a content
  of its own; between the two stands a stated neutral reply, for roles alternate.
- A result is an object: its text under `output`, of a failed one under `error`. Media of results
  are shown in the user content behind the batch.
- Names begin with a letter or `_`. Calls have no ids: they are matched by name and order.
- A thought signature goes back at the part that it came with, if Gemini made it. A model of the
  third generation refuses a call without one; the stated value for calls that another model made
  stands there then.
- Thinking itself is not sent: the API wants none.
- Media go along as data, and the address of a file that was uploaded to Google as such; others
  are named by a text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
from minutebook.providers.arguments import as_object
from minutebook.providers.ciphers import GEMINI_LEAD, maker_of
from minutebook.providers.ids import name_like
from minutebook.providers.media import MediaPart, address_of, data_of, placeholder
from minutebook.providers.stated import ERROR_LEAD, NEUTRAL_START, SHOWN_BELOW

NAME_CHARACTERS_MAX = 64
"""The API reference: a name begins with a letter or `_` and has 64 characters at most."""


NEUTRAL_REPLY = "<system>The results are in.</system>"
"""The model content between results and what the user says next."""

NEUTRAL_END = "<system>Go on.</system>"
"""The user content behind a reply that nobody answered."""

FROM_RESULT = "<system>From the result of the tool {tool}:</system>"
"""What stands before the media of a result."""

NO_SIGNATURE = "skip_thought_signature_validator"
"""ai.google.dev/gemini-api/docs/thought-signatures: what stands at a call that was made elsewhere,
for models that check signatures."""


INLINE_TYPES = frozenset(
    {"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}
    | {"audio/wav", "audio/mp3", "audio/mpeg", "audio/aac", "audio/ogg", "audio/flac", "audio/aiff"}
    | {"video/mp4", "video/mpeg", "video/mov", "video/webm", "video/avi", "video/quicktime"}
)
"""The media types that the guides to images, audio and video name."""

_UPLOADED = re.compile(r"gs://\S+|https://generativelanguage\.googleapis\.com/\S+/files/\S+")
"""Addresses of files that were uploaded to Google, which alone the API reads for itself."""

_CHECKS_SIGNATURES = re.compile(r"(?:.*/)?gemini-(?:[3-9]|\d\d)[^/]*", re.IGNORECASE)

Content = dict[str, Any]


def encode(
    system_prompt: str | None, messages: Sequence[Message], *, model: str = ""
) -> dict[str, Any]:
    """Give the request's `systemInstruction` (only if there is a prompt) and `contents`.

    *messages* are those of a view: calls answered in place, ids unique, nothing empty. *model*
    matters only by its generation.
    """
    body: dict[str, Any] = {}
    if system_prompt is not None:
        body["systemInstruction"] = {"parts": [{"text": system_prompt}]}
    encoder = _Encoder(signed=_CHECKS_SIGNATURES.fullmatch(model) is not None)
    for message in messages:
        encoder.take(message)
    body["contents"] = encoder.end()
    return body


class _Encoder:
    """Lays contents one behind the other; holds the media of the batch that is under way."""

    def __init__(self, *, signed: bool) -> None:
        self._signed = signed
        self._contents: list[Content] = []
        self._name_of: dict[str, str] = {}
        self._shown: list[Content] = []

    def take(self, message: Message) -> None:
        """Spell one message."""
        match message.role:
            case "tool":
                self._result(message)
                return
            case "assistant":
                self._flush()
                self._reply(message)
                return
            case "user":
                parts = [_seen(part) for part in message.parts]
            case _:
                parts = [{"text": f"<system>{message.text}</system>"}]
        self._flush()
        self._say("user", parts)

    def end(self) -> list[Content]:
        """Give all contents."""
        self._flush()
        if not self._contents:
            self._say("user", [{"text": NEUTRAL_START}])
        elif self._contents[-1]["role"] == "model":
            self._say("user", [{"text": NEUTRAL_END}])
        return self._contents

    def _say(self, role: str, parts: list[Content]) -> None:
        last = self._contents[-1] if self._contents else None
        if last is None and role == "model":
            self._contents.append({"role": "user", "parts": [{"text": NEUTRAL_START}]})
        elif last is not None and last["role"] == role:
            if role == "user" and not _answers(last):
                last["parts"] += parts
                return
            between = ("model", NEUTRAL_REPLY) if role == "user" else ("user", NEUTRAL_END)
            self._contents.append({"role": between[0], "parts": [{"text": between[1]}]})
        self._contents.append({"role": role, "parts": parts})

    def _reply(self, message: Message) -> None:
        parts: list[Content] = []
        signature = ""
        for part in message.parts:
            match part:
                case TextPart(text=text):
                    parts.append(_with_signature({"text": text}, signature))
                    signature = ""
                case ThinkPart(encrypted=str(cipher)) if maker_of(cipher) == "gemini":
                    signature = cipher.removeprefix(GEMINI_LEAD)
                case _:
                    pass
        for number, call in enumerate(message.calls):
            name = _name(call.name)
            self._name_of[call.id] = name
            made = {"functionCall": {"name": name, "args": as_object(call.arguments)}}
            if number == 0 and not signature and self._signed:
                signature = NO_SIGNATURE
            parts.append(_with_signature(made, signature))
            signature = ""
        self._say("model", parts)

    def _result(self, message: Message) -> None:
        name = self._name_of[message.tool_call_id or ""]
        texts = [part.text for part in message.parts if isinstance(part, TextPart)]
        media = [part for part in message.parts if not isinstance(part, TextPart)]
        if media:
            self._shown += [{"text": FROM_RESULT.format(tool=name)}, *map(_seen, media)]
        text = "\n".join(texts) or SHOWN_BELOW
        key = "error" if text.startswith(ERROR_LEAD) else "output"
        answer = {"functionResponse": {"name": name, "response": {key: text}}}
        last = self._contents[-1]
        if _answers(last):
            last["parts"].append(answer)
        else:
            self._contents.append({"role": "user", "parts": [answer]})

    def _flush(self) -> None:
        """Show the media of the batch that has just ended, if it had any."""
        if self._shown:
            shown, self._shown = self._shown, []
            self._say("user", shown)


def _answers(content: Content) -> bool:
    """Tell whether a content holds results."""
    return "functionResponse" in content["parts"][0]


def _with_signature(part: Content, signature: str) -> Content:
    return {**part, "thoughtSignature": signature} if signature else part


def _name(name: str) -> str:
    """Give a function's name as the API takes it."""
    plain = name_like(name, characters_max=NAME_CHARACTERS_MAX)
    return plain if plain[0].isalpha() or plain[0] == "_" else f"_{plain}"[:NAME_CHARACTERS_MAX]


def _seen(part: Part) -> Content:
    """Give the part of a user's message or of a result."""
    match part:
        case TextPart(text=text):
            return {"text": text}
        case ImagePart() | AudioPart() | VideoPart():
            return _medium(part)
        case _:  # pragma: no cover - a view has no other part in these messages
            raise AssertionError(part)


def is_uploaded(address: str) -> bool:
    """Tell whether an address is one of a file that was uploaded to Google."""
    return address.isascii() and _UPLOADED.fullmatch(address) is not None


def _medium(part: MediaPart) -> Content:
    """Give media as data, or as the file that was uploaded; the API fetches no other address."""
    address = address_of(part)
    data = data_of(address)
    if data and data.media_type in INLINE_TYPES:
        return {"inlineData": {"mimeType": data.media_type, "data": data.base64}}
    if is_uploaded(address):
        return {"fileData": {"fileUri": address}}
    return {"text": placeholder(part)}
