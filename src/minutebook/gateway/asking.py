"""A request as the gateway sees it: its messages one by one, all else as raw JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from minutebook.errors import FormatError
from minutebook.gateway.wires import Api

_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_ITEMS = msgspec.json.Decoder(list[Raw])
_PREVIOUS = "previous_response_id"
_SYSTEM_ROLES = ("system", "developer")
_OUTPUTS = ("max_completion_tokens", "max_tokens", "max_output_tokens")


class Asked(Struct, frozen=True, kw_only=True):
    """What a client asks for."""

    api: Api
    fields: Mapping[str, Raw]
    """The body's fields as they came, in their order."""
    head: tuple[bytes, ...]
    """System and developer messages at the beginning of a chat, as they came."""
    items: tuple[bytes, ...]
    """The other messages (or input items), as they came."""
    system: str | None
    model: str
    stream: bool
    max_output: int | None
    previous: str
    """The response that this one goes on from; empty if none is named."""

    @property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """Give the tool schemas."""
        found = self._value("tools")
        return (
            tuple(one for one in found if isinstance(one, dict)) if isinstance(found, list) else ()
        )

    @property
    def has_usage(self) -> bool:
        """Whether a chat's stream will tell its usage."""
        options = self._value("stream_options")
        return isinstance(options, dict) and bool(options.get("include_usage"))

    @property
    def is_plain(self) -> bool:
        """Whether there is one answer, which the log can hold."""
        return self._value("n") in (None, 1)

    def asking_usage(self) -> bytes:
        """Give the body with the wish for usage at the end of the stream."""
        options = self._value("stream_options")
        told = {**(options if isinstance(options, dict) else {}), "include_usage": True}
        return msgspec.json.encode(
            {**self.fields, "stream_options": Raw(msgspec.json.encode(told))}
        )

    def with_messages(self, messages: Sequence[Mapping[str, Any]]) -> Asked:
        """Give the request with other messages behind its head.

        They are the whole conversation: one that went on from a response does so no more.
        """
        encoded = tuple(msgspec.json.encode(message) for message in messages)
        raw = Raw(b"[" + b",".join((*self.head, *encoded)) + b"]")
        fields = {name: value for name, value in self.fields.items() if name != _PREVIOUS}
        return msgspec.structs.replace(
            self, fields={**fields, items_name(self.api): raw}, items=encoded, previous=""
        )

    def body(self) -> bytes:
        """Give the whole body."""
        return msgspec.json.encode(dict(self.fields))

    @property
    def last_mark(self) -> Any:
        """Give the last cache mark inside of the messages; None if there is none."""
        for item in reversed(self.items):
            if b'"cache_control"' not in item:
                continue
            content = msgspec.json.decode(item).get("content")
            for block in reversed(content if isinstance(content, list) else []):
                if isinstance(block, dict) and block.get("cache_control"):
                    return block["cache_control"]
        return None

    def _value(self, name: str) -> Any:
        raw = self.fields.get(name)
        return None if raw is None else msgspec.json.decode(raw)


def read_request(api: Api, body: bytes) -> Asked:
    """Read a body.

    Raises:
        FormatError: If it is not the JSON object that the API takes.
    """
    try:
        return _read(api, body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError("the body is not the JSON that the API takes") from error


def _read(api: Api, body: bytes) -> Asked:
    fields = _FIELDS.decode(body)
    values = {
        name: msgspec.json.decode(fields[name])
        for name in ("model", "stream", _PREVIOUS, "system", "instructions", *_OUTPUTS)
        if name in fields
    }
    name = items_name(api)
    if name not in fields:
        raise FormatError(f"the body has no {name}")
    raw = fields[name]
    if api == "responses" and bytes(raw)[:1] == b'"':
        told = {"role": "user", "content": msgspec.json.decode(raw)}
        items: tuple[bytes, ...] = (msgspec.json.encode(told),)
    else:
        items = tuple(bytes(one) for one in _ITEMS.decode(raw))
    head, system = _head(items) if api == "chat" else ((), _prompt(values, api))
    output = next((values[key] for key in _OUTPUTS if isinstance(values.get(key), int)), None)
    model, previous = values.get("model"), values.get(_PREVIOUS)
    return Asked(
        api=api,
        fields=fields,
        head=head,
        items=items[len(head) :],
        system=system,
        model=model if isinstance(model, str) else "",
        stream=values.get("stream") is True,
        max_output=output if output and output > 0 else None,
        previous=previous if isinstance(previous, str) else "",
    )


def items_name(api: Api) -> str:
    """Give the field in which an API takes the messages."""
    return "input" if api == "responses" else "messages"


def _head(items: Sequence[bytes]) -> tuple[tuple[bytes, ...], str | None]:
    head, texts = [], []
    for item in items:
        message = msgspec.json.decode(item)
        if not isinstance(message, dict) or message.get("role") not in _SYSTEM_ROLES:
            break
        head.append(item)
        texts.append(text_of(message.get("content")))
    return tuple(head), "\n".join(texts) or None


def _prompt(values: Mapping[str, Any], api: Api) -> str | None:
    return text_of(values.get("instructions" if api == "responses" else "system")) or None


def text_of(content: object) -> str:
    """Give the text of a content, whether a string or blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
