"""A session of the OpenAI Agents SDK that keeps every word and gives back what fits.

    async with minutebook.open("sessions/first", window=200_000) as book:
        await Runner.run(agent, "hello", session=MinutebookSession(book))

The SDK's items become messages, so that they can be read, searched and compacted as those of any
other session. What a message cannot hold (ids, statuses, annotations) goes along in a part of
its own, so an untouched message gives the very items back that it was made of. The items of one
reply make one message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minutebook.errors import InvalidMessage
from minutebook.formats.items import Piece, groups, joined, piece_of
from minutebook.messages import Message, OtherPart, TextPart, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minutebook.session import Session

KEPT = "openai_agents_items"
"""The kind of the part that holds the items of a message word for word."""
TEXT_CHARACTERS_MIN = 40
"""A shorter text may stand there twice."""


class MinutebookSession:
    """What `Runner.run` takes as `session`, over an open session of ours.

    Belongs to the event loop of that session, so use `Runner.run` or `Runner.run_streamed`, not
    `Runner.run_sync`. Each batch of items has a checkpoint before it.
    """

    session_settings: Any = None
    """The SDK's `SessionSettings`; its `limit` holds where `get_items` is given none."""

    def __init__(self, book: Session, *, session_id: str | None = None) -> None:
        """Take an open session; its id is what `session.json` says, unless another is given."""
        self._book = book
        self.session_id = session_id or book.store.path

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Give the items that are to be sent, oldest first; of more than *limit* the last ones.

        Compacts before if it is due and the window is known. A *limit* of 0 gives none, a
        negative one all.

        Raises:
            ContextOverflow: If the history cannot be made to fit; nothing is changed.
        """
        await self.run_compaction()
        if limit is None:
            limit = getattr(self.session_settings, "limit", None)
        items = [item for message in self._book.context.history for item in items_of(message)]
        return items if limit is None or limit < 0 else items[len(items) - min(limit, len(items)) :]

    async def add_items(self, items: list[Any]) -> None:
        """Write items in one batch, all or none, with a checkpoint before them.

        Raises:
            InvalidMessage: If one is no object with a type or a role; nothing was written.
        """
        if items:
            messages = messages_of(items)
            await self._book.checkpoint()
            await self._book.append(*messages)

    async def pop_item(self) -> Any | None:
        """Take the last item out of the context and give it; None if there is none.

        Goes back to the checkpoint before it and writes what stands between again; the log
        before stays as a rotation.
        """
        history = self._book.context.history
        if not history:
            return None
        marks = [mark for mark in self._book.context.checkpoints if mark.messages < len(history)]
        start = marks[-1].messages if marks else 0
        *rest, last = [item for message in history[start:] for item in items_of(message)]
        if marks:
            await self._book.revert(marks[-1].id)
        else:
            await self._book.clear()
        await self.add_items(rest)
        return last

    async def clear_session(self) -> None:
        """Leave every item behind; they stay readable in a rotation."""
        if self._book.context.history:
            await self._book.clear()

    async def run_compaction(self, args: Mapping[str, Any] | None = None) -> None:
        """Compact if it is due, or in any case if *args* say `force`.

        The SDK calls it after each run. Without a known window nothing happens.

        Raises:
            ContextOverflow: If the history cannot be made to fit; nothing is changed.
        """
        if self._book.settings.known_window() is None:
            return
        if (args or {}).get("force"):
            await self._book.compact()
        else:
            await self._book.fit()


def messages_of(items: Sequence[Any]) -> list[Message]:
    """Make messages of items; those of one reply make one.

    Raises:
        InvalidMessage: If one is no object with a type or a role.
    """
    pieces = []
    for at, item in enumerate(items):
        if not isinstance(item, dict) or not ("type" in item or "role" in item):
            raise InvalidMessage(f"item {at} is no object with a type or a role")
        # What is no part of a conversation elsewhere still has to come back from here.
        pieces.append(piece_of(item) or Piece(role="assistant", parts=(OtherPart(item),)))
    found = []
    for group in groups(pieces):
        own = [items[at] for at in group]
        message = joined([pieces[at] for at in group])
        if _plain(message) != own:
            kept = OtherPart({"type": KEPT, **_without_texts(own, _texts(message))})
            message = replace(message, content=(*message.parts, kept))
        found.append(message)
    return found


def items_of(message: Message) -> list[dict[str, Any]]:
    """Give the items that a message was made of, or those that say what is left of it."""
    for part in message.parts:
        if isinstance(part, OtherPart) and part.data.get("type") == KEPT and not message.elided:
            items: list[dict[str, Any]] = _with_texts(
                part.data["items"], _texts(message) if part.data.get("cut") else ()
            )
            return items
    return _plain(message)


def _texts(message: Message) -> list[str]:
    """Give the texts of a message that its items hold too."""
    said = [part.text for part in message.parts if isinstance(part, TextPart)]
    return [*said, *(call.arguments for call in message.calls)]


def _without_texts(items: list[Any], texts: list[str]) -> dict[str, Any]:
    """Give a copy of the items with the message's texts named by number, to hold them once."""
    places = {text: at for at, text in enumerate(texts) if len(text) >= TEXT_CHARACTERS_MIN}

    def cut(value: Any) -> Any:
        match value:
            case str() if value in places:
                return {KEPT: places[value]}
            case dict():
                return {key: cut(inner) for key, inner in value.items()}
            case list():
                return [cut(inner) for inner in value]
            case _:
                return value

    short = cut(items)
    # Items that hold such a name themselves stay whole.
    sound = _with_texts(short, texts) == items
    return {"items": short, "cut": True} if sound else {"items": items}


def _with_texts(value: Any, texts: Sequence[str]) -> Any:
    """Give a copy with the texts in their places again."""
    match value:
        case {"openai_agents_items": int(at)} if len(value) == 1 and 0 <= at < len(texts):
            return texts[at]
        case dict():
            return {key: _with_texts(inner, texts) for key, inner in value.items()}
        case list():
            return [_with_texts(inner, texts) for inner in value]
        case _:
            return value


def _plain(message: Message) -> list[dict[str, Any]]:
    """Give items that say what a message says, without what only the provider knew of it."""
    if message.role == "tool":
        output = {"type": "function_call_output", "call_id": message.tool_call_id}
        return [{**output, "output": message.text}]
    items: list[dict[str, Any]] = []
    if message.text or not message.calls:
        items.append({"role": message.role, "content": message.text})
    items += [
        {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }
        for call in message.calls
    ]
    return items
