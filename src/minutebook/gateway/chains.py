"""Histories as chains of hashes: which conversation a request goes on with. Pure.

A message's hash leaves out what clients change on the way: thinking, cache marks, the spacing
and order of JSON, whether one text is a string or a part. Each link hashes the link before, so
equal histories are one chain until they part. Hashes are keyed: nobody guesses a text by them.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from minutebook.messages import (
    AudioPart,
    ImagePart,
    Message,
    OtherPart,
    TextPart,
    ThinkPart,
    VideoPart,
)

DIGEST_BYTES = 16
_SYSTEM = frozenset(("system", "developer"))


def digest_of(message: Message, key: bytes) -> bytes:
    """Give a message's hash."""
    shown = msgspec.json.encode(_shown(message), order="sorted")
    return hashlib.blake2b(shown, digest_size=DIGEST_BYTES, key=key).digest()


def root_of(namespace: str, key: bytes, name: str = "") -> bytes:
    """Give the link before the first message, of a namespace and, where named, a session."""
    told = f"{namespace}\n{name}".encode("utf-8", "replace")
    return hashlib.blake2b(told, digest_size=DIGEST_BYTES, key=key).digest()


def chained(link: bytes, digest: bytes) -> bytes:
    """Give the link behind *link* for a message."""
    return hashlib.blake2b(link + digest, digest_size=DIGEST_BYTES).digest()


def _shown(message: Message) -> list[Any]:
    parts: list[Any] = []
    for part in message.parts:
        match part:
            case ThinkPart():
                continue
            case TextPart(text=text):
                if not text.strip():
                    continue
                parts.append(text.strip())
            case ImagePart(image_url=link):
                parts.append(["image", link.url])
            case AudioPart(audio_url=link):
                parts.append(["audio", link.url])
            case VideoPart(video_url=link):
                parts.append(["video", link.url])
            case OtherPart(data=data):
                if data.get("type") != "redacted_thinking":
                    parts.append({key: data[key] for key in data if key != "cache_control"})
    calls = [[one.id, one.name, _arguments(one.arguments)] for one in message.calls]
    role = "system" if message.role in _SYSTEM else message.role
    return [role, parts, calls, message.tool_call_id]


def _arguments(text: str) -> Any:
    try:
        return msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        return text
