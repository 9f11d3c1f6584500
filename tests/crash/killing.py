"""A child that works on a session at full speed, acknowledges over a pipe, and is killed.

`python -m tests.crash.killing` is a server: for each line of JSON on its input it forks a
worker, which plays the operations of a seed until it is killed, and says `dead` when it is
gone. The worker says `began` with its process id, and `did N` after its operation number N.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from minutebook.store.disk import Disk
from minutebook.store.files import FileStore
from minutebook.testing.disks import Call, WatchedDisk
from minutebook.testing.store import joined, line, lines


class Operation(NamedTuple):
    """Groups of lines that are appended at once, or a rewrite."""

    groups: tuple[tuple[bytes, ...], ...] = ()
    keeps: bool = False
    """Whether a rewrite keeps all that is there, or nothing."""
    tail: tuple[bytes, ...] | None = None

    def outcomes(self, before: tuple[bytes, ...]) -> list[tuple[bytes, ...]]:
        """Give what may be found while it is under way; the last is what it leads to."""
        if self.tail is not None:
            return [before, (*(before if self.keeps else ()), *joined(*self.tail))]
        found = [before]
        for group in self.groups:
            found += [(*one, *joined(*group)) for one in found]
        return found


def plan(seed: int) -> Iterator[Operation]:
    """Draw operations without end; no two seeds write the same line."""
    random, number = Random(seed), seed * 1_000_000

    def new(count: int) -> tuple[bytes, ...]:
        nonlocal number
        number += count
        size = random.choice([5, 5, 200, 6_000])
        return tuple(line(number - count + at, "x" * size) for at in range(count))

    while True:
        kind = random.randrange(10)
        if kind < 4:
            yield Operation(groups=(new(1),))
        elif kind < 6:
            yield Operation(groups=(new(random.randint(2, 5)),))
        elif kind < 8:
            yield Operation(groups=(new(1), new(3), new(1)))
        else:
            yield Operation(keeps=kind == 8, tail=new(random.randint(0, 2)))


async def do(store: FileStore, operation: Operation) -> None:
    """Do one operation and wait until it is acknowledged."""
    if operation.tail is None:
        await asyncio.gather(*(store.append(group) for group in operation.groups))
    else:
        keep = store.size if operation.keeps else 0
        await store.rewrite(keep=keep, tail=operation.tail, reason="test")


async def work(folder: str, seed: int, durability: Any, calls: int | None) -> None:
    """Work until killed, from outside or by itself before disk call number *calls*."""
    left = calls

    def die(_call: Call) -> None:
        nonlocal left
        if left is not None:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    store = await FileStore.open(folder, durability=durability, disk=WatchedDisk(die))
    say(f"began {os.getpid()}")
    for number, operation in enumerate(plan(seed)):
        await do(store, operation)
        say(f"did {number}")


def say(text: str) -> None:
    """Tell the parent, in one write and without a buffer that a kill would lose."""
    os.write(1, f"{text}\n".encode())


async def read(folder: str) -> tuple[tuple[bytes, ...], dict[int, int]]:
    """Read a session: its lines, and the length of each rotation."""
    if not any(name.startswith("context") for name in Disk().names(folder)):
        return (), {}
    reader = await FileStore.open(folder, mode="r")
    try:
        found = tuple(lines(reader))
        sizes = {one.number: one.bytes for one in reader.rotations()}
    finally:
        await reader.close()
    return found, sizes


def serve(requests: Sequence[str]) -> None:
    """Fork a worker for each request, one after the other."""
    for request in requests:
        child = os.fork()
        if not child:
            try:
                asyncio.run(work(**json.loads(request)))
            finally:
                os._exit(1)
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    serve(sys.stdin)  # type: ignore[arg-type]
