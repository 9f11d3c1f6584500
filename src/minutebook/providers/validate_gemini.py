"""Which rules of the Gemini API a request breaks. Pure, no SDK.

Each rule says where it is written down: "reference" is the API reference of
models.generateContent, "guide" a page of its documentation, "error" an answer of the API that
states the rule, W-G the rules that public reports agree on. Where a server is known to be more
lenient, the rule is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minutebook.providers.gemini import INLINE_TYPES, is_uploaded
from minutebook.providers.media import data_of
from minutebook.providers.strict_json import problem_of

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
"""Reference, FunctionDeclaration.name."""

_KINDS = ("text", "inlineData", "fileData", "functionCall", "functionResponse")


def violations(body: Mapping[str, Any], *, signed: bool = False) -> list[str]:
    """List the broken rules of a request's `systemInstruction` and `contents`.

    *signed*: the model checks thought signatures.
    """
    contents = body.get("contents")
    # Error: "contents is not specified".
    if not isinstance(contents, list) or not contents:
        return ["contents are empty or no list"]
    found = []
    problem = problem_of(dict(body))
    if problem:
        found.append(f"the body is no strict JSON: {problem}")
    system = body.get("systemInstruction")
    if system is not None:
        parts = system.get("parts") if isinstance(system, Mapping) else None
        # Reference: the system instruction is text only.
        found += [f"systemInstruction: {what}" for what in _texts_only(parts)]
    # W-G, guide: a conversation begins and ends with the user.
    for index, place in ((0, "first"), (-1, "last")):
        if not isinstance(contents[index], Mapping) or contents[index].get("role") != "user":
            found.append(f"the {place} content is not the user's")
    before: Mapping[str, Any] | None = None
    for index, content in enumerate(contents):
        told = _content(content, before, signed=signed)
        found += [f"content {index}: {what}" for what in told]
        before = content if isinstance(content, Mapping) else None
    if before is not None and _calls(before):
        found.append("the last calls are not answered")
    return found


def _content(content: object, before: Mapping[str, Any] | None, *, signed: bool) -> Iterator[str]:
    """Check one content in its place."""
    if not isinstance(content, Mapping):
        yield f"{content!r} is no content"
        return
    role = content.get("role")
    # Reference: role is user or model.
    if role not in {"user", "model"}:
        yield f"role {role!r} is unknown"
    # W-G: roles alternate.
    if before is not None and before.get("role") == role:
        yield f"a second content of the {role} in a row"
    parts = content.get("parts")
    # Error: "contents.parts must not be empty".
    if not isinstance(parts, list) or not parts:
        yield "parts are missing or empty"
        return
    for part in parts:
        yield from _part(part, str(role))
    yield from _batch(content, before)
    calls = _calls(content)
    # Guide to thought signatures: the first call of a step has one.
    if signed and calls and not _is_signed(calls[0]):
        yield "the first call has no thought signature"


def _batch(content: Mapping[str, Any], before: Mapping[str, Any] | None) -> Iterator[str]:
    """Check calls against the results behind them."""
    answers = _answers(content)
    asked = [] if before is None else _calls(before)
    # Error: "the number of function response parts is equal to the number of function call
    # parts of the function call turn".
    names = [str(_of(part, "functionCall").get("name")) for part in asked]
    answered = [str(_of(part, "functionResponse").get("name")) for part in answers]
    if sorted(names) != sorted(answered):
        yield f"the calls of {names} are answered by {answered}"
    if answers and len(answers) != len(content["parts"]):
        # W-G: the results of a batch stand alone.
        yield "something else stands beside the results"


def _part(part: object, role: str) -> Iterator[str]:
    """Check one part."""
    kinds = [kind for kind in _KINDS if isinstance(part, Mapping) and kind in part]
    if not isinstance(part, Mapping) or len(kinds) != 1:
        # Reference: data is a union, exactly one of these.
        yield f"a part has {kinds or 'nothing known'}"
        return
    kind, value = kinds[0], part[kinds[0]]
    if kind == "text":
        if not isinstance(value, str) or not value.strip():
            yield "a text is blank"
    elif kind == "functionCall":
        if role != "model":
            yield "a call in a content that is not the model's"
        yield from _named(value, "args")
    elif kind == "functionResponse":
        if role != "user":
            yield "a result in a content that is not the user's"
        yield from _named(value, "response")
    elif kind == "inlineData":
        blob = value if isinstance(value, Mapping) else {}
        data = data_of(f"data:{blob.get('mimeType')};base64,{blob.get('data')}")
        if data is None or data.media_type not in INLINE_TYPES:
            yield "inline data is no base64, or of an unknown type"
    else:
        # Reference, FileData: fileUri is required; guide to files: of a file that was uploaded.
        uri = value.get("fileUri") if isinstance(value, Mapping) else None
        if not isinstance(uri, str) or not is_uploaded(uri):
            yield "file data without the address of an uploaded file"


def _named(value: object, key: str) -> Iterator[str]:
    """Check a call or a result: a name and an object."""
    held = value if isinstance(value, Mapping) else {}
    name = held.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield f"function name {name!r} does not match {_NAME.pattern}"
    # Reference: a Struct.
    if not isinstance(held.get(key), Mapping):
        yield f"{key} is no object"


def _texts_only(parts: object) -> Iterator[str]:
    if not isinstance(parts, list) or not parts:
        yield "parts are missing or empty"
        return
    for part in parts:
        text = part.get("text") if isinstance(part, Mapping) else None
        if not isinstance(text, str) or not text.strip():
            yield "a part is no text, or blank"


def _calls(content: Mapping[str, Any]) -> list[Any]:
    return _with(content, "functionCall")


def _answers(content: Mapping[str, Any]) -> list[Any]:
    return _with(content, "functionResponse")


def _with(content: Mapping[str, Any], kind: str) -> list[Any]:
    parts = content.get("parts")
    if not isinstance(parts, Sequence):
        return []
    return [part for part in parts if isinstance(part, Mapping) and kind in part]


def _of(part: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    value = part.get(kind)
    return value if isinstance(value, Mapping) else {}


def _is_signed(part: Mapping[str, Any]) -> bool:
    signature = part.get("thoughtSignature")
    return isinstance(signature, str) and bool(signature)
