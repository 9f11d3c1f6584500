"""Disk before memory: whatever operation of the disk fails, both agree and the next try works."""

import errno
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


class Fault(FailAt):
    """Fails one call, those of `UNBREAKABLE` not counted."""

    def __call__(self, call: Call) -> int | None:
        """Count the call, and raise if it is its turn."""
        return None if call.name in UNBREAKABLE else super().__call__(call)


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    """Make the session once for all tests here."""
    return Grown(tmp_path_factory.mktemp("failures"))


@pytest.mark.parametrize("durability", ["process", "disk"])
@pytest.mark.parametrize("name", ACTS)
async def test_after_a_failure_memory_and_disk_agree_and_the_next_try_works(
    name: str, durability: Durability, grown: Grown
) -> None:
    """At each operation of the disk in turn, until one try needs no more of them."""
    act = ACTS[name]
    hits = 0
    for at in range(200):
        folder, disk = grown.copy(), WatchedDisk()
        session = await opened(folder, disk, durability)
        before = values(session.context)
        disk.fault = fault = Fault(at, errno.ENOSPC)
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
    assert hits >= 3


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
