"""Processes killed with SIGKILL while they work: nothing that they acknowledged is lost."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from minutebook.store.files import FileStore
from minutebook.testing.store import line
from tests.crash.killing import plan, read

ROOT = Path(__file__).parents[2]
LONG = os.environ.get("MINUTEBOOK_CRASH") == "long"
pytestmark = pytest.mark.crash


class Server:
    """The process that starts workers."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.killing"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def kill_worker(self, request: dict[str, object], acknowledged_bytes: int | None) -> int:
        """Let a worker work, kill it once it has said that many bytes; give what it has done.

        Without a number it kills itself.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        worker, done, said = 0, 0, 0
        for text in self._process.stdout:
            match text.split():
                case [b"began", pid]:
                    worker = int(pid)
                case [b"did", number]:
                    done = int(number) + 1
                case _:
                    return done
            said += len(text)
            if worker and acknowledged_bytes is not None and said >= acknowledged_bytes:
                os.kill(worker, signal.SIGKILL)
                worker = 0
        message = "the server has ended"
        raise AssertionError(message)

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


async def campaign(server: Server, folder: Path, kills: int, seed: int) -> dict[str, int]:
    """Kill worker after worker on one session; give how often each kind of end was found."""
    random = Random(seed)
    before: tuple[bytes, ...] = ()
    rotations: dict[int, int] = {}
    ends = {"before": 0, "after": 0, "between": 0}
    for kill in range(1, kills + 1):
        by_itself = kill % 2 == 0
        request = {
            "folder": str(folder),
            "seed": seed * 1_000 + kill,
            "durability": random.choice(["disk", "process"]),
            "calls": random.randrange(12, 250) if by_itself else None,
        }
        limit = None if by_itself else random.randrange(10, 400)
        done = server.kill_worker(request, limit)
        operations = plan(seed * 1_000 + kill)
        retired = len(rotations)
        for _ in range(done):
            operation = next(operations)
            retired += operation.tail is not None
            before = operation.outcomes(before)[-1]
        outcomes = next(operations).outcomes(before)
        found, left = await read(str(folder))
        assert found in outcomes, f"kill {kill} after operation {done}"
        assert rotations.items() <= left.items(), f"kill {kill}"
        assert len(left) in {retired, retired + 1}, f"kill {kill}"
        if found == before:
            ends["before"] += 1
        else:
            ends["after" if found == outcomes[-1] else "between"] += 1
        before, rotations = found, left
        store = await FileStore.open(folder)
        await store.append([line(kill, "after the kill")])
        await store.close()
        before = (*before, line(kill, "after the kill")[:-1])
    return ends


async def test_thirty_kills_lose_nothing(server: Server, tmp_path: Path) -> None:
    """Each session opens with all that was acknowledged, and at most what was under way."""
    ends = await campaign(server, tmp_path / "s", kills=30, seed=1)
    assert ends["before"] > 0
    assert sum(ends.values()) == 30


@pytest.mark.skipif(not LONG, reason="ten times as many kills: make test-crash has them")
@pytest.mark.parametrize("seed", range(2, 12))
async def test_three_hundred_kills_lose_nothing(server: Server, tmp_path: Path, seed: int) -> None:
    """Thirty on each of ten sessions."""
    ends = await campaign(server, tmp_path / "s", kills=30, seed=seed)
    assert sum(ends.values()) == 30
