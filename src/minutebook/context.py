"""Fold the log's records into the context. No I/O, no clock: equal records, equal context.

The fold changes in place, since rebuilding a frozen value for each record is quadratic;
every value that it hands out stays as it was. `apply` (with `apply_run`, the same for many
messages at once) and `cut` are the only ways to change it.
"""

from __future__ import annotations

from array import array
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, assert_never

from msgspec import Struct

from minutebook.codec import SEQ_LIMIT
from minutebook.errors import CheckpointNotFound
from minutebook.lines import BOM, Entry
from minutebook.messages import Message, replace
from minutebook.records import (
    Batch,
    Checkpoint,
    Clear,
    Compaction,
    Fork,
    Lineage,
    Next,
    Other,
    Record,
    Revert,
    SystemPrompt,
    Tag,
    Usage,
)
from minutebook.tokens.estimate import estimate_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from minutebook.lines import Run


class Mark(Struct, frozen=True, gc=False):
    """A checkpoint, with all that `cut` needs to go back to it."""

    id: int
    offset: int
    """Where its record begins in the log, in bytes: what a revert keeps."""
    messages: int
    """How many messages of the history stand before it."""
    label: str | None
    at: float | None
    """When it was set, in seconds since 1970, as far as the record says."""
    prompts: int
    usages: int
    lineage: int
    tags: int
    unknown: int
    next: Next
    """The free numbers just before it."""
    span_start: int
    """The byte at which the span begins whose sum the checkpoint's record carries."""


class Counted(Struct, frozen=True, gc=False):
    """A usage record, and how many messages it covers."""

    usage: Usage
    messages: int


class Measured(NamedTuple):
    """What sizes are worked out from."""

    counted: Sequence[Counted]
    history: Sequence[Message]
    estimates: Sequence[int]
    """One for each message."""


class Step(Struct, frozen=True, kw_only=True):
    """A lineage record, and where it stands in the log."""

    record: Lineage
    start: int
    end: int


class _Estimates(list[int]):
    """The estimates of the first messages, as far as they were asked for."""

    def of(self, messages: Sequence[Message], index: int) -> int:
        """Give the estimate of one message; kept, if those before it are known too."""
        if index < len(self):
            return self[index]
        tokens = estimate_message(messages[index])
        if index == len(self):
            self.append(tokens)
        return tokens


