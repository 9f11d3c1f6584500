"""Compacting for a window of 200 000 tokens, beside what no compaction can do without.

The floor estimates every message once, since a compaction has to know their sizes, and writes
and syncs a log of the length that came out. No target is set for it; the digest has one of its
own, in seconds.

`python -m benchmarks.compaction [PATH ...]` measures something else, what a compaction still
knows of what is used later: see `recall`.
"""

from __future__ import annotations

import os
import sys

from benchmarks import recall
from benchmarks.bench import Bench
from benchmarks.logs import copy_session, log_of, messages, open_session
from benchmarks.rewrite import sync_file
from benchmarks.rows import Row
from benchmarks.timing import Watch, in_turns
from minutebook.compaction.digest.write import digest
from minutebook.tokens.estimate import estimate_message

DIGEST_MESSAGES = 5_000
DIGEST_LIMIT_US = 1_000_000.0
DIGEST_BUDGET_TOKENS = 8_000


async def run(bench: Bench) -> list[Row]:
    """Measure every size, and the digest by itself."""
    return [*[await _compacted(bench, size) for size in bench.sizes], await _digest(bench)]


async def _compacted(bench: Bench, size: int) -> Row:
    source, _ = await bench.agent_log(size)
    history = list(messages(size))
    written = 0

    async def compact() -> float:
        nonlocal written
        folder = bench.new_folder("compacted")
        copy_session(source, folder)
        sync_file(log_of(folder))
        async with open_session(folder) as session:
            # What a first write sets right is not part of a compaction.
            await session.checkpoint()
            with Watch() as watch:
                done = await session.compact()
            assert done.changed
            written = session.store.size
        bench.forget(folder)
        return watch.us

    async def floor() -> float:
        target = bench.new_folder("floor.jsonl")
        with Watch() as watch:
            counted = sum(map(estimate_message, history))
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(descriptor, b"x" * written)
            os.fdatasync(descriptor)
            os.close(descriptor)
        assert counted
        target.unlink()
        return watch.us

    least = await in_turns({"compact": compact, "floor": floor}, bench.rounds(9, size))
    return Row(
        group="compact",
        what="compact: estimate each, write, fdatasync",
        messages=size,
        cost=least["compact"],
        floor=least["floor"],
    )


async def _digest(bench: Bench) -> Row:
    history = list(messages(DIGEST_MESSAGES))

    async def write() -> float:
        with Watch() as watch:
            text = digest(history, DIGEST_BUDGET_TOKENS)
        assert text
        return watch.us

    least = await in_turns({"digest": write}, bench.rounds(3, DIGEST_MESSAGES))
    return Row(
        group="compact",
        what="the digest alone",
        messages=DIGEST_MESSAGES,
        cost=least["digest"],
        limit=DIGEST_LIMIT_US,
        target="under a second",
    )


if __name__ == "__main__":
    sys.exit(recall.main())
