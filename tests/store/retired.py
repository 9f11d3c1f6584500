"""Rotations for tests: logs that share a beginning, in a folder, plain and compressed."""

import os
import random
from pathlib import Path

from minutebook.store.collecting import Action, carry_out
from minutebook.store.contract import Rotation
from minutebook.store.disk import Disk
from minutebook.store.logfile import LogFile
from minutebook.store.rotated import list_rotations, rotation_pieces

SHARED = 40_000
"""How much the rotations of `make_rotations` share, in bytes."""


def text(size: int, seed: int) -> bytes:
    """Give bytes that compress about as well as a conversation does."""
    words = random.Random(seed).choices([b"fix", b"the", b"build", b"src/a.py", b"error"], k=size)
    return b" ".join(words)[:size]


def make_rotations(folder: Path, count: int = 4) -> dict[int, bytes]:
    """Write rotations 1, 2, … that share their beginning, and a log; give their bytes."""
    made = {
        number: text(SHARED, 0) + b"%d " % number + text(3_000 * number, number)
        for number in range(1, count + 1)
    }
    for number, data in made.items():
        (folder / f"context_{number}.jsonl").write_bytes(data)
    (folder / "context.jsonl").write_bytes(b'{"role":"user","content":"hello","seq":1}\n')
    return made


def listed(folder: Path, disk: Disk | None = None) -> list[Rotation]:
    """List the rotations of a folder."""
    disk = disk or Disk()
    file = LogFile(disk, os.fspath(folder), writable=False)
    file.attach()
    try:
        return list_rotations(disk, file)
    finally:
        file.detach()


def read(folder: Path, number: int, start: int = 0, end: int | None = None) -> bytes:
    """Read a rotation as any reader does."""
    rotations = listed(folder)
    rotation = next(item for item in rotations if item.number == number)
    return b"".join(rotation_pieces(Disk(), rotations, rotation, start, end))


def contents(folder: Path) -> dict[int, bytes]:
    """Read every rotation."""
    return {rotation.number: read(folder, rotation.number) for rotation in listed(folder)}


def compress(folder: Path, *numbers: int, disk: Disk | None = None) -> int:
    """Compress rotations in this order; give what that frees."""
    disk = disk or Disk()
    actions = [Action(number=number, what="compress", why="", stored_bytes=0) for number in numbers]
    done = carry_out(disk, os.fspath(folder), listed(folder, disk), actions, seconds=float("inf"))
    return sum(outcome.freed_bytes for outcome in done)
