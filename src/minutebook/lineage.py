"""How the logs of a session hang together: rotations, what they held, what is full history.

Pure but for the `load` that the caller hands in, which reads one retired log.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct

from minutebook.context import Context, Mark, Step
from minutebook.errors import CheckpointNotFound, MinutebookError
from minutebook.messages import Message, replace
from minutebook.records import Clear, Compaction, Revert, Rotated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from minutebook.records import Lineage

    Load = Callable[[Rotated], Context | None]
    """Read a rotation; None if it is missing or is not the one that was named."""


class HasLineage(Protocol):
    """As much of a log as tells how it came from earlier ones."""

    @property
    def lineage(self) -> Sequence[Lineage]:
        """The lineage records, in order."""
        ...


Log = TypeVar("Log", bound=HasLineage)


class Found(Struct, frozen=True, kw_only=True):
    """Where a checkpoint was found."""

    source: int | None
    """The rotation that holds it; None for the live log."""
    mark: Mark
    context: Context


class FullHistory(Struct, frozen=True, kw_only=True):
    """Every message of the live log and of all rotations, and which rotations are missing."""

    messages: tuple[Message, ...]
    missing: tuple[int, ...]
    reached: frozenset[int]
    """The rotations that the lineage names, missing ones too."""


class NothingToUndo(MinutebookError):
    """The log has no rewrite that could be taken back."""

    def __init__(self, why: str) -> None:
        """Say why not."""
        self.why = why
        super().__init__(f"cannot undo: {why}")


def rotations_named(record: Lineage) -> Iterator[Rotated]:
    """Give the rotations that a lineage record names."""
    if isinstance(record, Compaction) and record.parent is not None:
        yield record.parent
    elif isinstance(record, Revert | Clear):
        if record.origin is not None:
            yield record.origin
        if isinstance(record, Revert) and record.source is not None:
            yield Rotated(number=record.source)


def walk(
    log: Log, load: Callable[[Rotated], Log | None], *, records: int | None = None
) -> Iterator[tuple[int, Log | None]]:
    """Give every rotation that the lineage reaches, the newest number first, each once.

    Of the log's own lineage the first so many *records* count, or all. A rotation that cannot
    be loaded comes as None.
    """
    waiting: list[tuple[int, int]] = []
    named: dict[int, Rotated] = {}

    def visit(lineage: Sequence[Lineage]) -> None:
        for record in lineage:
            for rotated in rotations_named(record):
                if rotated.number not in named:
                    heappush(waiting, (-rotated.number, len(named)))
                    named[rotated.number] = rotated

    visit(log.lineage[:records])
    while waiting:
        number = -heappop(waiting)[0]
        found = load(named[number])
        yield number, found
        if found is not None:
            visit(found.lineage)


def find_checkpoint(context: Context, checkpoint: object, load: Load) -> Found:
    """Find a checkpoint in the live log, else in the newest rotation that holds it.

    Raises:
        CheckpointNotFound: If no log of the lineage holds it, or it is no id.
    """
    if not isinstance(checkpoint, int) or isinstance(checkpoint, bool) or checkpoint < 0:
        raise CheckpointNotFound(checkpoint, [mark.id for mark in context.checkpoints])
    try:
        return Found(source=None, mark=context.mark(checkpoint), context=context)
    except CheckpointNotFound as error:
        for number, found in walk(context, load):
            if found is not None and any(mark.id == checkpoint for mark in found.checkpoints):
                return Found(source=number, mark=found.mark(checkpoint), context=found)
        raise error from None


def last_rewrite(context: Context) -> Step:
    """Give the rewrite that an undo takes back: the newest that is not itself an undo.

    Raises:
        NothingToUndo: If there is none.
    """
    for step in reversed(context.steps):
        record = step.record
        if isinstance(record, Compaction | Clear):
            return step
        if isinstance(record, Revert) and record.reason != "undo":
            return step
    raise NothingToUndo("nothing was reverted, cleared or compacted")


def full_history(context: Context, load: Load) -> FullHistory:
    """Give every message of the live log and of all logs that its lineage reaches, once each.

    In order of `seq`; `active` tells those of the context. The original wins over its
    shortened copy.
    """
    kept: dict[int, list[Message]] = {}
    _keep(kept, context.history)
    missing, reached = [], []
    for number, found in walk(context, load):
        reached.append(number)
        if found is None:
            missing.append(number)
        else:
            _keep(kept, [replace(message, active=False) for message in found.history])
    return FullHistory(
        messages=tuple(message for seq in sorted(kept) for message in kept[seq]),
        missing=tuple(sorted(missing)),
        reached=frozenset(reached),
    )


def _keep(kept: dict[int, list[Message]], history: Sequence[Message]) -> None:
    """Add a log's messages, but for copies; an original replaces its shortened copy.

    Within one log nothing is a copy: a number that occurs twice there stands for two messages.
    """
    taken: set[int] = set()
    for message in history:
        same = kept.setdefault(message.seq or 0, [])
        index = _copy_of(message, same, taken)
        if index is None:
            same.append(message)
            index = len(same) - 1
        elif same[index].elided and not message.elided:
            same[index] = replace(message, active=same[index].active)
        taken.add(id(same[index]))


def _copy_of(message: Message, same: list[Message], taken: set[int]) -> int | None:
    """Find the message of the same number that this one is a copy of, or the original of."""
    for index, other in enumerate(same):
        if id(other) not in taken and (
            message.elided or other.elided or replace(message, active=other.active) == other
        ):
            return index
    return None


class Joined(Struct, frozen=True, kw_only=True):
    """A full history, and where the messages of one log stand in it."""

    messages: tuple[Message, ...]
    places: tuple[Message, ...]
    """For each message of the log, the message of the full history that it is, or is a copy of."""
    start: int
    """Where the log begins in the full history."""


def placed(messages: tuple[Message, ...], history: Sequence[Message]) -> Joined:
    """Find the messages of a log that the lineage reaches in the full history."""
    by_seq: dict[int | None, list[Message]] = {}
    for message in messages:
        by_seq.setdefault(message.seq, []).append(message)
    places = []
    for message in history:
        same = by_seq[message.seq]
        index = _copy_of(message, same, set())
        places.append(same[index or 0])
    own = set(map(id, places))
    starts = (index for index, message in enumerate(messages) if id(message) in own)
    start = next(starts, len(messages))
    return Joined(messages=messages, places=tuple(places), start=start)


def join(after: Joined, following: Sequence[Message], log: Sequence[Message]) -> Joined:
    """Put into the full history what only *log* holds, a log that no lineage names.

    *following* are the messages of the log that came after it, *after* is where they stand. A
    log that was reverted shares its beginning with the next: what it has more comes behind
    that. One that was compacted ends with a run of messages that the next repeats after its
    summary: what it has more comes before the next one's first. Messages are compared
    without the keys that Kimi CLI drops when it writes ours again.
    """
    words, next_words = list(map(_words, log)), list(map(_words, following))
    shared = _common_prefix(words, next_words)
    first, where = 0, 0
    if not shared:
        shared, where = _seam(words, next_words)
        first = len(log) - shared
    more = [
        replace(message, active=False)
        for index, message in enumerate(log)
        if not first <= index < first + shared
    ]
    repeated = after.places[where : where + shared]
    anchor = after.start
    if shared and not first:
        last = repeated[-1]
        anchor = 1 + next(i for i, message in enumerate(after.messages) if message is last)
    return Joined(
        messages=(*after.messages[:anchor], *more, *after.messages[anchor:]),
        places=(*more[:first], *repeated, *more[first:]),
        start=after.start,
    )


def _words(message: Message) -> Message:
    """Give a message without our own keys."""
    return replace(message, seq=None, at=None, origin=None, pin=False, elided="", active=True)


def _common_prefix(words: Sequence[Message], following: Sequence[Message]) -> int:
    count = 0
    for message, other in zip(words, following, strict=False):
        if message != other:
            break
        count += 1
    return count


def _seam(words: Sequence[Message], following: Sequence[Message]) -> tuple[int, int]:
    """Give length and place of the longest run of *following* that *words* ends with.

    Looks for it from behind, as Knuth, Morris and Pratt do, in linear time.
    """
    pattern, text = words[::-1], following[::-1]
    back = [0] * len(pattern)
    length = 0
    for index in range(1, len(pattern)):
        while length and pattern[index] != pattern[length]:
            length = back[length - 1]
        length += pattern[index] == pattern[length]
        back[index] = length
    best, end, length = 0, 0, 0
    for index, message in enumerate(text):
        while length and (length == len(pattern) or message != pattern[length]):
            length = back[length - 1]
        length += bool(pattern) and message == pattern[length]
        if length > best:
            best, end = length, index + 1
    return best, len(text) - end