class Context:
    """What the log says: prompt, history, counts, checkpoints, lineage, pins."""

    def __init__(self) -> None:
        """Begin empty, as before the first record."""
        self._messages: list[Message] = []
        self._starts = array("q")
        self._behind = array("q")
        self._prompts: list[str] = []
        self._usages: list[Counted] = []
        self._marks: list[Mark] = []
        self._lineage: list[Step] = []
        self._tags: list[Tag] = []
        self._unknown = 0
        self._next_seq = 1
        self._next_checkpoint = 0
        self._estimates = _Estimates()
        self._pending = 0
        self._pending_upto = 0
        self._span_start = 0
        self._batch_end = 0
        self._history: tuple[Message, ...] | None = None
        self._marked: dict[int, tuple[bool, tuple[str, ...]]] | None = None

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages in order, each with its `seq`. The first call after a change copies."""
        if self._history is None:
            self._history = tuple(self._messages)
        return self._history

    @property
    def system_prompt(self) -> str | None:
        """The system prompt in force; none if the log has none."""
        return self._prompts[-1] if self._prompts else None

    @property
    def token_count(self) -> int:
        """What the last usage record says; 0 before the first."""
        return self._usages[-1].usage.token_count if self._usages else 0

    @property
    def token_count_is_exact(self) -> bool:
        """Whether a provider counted `token_count`; not so at first and after a compaction."""
        return bool(self._usages) and not self._usages[-1].usage.estimated

    @property
    def token_count_pending(self) -> int:
        """The estimate of all messages since the last usage record: a sum, message by message."""
        start = self._usages[-1].messages if self._usages else 0
        if self._pending_upto < start:
            self._pending, self._pending_upto = 0, start
        of, messages = self._estimates.of, self._messages
        for index in range(self._pending_upto, len(messages)):
            self._pending += of(messages, index)
        self._pending_upto = len(messages)
        return self._pending

    @property
    def token_count_with_pending(self) -> int:
        """`token_count` and the estimate of what came after it."""
        return self.token_count + self.token_count_pending

    @property
    def estimates(self) -> tuple[int, ...]:
        """The estimate of each message of the history; made once per message."""
        return tuple(self.measured().estimates)

    def measured(self) -> Measured:
        """Give usage records, messages and estimates without a copy.

        They are the fold's own, good until its next change: to look at, not to keep.
        """
        for index in range(len(self._estimates), len(self._messages)):
            self._estimates.of(self._messages, index)
        return Measured(self._usages, self._messages, self._estimates)

    @property
    def usages(self) -> tuple[Counted, ...]:
        """The usage records that were believed, in order."""
        return tuple(self._usages)

    @property
    def next_checkpoint_id(self) -> int:
        """The id that the next checkpoint gets. Never restarts."""
        return self._next_checkpoint

    @property
    def next_seq(self) -> int:
        """The number that the next message gets. Never restarts."""
        return self._next_seq

    @property
    def next(self) -> Next:
        """Both free numbers, as a rewrite's record carries them."""
        return Next(checkpoint=self._next_checkpoint, seq=self._next_seq)

    @property
    def checkpoints(self) -> tuple[Mark, ...]:
        """The checkpoints of the live log, in order."""
        return tuple(self._marks)

    @property
    def lineage(self) -> tuple[Lineage, ...]:
        """How the log came from earlier ones: compactions, reverts, clears, forks, in order."""
        return tuple(step.record for step in self._lineage)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The lineage with the place of each record in the log."""
        return tuple(self._lineage)

    @property
    def pins(self) -> frozenset[int]:
        """The `seq` of every pinned message of the history."""
        return frozenset(seq for seq, (pin, _) in self.tagged().items() if pin)

    @property
    def tags(self) -> dict[int, tuple[str, ...]]:
        """The tags of every message of the history that has any, by `seq`."""
        return {seq: tags for seq, (_, tags) in self.tagged().items() if tags}

    @property
    def unknown_records(self) -> int:
        """How many special records were of a kind that is not known here."""
        return self._unknown

    @property
    def span_start(self) -> int:
        """The byte at which the span begins that the next checkpoint's sum covers."""
        return self._span_start

    def span(self, index: int) -> tuple[int, int]:
        """Give the bytes of the log where a message's record stands, newline left out."""
        return self._starts[index], self._behind[index] - 1

    def mark(self, checkpoint: int) -> Mark:
        """Find a checkpoint of the live log; of an id that occurs twice, the newest.

        Raises:
            CheckpointNotFound: If the live log has none of that id.
        """
        for mark in reversed(self._marks):
            if mark.id == checkpoint:
                return mark
        raise CheckpointNotFound(checkpoint, [mark.id for mark in self._marks])

    def apply(self, record: Record, start: int = 0, end: int = 0) -> None:
        """Take one more record, which stands in the log from byte *start* to *end*."""
        match record:
            case Message():
                self._add(record, start, end)
            case SystemPrompt():
                self._prompts.append(record.content)
                if self._is_first(start):
                    self._span_start = end + 1
            case Checkpoint():
                self._mark(record, start)
            case Usage():
                self._count(record)
            case Compaction() | Revert() | Clear() | Fork():
                self._lineage.append(Step(record=record, start=start, end=end))
                self._raise_next(record.next)
                if not isinstance(record, Fork):
                    self._span_start = start
            case Tag():
                self._tags.append(record)
                self._marked = None
            case Batch():
                if start >= self._batch_end:
                    self._batch_end = end + 1 + record.bytes
            case Other():
                self._unknown += 1
            case _:
                assert_never(record)

    def apply_run(self, run: Run) -> None:
        """Take consecutive records: the same as `apply` for each, in less time."""
        add, add_start, add_end = self._messages.append, self._starts.append, self._behind.append
        following = self._next_seq
        starts = run.starts
        for record, start, behind in zip(
            run.records, starts, islice(starts, 1, None), strict=False
        ):
            if type(record) is Message and record.seq == following:
                following += 1
                add(record)
                add_start(start)
                add_end(behind)
                continue
            self._next_seq = following
            if type(record) is Usage:
                self._count(record)
            elif type(record) is Checkpoint:
                self._mark(record, start)
            elif type(record) is Batch:
                if start >= self._batch_end:
                    self._batch_end = behind + record.bytes
            else:
                self.apply(record, start, behind - 1)
                following = self._next_seq
        self._next_seq = following
        self._history = self._marked = None

    def cut(self, checkpoint: int) -> Mark:
        """Go back to just before the checkpoint's record, as if nothing after it had been read.

        Raises:
            CheckpointNotFound: If the live log has none of that id; nothing is changed.
        """
        mark = self.mark(checkpoint)
        del self._messages[mark.messages :]
        del self._starts[mark.messages :]
        del self._behind[mark.messages :]
        del self._estimates[mark.messages :]
        del self._prompts[mark.prompts :]
        del self._usages[mark.usages :]
        del self._lineage[mark.lineage :]
        del self._tags[mark.tags :]
        while self._marks[-1] is not mark:
            self._marks.pop()
        self._marks.pop()
        self._unknown = mark.unknown
        self._next_seq, self._next_checkpoint = mark.next.seq, mark.next.checkpoint
        self._span_start, self._batch_end = mark.span_start, 0
        self._pending = self._pending_upto = 0
        self._history = self._marked = None
        return mark

    def _is_first(self, start: int) -> bool:
        """Tell whether nothing but perhaps a byte-order mark stands before byte *start*."""
        return start <= len(BOM) and len(self._prompts) == 1 and not self._messages

    def _add(self, message: Message, start: int, end: int) -> None:
        """Take a message; one without a usable `seq` gets the next."""
        seq, following = message.seq, self._next_seq
        if seq is None or not 0 < seq < SEQ_LIMIT:
            seq = following
            message = replace(message, seq=seq)
        if seq >= following:
            self._next_seq = seq + 1
        self._messages.append(message)
        self._starts.append(start)
        self._behind.append(end + 1)
        self._history = self._marked = None

    def _mark(self, record: Checkpoint, start: int) -> None:
        if start < self._batch_end:
            # Not one of ours: keeping what stands before it would keep half of a batch.
            self._unknown += 1
            return
        self._marks.append(
            Mark(
                record.id,
                start,
                len(self._messages),
                record.label,
                record.at,
                len(self._prompts),
                len(self._usages),
                len(self._lineage),
                len(self._tags),
                self._unknown,
                Next(self._next_checkpoint, self._next_seq),
                self._span_start,
            )
        )
        self._span_start = start
        self._next_checkpoint = max(self._next_checkpoint, record.id + 1)

    def _count(self, record: Usage) -> None:
        """Believe a usage record, unless it is impossible, or says that a history takes nothing."""
        if (record.token_count == 0 and self._messages) or not _possible(record):
            return
        self._usages.append(Counted(record, len(self._messages)))
        self._pending, self._pending_upto = 0, len(self._messages)

    def _raise_next(self, following: Next | None) -> None:
        """Take the larger of the numbers counted and those that a rewrite carried over."""
        if following is not None:
            self._next_seq = max(self._next_seq, min(following.seq, SEQ_LIMIT))
            self._next_checkpoint = max(self._next_checkpoint, following.checkpoint)

    def tagged(self, before: Mark | None = None) -> dict[int, tuple[bool, tuple[str, ...]]]:
        """Give pin and tags of every message that has any, by `seq`; now, or *before* a mark.

        Costs a walk over the history, unless it is now and nothing has changed since.
        """
        if before is None and self._marked is not None:
            return self._marked
        if before is not None:
            return _tagged(self._messages[: before.messages], self._tags[: before.tags])
        self._marked = _tagged(self._messages, self._tags)
        return self._marked


