"""The log of a Codex rollout replayed: what was said, what is sent now, what was left. Pure.

A compaction replaces all that was sent so far by a list of items; most of them are copies of
earlier ones and are recognised as such, so that each message is there once. A rollback drops
the last turns with all that they did, a compaction in them too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from minutebook.formats.items import Piece, groups, joined
from minutebook.formats.value import Why
from minutebook.formats.views import Item, matched
from minutebook.records import Usage


class Arranged(NamedTuple):
    """A conversation as `views.arrange` takes it."""

    items: list[Item]
    sent: list[int]
    why: dict[int, Why]


class Log:
    """What a rollout has said so far; feed it in file order."""

    def __init__(self, *, real_user: Callable[[Piece], bool]) -> None:
        """Begin empty. *real_user* tells at which pieces a turn begins."""
        self.compactions = 0
        self.reverts = 0
        self._real_user = real_user
        self._written: list[Piece | Usage | None] = []
        """In the order of writing. None ends a reply."""
        self._turns: list[list[int | tuple[int, ...]]] = [[]]
        """Of each turn what it added, and what it replaced all before by, as indices."""
        self._left: set[int] = set()

    def add(self, piece: Piece) -> None:
        """Take a piece of the conversation."""
        if self._real_user(piece):
            self._turns.append([])
        self._append(piece)

    def count(self, usage: Usage) -> None:
        """Take the usage of a call: it ends the reply before it, to which it belongs."""
        self._append(usage)

    def compact(self, replacement: Sequence[Piece]) -> None:
        """Replace what is sent by these pieces; a copy of an earlier one stands for that one."""
        self.compactions += 1
        context = [at for at in self.context() if isinstance(self._written[at], Piece)]
        keys = [self._key(at) for at in context]
        found = matched(keys, [(piece.role, piece.key) for piece in replacement])
        # A reply in a replacement belongs to none before it.
        self._written.append(None)
        now: list[int] = []
        for piece, original in zip(replacement, found, strict=True):
            if original is None or piece.key is None:
                now.append(len(self._written))
                self._written.append(piece)
            else:
                now.append(context[original])
        self._written.append(None)
        self._turns[-1].append(tuple(now))

    def users(self) -> list[Piece]:
        """Give what Codex keeps in a compaction that names nothing: how it began, and the users.

        That is what stands before the first turn and is no reply, and what users said.
        """
        kept: list[Piece] = []
        begun = False
        for at in self.context():
            entry = self._written[at]
            if not isinstance(entry, Piece):
                continue
            real = self._real_user(entry)
            begun = begun or real or entry.of_reply
            if real or (not begun and entry.role != "tool"):
                kept.append(entry)
        return kept

    def revert(self, turns: int) -> None:
        """Drop the last turns. What stands before the first one always stays."""
        if turns > 0:
            self.reverts += 1
        keep = max(1, len(self._turns) - max(turns, 0))
        for operation in (entry for turn in self._turns[keep:] for entry in turn):
            self._left.update((operation,) if isinstance(operation, int) else operation)
        del self._turns[keep:]
        self._written.append(None)

    def context(self) -> list[int]:
        """Give what is sent now, as indices of what was written. Linear since a compaction."""
        added: list[int] = []
        for turn in reversed(self._turns):
            for operation in reversed(turn):
                if isinstance(operation, tuple):
                    return [*operation, *reversed(added)]
                added.append(operation)
        return added[::-1]

    def arranged(self) -> Arranged:
        """Put the pieces together to messages, each with its usage behind it."""
        sent = {at: place for place, at in enumerate(self.context())}
        pieces = [entry if isinstance(entry, Piece) else None for entry in self._written]
        units: list[tuple[int, int, list[int]]] = [(group[0], 0, group) for group in groups(pieces)]
        units += [(reply, 1, [at]) for reply, at in self._anchors()]
        items: list[Item] = []
        why: dict[int, Why] = {}
        order: list[tuple[int, int, int]] = []
        for anchor, rank, places in sorted(units):
            kept = [at for at in places if at in sent]
            if kept:
                order.append((sent.get(anchor, sent[kept[0]]), rank, len(items)))
            elif places[0] in self._left:
                why[len(items)] = "abandoned"
            items.append(self._item(places, kept))
        return Arranged(items, [index for _, _, index in sorted(order)], why)

    def usages(self) -> list[Usage]:
        """Give every usage record."""
        return [entry for entry in self._written if isinstance(entry, Usage)]

    def _append(self, entry: Piece | Usage) -> None:
        self._turns[-1].append(len(self._written))
        self._written.append(entry)

    def _key(self, at: int) -> object:
        entry = self._written[at]
        return (entry.role, entry.key) if isinstance(entry, Piece) else None

    def _anchors(self) -> list[tuple[int, int]]:
        """Say behind which piece each usage belongs: (that one's place, its own place).

        That is the last piece of the last reply that has none yet, and results may stand between;
        without such a reply it is where it stands.
        """
        found: list[tuple[int, int]] = []
        reply: int | None = None
        for at, entry in enumerate(self._written):
            if entry is None:
                reply = None
            elif isinstance(entry, Usage):
                found.append((at if reply is None else reply, at))
                reply = None
            elif entry.of_reply:
                reply = at
        return found

    def _item(self, places: Sequence[int], kept: Sequence[int]) -> Item:
        """Make an item: as it is sent, and as it was where that is more."""
        entry = self._written[places[0]]
        if isinstance(entry, Usage):
            return Item(record=entry)
        message = joined(self._pieces(places))
        if not kept or len(kept) == len(places):
            return Item(record=message)
        return Item(record=joined(self._pieces(kept)), whole=message)

    def _pieces(self, places: Sequence[int]) -> list[Piece]:
        return [entry for at in places if isinstance(entry := self._written[at], Piece)]
