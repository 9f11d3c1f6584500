"""Messages as items of OpenAI's Responses API, which Codex stores too. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from minutebook.codec import clean
from minutebook.formats.items import CLUES, RESULTS
from minutebook.formats.writers.conversation import Said, maker_of, shown
from minutebook.messages import (
    AudioPart,
    ImagePart,
    Message,
    OtherPart,
    Part,
    TextPart,
    ThinkPart,
    ToolCall,
    VideoPart,
)
from minutebook.providers.media import PICTURE_TYPES, data_of, is_http, placeholder

Item = dict[str, Any]

_WHOLE = CLUES | {"image_generation_call", "code_interpreter_call", "mcp_call", "mcp_list_tools"}
"""Kinds of items that may stand in a reply as parts of their own, and go along whole."""


class Items:
    """Spells messages one after the other; knows which calls are of custom tools."""

    def __init__(self, *, model: str, maker: str) -> None:
        """Take the model of the session, and whose its cipher texts are where none says so."""
        self._model = model
        self._maker = maker
        self._custom: set[str] = set()

    def of(self, said: Said) -> Iterator[Item]:
        """Give the items of a message; none of one that says nothing."""
        message = said.message
        parts = shown(message)
        match message.role:
            case "assistant":
                model = (said.usage.model if said.usage is not None else "") or self._model
                yield from self._reply(message, parts, model)
            case "tool":
                yield self._result(message.tool_call_id or "", parts)
            case role:
                content = [_seen(part) for part in parts]
                spoken = "user" if role == "user" else "developer"
                if content:
                    yield {"type": "message", "role": spoken, "content": content}

    def _reply(self, message: Message, parts: Sequence[Part], model: str) -> Iterator[Item]:
        texts: list[Item] = []
        for part in parts:
            if isinstance(part, TextPart):
                texts.append({"type": "output_text", "text": part.text})
                continue
            item = self._own(part, model)
            if item is not None:
                if texts:
                    yield _spoken(texts)
                    texts = []
                yield item
        if texts:
            yield _spoken(texts)
        for call in message.calls:
            yield self._call(call)

    def _own(self, part: Part, model: str) -> Item | None:
        """Give the item of thinking or of a part that is an item; none of what is no one's here."""
        match part:
            case ThinkPart(think=think, encrypted=cipher):
                if maker_of(part, model, self._maker) != "openai":
                    return None
                summary = [{"type": "summary_text", "text": clean(think)}] if think.strip() else []
                return {"type": "reasoning", "summary": summary, "encrypted_content": cipher}
            case OtherPart(data={"type": str(kind), **_rest}) if kind in _WHOLE - RESULTS:
                return {**part.data}
            case _:
                return None

    def _call(self, call: ToolCall) -> Item:
        if call.type == "custom":
            self._custom.add(call.id)
            about = {"call_id": call.id, "name": call.name, "input": call.arguments}
            return {"type": "custom_tool_call", **about}
        about = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
        return {"type": "function_call", **about}

    def _result(self, call_id: str, parts: Sequence[Part]) -> Item:
        content = [_seen(part) for part in parts]
        output: str | list[Item] = content
        if all(item["type"] == "input_text" for item in content) and len(content) < 2:
            output = content[0]["text"] if content else ""
        kind = "custom_tool_call_output" if call_id in self._custom else "function_call_output"
        return {"type": kind, "call_id": call_id, "output": output}


def _spoken(texts: list[Item]) -> Item:
    return {"type": "message", "role": "assistant", "content": texts}


def _seen(part: Part) -> Item:
    """Give the content of a part of a user's message or a result; a text for what none takes."""
    match part:
        case TextPart(text=text):
            return {"type": "input_text", "text": text}
        case ImagePart(image_url=link) if _is_taken(link.url):
            return {"type": "input_image", "image_url": link.url}
        case ImagePart() | AudioPart() | VideoPart():
            return {"type": "input_text", "text": clean(placeholder(part))}
        case _:  # pragma: no cover - `shown` leaves no other part in these messages
            raise AssertionError(part)


def _is_taken(address: str) -> bool:
    data = data_of(address)
    return is_http(address) or (data is not None and data.media_type in PICTURE_TYPES)
