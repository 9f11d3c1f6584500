"""Disk before memory: whatever operation of the disk fails, both agree and the next try works."""

import errno
import os
from pathlib import Path

import pytest

from minutebook.errors import CheckpointNotFound, MinutebookError, StoreError
from minutebook.messages import user
from minutebook.store.contract import RewriteUnsynced
from minutebook.store.files import Durability
from minutebook.testing.disks import Call, FailAt, WatchedDisk
from tests.grown import ACTS, Grown, on_disk, opened
from tests.playing import values

UNBREAKABLE = {"close"}
"""A descriptor that could not be closed is closed all the same, and nothing is lost by it."""


SHORT = 0
"""In place of an error: a write puts less on the disk than it was given."""
LONG = os.environ.get("MINUTEBOOK_CRASH") == "long"
long_only = pytest.mark.skipif(not LONG, reason="many failures: make test-crash tries them")
USUAL = ((errno.ENOSPC, "process"), (errno.EIO, "disk"), (SHORT, "disk"))
ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EROFS": errno.EROFS, "EMFILE": errno.EMFILE}
FAILURES = [
    pytest.param(
        error,
        durability,
        id=f"{name}-{durability}",
        marks=[] if (error, durability) in USUAL else [long_only, pytest.mark.crash],
    )
    for name, error in {**ERRORS, "short": SHORT}.items()
    for durability in ("process", "disk")
]


class Fault(FailAt):
    """Fails one call, those of `UNBREAKABLE` not counted; or lets one write be short."""

    def __call__(self, call: Call) -> int | None:
        """Count the call, and fail it if it is its turn."""
        if self.error != SHORT:
            return None if call.name in UNBREAKABLE else super().__call__(call)
        if call.name == "write":
            self.seen += 1
            if self.seen == self.at + 1:
                self.hit = call
                return 5
        return None


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    """Make the session once for all tests here."""
    return Grown(tmp_path_factory.mktemp("failures"))


@pytest.mark.parametrize(("failure", "durability"), FAILURES)
@pytest.mark.parametrize("name", ACTS)
async def test_after_a_failure_memory_and_disk_agree_and_the_next_try_works(
    name: str, failure: int, durability: Durability, grown: Grown
) -> None:
    """At each operation of the disk in turn, until one try needs no more of them."""
    act = ACTS[name]
    hits = 0
    for at in range(200):
        folder, disk = grown.copy(), WatchedDisk()
        session = await opened(folder, disk, durability)
        before = values(session.context)
        disk.fault = fault = Fault(at, failure)
        error: MinutebookError | None = None
        try:
            await act(session)
        except MinutebookError as raised:
            error = raised
        disk.fault = None
        if fault.hit is None:
            assert error is None
            await session.close()
            break
        hits += 1
        if error is not None and not isinstance(error, RewriteUnsynced):
            # A checkpoint in a rotation that cannot be read is not found.
            assert isinstance(error, StoreError | CheckpointNotFound), fault.hit
            if name != "checkpoint with a marker":
                assert values(session.context) == before, fault.hit
            await act(session)
        after = values(session.context)
        assert await on_disk(folder) == after, fault.hit
        await session.close()
        assert await on_disk(folder) == after, fault.hit
    else:
        pytest.fail("more operations than expected")
    assert hits >= (1 if failure == SHORT else 3)


async def test_a_failure_of_a_fork_leaves_the_session(grown: Grown, tmp_path: Path) -> None:
    """The destination is in the way, and nothing has happened here."""
    session = await opened(grown.copy(), WatchedDisk(), "process")
    before = values(session.context)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()

    with pytest.raises(StoreError, match="not empty"):
        await session.fork(tmp_path / "there")

    assert values(session.context) == before
    await session.append(user("on"))
    await session.close()
