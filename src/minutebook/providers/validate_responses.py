"""Which rules of OpenAI's Responses API a request breaks. Pure, no SDK.

Each rule says where it is written down: "reference" is the API reference of Create a model
response (and the SDK's parameter types, which are generated from it), "error" an answer of the
API that states the rule. Where a server is known to be more lenient, the rule is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from minutebook.providers.arguments import sendable
from minutebook.providers.ciphers import maker_of
from minutebook.providers.media import data_of, is_http
from minutebook.providers.responses import CALL_ID_CHARACTERS_MAX
from minutebook.providers.strict_json import problem_of

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Of functions (error "does not match pattern")."""

_ROLES = frozenset({"user", "assistant", "system", "developer"})
_PICTURES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
"""The vision guide's list."""

_DETAILS = frozenset({"auto", "low", "high", "original"})


def violations(body: Mapping[str, Any]) -> list[str]:
    """List the broken rules of a request's `instructions` and `input`, each with its item."""
    items = body.get("input")
    # Reference: input is a text or a list of items; an empty list is too short.
    if not isinstance(items, list) or not items:
        return ["input is empty or no list"]
    found = []
    prompt = body.get("instructions")
    if prompt is not None and not (isinstance(prompt, str) and prompt.strip()):
        found.append("instructions are blank or no text")
    problem = problem_of(dict(body))
    if problem:
        found.append(f"the body is no strict JSON: {problem}")
    check = _Check()
    for index, item in enumerate(items):
        following = items[index + 1] if index + 1 < len(items) else None
        found += [f"item {index}: {what}" for what in check.item(item, following)]
    found += [f"the call {call_id!r} has no output" for call_id in sorted(check.waiting)]
    return found


class _Check:
    """Goes through the items once; knows the ids used and the calls that wait."""

    def __init__(self) -> None:
        self.waiting: set[str] = set()
        self._used: set[str] = set()

    def item(self, item: object, following: object) -> Iterator[str]:
        """Check one item in its place."""
        kind = item.get("type") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping):
            yield f"{item!r} is no item"
            return
        match kind:
            case "message":
                yield from self._message(item)
            case "function_call":
                yield from self._call(item)
            case "function_call_output":
                yield from self._answer(item)
            case "reasoning":
                yield from self._reasoning(item, following)
            case _:
                yield f"type {kind!r} is unknown"

    def _message(self, item: Mapping[str, Any]) -> Iterator[str]:
        # Error: "No tool output found for function call call_…": of a later turn.
        for call_id in sorted(self.waiting):
            yield f"a message before the output of the call {call_id!r}"
        role = item.get("role")
        if role not in _ROLES:
            yield f"role {role!r} is unknown"
        content = item.get("content")
        if role == "assistant" and not isinstance(content, str):
            # Reference: output items need the id and the status that the API gave them.
            yield "a reply of earlier is a text"
            return
        yield from self._content(content)

    def _call(self, item: Mapping[str, Any]) -> Iterator[str]:
        call_id, name, arguments = (item.get(key) for key in ("call_id", "name", "arguments"))
        if not isinstance(call_id, str) or not 0 < len(call_id) <= CALL_ID_CHARACTERS_MAX:
            # Error: "string too long. Expected a string with maximum length 64".
            yield f"call id {call_id!r} is no text of 1 to {CALL_ID_CHARACTERS_MAX} characters"
        if call_id in self._used:
            yield f"call id {call_id!r} was used before"
        self._used.add(str(call_id))
        self.waiting.add(str(call_id))
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield f"function name {name!r} does not match {_NAME.pattern}"
        if not isinstance(arguments, str) or sendable(arguments) != (arguments, True):
            yield f"arguments {arguments!r} are no JSON object"

    def _answer(self, item: Mapping[str, Any]) -> Iterator[str]:
        call_id = item.get("call_id")
        # Error: "No tool call found for function call output with call_id …".
        if call_id not in self.waiting:
            yield f"output for {call_id!r}, which no call before waits for"
        self.waiting.discard(str(call_id))
        yield from self._content(item.get("output"))

    def _reasoning(self, item: Mapping[str, Any], following: object) -> Iterator[str]:
        cipher = item.get("encrypted_content")
        # Reference: without a stored response the cipher text is the reasoning.
        if not isinstance(cipher, str) or maker_of(cipher) != "openai":
            yield "reasoning without a cipher text of OpenAI's"
        if not isinstance(item.get("summary"), list):
            # Reference: summary is required, and may be empty.
            yield "reasoning without a list of summaries"
        # Error: "Item of type 'reasoning' was provided without its required following item".
        kind = following.get("type") if isinstance(following, Mapping) else None
        role = following.get("role") if isinstance(following, Mapping) else None
        if kind not in {"function_call", "reasoning"} and (kind, role) != ("message", "assistant"):
            yield "reasoning with nothing of its reply behind it"

    def _content(self, content: object) -> Iterator[str]:
        """Check content: a text or parts, and not empty."""
        if isinstance(content, str):
            content = [{"type": "input_text", "text": content}]
        if not isinstance(content, list) or not content:
            yield "content is missing or empty"
            return
        for part in content:
            kind = part.get("type") if isinstance(part, Mapping) else None
            if kind == "input_text":
                text = part.get("text")
                if not isinstance(text, str) or not text.strip():
                    yield "a text is blank"
            elif kind == "input_image":
                yield from _picture(part)
            else:
                yield f"a part of type {kind!r} is not allowed here"


def _picture(part: Mapping[str, Any]) -> Iterator[str]:
    url = part.get("image_url")
    data = data_of(url) if isinstance(url, str) else None
    known = data is not None and data.media_type in _PICTURES
    if not isinstance(url, str) or not (is_http(url) or known):
        yield "a picture is neither an http address nor base64 data of a known type"
    if part.get("detail", "auto") not in _DETAILS:
        yield f"detail {part.get('detail')!r} is unknown"
