"""Ctrl-C reaches work inside of an event loop at once."""

import asyncio
import logging
import signal
import threading
from collections.abc import Iterator

import pytest

from minutebook.cli.interrupts import prompt_interrupts


@pytest.fixture(autouse=True)
def _asyncio_logs() -> Iterator[None]:
    """Let asyncio log again after a test that interrupted it."""
    yield
    logging.getLogger("asyncio").disabled = False


def test_an_interrupt_does_not_wait_for_the_loop() -> None:
    """It is raised where the work is, and not where the loop would look at it."""
    reached = []

    async def work() -> None:
        signal.raise_signal(signal.SIGINT)
        reached.append("the end")

    with prompt_interrupts(), pytest.raises(KeyboardInterrupt):
        asyncio.run(work())

    assert reached == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_somebody_else_stays() -> None:
    """Whoever runs us inside of their program keeps their own."""
    called = []
    before = signal.signal(signal.SIGINT, lambda *_: called.append("theirs"))
    try:
        with prompt_interrupts():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)

    assert called == ["theirs"]


def test_other_threads_are_left_alone() -> None:
    """Only the main thread gets signals; elsewhere nothing is changed."""
    done = []

    def work() -> None:
        with prompt_interrupts():
            done.append(signal.getsignal(signal.SIGINT) is signal.default_int_handler)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert done == [True]
