"""Secrets in what is written: replaced by a placeholder that stays the same. Pure.

The model goes on seeing them: the client sends its history whole, and what is sent on gets
back what the request itself holds.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import structs

from minutebook.messages import Function, Message, OtherPart, TextPart, ThinkPart, ToolCall

_BLOCK = (
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----.*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----|\Z)"
)

_RULES: tuple[tuple[str, str], ...] = (
    ("private-key", _BLOCK),
    ("url-password", r"(?<=://)[^\s/:@\"'\\]*:[^\s/@\"'\\]+(?=@)"),
    ("provider-key", r"\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{16,}"),
    ("cloud-key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("google-key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("github-token", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})"),
    ("gitlab-token", r"\bglpat-[A-Za-z0-9_-]{18,}"),
    ("slack-token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("signed-token", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    ("bearer", r"(?i:(?<=bearer ))[A-Za-z0-9._~+/=-]{20,}"),
    (
        "assigned",
        (
            r"(?i:(?:api[_-]?key|secret(?:[_-](?:access[_-])?key)?|access[_-]?token|auth[_-]?token"
            r"|passwd|password)[\"']?\s*[:=]\s*[\"']?)(?P<value>[^\s\"'\\,;(){}<>\[\]$]{8,})"
        ),
    ),
)
_COMPILED = tuple((kind, re.compile(rule, re.DOTALL)) for kind, rule in _RULES)


class Redactor:
    """Replaces secrets, and remembers of one request which placeholder stands for which."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.found: dict[str, str] = {}
        """Placeholder to secret."""

    def text(self, text: str) -> str:
        """Give a text without its secrets."""
        for kind, rule in _COMPILED:
            text = rule.sub(self._replacing(kind), text)
        return text

    def message(self, message: Message) -> Message:
        """Give a message without its secrets, in arguments and unknown parts too."""
        content = message.content
        if isinstance(content, str):
            content = self.text(content)
        elif content is not None:
            content = tuple(self._part(part) for part in content)
        calls = tuple(
            ToolCall(one.type, one.id, Function(one.name, self._json(one.arguments)))
            for one in message.calls
        )
        return structs.replace(message, content=content, tool_calls=calls or None)

    def _part(self, part: Any) -> Any:
        match part:
            case TextPart(text=text):
                return TextPart(self.text(text))
            case ThinkPart(think=think):
                return structs.replace(part, think=self.text(think))
            case OtherPart(data=data):
                return OtherPart(self._value(data))
            case _:
                return part

    def _json(self, text: str) -> str:
        """Give arguments without secrets; as JSON, so that an escape hides none."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return self.text(text)
        clean = self._value(value)
        return text if clean == value else json.dumps(clean, ensure_ascii=False)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._value(one) for one in value]
        if isinstance(value, dict):
            return {key: self._value(one) for key, one in value.items()}
        return value

    def _replacing(self, kind: str) -> Callable[[re.Match[str]], str]:
        def replace(match: re.Match[str]) -> str:
            secret = match.groupdict().get("value") or match.group()
            if secret.startswith("[redacted:"):
                return match.group()
            told = hashlib.blake2b(secret.encode("utf-8", "replace"), digest_size=6, key=self._key)
            placeholder = f"[redacted:{kind}#{told.hexdigest()}]"
            self.found[placeholder] = secret
            return match.group().replace(secret, placeholder)

        return replace


def restored(value: Any, found: Mapping[str, str]) -> Any:
    """Put secrets back into JSON values that are about to be sent."""
    if isinstance(value, str):
        if "[redacted:" in value:
            for placeholder, secret in found.items():
                value = value.replace(placeholder, secret)
        return value
    if isinstance(value, list):
        return [restored(one, found) for one in value]
    if isinstance(value, dict):
        return {
            key: _arguments(one, found) if key == "arguments" else restored(one, found)
            for key, one in value.items()
        }
    return value


def _arguments(value: Any, found: Mapping[str, str]) -> Any:
    """Put secrets back into arguments, which are JSON inside of a string."""
    if not isinstance(value, str) or "[redacted:" not in value:
        return restored(value, found)
    try:
        return json.dumps(restored(json.loads(value), found), ensure_ascii=False)
    except (ValueError, RecursionError):
        return restored(value, found)
