"""Reverting and clearing, beside copying the kept bytes in the kernel and syncing them.

The floor of a revert makes a file, copies what is kept with `copy_file_range`, and syncs it once.
`its steps by hand` is what a rewrite that survives power loss asks of the system besides: a second
name for the old log, a sync of the folder, the rename, and one more sync of the folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench
from benchmarks.logs import copy_session, log_of, open_session
from benchmarks.rows import Row
from benchmarks.timing import Side, Watch, in_turns

TARGET = 1.6
TARGET_MESSAGES = 10_000
"""The size that the target is set for."""
TAIL = b'{"role":"_revert","content":"reverted to checkpoint 1; before: rotation 1"}\n'


async def run(bench: Bench) -> list[Row]:
    """Measure every size."""
    rows: list[Row] = []
    for messages in bench.sizes:
        source, checkpoint = await bench.agent_log(messages)
        async with open_session(source, mode="r") as session:
            keep = session.context.mark(checkpoint).offset
        rows += await _reverted(bench, source, messages, checkpoint, keep)
        rows += await _cleared(bench, source, messages)
    return rows


async def _reverted(
    bench: Bench, source: Path, messages: int, checkpoint: int, keep: int
) -> list[Row]:
    async def revert(session: Any) -> None:
        await session.revert(checkpoint)

    sides = {
        "revert": _rewriting(bench, source, revert),
        "copy": _copying(bench, source, keep),
        "by hand": _copying(bench, source, keep, whole=True),
    }
    least = await in_turns(sides, bench.rounds(21, messages))
    aimed = messages == TARGET_MESSAGES
    return [
        Row(
            group="revert, clear",
            what="revert at 99 %: copy_file_range, fdatasync",
            messages=messages,
            cost=least["revert"],
            floor=least["copy"],
            limit=TARGET * least["copy"] if aimed else None,
            target=f"≤ {TARGET} ×" if aimed else "",
        ),
        Row(
            group="revert, clear",
            what="revert at 99 %: its steps by hand",
            messages=messages,
            cost=least["revert"],
            floor=least["by hand"],
        ),
    ]


async def _cleared(bench: Bench, source: Path, messages: int) -> list[Row]:
    async def clear(session: Any) -> None:
        await session.clear()

    sides = {
        "clear": _rewriting(bench, source, clear),
        "write": _copying(bench, source, 0),
        "by hand": _copying(bench, source, 0, whole=True),
    }
    least = await in_turns(sides, bench.rounds(21, messages))
    return [
        Row(
            group="revert, clear",
            what=f"clear: {what}",
            messages=messages,
            cost=least["clear"],
            floor=least[floor],
        )
        for what, floor in (("write a line, fdatasync", "write"), ("its steps by hand", "by hand"))
    ]


def _rewriting(bench: Bench, source: Path, work: Any) -> Side:
    """Make the side that rewrites a fresh copy of a session."""

    async def side() -> float:
        folder = bench.new_folder("rewritten")
        copy_session(source, folder)
        sync_file(log_of(folder))
        async with open_session(folder) as session:
            # What a first write sets right is not part of a rewrite.
            await session.checkpoint()
            with Watch() as watch:
                await work(session)
        bench.forget(folder)
        return watch.us

    return side


def _copying(bench: Bench, source: Path, keep: int, *, whole: bool = False) -> Side:
    """Make the side that writes the new log by hand; with *whole*, all the steps of a rewrite."""

    async def side() -> float:
        folder = bench.new_folder("copied")
        copy_session(source, folder)
        log = log_of(folder)
        sync_file(log)
        descriptor = os.open(log, os.O_RDONLY)
        with Watch() as watch:
            if whole:
                os.link(log, folder / "context_1.jsonl")
            write_prefix(descriptor, folder / "new", keep)
            if whole:
                sync_folder(folder)
                (folder / "new").rename(log)
                sync_folder(folder)
        os.close(descriptor)
        bench.forget(folder)
        return watch.us

    return side


def write_prefix(source: int, target: Path, keep: int) -> None:
    """Copy the first *keep* bytes of a file in the kernel, add a line, and sync."""
    new = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    done = 0
    while done < keep:
        done += os.copy_file_range(source, new, keep - done, offset_src=done)
    os.write(new, TAIL)
    os.fdatasync(new)
    os.close(new)


def sync_file(path: Path) -> None:
    """Bring a file to the disk, so that it is not written back during a measurement."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Bring a folder's names to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(descriptor)
    os.close(descriptor)
