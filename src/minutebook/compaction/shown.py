"""What the reader of a history sees of exact words, and which of them are needed. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from minutebook.compaction.calls import values_of
from minutebook.compaction.digest.names import names_in, told_in
from minutebook.messages import Message
from minutebook.turns import is_real_user

OURS = frozenset(("summary", "notice"))

QUOTED_CHARS_MIN = 120
"""A directive or an entry counts as told if so much of its beginning is: its record is named."""

NEWEST_MESSAGES = 12
"""So many messages at the end are the newest part, whose references come before others."""


class Shown:
    """The exact words of a history.

    In the messages as they were written every reference counts; in lines of ours (summaries,
    notices, stubs) only where the line tells what it is about.
    """

    def __init__(self, history: Sequence[Message]) -> None:
        """Read all messages once."""
        names: set[str] = set()
        texts: list[str] = []
        for message in history:
            ours = message.seq is None or message.elided == "mask" or message.origin in OURS
            names.update(told_in(message.text) if ours else names_in(message.text))
            texts.append(message.text)
            for call in message.calls:
                values = values_of(call)
                names.update(names_in(values))
                texts.append(values)
        self.names = frozenset(names)
        self._text = " ".join("\n".join(texts).split())

    def says(self, text: str) -> bool:
        """Tell whether a text stands somewhere, word for word but for its white space."""
        return " ".join(text.split()) in self._text

    def quotes(self, text: str) -> bool:
        """Tell whether a text stands somewhere, or so much of its beginning as is quoted."""
        return self.says(text[:QUOTED_CHARS_MIN].rstrip("…"))


def needed_names(history: Sequence[Message]) -> frozenset[str]:
    """Give the references that the task, the last request and the newest part name."""
    spoken = [message for message in history if is_real_user(message)]
    needed: set[str] = set()
    for message in (*spoken[:1], *spoken[-1:], *history[-NEWEST_MESSAGES:]):
        if message.role in {"user", "assistant"}:
            needed.update(names_in(message.text))
            for call in message.calls:
                needed.update(names_in(values_of(call)))
    return frozenset(needed)
