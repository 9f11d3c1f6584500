"""What is known of a model from its name alone: its vocabulary, and how it counts. Pure.

The estimate is fitted to o200k. Other vocabularies are off by a factor, most of all
Anthropic's, so that a session whose provider tells nothing yet begins with the factor of its
model's family.

The factors were set on one half of the recorded sessions that carry usage (Claude's from 4.7
on: on both of the two at hand); `python -m benchmarks.tokens` reports the other half. Of models
that no session was at hand for, those whose vocabulary is public were measured on the texts of
that program (times o200k, English, code and JSON, and Chinese: cl100k 0.99 and 1.19, Llama 3's
0.99 and 1.03, Qwen's 1.04 and 1.00); the rest are taken as o200k.
"""

from __future__ import annotations

import re

from msgspec import Struct


class Family(Struct, frozen=True, kw_only=True):
    """How the models of one family count."""

    slope: float = 1.0
    """Tokens for each token of our estimate."""
    constant: float = 0.0
    """Tokens for each message, beside those that the estimate has for it."""
    encoding: str | None = None
    """The vocabulary's public name, as `exact` asks for it; None where it is not public."""
    reasoning_ends_with_turn: bool = False
    """Whether the provider itself leaves out the reasoning of earlier turns, although it is
    sent: from the next user's message on it takes no room."""


UNKNOWN = Family()
"""What is taken of a model that the table does not know."""

_CLAUDE = Family(slope=1.27, constant=4.0, reasoning_ends_with_turn=True)
_CLAUDE_KEEPS = Family(slope=1.27, constant=4.0)
_CLAUDE_NEW = Family(slope=1.57, constant=4.0)

_FAMILIES: tuple[tuple[str, Family], ...] = (
    (r"gpt-oss", Family(encoding="o200k_harmony", reasoning_ends_with_turn=True)),
    (r"gpt-4o|chatgpt-4o|gpt-4\.[15]", Family(encoding="o200k_base")),
    # OpenAI's guide to reasoning models: items of earlier turns are ignored. Seen in recorded
    # sessions too: at a user's message the request shrinks by just what was reported.
    (
        r"gpt-[5-9]|o[1-9](?![0-9])|codex",
        Family(encoding="o200k_base", reasoning_ends_with_turn=True),
    ),
    (r"gpt-4|gpt-3\.5", Family(encoding="cl100k_base")),
    (r"(?:meta-)?llama-?3", Family(encoding="llama3")),
    (r"llama", Family(slope=1.05, constant=2.0)),
    (r"qwen-?(?:2|3)", Family(slope=1.03, encoding="qwen3")),
)

_CLAUDE_VERSION = re.compile(r"(?:opus|sonnet|haiku|fable)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


def family_of(model: str | None) -> Family:
    """Give what is known of *model*, with or without its provider's prefix. Never raises."""
    name = (model or "").lower().rpartition("/")[2]
    if "claude" in name:
        return _claude(name)
    for pattern, family in _FAMILIES:
        if re.match(pattern, name):
            return family
    return UNKNOWN


def _claude(name: str) -> Family:
    """Tell Claude's models apart by version.

    From 4.7 on they have another vocabulary (Anthropic: up to 1.35 times the tokens). From
    Opus 4.5 and, of the smaller ones, 4.6 on the thinking of earlier turns stays.
    """
    found = _CLAUDE_VERSION.search(name)
    if not found:
        return _CLAUDE
    version = int(found[1]), int(found[2] or 0)
    if version >= (4, 7):
        return _CLAUDE_NEW
    kept_from = (4, 5) if "opus" in name else (4, 6)
    return _CLAUDE_KEEPS if version >= kept_from else _CLAUDE
