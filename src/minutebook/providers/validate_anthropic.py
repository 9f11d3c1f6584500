"""Which rules of Anthropic Messages a request breaks. Pure, no SDK.

Each rule says where it is written down: "reference" is the API reference of Create a Message
(and the SDK's parameter types, which are generated from it), "guide" the guides to tool use,
vision and extended thinking, "error" an answer of the API that states the rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from minutebook.providers.media import data_of, is_http
from minutebook.providers.strict_json import problem_of

MESSAGES_MAX = 100_000
"""Reference: "There is a limit of 100,000 messages in a single request"."""

CACHE_MARKS_MAX = 4
"""W-A6, error: "A maximum of 4 blocks with cache_control may be provided"."""

_ID = re.compile(r"[a-zA-Z0-9_-]+")
"""W-A1, error: "String should match pattern '^[a-zA-Z0-9_-]+$'"."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
"""Reference and error: "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"."""

_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""Reference: `source.media_type`."""

_THINKING = frozenset({"thinking", "redacted_thinking"})

_BLOCKS = {
    "user": {"text", "image", "document", "search_result", "tool_result"},
    "assistant": {"text", "tool_use", *_THINKING},
    "tool_result": {"text", "image", "document", "search_result"},
}
"""Reference: which blocks may stand where (those that servers' own tools use left out)."""

Block = Mapping[str, Any]


def violations(messages: Sequence[Mapping[str, Any]], *, system: object = None) -> list[str]:
    """List the broken rules, each with its place; empty if there are none.

    Positions count turns: neighbours of one role are one, as the API joins them (reference).
    """
    found = []
    # W-A5, error: "messages: at least one message is required".
    if not 0 < len(messages) <= MESSAGES_MAX:
        found.append(f"{len(messages)} messages, of 1 to {MESSAGES_MAX}")
    # W-8: the body is strict UTF-8 JSON.
    problem = problem_of({"system": system, "messages": list(messages)})
    if problem:
        found.append(f"the body is no strict JSON: {problem}")
    marks = _marks(system) + _marks(list(messages))
    if marks > CACHE_MARKS_MAX:
        found.append(f"{marks} cache marks, of {CACHE_MARKS_MAX} at most")
    found += [f"system: {what}" for what in _system(system)]
    turns, broken = _turns(messages)
    found += broken
    # W-A5, error: "first message must use the user role".
    if turns and turns[0][0] != "user":
        found.append("the first message is not a user's")
    used: set[str] = set()
    asked: list[str] = []
    for index, (role, blocks) in enumerate(turns):
        checks = (
            _results(blocks, asked)
            if role == "user"
            else _reply(blocks, used, last=index + 1 == len(turns))
        )
        found += [f"turn {index}: {what}" for what in checks]
        found += [f"turn {index}: {what}" for block in blocks for what in _block(block, role)]
        asked = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
    # W-A2, error: "`tool_use` ids were found without `tool_result` blocks immediately after".
    found += [f"the call {call_id!r} at the end has no result" for call_id in asked]
    return found


def _turns(
    messages: Sequence[Mapping[str, Any]],
) -> tuple[list[tuple[str, list[Block]]], list[str]]:
    """Join neighbours of one role; list what has no usable role or content."""
    turns: list[tuple[str, list[Block]]] = []
    broken = []
    for index, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        # W-A5: the system prompt is a parameter of its own, not a message (reference).
        if role not in ("user", "assistant"):
            broken.append(f"message {index}: role {role!r} is unknown")
            continue
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        # W-A4, error: "all messages must have non-empty content".
        if not _is_blocks(content):
            broken.append(f"message {index}: content is no list of blocks, or an empty one")
            continue
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(content)
        else:
            turns.append((role, list(content)))
    return turns, broken


def _results(blocks: Sequence[Block], asked: Sequence[str]) -> Iterator[str]:
    """Check that a user's turn begins with one result for each call before it."""
    results = [str(b.get("tool_use_id")) for b in blocks if b.get("type") == "tool_result"]
    head = blocks[: len(results)]
    # W-A2, guide: tool_result blocks come first in the content, text after them.
    if any(block.get("type") != "tool_result" for block in head):
        yield "a result stands behind something else"
    # W-A2 and W-A3, error: "unexpected `tool_use_id` found in `tool_result` blocks", "each
    # tool_use must have a single result".
    if sorted(results) != sorted(asked):
        yield f"results for {sorted(results)}, calls {sorted(asked)}"


def _reply(blocks: Sequence[Block], used: set[str], *, last: bool) -> Iterator[str]:
    """Check an assistant's turn as a whole."""
    for block in blocks:
        if block.get("type") == "tool_use":
            call_id = str(block.get("id"))
            # W-A1, error: "`tool_use` ids must be unique".
            if call_id in used:
                yield f"call id {call_id!r} was used before"
            used.add(call_id)
    # Error: "The final block in an assistant message cannot be `thinking`".
    if blocks[-1].get("type") in _THINKING:
        yield "the final block is thinking"
    # Error: "final assistant content cannot end with trailing whitespace".
    text = blocks[-1].get("text")
    if last and isinstance(text, str) and text != text.rstrip():
        yield "the last message ends with white space"


def _block(block: Block, place: str) -> Iterator[str]:
    """Check one block by itself."""
    kind = block.get("type")
    yield from _mark(block)
    if kind not in _BLOCKS[place]:
        yield f"a block of type {kind!r} is not allowed in {place}"
    elif kind == "text":
        yield from _text(block)
    elif kind == "image":
        yield from _picture(block.get("source"))
    elif kind == "tool_use":
        yield from _call(block)
    elif kind == "tool_result":
        yield from _result(block)
    elif kind == "thinking":
        # Reference: signature and thinking are required; W-A7 needs the received block, and
        # only who has it can check that.
        if not isinstance(block.get("thinking"), str) or not block.get("signature"):
            yield "thinking without its signature"
    elif kind == "redacted_thinking" and not block.get("data"):
        yield "redacted thinking without its data"


def _text(block: Block) -> Iterator[str]:
    # W-A4, errors: "text content blocks must be non-empty", "text content blocks must contain
    # non-whitespace text".
    text = block.get("text")
    if not isinstance(text, str) or not text.strip():
        yield "a text block is blank"


def _call(block: Block) -> Iterator[str]:
    call_id, name = block.get("id"), block.get("name")
    if not isinstance(call_id, str) or not _ID.fullmatch(call_id):
        yield f"call id {call_id!r} does not match {_ID.pattern}"
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield f"tool name {name!r} does not match {_NAME.pattern}"
    # Reference: input is an object; error: "Input should be a valid dictionary".
    if not isinstance(block.get("input"), dict):
        yield "input is no object"


def _result(block: Block) -> Iterator[str]:
    content = block.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not _is_blocks(content):
        # The API takes a result without content; W-A4 asks for a stated form.
        yield "a result is empty, or no list of blocks"
        return
    for inner in content:
        yield from _block(inner, "tool_result")
    # Error: "all content must be type `text` if `is_error` is true".
    if block.get("is_error") and any(inner.get("type") != "text" for inner in content):
        yield "a failed result holds more than text"


def _picture(source: object) -> Iterator[str]:
    # Reference: base64 of four types, or an address that the API fetches.
    value = source if isinstance(source, Mapping) else {}
    media_type = value.get("media_type")
    fetched = value.get("type") == "url" and is_http(str(value.get("url")))
    carried = (
        value.get("type") == "base64"
        and media_type in _PICTURES
        and data_of(f"data:{media_type};base64,{value.get('data')}") is not None
    )
    if not (fetched or carried):
        yield "a picture's source is neither base64 of a known type nor an address"


def _system(system: object) -> Iterator[str]:
    # Reference: a text or text blocks; error: "system: text content blocks must be non-empty".
    if system is None:
        return
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    if not _is_blocks(blocks):
        yield "neither a text nor blocks"
        return
    for block in blocks:
        yield from _text(block)
        yield from _mark(block)


def _is_blocks(content: object) -> TypeGuard[list[Block]]:
    """Tell whether content is a list of blocks with at least one in it."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(block, Mapping) for block in content)
    )


def _mark(block: Block) -> Iterator[str]:
    mark = block.get("cache_control")
    if mark is None:
        return
    # Guide to prompt caching: "Thinking blocks cannot be explicitly marked".
    if block.get("type") in _THINKING:
        yield "a cache mark at thinking"
    # Reference, CacheControlEphemeral: `type` is "ephemeral", `ttl` 5 minutes or an hour.
    fits = isinstance(mark, Mapping) and mark.get("type") == "ephemeral"
    if not fits or mark.get("ttl", "5m") not in ("5m", "1h"):
        yield f"the cache mark {mark!r} is unknown"


def _marks(value: object) -> int:
    """Count the blocks with a cache mark, those inside messages and results too."""
    if isinstance(value, Mapping):
        return bool(value.get("cache_control")) + _marks(value.get("content"))
    return sum(_marks(inner) for inner in value) if isinstance(value, list) else 0
