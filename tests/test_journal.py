"""Log and context in step, whatever the order in which the store acknowledges."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from minutebook.codec import frame
from minutebook.context import fold
from minutebook.errors import StoreError
from minutebook.flow import WrongPlace
from minutebook.journal import Journal
from minutebook.messages import Message, user
from minutebook.records import Checkpoint, Clear, Record, Rotated, SystemPrompt
from minutebook.rewrites import Operation, clear
from minutebook.store.contract import Landed, Pending, Receipt, RewriteUnsynced, Span
from minutebook.store.memory import MemoryStore, Shelf
from tests.playing import values


class SlowStore(MemoryStore):
    """A store whose appends are acknowledged when the test says so."""

    slow = True
    unsynced = False

    def __init__(self, shelf: Shelf, **options: Any) -> None:
        super().__init__(shelf, **options)
        self.waiting: list[tuple[Pending, Span, int]] = []
        self.calls: list[str] = []

    def append(self, lines: Sequence[bytes]) -> Receipt:
        """Write at once; give a future where that is slow."""
        self.calls.append("append")
        before = self.size
        span = super().append(lines).result()
        if not self.slow:
            return Landed(span)
        future = Pending(loop=asyncio.get_running_loop())
        self.waiting.append((future, span, before))
        return future

    async def rewrite(self, **options: Any) -> Rotated:
        """Rewrite; where the last sync fails it is in force all the same."""
        self.calls.append("rewrite")
        await asyncio.sleep(0)
        rotated = await super().rewrite(**options)
        if self.unsynced:
            raise RewriteUnsynced(rotated, "no")
        return rotated

    def land(self) -> None:
        """Acknowledge the oldest append."""
        future, span, _ = self.waiting.pop(0)
        future.set_result(span)

    def fail_all(self) -> None:
        """Fail every append that waits, and take its lines away."""
        self._known = self._shelf.log = self._known[: self.waiting[0][2]]
        for future, _, _ in self.waiting:
            future.set_exception(StoreError("no"))
        self.waiting.clear()


async def journal_of(*records: Record) -> tuple[Journal, SlowStore]:
    """Give a journal whose log holds some records already."""
    store = await SlowStore.open(Shelf())
    journal = Journal(store)
    journal.replay()
    store.slow = False
    for record in records:
        await journal.write([record])
    store.slow = True
    return journal, store


async def turns() -> None:
    """Let the loop go round a few times."""
    for _ in range(12):
        await asyncio.sleep(0)


def said(number: int) -> Message:
    """Give a message with its number."""
    return Message("user", f"m{number}", seq=number)


def assert_in_step(journal: Journal) -> None:
    """The context is what a reader of the log gets."""
    assert values(journal.context) == values(fold(journal.store.replay()))


async def test_the_context_waits_for_the_store() -> None:
    """Nothing is in the context before it is durable, but its numbers are taken."""
    journal, store = await journal_of()
    tasks = [asyncio.ensure_future(journal.write([one])) for one in (said(1), Checkpoint(id=0))]
    await turns()
    assert journal.context.history == ()
    assert (journal.next_seq, journal.next_checkpoint) == (2, 1)
    assert journal.context.next_seq == 1

    store.land()
    store.land()

    assert await asyncio.gather(*tasks) == [[said(1)], [Checkpoint(id=0)]]
    assert_in_step(journal)
    assert (journal.next_seq, journal.next_checkpoint) == (2, 1)


async def test_numbers_of_a_failed_append_are_free_again() -> None:
    """After a failure memory and log are as before, and the next append goes through."""
    journal, store = await journal_of(said(1))
    before = values(journal.context)
    tasks = [asyncio.ensure_future(journal.write([said(number)])) for number in (2, 3)]
    await turns()
    assert journal.next_seq == 4

    store.fail_all()
    found = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(error) for error in found] == [StoreError, StoreError]
    assert values(journal.context) == before
    assert (journal.next_seq, journal.next_checkpoint) == (2, 0)
    store.slow = False
    await journal.write([said(2)])
    assert_in_step(journal)


async def test_an_append_that_is_durable_at_once_does_not_overtake_one_that_waits() -> None:
    """The context takes records in the order of the log, also when one was acknowledged just now.

    The first append of a new folder waits for its name to be safe, those after it do not.
    """
    journal, store = await journal_of()
    first = asyncio.ensure_future(journal.write([said(1)]))
    await turns()
    store.slow = False
    # These run before the loop tells anybody that the first is safe.
    others = [asyncio.ensure_future(journal.write([said(number)])) for number in (2, 3)]
    store.land()
    await asyncio.gather(first, *others)

    assert [message.seq for message in journal.context.history] == [1, 2, 3]
    assert_in_step(journal)


async def test_the_open_span_counts_what_is_in_flight() -> None:
    """Two checkpoints set at once have the sums of their own spans."""
    journal, store = await journal_of(SystemPrompt(content="p"), said(1))
    line = b"".join(store.pieces()).splitlines(keepends=True)[1]
    assert journal.open_span() == line

    task = asyncio.ensure_future(journal.write([Checkpoint(id=0)]))
    await turns()

    assert journal.open_span() == b'{"role":"_checkpoint","id":0}\n'
    store.land()
    await task
    assert journal.open_span() == b'{"role":"_checkpoint","id":0}\n'


@pytest.mark.parametrize("most", [1, 1 << 20])
async def test_the_open_span_is_the_same_kept_or_read_back(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long one is not kept at hand; appends in flight count in either case."""
    monkeypatch.setattr("minutebook.journal.SPAN_BYTES_MAX", most)
    journal, store = await journal_of(said(1), Checkpoint(id=0), said(2))
    task = asyncio.ensure_future(journal.write([said(3)]))
    await turns()

    data = b"".join(store.pieces())
    assert journal.open_span() == data[data.index(b'{"role":"_checkpoint"') :]
    store.land()
    await task
    assert journal.open_span() == data[data.index(b'{"role":"_checkpoint"') :]


