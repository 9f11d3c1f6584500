"""What becomes of a session's rotations on closing and by gc, and that nothing is lost by it."""

import asyncio
import base64
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings

from minutebook.errors import StoreError
from minutebook.messages import Message, user
from minutebook.opening import open_session
from minutebook.operations import needed_rotations
from minutebook.session import Session
from minutebook.store.collecting import Retention
from minutebook.store.files import FileStore
from minutebook.store.memory import MemoryStore, Shelf
from minutebook.store.names import FOREIGN
from minutebook.testing.disks import WatchedDisk
from tests.playing import Clock, FileHome, Player
from tests.strategies import STORIES, Do

ALL = Retention(keep_plain=0)
EVERYTHING_GOES = Retention(
    keep_plain=0, rotations_max=0, bytes_max=0, age_days_max=0.0, drop_history=True
)
ALL_BUT_NEEDED = Retention(keep_plain=0, rotations_max=0, bytes_max=0, age_days_max=0.0)
MEGABYTE = 1 << 20


class Playing(Player):
    """A player that only plays: what a session must be is another test's to say."""

    def check(self) -> None:
        """Compare nothing."""

    check_all = check


def compressed(session: Session) -> list[bool]:
    """Tell which rotations are compressed."""
    return [rotation.compressed for rotation in session.rotations()]


async def make(folder: Path, rotations: int, **options: object) -> None:
    """Make a session that was cleared some times, each time after a message."""
    async with open_session(folder, durability="process", retention=None) as session:
        for number in range(rotations):
            await session.append(user(f"message {number} " + "and words " * 2_000))
            await session.clear()


def total_bytes(folder: Path) -> int:
    """Say what a folder's files take."""
    return sum(path.stat().st_size for path in folder.iterdir())


@settings(max_examples=25)
@given(STORIES)
def test_gc_loses_nothing(story: list[Do]) -> None:
    """After any story: full history and every rotation are as before, and all still works."""

    async def play(folder: Path) -> None:
        await Playing(FileHome(folder)).play(story)
        async with open_session(folder, durability="process", retention=None) as session:
            before = session.history(full=True)
            whole = {
                r.number: b"".join(session.store.pieces(r.number)) for r in session.rotations()
            }
            assert needed_rotations(session.store, session.context) == frozenset(whole)
            await session.collect(ALL_BUT_NEEDED)
            assert session.history(full=True) == before
            assert all(compressed(session))
            for number, data in whole.items():
                assert b"".join(session.store.pieces(number)) == data
            await session.checkpoint()
            for number in list(whole)[-2:]:
                await session.restore(number)
            for mark in session.context.checkpoints[:1]:
                await session.revert(mark.id)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder) / "s"))


async def test_fifty_reverts_on_a_megabyte_take_less_than_two_in_all(tmp_path: Path) -> None:
    """Of the shared part only one copy is kept beside the log's, and that one compressed."""
    words = random.Random(7)
    folder = tmp_path / "s"
    async with open_session(folder, durability="process", retention=None) as session:
        while session.store.size < MEGABYTE:
            lines = [words.choice(["read", "fix", "test", "src/a.py", "ok"]) for _ in range(400)]
            noise = base64.b64encode(words.randbytes(400)).decode()
            await session.append(user(" ".join(lines) + noise))
        for number in range(50):
            mark = await session.checkpoint()
            await session.append(user(f"attempt {number}" * 20))
            await session.revert(mark)
        assert total_bytes(folder) > 50 * MEGABYTE
        freed = await session.collect(ALL)
        assert total_bytes(folder) < 2 * MEGABYTE
        assert freed > 49 * MEGABYTE
        assert len(session.history(full=True)) == len(session.context.history) + 50


async def test_on_closing_older_rotations_are_compressed_and_none_goes(tmp_path: Path) -> None:
    """The newest three stay as they are; a session that has no more than that is left alone."""
    folder = tmp_path / "s"
    await make(folder, 5)
    async with open_session(folder) as session:
        assert not any(compressed(session))
        before = session.history(full=True)
    async with open_session(folder) as session:
        assert compressed(session) == [True, True, False, False, False]
        assert session.history(full=True) == before


@pytest.mark.parametrize(
    "retention",
    [None, Retention(on_close_seconds=0), Retention(compress=False), Retention(keep_plain=5)],
)
async def test_on_closing_nothing_is_done_that_was_not_asked_for(
    tmp_path: Path, retention: Retention | None
) -> None:
    """No retention, no time, no compression, or few enough rotations."""
    folder = tmp_path / "s"
    await make(folder, 5)
    async with open_session(folder, retention=retention):
        pass
    async with open_session(folder, mode="r") as session:
        assert compressed(session) == [False] * 5


async def test_on_closing_a_limit_removes_what_is_not_needed(tmp_path: Path) -> None:
    """A rotation that no record names and whose bytes the log begins with; needed ones stay."""
    folder = tmp_path / "s"
    await make(folder, 2)
    log = folder / "context.jsonl"
    (folder / "context_9.jsonl").write_bytes(log.read_bytes())
    async with open_session(folder, retention=Retention(rotations_max=0)) as session:
        await session.append(user("more"))
    async with open_session(folder, mode="r") as session:
        assert [rotation.number for rotation in session.rotations()] == [1, 2]


async def test_a_reader_tidies_nothing(tmp_path: Path) -> None:
    """Closing a session that was open for reading writes nothing."""
    folder = tmp_path / "s"
    await make(folder, 5)
    async with open_session(folder, mode="r"):
        pass
    async with open_session(folder, mode="r") as session:
        assert not any(compressed(session))


