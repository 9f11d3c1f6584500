"""Measure everything and print the table: `python -m benchmarks`, or `make bench`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from benchmarks import append, compaction, large, memory, others, restore, rewrite, start
from benchmarks.bench import Bench
from benchmarks.rows import Row, as_json, as_table
from benchmarks.timing import machine

Group = Callable[[Bench], Awaitable[list[Row]]]

GROUPS: dict[str, Group] = {
    "restore": restore.run,
    "memory": memory.run,
    "append": append.run,
    "rewrite": rewrite.run,
    "compact": compaction.run,
    "large": large.run,
    "others": others.run,
    "start": start.run,
}
SIZES = (1_000, 10_000, 100_000)
QUICK_SIZES = (1_000,)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or the same as JSON; give 0 whatever the figures are."""
    options = _parser().parse_args(arguments)
    names = options.only.split(",") if options.only else list(GROUPS)
    sizes = options.sizes or (QUICK_SIZES if options.quick else SIZES)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="minutebook-bench-", dir=options.folder) as temporary:
        bench = Bench(Path(temporary), sizes=sizes, quick=options.quick, whole=options.whole)
        before = machine(bench.folder)
        for name in names:
            if sys.stderr.isatty():
                print(f"measuring {name} …", file=sys.stderr)
            rows += asyncio.run(_run(GROUPS[name], bench))
        after = machine(bench.folder)
    if options.json:
        print(json.dumps({"machine": [before, after], "rows": as_json(rows)}, indent=2))
        return 0
    print(f"before: {before}\nafter:  {after}\n{as_table(rows)}")
    return 0


async def _run(group: Group, bench: Bench) -> list[Row]:
    return await group(bench)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="few rounds, and logs of 1 000 messages alone"
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="large logs of 1 GB and roots of 10 000 sessions, in place of a tenth of that",
    )
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")
    parser.add_argument(
        "--sizes", type=_sizes, help="how many messages the logs hold, such as 1000,10000"
    )
    parser.add_argument(
        "--only", type=_names, help=f"groups to measure, with commas between: {', '.join(GROUPS)}"
    )
    parser.add_argument(
        "--folder", type=Path, help="where to measure; its disk is the one that is measured"
    )
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(int(part) for part in text.split(","))
    if min(sizes) < 1:
        raise argparse.ArgumentTypeError("sizes begin at 1")
    return sizes


def _names(text: str) -> str:
    unknown = sorted(set(text.split(",")) - set(GROUPS))
    if unknown:
        raise argparse.ArgumentTypeError(f"no group {unknown[0]!r}")
    return text


if __name__ == "__main__":
    sys.exit(main())
