"""What takes the room: tokens by kind, and how full a window they make it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from minutebook.messages import Message, OtherPart, TextPart, ThinkPart
from minutebook.tokens.estimate import (
    estimate_call,
    estimate_message,
    estimate_part,
    estimate_system,
    estimate_tools,
)
from minutebook.turns import origin_of

KINDS = (
    "system",
    "tools",
    "user",
    "assistant",
    "thinking",
    "tool_calls",
    "tool_results",
    "media",
    "summary",
    "other",
)
"""The keys of a breakdown, in the order in which a report shows them."""

PINNED = "pinned"
"""The one key more that a breakdown has when it was told of pins."""

_KIND_OF_ROLE = {"user": "user", "assistant": "assistant", "tool": "tool_results"}


class Share(Struct, frozen=True, kw_only=True):
    """How full a window is. Every surface shows this one, so that none disagrees."""

    used: int
    """Tokens taken."""
    window: int | None
    """Tokens of the window; None where it is not known."""
    percent: float | None
    """The true ratio, not capped: 105.0 is over. None without a window."""
    remaining: int | None
    """Tokens left before the reserve, never below 0. None without a window."""
    over: bool
    """Whether more is used than the window holds."""


def share(used: int, window: int | None, reserve: int = 0) -> Share:
    """Say how full *window* is with *used* tokens, of which *reserve* are kept for a reply.

    A window of None, 0 or less is an unknown one. Never raises.
    """
    used = max(0, used)
    if window is None or window <= 0:
        return Share(used=used, window=None, percent=None, remaining=None, over=False)
    return Share(
        used=used,
        window=window,
        percent=100 * used / window,
        remaining=max(0, window - reserve - used),
        over=used > window,
    )


def by_kind(
    system_prompt: str | None,
    tools: Sequence[Mapping[str, Any]],
    history: Sequence[Message],
    pins: Collection[int] = (),
) -> dict[str, int]:
    """Give the tokens of a request by kind: all of `KINDS`, and `pinned` when *pins* names any.

    They add up exactly to the estimates of system prompt, tools and messages. A message's
    thinking, media and calls stand under their own kinds, the rest of it (text and overhead)
    under its role's. Summaries stand whole under `summary`, and so do, when *pins* names
    their `seq`, pinned messages under `pinned`. `other` holds what no person and no model
    said (notices, markers, injections, roles not known), and parts of unknown kinds.
    """
    tokens = dict.fromkeys(KINDS, 0)
    if pins:
        tokens[PINNED] = 0
    tokens["system"] = estimate_system(system_prompt)
    tokens["tools"] = sum(estimate_tools(tools).values())
    for message in history:
        whole = estimate_message(message)
        if message.seq is not None and message.seq in pins:
            tokens[PINNED] += whole
        elif origin_of(message) == "summary":
            tokens["summary"] += whole
        else:
            # First what is taken apart: its kind and the rest's may be the same one.
            rest = whole - _take_apart(message, tokens)
            tokens[_kind_of(message)] += rest
    return tokens


def _take_apart(message: Message, tokens: dict[str, int]) -> int:
    """Add a message's parts that have kinds of their own to *tokens*; give their sum."""
    taken = 0
    for part in message.parts:
        if isinstance(part, TextPart):
            continue
        if isinstance(part, OtherPart):
            kind = "other"
        else:
            kind = "thinking" if isinstance(part, ThinkPart) else "media"
        cost = estimate_part(part)
        tokens[kind] += cost
        taken += cost
    for call in message.calls:
        cost = estimate_call(call)
        tokens["tool_calls"] += cost
        taken += cost
    return taken


def _kind_of(message: Message) -> str:
    """Give the kind of a message's text: by its role, unless nobody of that role wrote it."""
    if message.role == "user" and origin_of(message) not in {"user", "import"}:
        return "other"
    return _KIND_OF_ROLE.get(message.role, "other")
