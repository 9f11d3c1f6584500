"""Taking times: two sides in turns, the median of many calls, the least of several rounds."""

from __future__ import annotations

import gc
import os
import platform
import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter_ns
from typing import Self

Side = Callable[[], Awaitable[float]]
"""Takes one round and gives its time in microseconds."""


async def in_turns(sides: Mapping[str, Side], rounds: int) -> dict[str, float]:
    """Let every side take a round, *rounds* times; give each side's least time.

    Taking turns spreads what else the machine does over all sides, and the least of several
    rounds is the one that it disturbed least.
    """
    least: dict[str, float] = {}
    for _ in range(rounds):
        for name, side in sides.items():
            gc.collect()
            took = await side()
            least[name] = min(took, least.get(name, took))
    return least


def median_us(times_ns: Sequence[int]) -> float:
    """Give the median in microseconds."""
    return statistics.median(times_ns) / 1_000


class Watch:
    """Takes the time of a block, in microseconds."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.us = 0.0

    def __enter__(self) -> Self:
        """Start."""
        self._start = perf_counter_ns()
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop."""
        self.us = (perf_counter_ns() - self._start) / 1_000


def machine(folder: Path) -> str:
    """Say in one line what the figures were taken on."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores, {_file_system(folder)}, load {load}"
    )


def _file_system(folder: Path) -> str:
    """Name the kind of file system that a folder lies on, where the system says so."""
    try:
        mounts = Path("/proc/mounts").read_text("utf-8").splitlines()
    except OSError:
        return "file system unknown"
    found = [line.split()[1:3] for line in mounts]
    path = str(folder.resolve())
    on = [
        (point, kind) for point, kind in found if (path + "/").startswith(point.rstrip("/") + "/")
    ]
    return max(on, key=lambda pair: len(pair[0]))[1] if on else "file system unknown"