async def test_a_cancelled_append_that_is_written_stays() -> None:
    """Its caller is cancelled when the context has it, and nobody else is disturbed."""
    journal, store = await journal_of()
    first = asyncio.ensure_future(journal.write([said(1)]))
    second = asyncio.ensure_future(journal.write([said(2)]))
    await turns()
    first.cancel()
    await turns()
    assert not first.done()

    store.land()
    await turns()
    assert first.cancelled()
    assert [message.seq for message in journal.context.history] == [1]
    store.land()
    await second

    assert_in_step(journal)


def clearing(journal: Journal) -> Callable[[], Operation]:
    """Give what builds a clear of the journal's log."""
    return lambda: clear(journal.context, at=5.0)


async def test_a_rewrite_waits_for_appends_and_appends_for_a_rewrite() -> None:
    """No append is lost between the old log and the new one."""
    journal, store = await journal_of()
    first = asyncio.ensure_future(journal.write([said(1)]))
    await turns()
    rewrite = asyncio.ensure_future(journal.rewrite(clearing(journal)))
    await turns()
    assert not journal.is_ready
    assert store.calls == ["append"]

    async def append() -> None:
        await journal.ready()
        await journal.write([said(journal.next_seq)])

    later = asyncio.ensure_future(append())
    await turns()
    store.slow = False
    store.land()
    await asyncio.gather(first, rewrite, later)

    assert store.calls == ["append", "rewrite", "append"]
    assert [message.seq for message in journal.context.history] == [2]
    assert journal.is_ready
    assert_in_step(journal)


async def test_a_rewrite_that_cannot_be_built_changes_nothing() -> None:
    """What the caller's function raises comes through, and others go on."""
    journal, store = await journal_of(said(1))

    def build() -> Operation:
        raise StoreError("no")

    with pytest.raises(StoreError, match="no"):
        await journal.rewrite(build)

    assert journal.is_ready
    assert "rewrite" not in store.calls


async def test_a_rewrite_cancelled_before_its_turn_does_not_happen() -> None:
    """Who waits and gives up leaves no trace."""
    journal, store = await journal_of(said(1))
    append = asyncio.ensure_future(journal.write([said(2)]))
    await turns()
    rewrite = asyncio.ensure_future(journal.rewrite(clearing(journal)))
    await turns()
    rewrite.cancel()
    await turns()
    assert rewrite.cancelled()
    store.land()
    await append

    assert "rewrite" not in store.calls
    assert journal.is_ready
    assert_in_step(journal)


