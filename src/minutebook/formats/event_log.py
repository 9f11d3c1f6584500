"""Messages put together from the events of a log, where a condensation hides some. Pure.

Both generations of OpenHands store a reply as one event a call, and hide events instead of
deleting them: what is sent is worked out as a list of events first, and made messages of then.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence

from msgspec import Struct

from minutebook.formats.items import Piece, joined
from minutebook.formats.value import Why
from minutebook.formats.views import Item
from minutebook.records import Usage


class Entry(Struct, frozen=True, kw_only=True):
    """An event that says something to the model."""

    piece: Piece
    group: Hashable = None
    """Equal for the events of one reply; none for one that is a message of its own."""


class Assembled(Struct, frozen=True, kw_only=True):
    """A conversation as `views.arrange` takes it."""

    items: list[Item]
    sent: list[int]
    why: dict[int, Why]
    firsts: list[int]
    """Of each item, the entry that it begins with; rising."""


def assemble(
    entries: Sequence[Entry],
    *,
    view: Sequence[int],
    left: Container[int],
    usages: Mapping[Hashable, Usage],
) -> Assembled:
    """Make items of entries: a reply of all that belong together, its usage behind it.

    *view* names the entries that are sent, in their order; *left* those of branches that were
    left; *usages* has the usage of replies by their group. Linear.
    """
    groups: dict[Hashable, list[int]] = {}
    for index, entry in enumerate(entries):
        key = ("alone", index) if entry.group is None else ("group", entry.group)
        groups.setdefault(key, []).append(index)
    place = {index: number for number, index in enumerate(view)}
    items: list[Item] = []
    firsts: list[int] = []
    order: list[tuple[int, int]] = []
    why: dict[int, Why] = {}
    for indices in groups.values():
        kept = [index for index in indices if index in place]
        whole = joined([entries[index].piece for index in indices])
        counts = usages.get(entries[indices[0]].group)
        item = Item(record=whole)
        if kept and len(kept) < len(indices):
            item = Item(record=joined([entries[index].piece for index in kept]), whole=whole)
        for found in (item, *([] if counts is None else [Item(record=counts)])):
            if kept:
                order.append((place[kept[0]], len(items)))
            elif indices[0] in left:
                why[len(items)] = "abandoned"
            items.append(found)
            firsts.append(indices[0])
    return Assembled(
        items=items, sent=[index for _, index in sorted(order)], why=why, firsts=firsts
    )


def condensed(
    view: Sequence[int], forgotten: Container[int], summary: int | None, offset: int | None
) -> list[int]:
    """Give a view without what is forgotten, and with the summary at its place.

    A summary without a place stands nowhere, as with the vendor.
    """
    kept = [index for index in view if index not in forgotten]
    if summary is not None and offset is not None:
        kept.insert(offset, summary)
    return kept
