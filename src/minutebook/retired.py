"""Reading a session's retired logs through its store."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from msgspec import Struct

from minutebook.context import Context, fold
from minutebook.errors import InvalidMessage, StoreError
from minutebook.lineage import full_history, join, placed, walk
from minutebook.lines import Scanner, flatten
from minutebook.records import Compaction, Lineage, Rotated
from minutebook.store.contract import good_end

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from minutebook.lineage import FullHistory
    from minutebook.lines import Entry, Run
    from minutebook.messages import Message
    from minutebook.store.contract import Store


def load_number(store: Store, number: int) -> tuple[Context, int]:
    """Fold a rotation; give its context and its length in bytes, without a torn end.

    Raises:
        StoreError: If there is none of that number, or it cannot be read.
    """
    context, keep, _size, _checksum = _load(store, number)
    return context, keep


def load_named(store: Store, rotated: Rotated) -> tuple[Context, int] | None:
    """As `load_number`, of the rotation that a record names; None if it is not there as named."""
    try:
        context, keep, size, checksum = _load(store, rotated.number)
    except StoreError:
        return None
    if rotated.bytes not in {None, size} or rotated.hash not in {None, checksum}:
        return None
    return context, keep


def load_rotation(store: Store, rotated: Rotated) -> Context | None:
    """Fold the rotation that a record names; None if it is missing or is another file."""
    loaded = load_named(store, rotated)
    return None if loaded is None else loaded[0]


class Ancestry(Struct, frozen=True, kw_only=True):
    """As much of a log as tells how it came from earlier ones."""

    lineage: tuple[Lineage, ...]


def load_lineage(store: Store, rotated: Rotated) -> Ancestry | None:
    """Read only the lineage of the rotation that a record names; None as `load_rotation`."""
    scanner, size, running = Scanner(), 0, 0
    found: list[Lineage] = []
    try:
        for piece in store.pieces(rotated.number):
            size += len(piece)
            running = zlib.crc32(piece, running)
            found += _lineage_in(scanner.feed(piece))
        found += _lineage_in(scanner.finish())
    except StoreError:
        return None
    if rotated.bytes not in {None, size} or rotated.hash not in {None, f"crc32:{running:08x}"}:
        return None
    return Ancestry(lineage=tuple(found))


def live_lineage(store: Store) -> Ancestry:
    """Read only the lineage of the live log."""
    return Ancestry(lineage=tuple(_lineage_in(store.replay())))


def _lineage_in(found: Iterable[Run | Entry]) -> list[Lineage]:
    return [entry.record for entry in flatten(found) if isinstance(entry.record, Lineage)]


def _load(store: Store, number: int) -> tuple[Context, int, int, str]:
    scanner, size, running = Scanner(), 0, 0
    context = Context()

    def found() -> Iterator[Run | Entry]:
        nonlocal size, running
        for piece in store.pieces(number):
            size += len(piece)
            running = zlib.crc32(piece, running)
            yield from scanner.feed(piece)
        yield from scanner.finish()

    fold(found(), context)
    return context, good_end(scanner.problems, size), size, f"crc32:{running:08x}"


def full_messages(store: Store, context: Context, *, partial: bool) -> tuple[Message, ...]:
    """Give every message of every log; see `lineage.full_history`.

    Raises:
        StoreError: If a rotation that the lineage names is missing, or one that is there
            cannot be read, unless *partial*.
    """
    found = full_history(context, lambda named: load_rotation(store, named))
    messages, unread = _with_unnamed(store, context, found)
    missing = sorted({*found.missing, *unread})
    if missing and not partial:
        names = ", ".join(map(str, missing))
        raise StoreError(
            f"full history needs rotation {names}, which is missing or was changed",
            path=store.path,
            remedy="put it back, or ask with partial=True for what is there",
        )
    return messages


def _with_unnamed(
    store: Store, context: Context, found: FullHistory
) -> tuple[tuple[Message, ...], list[int]]:
    """Join each rotation that no lineage names to the log that came after it.

    Gives the messages, and the rotations that could not be read.
    """
    messages, unread = found.messages, []
    newer: list[int] = []
    following, joined = context.history, placed(messages, context.history)
    for number in sorted((rotation.number for rotation in store.rotations()), reverse=True):
        if number in found.reached:
            if number not in found.missing:
                newer.append(number)
            continue
        log = load_rotation(store, Rotated(number))
        if log is None:
            unread.append(number)
        elif log.history:
            for named in reversed(newer):
                between = load_number(store, named)[0].history
                if between:
                    following, joined = between, placed(messages, between)
                    break
            newer.clear()
            joined = join(joined, following, log.history)
            following, messages = log.history, joined.messages
    return messages, unread


def expanded(store: Store, context: Context, seq: int) -> tuple[Message, ...]:
    """Give the originals that a message of a compaction's own stands for, in order of `seq`.

    Those are the messages of the log before it that it does not carry over whole.

    Raises:
        InvalidMessage: If no compaction of the lineage wrote a message of that number.
        StoreError: If the rotation that holds them is missing or was changed.
    """
    logs = [context]
    logs += [
        found for _, found in walk(context, lambda named: load_rotation(store, named)) if found
    ]
    for log in logs:
        for record in log.lineage:
            if isinstance(record, Compaction) and seq in record.made:
                return _originals(store, log, record)
    raise InvalidMessage(f"message {seq} was not written by a compaction")


def _originals(store: Store, log: Context, record: Compaction) -> tuple[Message, ...]:
    before = None if record.parent is None else load_rotation(store, record.parent)
    if before is None:
        number = "it left" if record.parent is None else record.parent.number
        raise StoreError(f"rotation {number} is missing or was changed", path=store.path)
    whole = {message.seq for message in log.history if not message.elided} & set(record.carried)
    return tuple(message for message in before.history if message.seq not in whole)
