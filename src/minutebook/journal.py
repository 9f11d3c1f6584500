"""Log and context, kept in step: disk before memory, one order, rewrites alone.

The context changes only after the store has the lines, so after a failed write both are as
before. What was begun on disk is finished before a cancel reaches the caller.
"""

from __future__ import annotations

import asyncio
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from minutebook.codec import decode_line
from minutebook.context import Context, fold
from minutebook.drafts import encoded
from minutebook.flow import Gate, Home, finish_first
from minutebook.messages import Message
from minutebook.records import Checkpoint
from minutebook.store.contract import Landed, Pending, RewriteUnsynced, Span, good_end

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from minutebook.records import Record, Rotated
    from minutebook.rewrites import Operation
    from minutebook.store.contract import Store

Outcome = TypeVar("Outcome")
SPAN_BYTES_MAX = 1 << 20


class Journal:
    """The store of one session and the fold of its log."""

    def __init__(self, store: Store) -> None:
        """Take a store whose log has not been read yet; `replay` reads it."""
        self.store = store
        self.context = Context()
        self._home = Home()
        self._gate = Gate()
        self._untouched = False
        self._flying = 0
        self._last: Pending | None = None
        self._flying_seq = 0
        self._flying_checkpoint = 0
        self._flying_span = -1
        self._span: list[bytes] | None = None
        """The lines that the next checkpoint sums, where they are at hand."""
        self._span_bytes = 0
        self._closed = False

    @property
    def next_seq(self) -> int:
        """The number of the next message, those that are still being written counted."""
        return max(self.context.next_seq, self._flying_seq)

    @property
    def next_checkpoint(self) -> int:
        """The id of the next checkpoint, those that are still being written counted."""
        return max(self.context.next_checkpoint_id, self._flying_checkpoint)

    @property
    def good_size(self) -> int:
        """The length of the log in bytes, without a torn end that the next write sets aside."""
        size = self.store.size
        return good_end(self.store.problems, size) if self._untouched else size

    def open_span(self) -> bytes:
        """Give the bytes that the sum of the next checkpoint covers, those in flight too."""
        if self._span is not None:
            return b"".join(self._span)
        # A torn tail goes before the first write, and with it out of what is summed.
        self.store.make_ready()
        start = max(self.context.span_start, self._flying_span)
        return b"".join(self.store.pieces(start=start, end=self.good_size))

    def replay(self) -> None:
        """Fold the whole log anew."""
        self.context = fold(self.store.replay())
        self._untouched = True
        self._span = None

    def check(self) -> None:
        """Refuse a call from elsewhere.

        Raises:
            WrongPlace: In another thread, loop or process than the session's.
        """
        self._home.check()

    @property
    def is_ready(self) -> bool:
        """Whether `ready` would return at once: no rewrite runs, and we are at home.

        Raises:
            WrongPlace: In another thread or process than the session's.
        """
        self._home.check()
        return not self._gate.is_closed

    async def ready(self) -> None:
        """Wait until no rewrite runs. What is made between this and `write` is in order.

        Raises:
            WrongPlace: In another thread or process than the session's.
        """
        self._home.check()
        if self._gate.is_closed:
            await self._gate.opened()

    async def write(self, records: Sequence[Record]) -> list[Record]:
        """Append records in one batch; apply them once the store has them.

        Raises:
            LogChanged: If another program changed the log.
            StoreError: If it could not be written; log and context are as before.
        """
        written, lines = encoded(records)
        receipt = self.store.append(lines)
        self._untouched = False
        self._keep_span(written[0], lines)
        if isinstance(receipt, Landed):
            if self._last is None:
                self._apply(written, lines, receipt.span)
                return written
            receipt = self._behind(self._last, receipt.span)
        self._take_off(written, lines, receipt)
        receipt.add_done_callback(lambda done: self._land(written, lines, done))
        await receipt
        return written

    def _keep_span(self, first: Record, lines: list[bytes]) -> None:
        """Keep what the next checkpoint sums, unless it grows large: then it is read back."""
        if isinstance(first, Checkpoint):
            self._span, self._span_bytes = list(lines), 0
        elif self._span is None:
            return
        else:
            self._span += lines
        self._span_bytes += sum(map(len, lines))
        if self._span_bytes > SPAN_BYTES_MAX:
            self._span = None

    async def rewrite(self, build: Callable[[], Operation]) -> Rotated:
        """Rewrite the log, alone; once begun it is finished, whatever happens to the caller.

        *build* is called when nothing else is under way; what it raises changes nothing.
        """

        async def work() -> Rotated:
            if self.store.size:
                # A torn tail goes before the first write: build is to see the log without it.
                self.store.make_ready()
            return await self.commit(build())

        return await self.alone(work)

    async def alone(self, work: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Do *work* while no append and no other rewrite is under way.

        A cancel while it waits for its turn comes through at once, and nothing has happened.
        """
        self._home.check()
        async with self._gate.alone():
            return await finish_first(asyncio.ensure_future(work()))

    async def commit(self, operation: Operation) -> Rotated:
        """Let the store rewrite, then bring the context to the new log. Only from `alone`."""
        try:
            rotated = await self.store.rewrite(
                head=operation.head,
                source=operation.source,
                keep=operation.keep,
                tail=operation.tail,
                reason=operation.reason,
            )
        except RewriteUnsynced as error:
            self._refold(operation, error.rotation)
            raise
        self._refold(operation, rotated)
        return rotated

    def refresh(self) -> None:
        """Take the log as it now is on disk."""
        self._home.check()
        self.store.refresh()
        self.replay()

    async def close(self, before: Callable[[], object] | None = None) -> None:
        """Wait for what is under way, do what is to be done *before*, then close the store.

        Raises:
            WrongPlace: In another thread, loop or process than the session's.
        """
        self._home.check()

        async def work() -> None:
            async with self._gate.alone():
                try:
                    if before is not None and not self._closed:
                        await asyncio.to_thread(before)
                finally:
                    self._closed = True
                    await self.store.close()

        await finish_first(asyncio.ensure_future(work()))

    def _apply(self, records: Sequence[Record], lines: Sequence[bytes], span: Span) -> None:
        apply = self.context.apply
        if len(lines) == 1:
            apply(records[0], span.start, span.end - 1)
            return
        starts = span.starts or accumulate(map(len, lines), initial=span.start)
        for record, line, start in zip(records, lines, starts, strict=False):
            apply(record, start, start + len(line) - 1)

    def _behind(self, earlier: Pending, span: Span) -> Pending:
        """Give the receipt of an append that is durable while one before it is still in flight."""
        receipt = Pending(loop=asyncio.get_running_loop())
        earlier.add_done_callback(lambda _: receipt.set_result(span))
        return receipt

    def _take_off(
        self, records: Sequence[Record], lines: Sequence[bytes], receipt: Pending
    ) -> None:
        """Hold the numbers of records that are written and not yet durable."""
        self._gate.enter()
        self._flying += 1
        self._last = receipt
        for record, line in zip(records, lines, strict=True):
            if isinstance(record, Message):
                self._flying_seq = (record.seq or 0) + 1
            elif isinstance(record, Checkpoint):
                self._flying_checkpoint = record.id + 1
                self._flying_span = self.store.size - len(line)

    def _land(self, records: Sequence[Record], lines: Sequence[bytes], done: Pending) -> None:
        """Apply what is durable now; after a failure the numbers are free again."""
        if done.exception() is None:
            self._apply(records, lines, done.result())
        else:
            self._span = None
        self._flying -= 1
        if not self._flying:
            self._last = None
            self._flying_seq = self._flying_checkpoint = 0
            self._flying_span = -1
        self._gate.leave()

    def _refold(self, operation: Operation, rotated: Rotated) -> None:
        """Fold the new log: cut and go on where that gives the same, else anew."""
        if operation.cut is None:
            self.replay()
            return
        self._untouched = False
        lines = operation.tail(rotated)
        if operation.keep + sum(map(len, lines)) != self.store.size:
            # A newline was put behind the kept part: the offsets are not what they seem.
            self.replay()
            return
        self._span = None
        self.context.cut(operation.cut)
        records = [decode_line(line) for line in lines]
        self._apply(records, lines, Span(operation.keep, self.store.size))
