"""Ctrl-C while something long is worked out: at once, and still with a whole session behind it.

Inside of a running event loop a first Ctrl-C would only be looked at when the loop goes on,
which is after a compaction has been worked out and written.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def prompt_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise `KeyboardInterrupt` wherever the work is, inside of an event loop too.

    What a worker thread is writing is finished all the same when the session is closed.
    """
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    # The loop would print a traceback for each task that this ends.
    logging.getLogger("asyncio").disabled = True
    raise KeyboardInterrupt
