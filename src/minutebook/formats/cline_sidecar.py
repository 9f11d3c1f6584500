"""The file with a compaction that Cline's newer store puts beside a session's messages. Pure.

It names the messages that it was made of by a hash of what they say. Only where that fits the
messages beside it does it say what is sent; otherwise the session has gone another way since.
The hash is taken of JSON as JavaScript writes it, of users' texts without their wrapping; three
ways of unwrapping and two forms of the hash were in use, and one of them has to fit.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any

from minutebook.formats.mapping import table, text, whole

_BLANK = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""What JavaScript trims off a text."""
_WRAPPERS = ("user_input", "user_command")
_COMMAND = re.compile(r"<user_command\b([^>]*)>([\s\S]*?)</user_command>", re.IGNORECASE)
_SLASH = re.compile(r'slash="([^"]+)"', re.IGNORECASE)
_TEAM = "spawn a team of agents for the following task:"
_NOTICES = ((), ("mode_notice",), ("mode_notice", "environment_notice"))
"""What each version takes out of a user's text before it hashes it."""
_FIELDS = {
    "v2": ("role", "content", "agent", "sessionId", "metadata", "modelInfo", "metrics"),
    "v1": (
        *("role", "content", "id", "agent", "sessionId"),
        *("metadata", "modelInfo", "metrics", "ts"),
    ),
}
"""The fields of a message that each form of the hash covers, in order."""
_INDEX = re.compile(r"0|[1-9]\d{0,8}", re.ASCII)


def fits(sidecar: dict[str, Any], messages: Sequence[dict[str, Any]]) -> int | None:
    """Tell of how many of the messages a compaction was made; none if it does not fit them."""
    count = whole(sidecar.get("source_message_count"))
    if count is None or not 0 < count <= len(messages):
        return None
    wanted = text(sidecar.get("source_prefix_hash"))
    sources = messages[:count]
    if wanted:
        hashes = (
            prefix_hash(sources, form=form, notices=notices)
            for form in _FIELDS
            for notices in _NOTICES
        )
        return count if wanted in hashes else None
    key = text(sidecar.get("source_last_message_key"))
    return count if key and key == boundary_key(sources[-1]) else None


def prefix_hash(
    messages: Sequence[dict[str, Any]], *, form: str = "v2", notices: Sequence[str] = _NOTICES[1]
) -> str:
    """Give the hash of messages, in one of its forms (`v1`, `v2`)."""
    running = hashlib.sha256(f"cline-session-compaction-source-{form}\n".encode())
    running.update(f"{len(messages)}\n".encode())
    for message in messages:
        said = {**message, "content": _unwrapped(message, notices)}
        row = [[name, said.get(name)] for name in _FIELDS[form]]
        running.update(script_json(row).encode("utf-8", "surrogatepass"))
        running.update(b"\n")
    return f"sha256:{running.hexdigest()}"


def boundary_key(message: dict[str, Any]) -> str:
    """Name a message as sidecars without a hash name the last one that they were made of."""
    identity = text(message.get("id")).strip(_BLANK)
    if identity:
        return f"id:{identity}"
    stamp = message.get("ts")
    role = text(message.get("role"))
    if isinstance(stamp, int | float) and not isinstance(stamp, bool) and isfinite(stamp):
        return f"ts:{role}:{_number(stamp)}"
    return f"content:{role}:{script_json(_unwrapped(message, _NOTICES[1]))}"


def _unwrapped(message: dict[str, Any], notices: Sequence[str]) -> object:
    """Give a message's content with a user's texts as he typed them."""
    content = message.get("content")
    if message.get("role") != "user":
        return content
    if isinstance(content, str):
        return typed(content, notices)
    if not isinstance(content, list):
        return content
    return [
        {**part, "text": typed(text(part.get("text")), notices)}
        if table(part).get("type") == "text"
        else part
        for part in content
    ]


def typed(words: str, notices: Sequence[str] = ()) -> str:
    """Give a user's text without the tags that the program wraps around it."""
    plain = words.strip(_BLANK)
    for tag in _WRAPPERS:
        inner = re.sub(rf"<{tag}\b[^>]*>([\s\S]*?)</{tag}>", r"\1", plain) if plain else ""
        plain = inner if inner != plain else re.sub(rf"<{tag}[^>]*>", "", plain)
        plain = plain.strip(_BLANK)
    for tag in notices:
        plain = _without(plain, tag)
    if notices:
        plain = plain.strip(_BLANK)
    envelope = _COMMAND.fullmatch(words.strip(_BLANK))
    named = _SLASH.search(envelope[1]) if envelope is not None else None
    slash = named[1].strip(_BLANK) if named is not None else ""
    if not slash:
        return plain
    if slash.lower() == "team" and plain.lower().startswith(_TEAM):
        plain = plain[len(_TEAM) :].strip(_BLANK)
    return f"/{slash} {plain}" if plain else f"/{slash}"


def _without(words: str, tag: str) -> str:
    """Take out the elements of a tag; one that is not closed stays. Linear."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    kept: list[str] = []
    position = 0
    while True:
        start = words.find(opening, position)
        end = words.find(closing, start + len(opening)) if start >= 0 else -1
        if end < 0:
            return "".join([*kept, words[position:]])
        kept.append(words[position:start])
        position = end + len(closing)


def script_json(value: Any) -> str:
    """Write a JSON value as JavaScript's `JSON.stringify` does: numbers and keys differ from ours.

    Keys that are numbers come first, in their order; numbers have JavaScript's shortest form.
    """
    if isinstance(value, dict):
        numbers = sorted((key for key in value if _INDEX.fullmatch(key)), key=int)
        rest = [key for key in value if not _INDEX.fullmatch(key)]
        pairs = (f"{_quoted(key)}:{script_json(value[key])}" for key in (*numbers, *rest))
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(script_json, value)) + "]"
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool)):
        return _number(value)
    return _quoted(value)


_quoted: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False).encode


def _number(value: float) -> str:
    """Write a number as JavaScript does."""
    number = float(value)
    if not isfinite(number):
        return "null"
    if number == 0:
        return "0"
    shortest = repr(number)
    if "e" not in shortest:
        return shortest.removesuffix(".0")
    if 1e-6 <= abs(number) < 1e21:
        return format(Decimal(shortest), "f")
    mantissa, _, exponent = shortest.partition("e")
    return f"{mantissa}e{int(exponent):+d}"
