"""Replies of the three APIs, whole or as the events of a stream, as messages of the log. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from minutebook.gateway.frames import Frame
from minutebook.gateway.mapping import map_item
from minutebook.gateway.wires import Api
from minutebook.messages import Message

Body = dict[str, Any]


class Reply(Struct, frozen=True, kw_only=True):
    """What the model said."""

    messages: tuple[Message, ...] = ()
    opaque: bool = False
    usage: Any = None
    """As the provider reported it; None if it did not."""
    complete: bool = False
    """Whether the reply came to its end."""
    response_id: str = ""


def whole_reply(api: Api, body: bytes) -> Reply:
    """Read a reply that is no stream. What is none of the API's gives an empty one."""
    try:
        value = msgspec.json.decode(body)
        return _reply(api, value)
    except (msgspec.DecodeError, RecursionError, LookupError, TypeError, AttributeError):
        return Reply()


def _reply(api: Api, value: Body) -> Reply:
    if api == "chat":
        choices = value["choices"]
        items = [choices[0]["message"]] if len(choices) == 1 else []
    elif api == "messages":
        items = [{"role": "assistant", "content": value["content"]}]
    else:
        items = value["output"]
    messages: list[Message] = []
    opaque = False
    for item in items:
        mapped = map_item(api, msgspec.json.encode(item))
        messages += mapped.messages
        opaque = opaque or mapped.opaque
    named = value.get("id")
    return Reply(
        messages=tuple(messages),
        opaque=opaque,
        usage=value.get("usage") or None,
        complete=bool(items),
        response_id=named if isinstance(named, str) else "",
    )


class Assembler:
    """Puts a reply together from the events of a stream."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._chat: Body = {"role": "assistant", "content": ""}
        self._calls: dict[Any, Body] = {}
        self._blocks: dict[Any, Body] = {}
        self._inputs: dict[Any, str] = {}
        self._items: dict[Any, Body] = {}
        self._usage: Body = {}
        self._id = ""
        self._odd = False
        self.finished = False
        """Whether the model said why it ended."""
        self.done = False
        """Whether the last event of the stream has come."""

    def feed(self, frame: Frame) -> None:
        """Take one event. What is not understood changes nothing."""
        if frame.data == "[DONE]":
            self.done = True
            return
        try:
            value = msgspec.json.decode(frame.data)
            match self._api:
                case "chat":
                    self._feed_chat(value)
                case "messages":
                    self._feed_message(value)
                case "responses":
                    self._feed_response(value)
        except (msgspec.DecodeError, RecursionError, LookupError, TypeError, AttributeError):
            return

    def reply(self) -> Reply:
        """Give what there is of the reply."""
        value: Body
        if self._api == "chat":
            calls = [self._calls[key] for key in sorted(self._calls)]
            message = {**self._chat, **({"tool_calls": calls} if calls else {})}
            keys = ("content", "tool_calls", "reasoning_content", "refusal")
            value = {"choices": [{"message": message}] if any(map(message.get, keys)) else []}
        elif self._api == "messages":
            blocks = [self._block(key) for key in sorted(self._blocks)]
            value = {"content": [block for block in blocks if block]}
        else:
            value = {"output": [self._items[key] for key in sorted(self._items)]}
        found = _reply(self._api, {**value, "usage": self._usage, "id": self._id})
        empty = self._api == "messages" and not value["content"]
        return msgspec.structs.replace(
            found,
            messages=() if empty else found.messages,
            opaque=found.opaque or self._odd,
            complete=self.finished or self.done,
        )

    def _feed_chat(self, value: Body) -> None:
        self._usage = value.get("usage") or self._usage
        for choice in value.get("choices") or ():
            if choice.get("index", 0) != 0:
                self._odd = True
                continue
            delta = choice.get("delta") or {}
            for key in ("content", "reasoning_content", "refusal"):
                if delta.get(key):
                    self._chat[key] = (self._chat.get(key) or "") + delta[key]
            for piece in delta.get("tool_calls") or ():
                self._feed_call(piece)
            self.finished = self.finished or bool(choice.get("finish_reason"))

    def _feed_call(self, piece: Body) -> None:
        made = self._calls.setdefault(
            piece.get("index", 0), {"type": "function", "id": "", "function": {}}
        )
        made["id"] = piece.get("id") or made["id"]
        function, into = piece.get("function") or {}, made["function"]
        into["name"] = function.get("name") or into.get("name", "")
        into["arguments"] = into.get("arguments", "") + (function.get("arguments") or "")

    def _feed_message(self, value: Body) -> None:
        match value["type"]:
            case "message_start":
                self._usage.update(value["message"].get("usage") or {})
            case "content_block_start":
                self._blocks[value["index"]] = dict(value["content_block"])
            case "content_block_delta":
                self._feed_delta(value["index"], value["delta"])
            case "message_delta":
                told = value.get("usage") or {}
                self._usage.update({key: told[key] for key in told if told[key] is not None})
                self.finished = bool(value["delta"].get("stop_reason")) or self.finished
            case "message_stop":
                self.done = True
            case _:
                return

    def _feed_delta(self, index: Any, delta: Body) -> None:
        block = self._blocks[index]
        match delta["type"]:
            case "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta["thinking"]
            case "signature_delta":
                block["signature"] = block.get("signature", "") + delta["signature"]
            case "input_json_delta":
                self._inputs[index] = self._inputs.get(index, "") + delta["partial_json"]
            case _:
                self._odd = True

    def _block(self, index: Any) -> Body | None:
        """Give a block as it stands; none for text that is still empty."""
        block = self._blocks[index]
        if block.get("type") == "text" and not block.get("text"):
            return None
        if block.get("type") == "thinking":
            return {**block, "signature": block.get("signature") or ""}
        if index in self._inputs:
            try:
                return {**block, "input": msgspec.json.decode(self._inputs[index] or "{}")}
            except msgspec.DecodeError:
                return None if not self.finished else block
        return block

    def _feed_response(self, value: Body) -> None:
        kind = value["type"]
        if kind == "response.output_item.done":
            self._items[value["output_index"]] = value["item"]
        elif kind == "response.output_text.delta":
            self._feed_text(value)
        elif kind in {"response.completed", "response.incomplete", "response.failed"}:
            self.done = True
            self.finished = kind != "response.failed"
            response: Mapping[str, Any] = value["response"]
            self._usage = response.get("usage") or {}
            self._items = dict(enumerate(response.get("output") or self._items.values()))
            self._id = str(response.get("id") or "")

    def _feed_text(self, value: Body) -> None:
        empty = {"type": "message", "role": "assistant", "content": []}
        content = self._items.setdefault(value["output_index"], empty)["content"]
        if not content:
            content.append({"type": "output_text", "text": ""})
        content[0]["text"] += value["delta"]
