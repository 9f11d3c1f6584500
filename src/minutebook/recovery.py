"""Bringing a message back that compactions have left behind, word for word and with its exchange.

A pin says that a message survives every compaction. Where one came before the pin, the original
still stands in a rotation, and one rewrite puts it back at its place in the history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minutebook import rewrites
from minutebook.errors import InvalidMessage
from minutebook.operations import reading
from minutebook.records import Compaction, Tag
from minutebook.retired import load_rotation
from minutebook.rewrites import Back
from minutebook.turns import cuts, pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minutebook.context import Context
    from minutebook.counting import Counting
    from minutebook.messages import Message
    from minutebook.rewrites import Operation
    from minutebook.store.contract import Store


def holds_whole(context: Context, seq: int) -> bool:
    """Tell whether the context holds a message as it was written."""
    return any(message.seq == seq and not message.elided for message in context.history)


def find_covered(store: Store, context: Context, seq: int) -> list[Back]:
    """Find a message and its exchange in the logs that compactions have left, the newest first.

    What a revert or a clear has left behind is not found: it is no part of the past.

    Raises:
        InvalidMessage: If no such log holds it whole.
    """
    log = context
    while parents := [one.parent for one in log.lineage if isinstance(one, Compaction)]:
        parent = parents[-1]
        before = None if parent is None else load_rotation(store, parent)
        if parent is None or before is None:
            raise InvalidMessage(f"message {seq} is in no log that can be read")
        if holds_whole(before, seq):
            read = reading(store)
            places = [at for at in _exchange(before.history, seq) if not before.history[at].elided]
            pin = Tag(seq=seq, content=f"marks message {seq}", pin=True)
            return [
                Back(
                    message=before.history[at],
                    line=read(parent.number, *before.span(at)) + b"\n",
                    pin=pin if before.history[at].seq == seq else None,
                )
                for at in places
            ]
        log = before
    raise InvalidMessage(
        f"there is no message {seq} in the context, nor in a log that it was compacted from"
    )


def bring_back(
    context: Context, store: Store, seq: int, counting: Counting, *, at: float
) -> Operation:
    """Work out the rewrite that puts a covered message back, pinned.

    The window need not be known: what no longer fits is the next compaction's to see.

    Raises:
        InvalidMessage: If there is no such message to be found.
    """
    found, line = find_covered(store, context, seq), counting.line()
    record = Compaction(
        id=f"c{context.next_seq}-{context.next_checkpoint_id}",
        trigger="pin",
        span=(seq, seq),
        tokens_before=counting.size().tokens,
    )
    return rewrites.compaction(
        context,
        _joined(context.history, found, seq),
        record=record,
        fixed=counting.fixed,
        count=line.tokens,
        learned=line.learned(),
        read=reading(store),
        at=at,
    )


def _exchange(history: Sequence[Message], seq: int) -> list[int]:
    """Give the places of a message and of all that belongs to its exchange, in order."""
    place = next(at for at, message in enumerate(history) if message.seq == seq)
    results = pair(history).results
    head = next((index for (index, _), result in results.items() if result == place), place)
    return sorted({head, *(result for (index, _), result in results.items() if index == head)})


def _joined(history: Sequence[Message], back: Sequence[Back], seq: int) -> list[Message | Back]:
    """Put messages in the place of their shortened copies, else where no exchange is split."""
    mine = {one.message.seq: one for one in back}
    there = {message.seq for message in history}
    joined = [mine.get(message.seq, message) for message in history]
    missing = [one for one in back if one.message.seq not in there]
    later = next(
        (at for at, message in enumerate(history) if (message.seq or 0) > seq), len(history)
    )
    place = max(cut for cut in cuts(history) if cut <= later)
    return [*joined[:place], *missing, *joined[place:]]
