"""Opening a session, beside reading and decoding the same lines by a typed decoder.

The floor reads the file in one go, splits it at its line ends, and decodes each line into the
same typed value, all of them kept: no fold, no numbers, no check sums, no second look at a bad
line. `the decode alone` has the lines in memory already.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.logs import log_of, open_session
from benchmarks.rows import Row
from benchmarks.timing import Watch, in_turns
from minutebook.codec import SPECIAL_PREFIXES, decode_message, decode_special

TARGET = 1.6


async def run(bench: Bench) -> list[Row]:
    """Measure every size, with plain logs and with an agent's."""
    rows: list[Row] = []
    for messages in bench.sizes:
        rows += await _restored(bench, bench.plain_log(messages), messages, "messages alone")
        folder, _ = await bench.agent_log(messages)
        rows += await _restored(bench, folder, messages, "an agent's log")
    return rows


def decode_all(lines: list[bytes]) -> list[object]:
    """Decode every line by the decoder of its kind and keep what comes out."""
    return [
        decode_special(line) if line.startswith(SPECIAL_PREFIXES) else decode_message(line)
        for line in lines
    ]


def read_and_decode(log: Path) -> list[object]:
    """Read a log, split it, decode every line."""
    lines = log.read_bytes().split(b"\n")
    lines.pop()
    return decode_all(lines)


async def _restored(bench: Bench, folder: Path, messages: int, shape: str) -> list[Row]:
    log = log_of(folder)
    lines = log.read_bytes().split(b"\n")
    lines.pop()

    async def opened() -> float:
        opening = open_session(folder)
        with Watch() as watch:
            await opening.__aenter__()
        await opening.__aexit__(None, None, None)
        return watch.us

    async def read() -> float:
        with Watch() as watch:
            kept = read_and_decode(log)
        del kept
        return watch.us

    async def decoded() -> float:
        with Watch() as watch:
            kept = decode_all(lines)
        del kept
        return watch.us

    sides = {"open": opened, "read": read, "decode": decoded}
    least = await in_turns(sides, bench.rounds(15, messages))
    return [
        Row(
            group="restore",
            what=f"{shape}: read, split, decode",
            messages=messages,
            cost=least["open"],
            floor=least["read"],
            limit=TARGET * least["read"],
            target=f"≤ {TARGET} ×",
        ),
        Row(
            group="restore",
            what=f"{shape}: the decode alone",
            messages=messages,
            cost=least["open"],
            floor=least["decode"],
        ),
    ]
