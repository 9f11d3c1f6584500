"""How much memory an open session takes at its peak, beside the file and the bare values.

Each figure is that of a program of its own, `python -m benchmarks.memory HOW FOLDER`: the most
that it ever had resident, less what it had resident when everything was imported. The floor is
the file's length; `typed values alone` is what the decoded lines take without a session, read in
one go.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.logs import log_of, open_session
from benchmarks.restore import read_and_decode
from benchmarks.rows import Row

TARGET = 3.0
MEGABYTE = 1_000_000


async def run(bench: Bench) -> list[Row]:
    """Measure every size; in small logs what is read at a time counts for more than the log."""
    rows: list[Row] = []
    if not sys.platform.startswith("linux"):
        print("memory is measured on Linux only", file=sys.stderr)
        return rows
    for messages in bench.sizes:
        for shape, folder in (
            ("messages alone", bench.plain_log(messages)),
            ("an agent's log", (await bench.agent_log(messages))[0]),
        ):
            size = log_of(folder).stat().st_size / MEGABYTE
            for how, what in (("open", "open session"), ("decode", "typed values alone")):
                cost = await asyncio.to_thread(_peak, how, folder)
                aimed = how == "open"
                rows.append(
                    Row(
                        group="memory",
                        what=f"{shape}: {what}",
                        messages=messages,
                        cost=cost,
                        floor=size,
                        unit="MB",
                        limit=TARGET * size if aimed else None,
                        target=f"≤ {TARGET:.0f} × the file" if aimed else "",
                    )
                )
    return rows


def _peak(how: str, folder: Path) -> float:
    """Run a program that opens the log, and give its peak in megabytes."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", how, str(folder)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    return float(done.stdout)


def main(how: str, folder: Path) -> None:
    """Open the log in one way or the other; print the megabytes that it took at its peak."""
    before = resident("VmRSS")
    if how == "open":
        asyncio.run(_open(folder))
    else:
        kept = read_and_decode(log_of(folder))
        del kept
    print((resident("VmHWM") - before) / MEGABYTE)


async def _open(folder: Path) -> None:
    async with open_session(folder, mode="r") as session:
        assert session.context.next_seq


def resident(field: str) -> int:
    """Give the bytes resident now (`VmRSS`) or at most since the program began (`VmHWM`).

    `ru_maxrss` would not do: it outlives exec, so a child begins with its parent's.
    """
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition(f"{field}:")[2].split()[0]) * 1_024


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
