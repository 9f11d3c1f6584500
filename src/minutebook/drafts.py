"""What the caller hands in, made ready to be written: checked, numbered, encoded. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any

from msgspec import Struct, UnsetType, ValidationError, structs

from minutebook.codec import clean, decode_line, encode_line, from_object
from minutebook.errors import InvalidMessage
from minutebook.messages import (
    AudioPart,
    Function,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    TextPart,
    ThinkPart,
    ToolCall,
    VideoPart,
    as_content,
    replace,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minutebook.records import Record


_TEXT_OR_NONE = (str, NoneType)
_SHAPES: dict[type, tuple[tuple[str, Any], ...]] = {
    TextPart: (("text", str),),
    ThinkPart: (("think", str), ("encrypted", (str, NoneType, UnsetType))),
    ImagePart: (("image_url", MediaUrl),),
    AudioPart: (("audio_url", MediaUrl),),
    VideoPart: (("video_url", MediaUrl),),
    MediaUrl: (("url", str), ("id", (str, NoneType, UnsetType))),
    OtherPart: (("data", dict),),
    ToolCall: (("type", str), ("id", str), ("function", Function)),
    Function: (("name", str), ("arguments", (str, NoneType, UnsetType))),
}
"""The types of the fields, which msgspec checks on reading only."""


def as_message(value: object) -> Message:
    """Bring what a caller may append into a message.

    *value* is a `Message` or a mapping in OpenAI's or Kimi CLI's shape.

    Raises:
        InvalidMessage: If it is neither, or may not be written.
    """
    if not isinstance(value, Message):
        value = _from_mapping(value)
    role: Any = value.role
    if role == "tool":
        if value.tool_call_id is None:
            raise InvalidMessage("a tool message needs the tool_call_id of the call it answers")
    elif not role or not isinstance(role, str) or role[0] == "_":
        raise InvalidMessage(f"role {role!r} is not a message's role; those with _ are ours")
    _check_fields(value)
    if value.tool_calls is not None:
        value = _with_calls(value)
    if type(value.content) is not str and value.content is not None:
        value = _with_parts(value)
    return value


def _check_fields(message: Any) -> None:
    """Refuse what is not of its type; a reader of the log would see something else."""
    if not (
        isinstance(message.origin, _TEXT_OR_NONE)
        and isinstance(message.name, _TEXT_OR_NONE)
        and isinstance(message.tool_call_id, _TEXT_OR_NONE)
        and isinstance(message.at, (float, int, NoneType))
        and isinstance(message.elided, str)
        and isinstance(message.pin, bool)
    ):
        raise InvalidMessage("origin, name, tool_call_id, at, elided or pin is of a wrong type")


def _with_calls(message: Message) -> Message:
    """Give the message with its calls checked and in their stored form."""
    calls: Any = message.tool_calls
    if not isinstance(calls, (tuple, list)):
        raise InvalidMessage(f"tool_calls takes tool calls, not {type(calls).__name__}")
    for made in calls:
        if not isinstance(made, ToolCall):
            raise InvalidMessage(f"tool_calls takes tool calls, not {type(made).__name__}")
        _check_shape(made)
    return message if type(calls) is tuple else replace(message, tool_calls=tuple(calls))


def _with_parts(message: Message) -> Message:
    """Give the message with its parts checked and in their stored form."""
    content: Any = message.content
    if not issubclass(type(content), (str, tuple, list, Struct)):
        raise InvalidMessage(f"content takes text or parts, not {type(content).__name__}")
    stored = as_content(content)
    message = replace(message, content=stored)
    if isinstance(stored, tuple):
        for part in stored:
            _check_shape(part)
        if any(type(part) is OtherPart for part in stored):
            # Its data may hold what JSON has not, or be of a kind that is known after all.
            read = decode_line(encode_line(message))
            assert isinstance(read, Message)
            return read
    return message


def _check_shape(value: Struct) -> None:
    for name, kinds in _SHAPES[type(value)]:
        field = getattr(value, name)
        if not isinstance(field, kinds):
            raise InvalidMessage(f"{type(value).__name__}.{name} is {field!r}, of a wrong type")
        if isinstance(field, Struct):
            _check_shape(field)


def _from_mapping(value: object) -> Message:
    if not isinstance(value, Mapping):
        raise InvalidMessage(f"append takes messages, not {type(value).__name__}")
    try:
        record = from_object(clean(dict(value)))
    except ValueError as error:
        raise InvalidMessage("a message needs a role") from error
    except (TypeError, RecursionError) as error:
        raise InvalidMessage(f"cannot be written as JSON: {error}") from error
    if not isinstance(record, Message):
        raise InvalidMessage(f"role {value['role']!r} is not a message's role")
    return record


def numbered(values: Sequence[object], first: int, at: float) -> list[Message]:
    """Give messages their numbers from *first* on, and the time where they have none."""
    messages = []
    for seq, value in enumerate(values, first):
        message = as_message(value)
        time = at if message.at is None else message.at
        messages.append(structs.replace(message, seq=seq, at=time, active=True))
    return messages


def encoded(records: Sequence[Record]) -> tuple[list[Record], list[bytes]]:
    """Encode records; gives them as a reader of their lines will see them.

    Raises:
        InvalidMessage: If a record holds a value of a wrong type.
    """
    read: list[Record] = []
    lines: list[bytes] = []
    for record in records:
        line = encode_line(record)
        lines.append(line)
        read.append(_read_back(record, line))
    return read, lines


def _read_back(record: Record, line: bytes) -> Record:
    if isinstance(record, Message):
        # Only text with a lone surrogate differs from its line, and that has U+FFFD in it then.
        return record if line.isascii() or REPLACED not in line else decode_line(line)
    try:
        return decode_line(line)
    except ValidationError as error:
        raise InvalidMessage(f"cannot be written: {error}") from error


REPLACED = "\ufffd".encode()
