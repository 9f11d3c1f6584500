"""Group commit: one sync for all that wait, outcomes in order, nobody waits for ever."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from minutebook.store.commit import GroupCommit
from minutebook.store.contract import Span
from minutebook.store.worker import Worker


class Syncing:
    """A group commit whose syncs wait until they are told how to end."""

    def __init__(self, worker: Worker) -> None:
        self.started = 0
        self.landed: list[int] = []
        self.outcomes: list[BaseException | None] = []
        self.begun = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._go = threading.Semaphore(0)
        self.commit = GroupCommit(
            self._sync, worker, landed=self.landed.append, failed=self._failed
        )

    def _sync(self) -> None:
        self.started += 1
        self._loop.call_soon_threadsafe(self.begun.set)
        self._go.acquire()
        outcome = self.outcomes.pop(0)
        if outcome is not None:
            raise outcome

    def _failed(self, error: OSError) -> BaseException:
        return ValueError(str(error))

    def end(self, outcome: BaseException | None = None) -> None:
        """Let the running sync, or the next, end."""
        self.outcomes.append(outcome)
        self._go.release()


@pytest.fixture
async def syncing() -> AsyncIterator[Syncing]:
    worker = Worker("test")
    yield Syncing(worker)
    worker.close()


async def test_appends_of_one_turn_share_one_sync(syncing: Syncing) -> None:
    """However many they are; each gets its own span."""
    futures = [syncing.commit.add(Span(n, n + 1)) for n in range(20)]
    assert syncing.commit.is_busy
    syncing.end()
    assert await asyncio.gather(*futures) == [Span(n, n + 1) for n in range(20)]
    assert syncing.started == 1
    assert syncing.landed == [20]
    assert not syncing.commit.is_busy


async def test_appends_during_a_sync_wait_for_the_next(syncing: Syncing) -> None:
    """A sync that has begun may not cover them; the next covers them all."""
    first = syncing.commit.add(Span(0, 1))
    await syncing.begun.wait()
    later = [syncing.commit.add(Span(n, n + 1)) for n in range(1, 6)]
    syncing.end()
    assert await first == Span(0, 1)
    assert not any(future.done() for future in later)
    syncing.end()
    await asyncio.gather(*later)
    assert syncing.started == 2
    assert syncing.landed == [1, 6]


async def test_receipts_are_done_in_the_order_of_the_appends(syncing: Syncing) -> None:
    """Their callbacks run in that order."""
    order: list[int] = []
    futures = [syncing.commit.add(Span(n, n + 1)) for n in range(9)]
    for future in futures:
        future.add_done_callback(lambda done: order.append(done.result().start))
    syncing.end()
    await syncing.commit.drain()
    await asyncio.gather(*futures)
    await asyncio.sleep(0)
    assert order == list(range(9))


@pytest.mark.parametrize("outcome", [OSError(5, "i/o error"), RuntimeError("odd")])
async def test_a_failed_sync_fails_all_that_wait(syncing: Syncing, outcome: Exception) -> None:
    """Those of its group, and those that came after it: nothing since the last sync counts."""
    first = syncing.commit.add(Span(0, 1))
    await syncing.begun.wait()
    later = syncing.commit.add(Span(1, 2))
    syncing.end(outcome)
    for future in (first, later):
        with pytest.raises(ValueError, match=r"odd|error"):
            await future
    assert syncing.landed == []
    assert syncing.started == 1
    assert not syncing.commit.is_busy


async def test_a_receipt_cannot_be_cancelled(syncing: Syncing) -> None:
    """What is written is written: a cancelled receipt ends with its sync, like the others."""
    for outcome in (None, OSError(5, "i/o error")):
        receipts = [syncing.commit.add(Span(0, 1)), syncing.commit.add(Span(1, 2))]

        assert not receipts[0].cancel()
        syncing.end(outcome)
        for receipt in receipts:
            if outcome is None:
                assert (await receipt).end in {1, 2}
            else:
                with pytest.raises(ValueError, match="i/o"):
                    await receipt


async def test_draining_waits_for_everything(syncing: Syncing) -> None:
    """What waits, what runs, and what is added meanwhile; failures do not come up here."""
    await syncing.commit.drain()
    futures = [syncing.commit.add(Span(0, 1))]
    draining = asyncio.ensure_future(syncing.commit.drain())
    await syncing.begun.wait()
    futures.append(syncing.commit.add(Span(1, 2)))
    syncing.end()
    syncing.end(OSError(5, "i/o error"))
    await draining
    assert await futures[0] == Span(0, 1)
    assert isinstance(futures[1].exception(), ValueError)


async def test_all_that_wait_can_be_failed_from_outside(syncing: Syncing) -> None:
    """The sync that was asked for then has nothing to do."""
    future = syncing.commit.add(Span(0, 1))
    syncing.commit.fail_all(ValueError("gone"))
    with pytest.raises(ValueError, match="gone"):
        await future
    await syncing.commit.drain()
    await asyncio.sleep(0)
    assert syncing.started == 0
