"""How many tokens messages, tools and the system prompt take in a request, estimated. Pure.

Each message is a whole number of tokens and a request is their plain sum: nothing is
rounded twice, so counts kept up by increments equal counts made anew on replay.

The overheads are those of OpenAI's models, whose wire is public: Harmony, measured with its
own vocabulary (o200k_harmony), and what OpenAI's cookbook states for chat requests. Other
providers add more; calibration against their usage is for that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minutebook.messages import Message, OtherPart, Part, TextPart, ThinkPart, ToolCall
from minutebook.tokens.media import estimate_media, estimate_payload
from minutebook.tokens.text import estimate_text

__all__ = [
    "CALL_OVERHEAD_TOKENS",
    "CIPHER_TOKENS_PER_CHARACTER",
    "MESSAGE_OVERHEAD_TOKENS",
    "NAME_OVERHEAD_TOKENS",
    "RESULT_OVERHEAD_TOKENS",
    "TOOL_OVERHEAD_TOKENS",
    "estimate_call",
    "estimate_cipher",
    "estimate_json",
    "estimate_message",
    "estimate_part",
    "estimate_system",
    "estimate_text",
    "estimate_tools",
    "measure_message",
    "measure_part",
]

MESSAGE_OVERHEAD_TOKENS = 4
"""What a message adds: Harmony's start, role, message and end marks, one token each.

OpenAI's cookbook says the same (3 a message, and the role). The 3 that prime the reply are
left out: they come once a request, and an empty request should count nothing.
"""

NAME_OVERHEAD_TOKENS = 1
"""What a message's `name` adds to its text (OpenAI's cookbook)."""

CALL_OVERHEAD_TOKENS = 9
"""What a tool call adds to its name and arguments.

Harmony writes each call as a message of its own with 13 tokens beside name and arguments;
4 of them are counted with the message that holds the call.
"""

RESULT_OVERHEAD_TOKENS = 6
"""What a tool's result adds to other messages: author, recipient and channel, and the name
of the tool, taken as two tokens since a result doesn't hold it (Harmony: 12, 4 counted, 2)."""

TOOL_OVERHEAD_TOKENS = 7
"""What a tool adds to its schema (OpenAI's cookbook, `func_init` for gpt-4o)."""

CIPHER_LENGTH_EMPTY = 280
"""How long a signature of no thinking is, in characters (see the next)."""

CIPHER_TOKENS_PER_CHARACTER = 0.185
"""What a character of a signature or cipher text beyond that stands for.

Measured on recorded replies of Claude: where the thinking is shown, its signature is as long
as this says (1144 characters for 153 tokens, 2644 for 464), and where it isn't, this and the
family's factor give the output that was reported (2880 for 2950). Base64 of text at
4 characters a token would be 0.1875.
"""

_NOT_SENT_KEYS = {"cache_control", "defer_loading"}
"""Keys of a tool that steer the provider and are not shown to the model."""


def estimate_message(message: Message) -> int:
    """Give the tokens of *message*: text, thinking, media, calls, and what the wire adds.

    A part of an unknown kind counts by the length of its JSON, payloads apart.
    """
    return measure_message(message, estimate_text)


def measure_message(message: Message, count: Callable[[str], int]) -> int:
    """Give the tokens of *message* with its texts counted by *count*; the rest by rule."""
    tokens = MESSAGE_OVERHEAD_TOKENS
    content = message.content
    if isinstance(content, str):
        tokens += count(content)
    elif content:
        for part in content:
            tokens += measure_part(part, count)
    if message.role == "tool":
        tokens += RESULT_OVERHEAD_TOKENS
    if message.name:
        tokens += count(message.name) + NAME_OVERHEAD_TOKENS
    for call in message.tool_calls or ():
        function = call.function
        tokens += CALL_OVERHEAD_TOKENS + count(function.name) + count(function.arguments or "")
    return tokens


def estimate_part(part: Part) -> int:
    """Give the tokens of one part of a message."""
    return measure_part(part, estimate_text)


def measure_part(part: Part, count: Callable[[str], int]) -> int:
    """Give the tokens of one part with its text counted by *count*.

    Thinking costs its text, or what its cipher text stands for where that is more: some
    providers show a summary of it or nothing, and read the whole of it again.
    """
    if isinstance(part, TextPart):
        return count(part.text)
    if isinstance(part, ThinkPart):
        return max(count(part.think), estimate_cipher(part.encrypted or ""))
    if isinstance(part, OtherPart):
        data = part.data.get("data")
        if part.data.get("type") == "redacted_thinking" and isinstance(data, str):
            return estimate_cipher(data)
        return estimate_json(part.data)
    return estimate_media(part)


def estimate_cipher(cipher: str) -> int:
    """Give the tokens of the thinking that a signature or cipher text holds, by its length."""
    hidden = len(cipher) - CIPHER_LENGTH_EMPTY
    return int(hidden * CIPHER_TOKENS_PER_CHARACTER) if hidden > 0 else 0


def estimate_call(call: ToolCall) -> int:
    """Give the tokens of one tool call: its name, its arguments, and what the wire adds."""
    function = call.function
    return (
        CALL_OVERHEAD_TOKENS
        + estimate_text(function.name)
        + estimate_text(function.arguments or "")
    )


def estimate_system(prompt: str | None) -> int:
    """Give the tokens of the system prompt; an empty one isn't sent and counts 0."""
    return MESSAGE_OVERHEAD_TOKENS + estimate_text(prompt) if prompt else 0


def estimate_tools(tools: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Give the tokens of each tool by its name, in the order given.

    Takes schemas in OpenAI's form (under `function`, or flat) and in Anthropic's; name,
    description and parameters all count, as JSON. A tool with `"defer_loading": true` isn't
    in the request and counts 0. Tools that share a name share an entry.
    """
    tokens: dict[str, int] = {}
    for tool in tools:
        function = tool.get("function")
        schema = function if isinstance(function, Mapping) else tool
        name = str(schema.get("name") or tool.get("type") or "")
        shown = {key: value for key, value in schema.items() if key not in _NOT_SENT_KEYS}
        deferred = tool.get("defer_loading") is True or schema.get("defer_loading") is True
        cost = 0 if deferred else TOOL_OVERHEAD_TOKENS + estimate_json(shown)
        tokens[name] = tokens.get(name, 0) + cost
    return tokens


def estimate_json(value: object) -> int:
    """Give the tokens of a JSON value: its compact text, but base64 payloads by their rule.

    Takes what the log's codec doesn't: lone surrogates, NaN, foreign objects (as their text).
    What a list or mapping holds is written after it and not inside it, so that depth costs
    no recursion; that leaves the same words and, but for a comma or two, the same signs.
    """
    tokens = 0
    pieces: list[str] = []
    waiting: list[tuple[str, object]] = [("", value)]
    while waiting:
        lead, item = waiting.pop()
        if isinstance(item, Mapping):
            pieces.append(lead + "{}")
            waiting.extend((_json(str(key)) + ":", inner) for key, inner in item.items())
        elif isinstance(item, list | tuple):
            pieces.append(lead + "[]")
            waiting.extend(("", inner) for inner in item)
        elif isinstance(item, str):
            payload = estimate_payload(item)
            tokens += payload
            pieces.append(lead + ('""' if payload else _json(item)))
        else:
            pieces.append(lead + _json(item))
    return tokens + estimate_text(",".join(pieces))


def _json(value: object) -> str:
    """Write one value that holds no others."""
    return json.dumps(value, ensure_ascii=False, default=str)
