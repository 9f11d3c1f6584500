"""Appending, beside encoding and writing the same records by hand on an open descriptor.

Every figure is the median of many calls. The messages are numbered and stamped before the floor
encodes them, so both sides write lines of the same length; the floor writes no `_batch` line.

A step's three messages are larger than the median of all, so a step is held against the time
that its own three messages take one by one, and three of them are `3 x one append`. What its
usage reports follows the context, as a provider's does. A hand-over is what it costs to write
and sync in another thread rather than in this one: a thread that waits for the disk wakes later
than one that is asked at once, and so does who waits for it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Self

from benchmarks.bench import Bench
from benchmarks.logs import USAGE, Step, copy_session, messages, open_session, steps
from benchmarks.rows import Row
from benchmarks.timing import Side, in_turns, median_us
from minutebook.codec import encode_line
from minutebook.messages import Message, replace

PROCESS_TARGET = 4.0
PROCESS_LIMIT_US = 12.0
DISK_TARGET = 1.3
REPLY_TOKENS = 400
CONCURRENT = 10
CONCURRENT_TARGET = 2.0
STEP_TARGET = 3.0

Call = Callable[[Message], Awaitable[object]]


async def run(bench: Bench) -> list[Row]:
    """Measure every size, without syncs and with them."""
    rows: list[Row] = []
    for size in bench.sizes:
        source, _ = await bench.agent_log(size)
        for durability in ("process", "disk"):
            folder = bench.new_folder(f"append_{size}")
            copy_session(source, folder)
            async with open_session(folder, durability=durability) as session:
                await session.append(*messages(1), usage=USAGE)
                with _Floor(folder, syncs=durability == "disk") as floor:
                    if durability == "process":
                        rows += await _unsynced(bench, session, floor, size)
                    else:
                        rows += await _synced(bench, session, floor, size)
            bench.forget(folder)
    return rows


class _Floor:
    """The least that appends a record: encode it and write it on a descriptor kept open."""

    def __init__(self, folder: Path, *, syncs: bool) -> None:
        """Write beside the session's own log, on the same file system."""
        self._path = folder / "floor.jsonl"
        self._syncs = syncs

    def __enter__(self) -> Self:
        """Open the file."""
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the file."""
        os.close(self._descriptor)

    async def write(self, message: Message) -> None:
        """Append one message; a coroutine, so that both sides are called alike."""
        self.write_now(message)

    def write_now(self, message: Message) -> None:
        """Append one message."""
        os.write(self._descriptor, encode_line(message))
        if self._syncs:
            os.fdatasync(self._descriptor)

    async def write_step(self, step: Step) -> None:
        """Append a step's messages in one write."""
        os.write(self._descriptor, b"".join(map(encode_line, step)))
        if self._syncs:
            os.fdatasync(self._descriptor)


def _supply() -> Iterator[Message]:
    """Give messages without end, numbered and stamped as a session would."""
    made = [
        replace(message, seq=100_000 + number, at=1_773_651_600.25)
        for number, message in enumerate(messages(512))
    ]
    return cycle(made)


def _three() -> Iterator[Step]:
    """Give steps of a reply and two results without end."""
    return cycle([step for step in steps(2_000) if len(step) == 3])


def _each(call: Call, supply: Iterator[Message], calls: int) -> Side:
    """Make the side that calls once for each message and gives the median."""

    async def side() -> float:
        times = []
        for _ in range(calls):
            message = next(supply)
            start = perf_counter_ns()
            await call(message)
            times.append(perf_counter_ns() - start)
        return median_us(times)

    return side


