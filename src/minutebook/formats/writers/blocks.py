"""Messages as Anthropic's content blocks, as Claude Code stores them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minutebook.codec import clean
from minutebook.formats.writers.conversation import Said, maker_of, shown
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
from minutebook.providers.anthropic import NAME_CHARACTERS_MAX, redacted
from minutebook.providers.arguments import as_object
from minutebook.providers.ids import UniqueIds, name_like
from minutebook.providers.media import PICTURE_TYPES, data_of, is_http, placeholder
from minutebook.providers.stated import ERROR_LEAD

Block = dict[str, Any]


class Blocks:
    """Spells messages one after the other; holds the ids that were given to calls."""

    def __init__(self, *, model: str, maker: str) -> None:
        """Take the model of the session, and whose its signatures are where none says so."""
        self._model = model
        self._maker = maker
        self._ids = UniqueIds()
        self._id_of: dict[str, str] = {}

    def of(self, said: Said) -> list[Block]:
        """Give the blocks of a message; none of one that says nothing."""
        message = said.message
        parts = shown(message)
        if message.role == "tool":
            return [self._result(message.tool_call_id or "", parts)]
        if message.role != "assistant":
            return [_seen(part) for part in parts]
        model = (said.usage.model if said.usage is not None else "") or self._model
        blocks = [block for part in parts if (block := self._said(part, model)) is not None]
        return blocks + self._calls(message)

    def _calls(self, message: Message) -> list[Block]:
        found: list[Block] = []
        for call in message.calls:
            self._id_of[call.id] = self._ids.give(name_like(call.id))
            name = name_like(call.name, characters_max=NAME_CHARACTERS_MAX)
            # A custom tool takes a text; here every input is an object.
            custom = call.type == "custom"
            given = {"input": call.arguments} if custom else as_object(call.arguments)
            found.append(
                {"type": "tool_use", "id": self._id_of[call.id], "name": name, "input": given}
            )
        return found

    def _said(self, part: Part, model: str) -> Block | None:
        """Give the block of a part of a reply; none of thinking that Anthropic did not sign."""
        match part:
            case TextPart(text=text):
                return {"type": "text", "text": text}
            case ThinkPart(think=think, encrypted=signature):
                if maker_of(part, model, self._maker) != "anthropic":
                    return None
                return {"type": "thinking", "thinking": clean(think), "signature": signature}
            case OtherPart():
                data = redacted(part)
                return None if data is None else {"type": "redacted_thinking", "data": data}
            case _:  # pragma: no cover - `shown` leaves no other part in a reply
                raise AssertionError(part)

    def _result(self, call_id: str, parts: Sequence[Part]) -> Block:
        blocks = [_seen(part) for part in parts]
        content: str | list[Block] = blocks
        if len(blocks) < 2 and all(block["type"] == "text" for block in blocks):
            content = blocks[0]["text"] if blocks else ""
        found: Block = {
            "type": "tool_result",
            "tool_use_id": self._id_of[call_id],
            "content": content,
        }
        # The lead stays: whoever reads it again finds the same text.
        lead = blocks[0].get("text", "") if blocks else ""
        if lead.startswith(ERROR_LEAD) and all(block["type"] == "text" for block in blocks):
            found["is_error"] = True
        return found


def _seen(part: Part) -> Block:
    """Give the block of a part of a user's message or a result; a text for what none takes."""
    match part:
        case TextPart(text=text):
            return {"type": "text", "text": text}
        case ImagePart(image_url=link):
            data = data_of(link.url)
            if data is not None and data.media_type in PICTURE_TYPES:
                source = {"type": "base64", "media_type": data.media_type, "data": data.base64}
                return {"type": "image", "source": source}
            if is_http(link.url):
                return {"type": "image", "source": {"type": "url", "url": link.url}}
            return {"type": "text", "text": clean(placeholder(part))}
        case AudioPart() | VideoPart():
            return {"type": "text", "text": clean(placeholder(part))}
        case _:  # pragma: no cover - `shown` leaves no other part in these messages
            raise AssertionError(part)
