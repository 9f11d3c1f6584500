"""Where an Anthropic request is marked for the prompt cache. Pure.

A mark says: keep all up to here. A later request reads what an earlier one kept if one of its
own marks stands at most 20 blocks behind it (Anthropic's guide to prompt caching). So there is
one mark at the end of the system prompt, which every request of the session begins with; one at
the very end, for the next request; and up to two at every twentieth block before it, so that a
step of many blocks still finds what was kept. Where they stand depends on the number of blocks
alone: from call to call each moves forward or stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LOOKBACK_BLOCKS = 20
"""So many blocks before a mark the API looks for what was kept."""

MARKS_MAX = 4
"""The API takes no more in one request."""

_UNMARKED = frozenset({"thinking", "redacted_thinking"})
"""Blocks that the API marks with the block behind them."""

Block = dict[str, Any]


def marked(body: dict[str, Any]) -> dict[str, Any]:
    """Give a request with its marks; texts, order and everything else stay as they are."""
    messages: list[dict[str, Any]] = [
        {**message, "content": [dict(block) for block in message["content"]]}
        for message in body["messages"]
    ]
    blocks = [block for message in messages for block in message["content"]]
    places = _places(len(blocks))
    found = dict(body)
    if "system" in body:
        found["system"] = [_mark({"type": "text", "text": body["system"]})]
    for place in places[: MARKS_MAX - ("system" in body)]:
        block = _last_markable(blocks, place)
        if block is not None:
            _mark(block)
    found["messages"] = messages
    return found


def _places(count: int) -> list[int]:
    """Give the places of the marks in a request of so many blocks, the last one first."""
    last = count - 1
    whole = last // LOOKBACK_BLOCKS * LOOKBACK_BLOCKS
    return [place for place in (last, whole, whole - LOOKBACK_BLOCKS) if place > 0 or place == last]


def _last_markable(blocks: Sequence[Block], place: int) -> Block | None:
    """Give the block at a place, or the last one before it that can be marked."""
    for block in reversed(blocks[: place + 1]):
        if block["type"] not in _UNMARKED:
            return block
    return None


def _mark(block: Block) -> Block:
    block["cache_control"] = {"type": "ephemeral"}
    return block
