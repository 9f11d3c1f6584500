"""The three views of a conversation, from its messages in the order of writing. Pure.

What is sent may stand in another order than it was written in (a summary in front of what it
keeps), may be shortened, and may lack what a compaction, a revert or a broken-off reply hid.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping, Sequence

from msgspec import Struct

from minutebook.formats.value import LeftOut, Why
from minutebook.messages import Message
from minutebook.records import Record, Usage
from minutebook.tokens.spent import Spent, spent

COPIES_LOOKED_AT = 64
"""How many equal messages are considered as the original of one copy: the newest ones."""


class Item(Struct, frozen=True, kw_only=True):
    """One message or usage record of a conversation, as it is sent."""

    record: Message | Usage
    whole: Message | None = None
    """The message as it was written, where it is sent shortened."""


def arrange(
    items: Sequence[Item],
    *,
    sent: Iterable[int],
    why: Mapping[int, Why] | None = None,
    counted_from: int = 0,
) -> tuple[list[Record], tuple[LeftOut, ...]]:
    """Give the records that are sent, and the messages that are not. Linear.

    *items* are in the order of writing, *sent* names those that are sent, in their order, and
    *why* tells of the others why not, `compacted` where it is silent. Usage that was written
    before the item *counted_from* is left out: it counted a context that is no more.
    """
    records: list[Record] = []
    place: dict[int, int] = {}
    for index in sent:
        item = items[index]
        if isinstance(item.record, Message):
            place[index] = len(place)
        elif index < counted_from:
            continue
        records.append(item.record)
    left_out: list[LeftOut] = []
    whole: list[LeftOut] = []
    before = 0
    for index, item in enumerate(items):
        at = place.get(index)
        if at is not None:
            before = max(before, at + 1)
            if item.whole is not None:
                whole.append(LeftOut(message=item.whole, before=at, why="blanked"))
        elif isinstance(item.record, Message):
            reason: Why = (why or {}).get(index, "compacted")
            message = item.whole if item.whole is not None else item.record
            left_out.append(LeftOut(message=message, before=before, why=reason))
    whole.sort(key=lambda item: item.before)
    return records, (*left_out, *whole)


def total(usages: Iterable[Usage]) -> Spent | None:
    """Add up what calls cost; none where nothing was counted. Estimates cost nothing."""
    counted = [spent(usage) for usage in usages if not usage.estimated]
    return sum(counted, start=Spent()) if counted else None


def matched(originals: Sequence[Hashable], copies: Sequence[Hashable]) -> list[int | None]:
    """Find of which originals the copies are copies: as many as can be, in their order.

    Both are keys that are equal for equal messages. Gives for each copy the index of its
    original, or none. Of equal originals the newest ones are considered, at most
    `COPIES_LOOKED_AT`, so that time is linear but for a logarithm.
    """
    places: dict[Hashable, list[int]] = {}
    for index, key in enumerate(originals):
        places.setdefault(key, []).append(index)
    # The longest rising run of originals: of each length the run that ends lowest.
    ends: list[int] = []
    nodes: list[tuple[int, int, int]] = []
    last: list[int] = []
    for number, key in enumerate(copies):
        # From the highest on, so that one copy never stands behind itself in a run.
        for place in reversed(places.get(key, ())[-COPIES_LOOKED_AT:]):
            length = bisect_left(ends, place)
            nodes.append((number, place, last[length - 1] if length else -1))
            if length == len(ends):
                ends.append(place)
                last.append(len(nodes) - 1)
            else:
                ends[length] = place
                last[length] = len(nodes) - 1
    found: list[int | None] = [None] * len(copies)
    node = last[-1] if last else -1
    while node >= 0:
        number, place, node = nodes[node]
        found[number] = place
    return found
