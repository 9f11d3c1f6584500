"""Ids and names that a provider takes: unique, of the right letters, short enough. Pure.

Each name depends on those given before it and on nothing after, so the ids of a request stay
as they are when messages are appended.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence

from minutebook.messages import Message

CALL_ID_CHARACTERS_MAX = 40
"""OpenAI answers 400 `string_above_max_length` to a longer `tool_calls[].id`."""

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_UNNAMED = "unknown"


class UniqueIds:
    """Gives out ids, none of them twice. The only state here; it lives for one encoding."""

    def __init__(self, *, characters_max: int | None = None) -> None:
        """Give ids of at most *characters_max* characters (none: of any length)."""
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}
        self._characters_max = characters_max

    def give(self, wanted: str, hint: str = "") -> str:
        """Give *wanted* if it is free and short enough, else an id made from it.

        A wish that is taken gets *hint* behind it, and a number if that is taken too.
        """
        found = self._short(wanted)
        if found in self._taken:
            wanted = f"{wanted}-{hint}" if hint else wanted
            found = self._short(wanted)
        while found in self._taken:
            count = self._counts.get(wanted, 1) + 1
            self._counts[wanted] = count
            found = self._short(f"{wanted}-{count}")
        self._taken.add(found)
        return found

    def _short(self, text: str) -> str:
        """Cut what is too long; a check sum of the whole keeps the ends apart."""
        if self._characters_max is None or len(text) <= self._characters_max:
            return text
        check = f"{zlib.crc32(text.encode('utf-8', 'replace')):08x}"
        return f"{text[: self._characters_max - len(check) - 1]}-{check}"


def ids_for(
    messages: Sequence[Message],
    *,
    characters_max: int | None = None,
    spelled: Callable[[str], str] = str,
) -> dict[str, str]:
    """Give the id that each call of a view is sent with: of the view to of the request.

    *spelled* brings an id into the letters that the API takes.
    """
    ids = UniqueIds(characters_max=characters_max)
    return {call.id: ids.give(spelled(call.id)) for message in messages for call in message.calls}


def name_like(text: str, *, characters_max: int | None = None) -> str:
    """Give *text* with `_` for all but ASCII letters, digits, `_` and `-`; never empty."""
    return _NOT_IN_A_NAME.sub("_", text)[:characters_max] or _UNNAMED
