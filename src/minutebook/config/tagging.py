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


def protected_by(rules: Sequence[TagRule], history: Sequence[Message]) -> frozenset[int]:
    """Give the `seq` of the messages of a history that one of the rules protects.

    Raises:
        ConfigError: If a rule's `matches` is no regular expression.
    """
    protecting = [rule for rule in rules if rule.protected]
    if not protecting:
        return frozenset()
    for rule in protecting:
        try:
            re.compile(rule.matches)
        except re.error as error:
            raise ConfigError("tags.matches", f"{rule.matches!r} is no pattern: {error}") from None
    names: dict[str, str] = {}
    found = set()
    for message in history:
        names.update((call.id, call.name) for call in message.calls)
        tool = names.get(message.tool_call_id or "", "")
        if message.seq is not None and marks(protecting, message, tool=tool).protected:
            found.add(message.seq)
    return frozenset(found)


def _holds(rule: TagRule, message: Message, tool: str) -> bool:
    if rule.role and rule.role != message.role:
        return False
    if rule.tool and rule.tool != tool and all(call.name != rule.tool for call in message.calls):
        return False
    return not rule.matches or re.search(rule.matches, message.text) is not None