def _tagged(
    messages: Sequence[Message], tags: Sequence[Tag]
) -> dict[int, tuple[bool, tuple[str, ...]]]:
    """Give pin and tags of every message that has any, by `seq`; the last tag record wins."""
    marked = {message.seq: (True, _NO_TAGS) for message in messages if message.pin}
    if tags:
        here = {message.seq for message in messages}
        for tag in tags:
            if tag.seq in here:
                pin, old = marked.get(tag.seq, (False, _NO_TAGS))
                marked[tag.seq] = (
                    pin if tag.pin is None else tag.pin,
                    old if tag.tags is None else tag.tags,
                )
    return {seq: value for seq, value in marked.items() if seq is not None and any(value)}


_NO_TAGS: tuple[str, ...] = ()


def _possible(record: Usage) -> bool:
    """Tell whether all counts of a usage record can be numbers of tokens; a log may hold any."""
    counts = (
        record.token_count,
        record.input or 0,
        record.output or 0,
        record.cache_read or 0,
        record.cache_write or 0,
        record.reasoning or 0,
    )
    return min(counts) >= 0 and max(counts) < SEQ_LIMIT


def fold(found: Iterable[Run | Entry], context: Context | None = None) -> Context:
    """Fold what a scanner found into a context, a new one if none is given."""
    context = context or Context()
    for item in found:
        if isinstance(item, Entry):
            context.apply(item.record, item.start, item.end)
        else:
            context.apply_run(item)
    return context
