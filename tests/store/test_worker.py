"""The worker thread: all that is handed over is done, in order, and its outcome comes back."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.store.worker import Worker, back


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker("test")
    yield worker
    worker.close()


@given(st.lists(st.booleans(), max_size=30))
def test_all_work_is_done_in_order_and_each_outcome_told(fails: list[bool]) -> None:
    """Closing waits for it; what fails does not stop what follows."""
    worker, done, told = Worker("test"), [], []

    def work(number: int) -> int:
        done.append(number)
        if fails[number]:
            raise ValueError(number)
        return number

    for number in range(len(fails)):
        worker.hand(
            lambda number=number: work(number),  # type: ignore[misc]
            lambda outcome, error: told.append((outcome, type(error))),
        )
    worker.close()

    assert done == list(range(len(fails)))
    assert told == [
        (None, ValueError) if failed else (number, type(None))
        for number, failed in enumerate(fails)
    ]


async def test_work_is_done_in_another_thread(worker: Worker) -> None:
    """One and the same each time."""
    threads = [await worker.run(threading.get_ident) for _ in range(3)]

    assert len(set(threads)) == 1
    assert threads[0] != threading.get_ident()


async def test_an_error_reaches_who_waits(worker: Worker) -> None:
    """As it was raised."""

    def work() -> None:
        raise OSError(5, "broken")

    with pytest.raises(OSError, match="broken"):
        await worker.run(work)
    assert await worker.run(lambda: "next") == "next"


async def test_work_of_a_cancelled_caller_is_done_all_the_same(worker: Worker) -> None:
    """And its outcome goes nowhere."""
    go, done = threading.Event(), []
    task = asyncio.ensure_future(worker.run(lambda: done.append(go.wait())))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    await worker.run(lambda: None)

    assert done == [True]


def test_a_closed_loop_is_told_nothing() -> None:
    """A sync may end after the loop of its session."""
    loop = asyncio.new_event_loop()
    loop.close()

    back(loop, lambda: pytest.fail("called"))


def test_a_worker_may_be_closed_and_used_again(worker: Worker) -> None:
    """Closing one that never worked does nothing."""
    worker.close()
    told: list[int | None] = []
    worker.hand(lambda: 1, lambda outcome, _: told.append(outcome))
    worker.close()

    assert told == [1]
