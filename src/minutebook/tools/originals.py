"""Messages as `recall_history` reads them back, and which of them are its own answers. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from minutebook.messages import Message, TextPart, ThinkPart
from minutebook.turns import Pairing, pair

NAME = "recall_history"
"""The tool's name. What it answered is known by the call, never by the text."""


def recalled(history: Sequence[Message], pairing: Pairing | None = None) -> frozenset[int]:
    """Give the positions of the messages that are answers of this tool.

    They are copies of what the log holds anyway: neither a later call nor a summary may take
    them for something new. A *pairing* that is at hand saves working it out again.
    """
    found = pair(history) if pairing is None else pairing
    answers = {
        result
        for results in (found.results, found.made_up)
        for (at, number), result in results.items()
        if history[at].calls[number].name == NAME
    }
    named = {at for at, one in enumerate(history) if one.role == "tool" and one.name == NAME}
    return frozenset(answers | named)


def callers(history: Sequence[Message], pairing: Pairing) -> dict[int, str]:
    """Give the tool's name for each position whose message is a result."""
    return {
        result: history[at].calls[number].name for (at, number), result in pairing.results.items()
    }


def whole_text(message: Message) -> str:
    """Give a message as it is read back: its text, what media it has, its calls.

    Calls of the tool itself are left out: they hold the words that are looked for.
    """
    parts = [message.text] if message.text else []
    parts += [
        f"[{type(part).__name__.removesuffix('Part').lower()}]"
        for part in message.parts
        if not isinstance(part, TextPart | ThinkPart)
    ]
    parts += [f"{call.name} {call.arguments}" for call in message.calls if call.name != NAME]
    return "\n".join(parts)
