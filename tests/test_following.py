"""Who follows a session sees each record once, whole, and in order, also across rotations."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.codec import encode_line, frame
from minutebook.errors import LogChanged
from minutebook.following import MISSING_POLLS_MAX, Follower, follow
from minutebook.lines import scan
from minutebook.messages import Message, replace, user
from minutebook.opening import open_session
from minutebook.records import Batch, Clear, Compaction, Record, Revert, Usage
from minutebook.store.contract import named_number
from minutebook.store.files import FileStore
from minutebook.store.memory import MemoryStore, Shelf
from tests.damage import LOG
from tests.playing import Clock, FileHome, MemoryHome, Player
from tests.strategies import STORIES, Do

KIMI = b'{"role": "user", "content": "%d"}\n'


def line(seq: int) -> bytes:
    """Write a message's line."""
    return encode_line(replace(user(f"text {seq}"), seq=seq))


def texts(records: Sequence[Record]) -> list[str]:
    """Give what the messages among records say."""
    return [record.text for record in records if isinstance(record, Message)]


class Watching(Player):
    """A player that is followed; what the follower gives is compared after each operation."""

    follower: Follower | None = None
    seen: int = 1

    def check_all(self) -> None:
        """What a session must be is another test's to say."""

    def check(self) -> None:
        if self.follower is None:
            return
        given = list(self.follower.read_new())
        seqs = [record.seq for record in given if isinstance(record, Message)]
        assert seqs == [
            message.seq
            for message in self.session.context.history
            if (message.seq or 0) >= self.seen
        ]
        self.seen = self.session.context.next_seq
        rewrites = [record for record in given if isinstance(record, Compaction | Revert | Clear)]
        assert len(rewrites) <= 1


@settings(max_examples=150)
@given(STORIES)
def test_every_message_comes_once_whatever_the_session_does(story: list[Do]) -> None:
    """After each operation: its new messages, and the record of a rewrite; nothing again."""

    async def play() -> None:
        home = MemoryHome()
        player = Watching(home)
        player.follower = Follower(await MemoryStore.open(home.shelf, mode="r"))
        await player.play(story)

    asyncio.run(play())


@settings(max_examples=20)
@given(STORIES)
def test_the_same_on_files(story: list[Do]) -> None:
    """In a folder, by a reader of its own."""

    async def play(folder: Path) -> None:
        async with open_session(folder, durability="process"):
            (folder / "context.jsonl").touch(0o600)
        player = Watching(FileHome(folder))
        reader = await FileStore.open(folder, mode="r")
        player.follower = Follower(reader)
        await player.play(story)
        await reader.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder) / "s"))


@settings(max_examples=60)
@given(st.lists(st.integers(0, len(LOG)), max_size=40))
def test_only_whole_records_are_given_at_any_cut(cuts: list[int]) -> None:
    """However the file grows under its reader: the records of the whole, none torn, none twice."""

    async def play(path: Path) -> None:
        store = await FileStore.open(path.parent, mode="r")
        follower = Follower(store)
        given: list[Record] = []
        written = 0
        with path.open("ab", buffering=0) as file:
            for end in [*sorted(cuts), len(LOG)]:
                file.write(LOG[written:end])
                written = end
                given += follower.read_new()
        whole = [entry.record for entry in scan(LOG)[0] if not isinstance(entry.record, Batch)]
        assert len(given) == len(whole)
        assert texts(given) == texts(whole)
        assert list(follower.read_new()) == []
        await store.close()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "context.jsonl"
        path.touch(0o600)
        asyncio.run(play(path))


async def test_byte_by_byte_a_batch_comes_as_one() -> None:
    """None of its lines before the last byte of it."""
    shelf = Shelf(line(1))
    follower = Follower(await MemoryStore.open(shelf, mode="r"))
    batch = frame([line(2), encode_line(Usage(token_count=9, content="9")), line(3)])
    for byte in batch[:-1]:
        shelf.log += bytes([byte])
        assert list(follower.read_new()) == []
    shelf.log += batch[-1:]
    assert [type(record) for record in follower.read_new()] == [Message, Usage, Message]


async def test_a_torn_tail_on_files_is_never_given(tmp_path: Path) -> None:
    """The file is cut and grows beyond its old length between two looks."""
    log = tmp_path / "context.jsonl"
    log.write_bytes(line(1) + line(2)[:-9])
    store = await FileStore.open(tmp_path, mode="r")
    follower = Follower(store)
    assert list(follower.read_new()) == []
    async with open_session(tmp_path, clock=Clock()) as session:
        await session.append(user("a longer message than the torn one"), user("and more"))

    assert texts(list(follower.read_new())) == ["a longer message than the torn one", "and more"]
    await store.close()


async def test_what_came_just_before_a_rotation_is_not_missed(tmp_path: Path) -> None:
    """Lines between the last look and a rewrite, and what was said between two rewrites."""
    async with open_session(tmp_path / "s", clock=Clock()) as session:
        await session.append(user("one"))
        reader = await FileStore.open(tmp_path / "s", mode="r")
        follower = Follower(reader)
        for text in ("two", "three", "four"):
            await session.append(user(text))
            await session.clear()
        await session.append(user("five"))

        found = list(follower.read_new())

        assert texts(found) == ["two", "three", "four", "five"]
        assert [named_number(record) for record in found if isinstance(record, Clear)] == [1, 2, 3]
        await reader.close()


async def test_another_programs_revert_gives_what_is_new() -> None:
    """Kimi CLI's messages have no number: those that were there before are not given again."""
    shelf = Shelf(b"".join(KIMI % number for number in range(5)))
    follower = Follower(await MemoryStore.open(shelf, mode="r"))
    shelf.log = b"".join(KIMI % number for number in (0, 1, 7, 7))
    assert texts(list(follower.read_new())) == ["7", "7"]
    shelf.log = b"".join(KIMI % number for number in (0, 7, 7, 7))
    assert texts(list(follower.read_new())) == ["7"]


async def test_a_log_that_is_away_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    """Kimi CLI renames it away and writes a new one; one that stays away is an error."""
    log = tmp_path / "context.jsonl"
    log.write_bytes(line(1))
    store = await FileStore.open(tmp_path, mode="r")
    polls = 0

    async def sleep(_seconds: float) -> None:
        nonlocal polls
        polls += 1
        if polls == 2:
            log.rename(tmp_path / "context_1.jsonl")
        if polls == 5:
            log.write_bytes(line(1) + line(2))

    following = follow(store, sleep=sleep)
    assert (await anext(following)) == scan(line(2))[0][0].record
    assert polls == 5
    log.unlink()
    with pytest.raises(LogChanged, match="deleted"):
        await anext(following)
    assert polls == 5 + MISSING_POLLS_MAX + 1
    await store.close()


async def test_a_session_for_reading_is_followed(tmp_path: Path) -> None:
    """`Session.follow` gives what another session writes."""
    async with open_session(tmp_path / "s") as writer:
        await writer.append(user("one"))
        async with open_session(tmp_path / "s", mode="r") as reader:
            following = reader.follow()
            waiting = asyncio.ensure_future(anext(following))
            await asyncio.wait([waiting], timeout=0)
            await writer.append(user("two"))
            record = await waiting
            assert isinstance(record, Message)
            assert (record.text, record.seq) == ("two", 2)
