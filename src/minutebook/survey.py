"""What there is to say about a log, found while its records pass by. Pure.

The same values as those of `Context`, for reports over logs of any size: memory is a few words
for each checkpoint, rewrite and tag, and nothing for a message.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from minutebook.lines import Entry, flatten
from minutebook.messages import Message, replace
from minutebook.numbers import Numbers
from minutebook.records import Checkpoint, Lineage, Other, SystemPrompt, Tag, Usage
from minutebook.tokens.breakdown import KINDS, PINNED, by_kind
from minutebook.tokens.estimate import estimate_system
from minutebook.turns import is_real_user, origin_of
from minutebook.unsettled import Place, Unsettled

if TYPE_CHECKING:
    from minutebook.lines import Run
    from minutebook.records import Record

Replay = Callable[[], Iterable["Run | Entry"]]
"""Reads the log from its start, as often as it is called."""


class Marked(Struct, frozen=True, kw_only=True):
    """A checkpoint, as far as a report names it."""

    id: int
    label: str | None
    at: float | None
    """When it was set, in seconds since 1970."""
    messages: int
    """How many messages stand before it."""


class UsedNumbers:
    """The numbers that were used, as ranges: one range for a log that counts up."""

    def __init__(self) -> None:
        """Begin with none."""
        self._starts: list[int] = []
        self._ends: list[int] = []

    def __contains__(self, number: int) -> bool:
        """Tell whether a number was used."""
        index = bisect_right(self._starts, number) - 1
        return index >= 0 and number < self._ends[index]

    def add(self, number: int) -> bool:
        """Use a number; tell whether it is new."""
        ends = self._ends
        if ends and number == ends[-1]:
            ends[-1] += 1
            return True
        if number in self:
            return False
        index = bisect_right(self._starts, number)
        joins_next = index < len(ends) and self._starts[index] == number + 1
        if index and ends[index - 1] == number:
            ends[index - 1] += 1
            if joins_next:
                ends[index - 1] = ends.pop(index)
                del self._starts[index]
        elif joins_next:
            self._starts[index] = number
        else:
            self._starts.insert(index, number)
            ends.insert(index, number + 1)
        return True


class Survey:
    """What a log says of itself. Make it with `survey`."""

    def __init__(self) -> None:
        """Begin before the first record."""
        self.system_prompt: str | None = None
        self.messages = 0
        self.by_role: Counter[str] = Counter()
        self.turns = 0
        self.summaries = 0
        """How many messages stand for compacted history."""
        self.started: float | None = None
        """The earliest time of a message, in seconds since 1970; `updated` is the latest."""
        self.updated: float | None = None
        self.token_count = 0
        self.token_count_is_exact = False
        self.token_count_pending = 0
        self.model = ""
        """The model that the last usage record with a model names."""
        self.checkpoints: list[Marked] = []
        self.lineage: list[Lineage] = []
        self.unknown_records = 0
        self.seqs_used_twice: set[int] = set()
        self.unsettled = Unsettled()
        self._used = UsedNumbers()
        self._numbers = Numbers()
        self._kinds: Counter[str] = Counter()
        self._written_pins: set[int] = set()
        self._tagged: dict[int, bool] = {}
        self._waiting: list[Message] = []

    @property
    def pins(self) -> frozenset[int]:
        """The `seq` of every pinned message."""
        later = {seq for seq, pin in self._tagged.items() if pin and seq in self._used}
        return frozenset(later | {seq for seq in self._written_pins if self._tagged.get(seq, True)})

    @property
    def token_count_with_pending(self) -> int:
        """`token_count` and the estimate of what came after it."""
        return self.token_count + self.token_count_pending

    def kinds(self) -> dict[str, int]:
        """Give the estimate of the whole log by kind, as `tokens.breakdown.by_kind` does."""
        found = dict.fromkeys(KINDS, 0) | ({PINNED: 0} if self.pins else {})
        found["system"] = estimate_system(self.system_prompt)
        for kind, tokens in self._kinds.items():
            if tokens:
                found[kind] += tokens
        return found

    @property
    def tokens_used(self) -> int:
        """The size of the next request in tokens: exact and pending, else estimated whole."""
        if self.token_count_is_exact:
            return self.token_count_with_pending
        return sum(self.kinds().values())

    def take(self, found: Iterable[Run | Entry]) -> None:
        """Read on."""
        for item in found:
            for record in [item.record] if isinstance(item, Entry) else item.records:
                self._take(record)
            self._estimate()

    def _take(self, record: Record) -> None:
        seq = self._numbers.take(record)
        match record:
            case Message():
                self._add(record, seq)
            case SystemPrompt(content=content):
                self.system_prompt = content
            case Checkpoint():
                self.checkpoints.append(_marked(record, self.messages))
            case Usage():
                self._count(record)
            case Tag(seq=tagged, pin=pin):
                if pin is not None:
                    self._tagged[tagged] = pin
            case Other():
                self.unknown_records += 1
            case _:
                if isinstance(record, Lineage):
                    self.lineage.append(record)

    def _add(self, message: Message, seq: int) -> None:
        self.messages += 1
        self.by_role[message.role] += 1
        self.turns += is_real_user(message)
        self.summaries += origin_of(message) == "summary"
        if message.at is not None:
            self.started = message.at if self.started is None else min(self.started, message.at)
            self.updated = message.at if self.updated is None else max(self.updated, message.at)
        if not self._used.add(seq):
            self.seqs_used_twice.add(seq)
        if message.pin:
            self._written_pins.add(seq)
        self.unsettled.take(message, Place(seq=seq))
        self._waiting.append(message)

    def _estimate(self) -> None:
        """Estimate the messages that came since the last call; those pinned by their own line."""
        waiting, self._waiting = self._waiting, []
        for pinned in (False, True):
            messages = [message for message in waiting if message.pin is pinned]
            tokens = _tokens_of(messages)
            self.token_count_pending += sum(tokens.values())
            self._kinds.update({PINNED: sum(tokens.values())} if pinned else tokens)

    def _count(self, usage: Usage) -> None:
        """Believe a usage record, unless it says that a history takes nothing."""
        self._estimate()
        if usage.token_count < 0 or (usage.token_count == 0 and self.messages):
            return
        self.token_count, self.token_count_pending = usage.token_count, 0
        self.token_count_is_exact = not usage.estimated
        self.model = usage.model or self.model

    @property
    def has_moved_pins(self) -> bool:
        """Whether a message is pinned, or not, other than its own line says."""
        pins = self.pins
        return pins != self._written_pins or not pins.isdisjoint(self.seqs_used_twice)

    def move_pins(self, found: Iterable[Run | Entry]) -> None:
        """Read the whole log again, and put pinned messages under their kind."""
        numbers, pins = Numbers(), self.pins
        for item in found:
            for record in [item.record] if isinstance(item, Entry) else item.records:
                seq = numbers.take(record)
                if isinstance(record, Message) and record.pin is not (seq in pins):
                    tokens = _tokens_of([record])
                    whole = sum(tokens.values())
                    if record.pin:
                        self._kinds.update(tokens)
                        self._kinds[PINNED] -= whole
                    else:
                        self._kinds.subtract(tokens)
                        self._kinds[PINNED] += whole


def _tokens_of(messages: list[Message]) -> dict[str, int]:
    """Give the estimate of messages by kind, pinned or not."""
    tokens = by_kind(None, (), messages) if messages else {}
    return {kind: count for kind, count in tokens.items() if count and kind != "system"}


def survey(replay: Replay) -> Survey:
    """Survey a log; reads it once, and again if pins were set or taken away later."""
    found = Survey()
    found.take(replay())
    if found.has_moved_pins:
        found.move_pins(replay())
    return found


class LastMessages(Struct, frozen=True, kw_only=True):
    """The end of a log's history."""

    system_prompt: str | None
    messages: tuple[Message, ...]
    """With their numbers."""
    before: int
    """How many messages stand before the first of them."""
    pins: frozenset[int]
    """The `seq` of those that are pinned."""
    tags: dict[int, tuple[str, ...]]
    """The tags of those that have any, by `seq`."""
    checkpoints: tuple[Marked, ...]
    """Those that stand before one of them or behind the last."""


