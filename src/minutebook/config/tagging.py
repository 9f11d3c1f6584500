"""Which messages a user's rules mark. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from minutebook.config.values import TagRule
from minutebook.errors import ConfigError
from minutebook.messages import Message


class Marks(Struct, frozen=True, kw_only=True):
    """What a message gets."""

    tags: tuple[str, ...] = ()
    """Each once, in the order of the rules."""
    protected: bool = False
    """Whether one of the rules says that it survives every compaction word for word."""


def marks(rules: Sequence[TagRule], message: Message, *, tool: str = "") -> Marks:
    """Give what the rules say about a message; *tool* is the one that it is a result of."""
    holding = [rule for rule in rules if _holds(rule, message, tool)]
    tags = dict.fromkeys(rule.tag for rule in holding)
    return Marks(tags=tuple(tags), protected=any(rule.protected for rule in holding))


def marked(rules: Sequence[TagRule], history: Sequence[Message]) -> dict[int, Marks]:
    """Give what the rules say of the messages of a history that one of them holds of, by `seq`.

    Raises:
        ConfigError: If a rule's `matches` is no regular expression.
    """
    if not rules:
        return {}
    for rule in rules:
        try:
            re.compile(rule.matches)
        except re.error as error:
            raise ConfigError("tags.matches", f"{rule.matches!r} is no pattern: {error}") from None
    names: dict[str, str] = {}
    found = {}
    for message in history:
        names.update((call.id, call.name) for call in message.calls)
        said = marks(rules, message, tool=names.get(message.tool_call_id or "", ""))
        if message.seq is not None and said.tags:
            found[message.seq] = said
    return found


def _holds(rule: TagRule, message: Message, tool: str) -> bool:
    if rule.role and rule.role != message.role:
        return False
    if rule.tool and rule.tool != tool and all(call.name != rule.tool for call in message.calls):
        return False
    return not rule.matches or re.search(rule.matches, message.text) is not None
