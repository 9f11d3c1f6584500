"""A tool call's arguments as a JSON object that every server can read. Pure.

What a model wrote may be cut off, empty, or JSON that only a lenient reader takes. Nothing
is repaired by guessing: a fragment becomes `{}` and is reported as not whole.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple, NoReturn

import msgspec

from minutebook.codec import clean

DEPTH_MAX = 200
"""How deeply arguments may nest. Python's JSON writer gives up at about 1000, and the caller's
own stack counts too; a call that is nested deeper than this is a mishap."""

_EMPTY = "{}"
_REFUSED = (ValueError, RecursionError)
"""What the decoders raise: msgspec's errors and UnicodeError are ValueErrors."""


class Arguments(NamedTuple):
    """Arguments as they may be sent."""

    text: str
    """The JSON text of an object, strict: no NaN, no lone surrogate, no raw control character."""
    whole: bool
    """False where the stored text was cut off or no object, so that *text* is `{}`."""


def sendable(stored: str) -> Arguments:
    """Give the arguments to send for the *stored* text.

    Strict JSON stays as it is, byte for byte. No text and `null` are a call without
    arguments. JSON that is only loosely valid (raw line breaks in a string, half of a
    surrogate pair), as Kimi CLI reads and runs it, is written anew.
    """
    if not stored.strip() or stored.strip() == "null":
        return Arguments(_EMPTY, whole=True)
    value: Any = None
    try:
        value = msgspec.json.decode(stored)
    except _REFUSED:
        try:
            value = clean(_lenient.decode(stored))
            stored = json.dumps(value, ensure_ascii=False, allow_nan=False)
        except _REFUSED:
            return Arguments(_EMPTY, whole=False)
    if not isinstance(value, dict) or _too_deep(stored, value):
        return Arguments(_EMPTY, whole=False)
    return Arguments(stored, whole=True)


def wrapped(text: str) -> Arguments:
    """Give the input of a custom tool's call, which is any text, as an object that has it."""
    return Arguments(json.dumps({"input": clean(text)}, ensure_ascii=False), whole=True)


def as_object(sent: str) -> dict[str, Any]:
    """Decode what `sendable` gave."""
    value: dict[str, Any] = msgspec.json.decode(sent, type=dict[str, Any])
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        _refuse(text)
    return value


def _refuse(text: str) -> NoReturn:
    msg = f"{text} is no JSON number"
    raise ValueError(msg)


_lenient = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_refuse)


def _too_deep(text: str, value: object) -> bool:
    """Tell whether *value* nests too deeply; *text*, its JSON, mostly answers at a glance."""
    if text.count("{") + text.count("[") <= DEPTH_MAX:
        return False
    level: list[Any] = [value]
    for _ in range(DEPTH_MAX):
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, (dict, list))
        ]
    return bool(level)