def last_messages(found: Iterable[Run | Entry], count: int) -> LastMessages:
    """Find the last *count* messages of a log; memory is what they take."""
    kept: deque[Message] = deque(maxlen=count)
    marks: deque[Marked] = deque()
    numbers, total, prompt = Numbers(), 0, None
    pinned: dict[int, bool] = {}
    tags: dict[int, tuple[str, ...]] = {}
    for record in (entry.record for entry in flatten(found)):
        seq = numbers.take(record)
        match record:
            case Message():
                kept.append(replace(record, seq=seq))
                total += 1
                while marks and marks[0].messages < total - count:
                    marks.popleft()
            case Checkpoint():
                marks.append(_marked(record, total))
            case SystemPrompt(content=content):
                prompt = content
            case Tag():
                if record.pin is not None:
                    pinned[record.seq] = record.pin
                if record.tags is not None:
                    tags[record.seq] = record.tags
            case _:
                pass
    seqs = [message.seq or 0 for message in kept]
    pins = {message.seq or 0 for message in kept if pinned.get(message.seq or 0, message.pin)}
    return LastMessages(
        system_prompt=prompt,
        messages=tuple(kept),
        before=total - len(kept),
        pins=frozenset(pins),
        tags={seq: tags[seq] for seq in seqs if tags.get(seq)},
        checkpoints=tuple(marks),
    )


def _marked(record: Checkpoint, messages: int) -> Marked:
    return Marked(id=record.id, label=record.label, at=record.at, messages=messages)
