"""Appending, beside encoding and writing the same records by hand on an open descriptor.

Every figure is the median of many calls. The messages are numbered and stamped before the floor
encodes them, so both sides write lines of the same length; the floor writes no `_batch` line.
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
            "an agent's step: one append",
            "step",
            "append",
            STEP_TARGET * least["append"],
            f"≤ {STEP_TARGET:.0f} ×",
        ),
    ]


async def _take_step(session: Any, step: Step) -> None:
    """Write a step as an agent's loop does: a checkpoint, the reply and its usage, the results."""
    await session.checkpoint()
    await session.append(step[0], usage=USAGE)
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

    with ThreadPoolExecutor(1) as executor:

        async def hand_over(_message: Message) -> None:
            await loop.run_in_executor(executor, _nothing)

        sides = {
            name: _each(call, _supply(), calls)
            for name, call in {
                "append": session.append,
                "floor": floor.write,
                "hand over": hand_over,
                "ten": ten,
                "step": step,
            }.items()
        }
        least = await in_turns(sides, 2 if bench.quick else 7)

    def row(what: str, cost: str, floor_name: str, limit: float | None, target: str) -> Row:
        return Row(
            group="append, disk",
            what=what,
            messages=size,
            cost=least[cost],
            floor=least[floor_name] if floor_name else None,
            limit=limit,
            target=target,
        )

    return [
        row("handing work to a thread and back", "hand over", "", None, ""),
        row(
            "append: encode, write, fdatasync",
            "append",
            "floor",
            DISK_TARGET * least["floor"] + least["hand over"],
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
            "an agent's step: one append",
            "step",
            "append",
            STEP_TARGET * least["append"],
            f"≤ {STEP_TARGET:.0f} ×",
        ),
    ]


def _nothing() -> None:
    """Do nothing, in the other thread."""
