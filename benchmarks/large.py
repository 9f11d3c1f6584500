"""What works on whole logs and whole roots, at size: each command beside reading the bytes.

The usual run takes a log of 100 MB and 1 000 sessions of 100 KB; with `--whole` it is 1 GB and
10 000. Each command is a program of its own, `python -m benchmarks.large COMMAND …`, that says
how long it took, its imports left out, and the most memory that it ever had resident. The page
cache is warm. The floor reads the same bytes in pieces and counts the lines.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.bench import Bench
from benchmarks.logs import SYSTEM_PROMPT, log_of, open_session, steps, write_agent_log
from benchmarks.memory import MEGABYTE, resident
from benchmarks.rows import Row

LOG_BYTES, WHOLE_LOG_BYTES = 100_000_000, 1_000_000_000
SESSIONS, WHOLE_SESSIONS = 1_000, 10_000
QUICK_PART = 50
TOKENS_PER_STEP = 500
MESSAGES_PER_SESSION = 65
"""About 100 KB."""
MEMORY_LIMIT_MB = 200.0
LIST_SECONDS, INDEXED_SECONDS = 3.0, 0.5
"""For 10 000 sessions."""
PIECE_BYTES = 1 << 20


async def run(bench: Bench) -> list[Row]:
    """Measure one large log, and one root of many sessions."""
    if not sys.platform.startswith("linux"):
        print("large logs are measured on Linux only", file=sys.stderr)
        return []
    return [*await _large_log(bench), *await _many_sessions(bench)]


async def _large_log(bench: Bench) -> list[Row]:
    small, checkpoint = await bench.agent_log(1_000)
    size = log_of(small).stat().st_size
    wanted = WHOLE_LOG_BYTES if bench.whole else LOG_BYTES // (QUICK_PART if bench.quick else 1)
    messages = max(1_000, 1_000 * wanted // size)
    folder = bench.new_folder("large")
    await _write_log(folder, messages)
    floor = _read([log_of(folder)])
    rows = []
    commands: tuple[tuple[str, ...], ...] = (
        ("open",),
        ("inspect",),
        ("verify",),
        ("show", "--last", "20"),
        ("repair",),
        ("revert", "--to", str(checkpoint)),
        ("gc", "--yes", "--keep", "0"),
    )
    for command, *options in commands:
        took, peak = _command(command, folder, options)
        rows += _rows(f"{command}: read, count lines", messages, took, floor, peak)
    bench.forget(folder)
    return rows


async def _write_log(folder: Path, count: int) -> None:
    """Write a log as an agent does; its counts are plain numbers, which nobody has to judge."""
    async with open_session(folder, durability="process") as session:
        await session.set_system_prompt(SYSTEM_PROMPT)
        size = 0
        for step in steps(count):
            size += TOKENS_PER_STEP
            await session.checkpoint()
            await session.append(step[0], usage=size)
            if step[1:]:
                await session.append(*step[1:])


async def _many_sessions(bench: Bench) -> list[Row]:
    source = bench.new_folder("one")
    await write_agent_log(source, MESSAGES_PER_SESSION)
    count = WHOLE_SESSIONS if bench.whole else SESSIONS // (QUICK_PART if bench.quick else 1)
    root = bench.new_folder("root")
    for number in range(count):
        shutil.copytree(source, root / f"session-{number:05}")
    floor = _read([log_of(folder) for folder in root.iterdir()])
    rows = []
    for what, limit in (("list", LIST_SECONDS), ("list, indexed", INDEXED_SECONDS)):
        took, peak = _command("sessions", root, [])
        rows += _rows(
            f"{what} {count:,} sessions: read, count lines",
            count * MESSAGES_PER_SESSION,
            took,
            floor,
            peak,
            limit=limit * count / WHOLE_SESSIONS if bench.whole else None,
        )
    took, peak = _command("gc", root, [])
    rows += _rows(
        f"gc {count:,} sessions: read, count lines",
        count * MESSAGES_PER_SESSION,
        took,
        floor,
        peak,
    )
    bench.forget(root)
    return rows


def _rows(
    what: str,
    messages: int,
    seconds: float,
    floor: float,
    peak_mb: float,
    *,
    limit: float | None = None,
) -> list[Row]:
    """Give a row of the time and one of the memory. Who opens a session holds all of it."""
    holds_all = what.startswith(("open", "revert"))
    return [
        Row(
            group="large",
            what=what,
            messages=messages,
            cost=seconds * 1e6,
            floor=floor * 1e6,
            limit=limit * 1e6 if limit else None,
            target=f"≤ {limit} s" if limit else "",
        ),
        Row(
            group="large, memory at the peak",
            what=what.partition(":")[0],
            messages=messages,
            cost=peak_mb,
            unit="MB",
            limit=None if holds_all else MEMORY_LIMIT_MB,
            target="" if holds_all else f"≤ {MEMORY_LIMIT_MB:.0f} MB",
        ),
    ]


def _read(paths: Sequence[Path]) -> float:
    """Read files in pieces and count their lines; give the seconds, of a second reading."""
    seconds = 0.0
    for _ in range(2):
        begun, lines = perf_counter(), 0
        for path in paths:
            with path.open("rb", buffering=0) as file:
                while piece := file.read(PIECE_BYTES):
                    lines += piece.count(b"\n")
        seconds = perf_counter() - begun
        assert lines
    return seconds


def _command(command: str, path: Path, options: Sequence[str]) -> tuple[float, float]:
    """Run a command in a program of its own; give its seconds, and its peak in megabytes."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.large", command, str(path), *options],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


def main(arguments: Sequence[str]) -> None:
    """Run one command line and print its seconds and its peak in megabytes."""
    from minutebook import open_sync
    from minutebook.cli.app import app

    command, path = arguments[0], arguments[1]
    begun = perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        if command == "open":
            with open_sync(path, mode="r") as session:
                assert session.context.next_seq
        else:
            try:
                app([*arguments], prog_name="minutebook")
            except SystemExit as ended:
                if ended.code:
                    raise
    seconds = perf_counter() - begun
    print(json.dumps([seconds, resident("VmHWM") / MEGABYTE]))


if __name__ == "__main__":
    main(sys.argv[1:])
