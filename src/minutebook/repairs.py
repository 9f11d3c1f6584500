"""Repair of a log: what is wrong with it, and the same log without it. Pure.

Two passes over the entries, since a result for a call that nobody answered belongs directly
behind its exchange. Memory: the problems and the open calls, not the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from minutebook.codec import encode_line, has_seq, with_seq
from minutebook.lines import Entry, Problem
from minutebook.messages import Message, replace, tool
from minutebook.numbers import Numbers
from minutebook.records import Batch, Next, Other, Record, SystemPrompt
from minutebook.sums import SpanSum, Verifier, summed_record, with_sum
from minutebook.unsettled import OpenCall, Place, Unsettled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SET_ASIDE = frozenset({"bad", "torn", "rescued", "batch"})
"""Problems whose bytes go to `context.bad.jsonl`; of a rescued line the damaged part."""

NO_RESULT = (
    "<system>ERROR: No result of this call was recorded. It may have run in whole, in part, or "
    "not at all.</system>"
)


class Diagnosis(Struct, frozen=True, kw_only=True):
    """What a repair would do."""

    problems: tuple[Problem, ...]
    settled: tuple[OpenCall, ...]
    """The calls without a result, each with the record behind which its marked result goes."""
    spans_resummed: int
    """How many spans have a check sum that does not fit them."""
    following: Next
    """The free numbers behind the log's last record."""
    broken_heads: int = 0
    """How many lines were a batch's own and cannot be read any more."""
    unterminated: bool = False
    """Whether the last record lacks its newline."""

    @property
    def needed(self) -> bool:
        """Whether there is anything to repair."""
        faults = sum(problem.kind != "mended" for problem in self.problems)
        faults += len(self.settled) + self.spans_resummed + self.broken_heads
        return faults > 0 or self.unterminated

    def actions(self) -> list[str]:
        """Say what a repair does, one sentence each."""
        found = []
        for problem in self.problems:
            where = f"line {problem.line} (byte {problem.byte})"
            if problem.kind in SET_ASIDE:
                found.append(f"{where}: {problem.what}; set aside in context.bad.jsonl")
            elif problem.kind == "glued":
                found.append(f"{where}: {problem.what}; given a line each")
        if self.broken_heads:
            lines = _counted(self.broken_heads, "batch line")
            found.append(f"left out {lines} that cannot be read")
        if self.unterminated:
            found.append("the last record got its newline")
        found += [
            f"call {item.call_id or '(without id)'} of {item.tool or 'a tool'} got a marked result"
            for item in self.settled
        ]
        if self.spans_resummed:
            found.append(f"new check sums for {_counted(self.spans_resummed, 'span')}")
        return found


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def diagnose(
    entries: Iterable[Entry], problems: list[Problem], pieces: Iterable[bytes]
) -> Diagnosis:
    """Find out what is wrong with a log.

    *entries* are read to their end; *problems* is what their scanner has found by then.
    *pieces* are the log's bytes.
    """
    unsettled, numbers = Unsettled(), Numbers()
    heads = 0
    for entry in entries:
        record = entry.record
        heads += isinstance(record, Other) and _heads_batch(record)
        seq = numbers.take(record)
        if isinstance(record, Message):
            unsettled.take(record, Place(seq=seq, end=entry.end))
    verifier = Verifier()
    wrong, last = 0, b"\n"
    for piece in pieces:
        wrong += sum(span.summed and span.verdict != "good" for span in verifier.feed(piece))
        last = piece[-1:] or last
    return Diagnosis(
        problems=tuple(problems),
        settled=tuple(unsettled.open()),
        spans_resummed=wrong,
        following=numbers.following,
        broken_heads=heads,
        unterminated=last != b"\n" and not any(problem.kind == "torn" for problem in problems),
    )


def _heads_batch(record: Record) -> bool:
    """Tell whether it is a batch's own line, or was one before it was damaged."""
    return isinstance(record, Batch) or (isinstance(record, Other) and record.role == "_batch")


class Relayer:
    """Lay a log anew: each record on its own line, marked results in place, sums made anew."""

    def __init__(self, diagnosis: Diagnosis, *, following: Next, at: float) -> None:
        """Begin; marked results get their numbers from *following* on."""
        self.next_seq = following.seq
        self._checkpoint = following.checkpoint
        self._settled: dict[int, list[OpenCall]] = {}
        for item in diagnosis.settled:
            self._settled.setdefault(item.after, []).append(item)
        self._at = at
        self._sum = SpanSum()
        self._first = True

    def lines(self, entries: Iterable[Entry], read: Callable[[int, int], bytes]) -> Iterator[bytes]:
        """Give the new log's lines; *read* gives the bytes of a record."""
        numbers = Numbers()
        for entry in entries:
            record = entry.record
            if _heads_batch(record):
                # Nested, glued or broken; on a line of its own it would claim what follows.
                continue
            line = read(entry.start, entry.end) + b"\n"
            seq = numbers.take(record)
            if isinstance(record, Message) and not has_seq(line):
                line = with_seq(line, seq)
            yield self._summed(line, prompt=isinstance(record, SystemPrompt))
            for item in self._settled.get(entry.end, ()):
                yield self._summed(encode_line(self._result(item)), prompt=False)

    def _result(self, item: OpenCall) -> Message:
        message = replace(
            tool(item.call_id, NO_RESULT), origin="notice", seq=self.next_seq, at=self._at
        )
        self.next_seq += 1
        return message

    def _summed(self, line: bytes, *, prompt: bool) -> bytes:
        """Take a line into the open span; one that ends a span gets the sum that fits."""
        carrier = summed_record(line)
        if carrier is not None:
            if carrier.sum is not None and carrier.sum != self._sum.text():
                line = with_sum(line, carrier, self._sum.text())
            self._sum = SpanSum()
        if not (self._first and prompt):
            self._sum.add(line)
        self._first = False
        return line

    @property
    def following(self) -> Next:
        """The free numbers, those of marked results counted."""
        return Next(checkpoint=self._checkpoint, seq=self.next_seq)

    def open_sum(self) -> str:
        """Give the sum of what stands behind the last record that ends a span."""
        return self._sum.text()