async def _unsynced(bench: Bench, session: Any, floor: _Floor, size: int) -> list[Row]:
    calls = 200 if bench.quick else 2_000
    three = _three()

    async def counted(message: Message) -> None:
        await session.append(message)
        assert session.context.token_count_with_pending

    async def used(message: Message) -> None:
        await session.append(message)
        assert session.used

    async def step(_message: Message) -> None:
        await _take_step(session, next(three))

    async def apart(_message: Message) -> None:
        for message in next(three):
            await session.append(message)
            assert session.context.token_count_with_pending

    async def step_floor(_message: Message) -> None:
        await floor.write_step(next(three))

    sides = {
        name: _each(call, _supply(), calls if "step" not in name else calls // 4)
        for name, call in {
            "append": session.append,
            "counted": counted,
            "used": used,
            "floor": floor.write,
            "step": step,
            "step apart": apart,
            "step floor": step_floor,
        }.items()
    }
    least = await in_turns(sides, 2 if bench.quick else 7)
    limit = min(PROCESS_TARGET * least["floor"], PROCESS_LIMIT_US)
    target = f"≤ {PROCESS_TARGET:.0f} × and ≤ {PROCESS_LIMIT_US:.0f} µs"

    def row(what: str, cost: str, floor_name: str, limit: float | None, target: str) -> Row:
        return Row(
            group="append, process",
            what=what,
            messages=size,
            cost=least[cost],
            floor=least[floor_name],
            limit=limit,
            target=target,
        )

    return [
        row("append: encode, write", "append", "floor", None, ""),
        row("append and count it: encode, write", "counted", "floor", limit, target),
        row("append and session.used: encode, write", "used", "floor", None, ""),
        row("an agent's step: encode, one write", "step", "step floor", None, ""),
        row(
            "an agent's step: its messages, appended and counted",
            "step",
            "step apart",
            STEP_TARGET / 3 * least["step apart"],
            f"≤ {STEP_TARGET:.0f} × one",
        ),
    ]


async def _take_step(session: Any, step: Step) -> None:
    """Write a step as an agent's loop does: a checkpoint, the reply and its usage, the results."""
    await session.checkpoint()
    size = session.context.token_count_with_pending
    await session.append(step[0], usage={"prompt_tokens": size, "completion_tokens": REPLY_TOKENS})
    await session.append(*step[1:])


async def _synced(bench: Bench, session: Any, floor: _Floor, size: int) -> list[Row]:
    calls = 20 if bench.quick else 100
    three = _three()
    loop = asyncio.get_running_loop()
    supply = _supply()

    async def ten(_message: Message) -> None:
        await asyncio.gather(*(session.append(next(supply)) for _ in range(CONCURRENT)))

    async def step(_message: Message) -> None:
        await _take_step(session, next(three))

    async def apart(_message: Message) -> None:
        for message in next(three):
            await session.append(message)

    with ThreadPoolExecutor(1) as executor:

        async def in_thread(message: Message) -> None:
            await loop.run_in_executor(executor, floor.write_now, message)

        sides = {
            name: _each(call, _supply(), calls)
            for name, call in {
                "append": session.append,
                "floor": floor.write,
                "in thread": in_thread,
                "ten": ten,
                "step": step,
                "step apart": apart,
            }.items()
        }
        least = await in_turns(sides, 2 if bench.quick else 7)

    def row(what: str, cost: str, floor_name: str, limit: float | None, target: str) -> Row:
        return Row(
            group="append, disk",
            what=what,
            messages=size,
            cost=least[cost],
            floor=least[floor_name],
            limit=limit,
            target=target,
        )

    hand_over = max(least["in thread"] - least["floor"], 0.0)
    return [
        row("the same in a thread: encode, write, fdatasync", "in thread", "floor", None, ""),
        row(
            "append: encode, write, fdatasync",
            "append",
            "floor",
            DISK_TARGET * least["floor"] + hand_over,
            f"≤ {DISK_TARGET} × + hand-over",
        ),
        row(
            f"{CONCURRENT} appends at once: one append",
            "ten",
            "append",
            CONCURRENT_TARGET * least["append"],
            f"≤ {CONCURRENT_TARGET:.0f} ×",
        ),
        row(
            "an agent's step: its messages, appended",
            "step",
            "step apart",
            STEP_TARGET / 3 * least["step apart"],
            f"≤ {STEP_TARGET:.0f} × one",
        ),
    ]