async def test_a_rewrite_cancelled_once_begun_is_finished() -> None:
    """Memory is on the new log when the cancel comes through."""
    journal, _store = await journal_of(said(1))
    rewrite = asyncio.ensure_future(journal.rewrite(clearing(journal)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    rewrite.cancel()
    await turns()

    assert rewrite.cancelled()
    assert isinstance(journal.context.lineage[0], Clear)
    assert_in_step(journal)


async def test_a_rewrite_whose_last_sync_failed_is_in_force() -> None:
    """The error is raised with memory on the new log."""
    journal, store = await journal_of(said(1))
    store.unsynced = True

    with pytest.raises(RewriteUnsynced):
        await journal.rewrite(clearing(journal))

    assert journal.context.history == ()
    assert_in_step(journal)


async def test_a_cut_gives_what_folding_anew_gives() -> None:
    """The quick way of a revert is taken where the bytes are where they were."""
    journal, _store = await journal_of(said(1), Checkpoint(id=0), said(2))
    mark = journal.context.mark(0)
    context = journal.context

    def build() -> Operation:
        return Operation(
            reason="test", keep=mark.offset, tail=lambda _: [b'{"role":"x","seq":9}\n'], cut=0
        )

    await journal.rewrite(build)

    assert journal.context is context
    assert [message.seq for message in context.history] == [1, 9]
    assert_in_step(journal)


async def test_a_kept_part_without_newline_is_folded_anew() -> None:
    """A checkpoint glued behind a message: the store puts a newline there, so offsets move."""
    shelf = Shelf(b'{"role":"user","content":"a"}{"role":"_checkpoint","id":0}\n')
    journal = Journal(await SlowStore.open(shelf))
    journal.replay()
    keep = journal.context.mark(0).offset

    await journal.rewrite(
        lambda: Operation(reason="test", keep=keep, tail=lambda _: [b'{"role":"x"}\n'], cut=0)
    )

    assert len(journal.context.history) == 2
    assert_in_step(journal)


async def test_refresh_takes_the_log_as_it_is() -> None:
    """After another program wrote, reading anew shows its lines."""
    shelf = Shelf()
    store = await MemoryStore.open(shelf)
    journal = Journal(store)
    journal.replay()
    shelf.log = frame([b'{"role":"user","content":"other"}\n'])

    journal.refresh()

    assert journal.context.history[0].text == "other"


async def test_closing_waits_for_what_is_under_way() -> None:
    """The store is closed behind the last append, once, whatever comes before fails or not."""
    journal, store = await journal_of()
    append = asyncio.ensure_future(journal.write([said(1)]))
    await turns()
    before: list[str] = []
    closing = asyncio.ensure_future(journal.close(lambda: before.append("tidy")))
    await turns()
    assert not closing.done()
    store.land()
    await asyncio.gather(append, closing)
    await journal.close(lambda: before.append("again"))

    assert before == ["tidy"]
    with pytest.raises(StoreError, match="closed"):
        await journal.write([user("x")])


async def test_a_failure_before_closing_does_not_keep_the_store_open() -> None:
    """The lock is given up whatever happens."""
    shelf = Shelf()
    journal = Journal(await MemoryStore.open(shelf))

    def tidy() -> None:
        raise StoreError("no")

    with pytest.raises(StoreError, match="no"):
        await journal.close(tidy)

    assert shelf.writer is None


def test_calls_from_elsewhere_are_refused() -> None:
    """Each of the journal's doors asks where the caller is."""

    async def settle() -> Journal:
        return (await journal_of(said(1)))[0]

    async def visit(journal: Journal) -> None:
        for door in (
            journal.ready,
            lambda: journal.alone(settle),
            journal.close,
        ):
            with pytest.raises(WrongPlace):
                await door()
        for call in (lambda: journal.is_ready, journal.refresh):
            with pytest.raises(WrongPlace):
                call()

    journal = asyncio.run(settle())
    asyncio.run(visit(journal))

    assert len(journal.context.history) == 1
