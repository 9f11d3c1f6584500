"""A session kept in step with a conversation that a framework holds itself.

The framework's list is its own truth and is never changed. What is new in it is written to the
session; what the session would send is told in terms of the list, so that the framework's own
objects can be sent where nothing was shortened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import minutebook
from minutebook.drafts import as_message
from minutebook.records import Clear

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from minutebook.messages import Message
    from minutebook.session import Session

NOT_THEIRS = frozenset({"summary", "notice", "injection", "checkpoint", "dmail"})
"""Origins of messages that minutebook wrote, which the framework's list does not have."""


class Mirror:
    """Follows one conversation. Opens the session for each call, so it belongs to no loop."""

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Take the session's folder and what `minutebook.open` takes besides."""
        self._path = path
        self._options = options

    async def fitted(
        self, messages: Sequence[Mapping[str, Any]], *, system: str | None = None
    ) -> list[int | dict[str, Any]]:
        """Write what is new, set a checkpoint, compact if it is due; give what is to be sent.

        *messages* are in OpenAI's shape. Given are, in order, the index of each that is sent as
        it is, and a message in that shape for each that was written or shortened here. Without
        a known window nothing is compacted.

        Raises:
            ContextOverflow: If it cannot be made to fit; nothing is changed.
            InvalidMessage: If a message may not be written; nothing was.
        """
        async with minutebook.open(self._path, **self._options) as book:
            if system is not None:
                await book.set_system_prompt(system)
            numbers = await _follow(book, messages)
            await book.checkpoint()
            if book.settings.known_window() is not None:
                await book.fit()
            places = {number: at for at, number in enumerate(numbers)}
            return [
                _plain(message)
                if message.elided or message.seq not in places
                else places[message.seq]
                for message in book.context.history
            ]

    async def kept(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Write what is new.

        Raises:
            InvalidMessage: If a message may not be written; nothing was.
        """
        async with minutebook.open(self._path, **self._options) as book:
            await _follow(book, messages)


async def _follow(book: Session, messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Write what the session has not; give the number of each message.

    A list that is no longer the one that was followed is written anew after a clear, so what
    was written before stays readable.
    """
    wanted = [as_message(dict(message)) for message in messages]
    known = _theirs(book)
    if len(known) > len(wanted) or any(
        _said(mine) != _said(theirs) for mine, theirs in zip(known, wanted, strict=False)
    ):
        await book.clear()
        known = []
    written = await book.append(*wanted[len(known) :]) if len(known) < len(wanted) else ()
    return [message.seq or 0 for message in (*known, *written)]


def _theirs(book: Session) -> list[Message]:
    """Give the messages of the list that the session has, since it was last cleared."""
    clears = [record for record in book.context.lineage if isinstance(record, Clear)]
    first = clears[-1].next.seq if clears and clears[-1].next is not None else 0
    return [
        message
        for message in book.history(full=True)
        if (message.seq or 0) >= first and message.origin not in NOT_THEIRS
    ]


def _said(message: Message) -> object:
    """Give what makes two messages the same."""
    return message.role, message.parts, message.calls, message.tool_call_id


def _plain(message: Message) -> dict[str, Any]:
    """Give a message in OpenAI's shape, its text and calls."""
    plain: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        plain["tool_calls"] = [
            {
                "type": "function",
                "id": call.id,
                "function": {"name": call.name, "arguments": call.arguments or "{}"},
            }
            for call in message.calls
        ]
    if message.tool_call_id is not None:
        plain["tool_call_id"] = message.tool_call_id
    return plain
