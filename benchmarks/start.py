"""How long a program waits for minutebook to be imported, and a person for the help.

Each is a program of its own, its bytecode at hand, the best of several; the floor is a Python
that does nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from time import perf_counter

from benchmarks.bench import Bench
from benchmarks.rows import Row

IMPORT_LIMIT_MS = 100.0
HELP = "import sys; sys.argv[1:] = ['--help']; import minutebook.__main__"
PROGRAMS = (
    ("import minutebook", "import minutebook", IMPORT_LIMIT_MS),
    (
        "minutebook --help",
        "import sys; sys.argv[1:] = ['--help']; import minutebook.__main__",
        None,
    ),
)
NOTHING = "pass"


async def run(bench: Bench) -> list[Row]:
    """Measure each program beside one that does nothing."""
    rounds = 2 if bench.quick else 9
    with tempfile.TemporaryDirectory(dir=bench.folder) as cache:
        floor = _least(NOTHING, cache, rounds)
        return [
            Row(
                group="start",
                what=what,
                messages=0,
                cost=_least(code, cache, rounds) * 1_000,
                floor=floor * 1_000,
                limit=None if limit is None else (limit + floor) * 1_000,
                target="" if limit is None else f"≤ {limit:.0f} ms + the floor",
            )
            for what, code, limit in PROGRAMS
        ]


def _least(code: str, cache: str, rounds: int) -> float:
    """Give the least milliseconds that a fresh interpreter takes for some code."""
    left_out = ("COV", "PYTHONDONTWRITEBYTECODE")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
    environment["PYTHONPYCACHEPREFIX"] = cache
    taken = []
    for _ in range(rounds):
        begun = perf_counter()
        subprocess.run(
            [sys.executable, "-c", code], env=environment, check=True, capture_output=True
        )
        taken.append((perf_counter() - begun) * 1_000)
    return min(taken)