@pytest.mark.parametrize("name", sorted(FOREIGN))
async def test_another_agents_folder_is_left_alone_unless_asked(tmp_path: Path, name: str) -> None:
    """Kimi CLI could not read a compressed rotation, and may look for its own files."""
    folder = tmp_path / "s"
    await make(folder, 5)
    (folder / name).write_text("{}")
    async with open_session(folder) as session:
        assert await session.collect(EVERYTHING_GOES) == 0
    async with open_session(folder, retention=None) as session:
        assert compressed(session) == [False] * 5
        await session.collect(Retention(keep_plain=4, foreign=True))
        assert compressed(session) == [True, False, False, False, False]


async def test_tidying_another_agents_folder_writes_nothing(tmp_path: Path) -> None:
    """Not even what a first write makes."""
    folder = tmp_path / "s"
    folder.mkdir()
    for number in range(1, 6):
        (folder / f"context_{number}.jsonl").write_bytes(b'{"role": "user", "content": "x"}\n')
    (folder / "context.jsonl").write_bytes(b"")
    (folder / "state.json").write_bytes(b"{}")
    before = sorted(folder.iterdir())
    async with open_session(folder):
        pass
    assert sorted(path for path in folder.iterdir() if path.name != ".lock") == before


async def test_a_failure_on_closing_is_not_the_sessions(tmp_path: Path) -> None:
    """It closes all the same and gives the lock back; the folder may even be gone."""
    folder = tmp_path / "s"
    await make(folder, 5)
    (folder / ".rotation.new").mkdir()
    async with open_session(folder):
        pass
    (folder / ".rotation.new").rmdir()
    async with open_session(folder):
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


async def test_a_session_that_lost_its_log_gets_no_empty_one(tmp_path: Path) -> None:
    """Gc of its rotations leaves it without a log, to be restored."""
    folder = tmp_path / "s"
    await make(folder, 5)
    (folder / "context.jsonl").unlink()
    store = await FileStore.open(folder, allow_missing_log=True)
    assert store.collect(frozenset(), ALL, now=0, seconds=60) > 0
    await store.close()
    assert not (folder / "context.jsonl").exists()
    with pytest.raises(StoreError, match="is missing, but rotation 5 is there"):
        await FileStore.open(folder)


async def test_one_that_cannot_be_read_is_needed(tmp_path: Path) -> None:
    """So are those that only it may name."""
    folder = tmp_path / "s"
    await make(folder, 3)
    async with open_session(folder, retention=None) as session:
        await session.collect(Retention(keep_plain=1))
        (folder / "context_2.jsonl.zst").write_bytes(b"damaged")
        assert needed_rotations(session.store, session.context) == {1, 2, 3}
        compressed_one = folder / "context_1.jsonl.zst"
        data = bytearray(compressed_one.read_bytes())
        data[-9] ^= 0xFF
        compressed_one.write_bytes(data)
        assert needed_rotations(session.store, session.context) == {1, 2, 3}


async def test_what_would_be_done_is_said_without_a_lock(tmp_path: Path) -> None:
    """By a reader, while a writer has the session open; then the writer frees just that much."""
    folder = tmp_path / "s"
    await make(folder, 4)
    async with open_session(folder, retention=None, clock=Clock()) as session:
        reader = await FileStore.open(folder, mode="r", disk=WatchedDisk())
        would = reader.would_collect(frozenset(), Retention(keep_plain=1), now=0)
        await reader.close()
        assert [outcome.action.number for outcome in would] == [1, 2, 3]
        freed = await session.collect(Retention(keep_plain=1))
        assert freed == sum(outcome.freed_bytes for outcome in would) > 0


async def test_without_a_disk_there_is_no_room_to_win() -> None:
    """The store in memory keeps its rotations as they are."""
    store = await MemoryStore.open(Shelf(b'{"role":"user","content":"a"}\n'))
    await store.rewrite(keep=0, tail=[], reason="clear")
    assert store.collect(frozenset(), EVERYTHING_GOES, now=0, seconds=60) == 0
    assert [rotation.number for rotation in store.rotations()] == [1]


async def test_a_fork_of_compressed_rotations_lives_without_its_parent(tmp_path: Path) -> None:
    """Those of its own lineage, a base that is not among them left behind."""
    folder = tmp_path / "s"
    async with open_session(folder, durability="process", retention=None) as session:
        await session.append(user("shared and so on " * 1_000))
        marks = []
        for number in range(3):
            marks.append(await session.checkpoint())
            await session.append(user(f"attempt {number}"))
            await session.revert(marks[-1])
        await session.collect(ALL)
        assert [rotation.base for rotation in session.rotations()] == [2, None, 2]
        await session.fork(tmp_path / "early", at=marks[1])
        await session.fork(tmp_path / "late")
        whole = session.history(full=True)
    for path in folder.iterdir():
        path.unlink()
    async with open_session(tmp_path / "late", mode="r") as session:
        assert texts(session.history(full=True)) == texts(whole)
    async with open_session(tmp_path / "early", mode="r") as session:
        assert texts(session.history(full=True)) == texts(whole)[:2]


def texts(history: Sequence[Message]) -> list[str]:
    """Give what messages say."""
    return [message.text for message in history]


async def test_gc_may_drop_history_if_it_is_told_to(tmp_path: Path) -> None:
    """Then nothing but the log is left."""
    folder = tmp_path / "s"
    await make(folder, 3)
    async with open_session(folder, retention=None) as session:
        await session.collect(EVERYTHING_GOES)
        assert session.rotations() == []
        with pytest.raises(StoreError, match="full history needs rotation 3"):
            session.history(full=True)
