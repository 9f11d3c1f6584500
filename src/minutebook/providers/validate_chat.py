"""Which rules of OpenAI Chat Completions a list of messages breaks. Pure, no SDK.

Each rule says where it is written down: "reference" is the API reference of Create chat
completion (and the SDK's parameter types, which are generated from it), "error" an answer of
the API that states the rule. Where a server is known to be more lenient, the rule is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minutebook.providers.arguments import sendable
from minutebook.providers.ids import CALL_ID_CHARACTERS_MAX
from minutebook.providers.media import data_of, is_http
from minutebook.providers.strict_json import problem_of

_KEYS = {
    "developer": {"role", "content", "name"},
    "system": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal", "audio"},
    "tool": {"role", "content", "tool_call_id"},
}
"""The keys of each role's message (reference); others: error "Additional properties"."""

_KIMI_KEYS = {"reasoning_content"}
"""Moonshot's guide to its thinking models: goes back with the calls it led to."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Of functions and participants (reference; error "does not match pattern")."""

_KIMI_NAME = re.compile(r"\$?[a-zA-Z0-9_-]{1,64}")
"""Moonshot's built-in functions begin with a dollar sign."""

_PICTURES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
"""The vision guide's list."""

_SOUNDS = frozenset({"wav", "mp3"})
"""`input_audio.format` (reference)."""


def violations(messages: Sequence[Mapping[str, Any]], *, kimi: bool = False) -> list[str]:
    """List the broken rules, each with the index of its message; empty if there are none.

    *kimi* allows what Moonshot's API takes beyond OpenAI's.
    """
    # Reference: messages is an array of at least one item.
    found = [] if messages else ["messages is empty"]
    # W-8: the body is strict UTF-8 JSON.
    problem = problem_of(list(messages))
    if problem:
        found.append(f"the body is no strict JSON: {problem}")
    check = _Check(kimi=kimi)
    for index, message in enumerate(messages):
        found += [f"message {index}: {what}" for what in check.message(message)]
    found += [f"message {len(messages)}: {what}" for what in check.end()]
    return found


class _Check:
    """Goes through the messages once; knows the ids used and the calls that wait."""

    def __init__(self, *, kimi: bool) -> None:
        self._kimi = kimi
        self._used: set[str] = set()
        self._waiting: set[str] = set()

    def end(self) -> Iterator[str]:
        """Check what must hold where a batch of results ends."""
        # W-O1, error: "An assistant message with 'tool_calls' must be followed by tool
        # messages responding to each 'tool_call_id'".
        for call_id in sorted(self._waiting):
            yield f"the call {call_id!r} is not answered directly after its message"
        self._waiting = set()

    def message(self, message: Mapping[str, Any]) -> Iterator[str]:
        """Check one message in its place."""
        role = message.get("role")
        keys = _KEYS.get(role) if isinstance(role, str) else None
        if keys is None:
            # Reference: the role is one of these (function is deprecated).
            yield f"role {role!r} is unknown"
            return
        unknown = set(message) - keys - (_KIMI_KEYS if self._kimi else set())
        if unknown:
            yield f"keys {sorted(unknown)} are not allowed"
        if role == "tool":
            yield from self._answer(message)
        else:
            yield from self.end()
        if role == "assistant":
            yield from self._reply(message)
        elif role == "user":
            yield from self._content(message.get("content"), ("text", "image_url", "input_audio"))
        else:
            # Reference: system, developer and tool messages take text only.
            yield from self._content(message.get("content"), ("text",))
        name = message.get("name")
        if name is not None and not (isinstance(name, str) and _NAME.fullmatch(name)):
            yield f"name {name!r} does not match {_NAME.pattern}"

    def _answer(self, message: Mapping[str, Any]) -> Iterator[str]:
        call_id = message.get("tool_call_id")
        # W-O2, error: "messages with role 'tool' must be a response to a preceding message
        # with 'tool_calls'"; a second answer is one to nothing.
        if call_id not in self._waiting:
            yield f"result for {call_id!r}, which no call directly before waits for"
        self._waiting.discard(str(call_id))

    def _reply(self, message: Mapping[str, Any]) -> Iterator[str]:
        calls = message.get("tool_calls")
        # Reference: content is required unless tool_calls is specified.
        if message.get("content") is not None or calls is None:
            yield from self._content(message.get("content"), ("text", "refusal"))
        if calls is None:
            return
        # Error: "[] is too short - 'messages.1.tool_calls'".
        if not isinstance(calls, list) or not calls:
            yield "tool_calls is no list with calls"
            return
        for call in calls:
            yield from self._call(call)

    def _call(self, call: object) -> Iterator[str]:
        # Reference: a call is an object with an object `function` in it.
        if not isinstance(call, Mapping) or not isinstance(call.get("function"), Mapping):
            yield f"{call!r} is no call of a function"
            return
        function = call["function"]
        call_id = call.get("id")
        if not isinstance(call_id, str) or not 0 < len(call_id) <= CALL_ID_CHARACTERS_MAX:
            # Error: "string too long. Expected a string with maximum length 40".
            yield f"call id {call_id!r} is no text of 1 to {CALL_ID_CHARACTERS_MAX} characters"
        if call_id in self._used:
            # Not refused by OpenAI itself; others pair by id over the whole request.
            yield f"call id {call_id!r} was used before"
        self._used.add(str(call_id))
        self._waiting.add(str(call_id))
        if call.get("type") != "function":
            yield f"call type {call.get('type')!r} is unknown"
        name, arguments = function.get("name"), function.get("arguments")
        pattern = _KIMI_NAME if self._kimi else _NAME
        if not isinstance(name, str) or not pattern.fullmatch(name):
            yield f"function name {name!r} does not match {pattern.pattern}"
        # W-O3: arguments parse as a JSON object. What `sendable` would change is not strict.
        if not isinstance(arguments, str) or sendable(arguments) != (arguments, True):
            yield f"arguments {arguments!r} are no JSON object"

    def _content(self, content: object, types: Sequence[str]) -> Iterator[str]:
        """Check content: a text or parts of *types*, and not empty."""
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        # Error: "Invalid type for 'messages[0].content'"; empty arrays are too short.
        if not isinstance(content, list) or not content:
            yield "content is missing or empty"
            return
        for part in content:
            kind = str(part.get("type")) if isinstance(part, Mapping) else ""
            if kind == "video_url" and self._kimi and "image_url" in types:
                continue
            if kind not in types:
                yield f"a part of type {kind!r} is not allowed here"
                continue
            yield from self._part(kind, part)

    def _part(self, kind: str, part: Mapping[str, Any]) -> Iterator[str]:
        value = part.get(kind)
        if kind in {"text", "refusal"}:
            # Empty text is refused by many servers (error "content must not be empty").
            if not isinstance(value, str) or not value.strip():
                yield f"a {kind} part is blank"
        elif kind == "image_url":
            url = value.get("url") if isinstance(value, Mapping) else None
            if not isinstance(url, str) or not self._is_picture(url):
                yield "a picture is neither an http address nor base64 data of a known type"
        else:
            sound = value if isinstance(value, Mapping) else {}
            data = data_of(f"data:audio/any;base64,{sound.get('data')}")
            if data is None or sound.get("format") not in _SOUNDS:
                yield "a sound is no base64 data, or neither wav nor mp3"

    def _is_picture(self, url: str) -> bool:
        data = data_of(url)
        if is_http(url) or (self._kimi and url.startswith("ms://")):
            return True
        return data is not None and data.media_type in _PICTURES
