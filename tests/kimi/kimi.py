"""The other side of `driver`: Kimi CLI as an object, for tests."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from minutebook.messages import ImagePart, Message, TextPart, ThinkPart

PYTHON = os.environ.get("MINUTEBOOK_KIMI", "")
"""The Python of an environment that has Kimi CLI; `make test-kimi` says it."""
ROLES = {"system", "user", "assistant", "tool"}


class Kimi:
    """A process of Kimi CLI's context."""

    def __init__(self) -> None:
        """Start it; skips the test where there is none."""
        if not PYTHON:
            pytest.skip("no Kimi CLI here; `make test-kimi` installs it and runs these")
        self._process = subprocess.Popen(
            [PYTHON, str(Path(__file__).with_name("driver.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.state: dict[str, Any] = {}

    def do(self, what: str, **more: Any) -> dict[str, Any]:
        """Do one thing; give what its context holds then."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": what, **more}) + "\n")
        self._process.stdin.flush()
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert "error" not in found, found
        self.state = found
        return found

    def open(self, folder: Path) -> dict[str, Any]:
        """Restore a session's context."""
        return self.do("open", path=str(folder / "context.jsonl"))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        if self._process.stdout is not None:
            self._process.stdout.close()


def is_read(message: Message) -> bool:
    """Tell whether Kimi CLI takes a message: it knows four roles, and skips the others."""
    return message.role in ROLES


def words(message: Message) -> dict[str, Any]:
    """Give a message as Kimi CLI holds it, as far as both know it."""
    parts = []
    for part in message.parts:
        match part:
            case TextPart(text=text):
                parts.append(("text", text))
            case ThinkPart(think=think):
                parts.append(("think", think))
            case ImagePart(image_url=link):
                parts.append(("image_url", link.url))
            case _:
                parts.append(("other", ""))
    calls = [(call.id, call.name, call.function.arguments or None) for call in message.calls]
    return {
        "role": message.role,
        "parts": parts,
        "calls": calls,
        "call_id": message.tool_call_id,
    }


def kimi_words(message: dict[str, Any]) -> dict[str, Any]:
    """Bring a message of Kimi CLI into the same form."""
    content = message.get("content", "")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    parts = []
    for part in content:
        kind = part["type"]
        if kind in {"text", "think"}:
            parts.append((kind, part[kind]))
        elif kind == "image_url":
            parts.append((kind, part[kind]["url"]))
        else:
            parts.append(("other", ""))
    calls = [
        (call["id"], call["function"]["name"], call["function"].get("arguments") or None)
        for call in message.get("tool_calls") or []
    ]
    return {
        "role": message["role"],
        "parts": parts,
        "calls": calls,
        "call_id": message.get("tool_call_id"),
    }
