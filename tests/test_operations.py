"""What an operation of a session finds out from its store before it rewrites anything."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from minutebook import operations
from minutebook.codec import checksum, encode_line
from minutebook.companions import Companions, Task
from minutebook.context import Context, fold
from minutebook.errors import CheckpointNotFound, InvalidMessage, StoreError
from minutebook.lineage import NothingToUndo
from minutebook.messages import Message, replace, user
from minutebook.opening import open_session
from minutebook.records import (
    Checkpoint,
    Clear,
    Compaction,
    Next,
    Record,
    Revert,
    Rotated,
    Tag,
    Usage,
)
from minutebook.session import Session
from minutebook.store.collecting import Retention
from minutebook.store.disk import Disk
from minutebook.store.files import FileStore
from minutebook.store.memory import MemoryStore, Shelf
from tests.playing import Clock, on_memory, settings

TORN_BATCH = b'{"role":"_batch","n":3,"bytes":900,"hash":"crc32:00000000","content":"batch of 3"}\n'


def said(seq: int, **changes: Any) -> Message:
    """Give a message."""
    return replace(user(f"m{seq}"), seq=seq, **changes)


def data_of(*records: Record) -> bytes:
    """Give the bytes of a log."""
    return b"".join(map(encode_line, records))


def named(number: int, data: bytes) -> Rotated:
    """Name a rotation as a rewrite does."""
    return Rotated(number=number, bytes=len(data), hash=checksum(data))


async def opened(log: bytes, **rotations: bytes) -> tuple[Context, MemoryStore]:
    """Give a store with a log and rotations, and the fold of the log."""
    shelf = Shelf(log)
    shelf.rotations = {int(name[1:]): data for name, data in rotations.items()}
    store = await MemoryStore.open(shelf)
    return fold(store.replay()), store


def test_the_marker_is_the_one_that_kimi_cli_writes() -> None:
    """And its origin tells that no user said it."""
    marker = operations.checkpoint_marker(3)

    assert (marker.role, marker.text) == ("user", "<system>CHECKPOINT 3</system>")
    assert marker.origin == "checkpoint"


def test_a_note_is_a_notice() -> None:
    """Nothing but text can be one."""
    assert operations.noticed("mind").origin == "notice"
    with pytest.raises(InvalidMessage, match="text"):
        operations.noticed(5)  # type: ignore[arg-type]


def test_what_every_request_takes() -> None:
    """System prompt and tools; nothing where there are none."""
    assert operations.fixed_tokens(None, ()) == 0
    assert operations.fixed_tokens("p", ({"name": "f"},)) > operations.fixed_tokens("p", ())


async def test_undo_names_the_rotation_and_what_is_kept_of_it() -> None:
    """Of the newest rewrite that is no undo."""
    old = data_of(said(1))
    context, store = await opened(data_of(Clear(origin=named(1, old))), r1=old)

    operation = operations.undo_operation(context, store, force=False, at=5.0)

    assert (operation.source, operation.keep, operation.reason) == (1, len(old), "undo")


async def test_undo_leaves_a_torn_end_of_the_rotation_out() -> None:
    """It would swallow what is written behind it."""
    old = data_of(said(1)) + TORN_BATCH
    context, store = await opened(data_of(Clear(origin=named(1, old))), r1=old)

    operation = operations.undo_operation(context, store, force=False, at=5.0)

    assert operation.keep == len(old) - len(TORN_BATCH)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (Clear(), "that was left"),
        (Compaction(id="c"), "that was left"),
        (Clear(origin=Rotated(1, bytes=3)), "rotation 1"),
        (Clear(origin=Rotated(1, hash="crc32:00000000")), "rotation 1"),
        (Revert(origin=Rotated(7)), "rotation 7"),
    ],
)
async def test_undo_without_its_rotation_says_which(record: Record, words: str) -> None:
    """A missing one, a changed one, or none that was named."""
    context, store = await opened(data_of(record), r1=data_of(said(1)))

    with pytest.raises(StoreError, match=words):
        operations.undo_operation(context, store, force=True, at=5.0)


@pytest.mark.parametrize(
    ("record", "after", "refused"),
    [
        (Clear(), [], False),
        (Clear(lines=2), [said(5, origin="notice")], False),
        (Clear(lines=2), [said(5, origin="notice"), said(6)], True),
        (Clear(), [said(5, origin="notice")], True),
        (Clear(lines=1), [said(5)], True),
        (Revert(lines=2), [said(5, origin="notice")], False),
        (Revert(lines=2), [said(5, origin="dmail")], False),
        (Revert(lines=3), [said(5, origin="dmail"), said(6, origin="notice")], False),
        (Revert(lines=2), [said(5, origin="notice"), said(6, origin="notice")], True),
        (Revert(lines=1), [said(5, origin="notice")], True),
        (Revert(lines=2), [Tag(seq=1, pin=True)], False),
        (Revert(), [Tag(seq=1, pin=True), Usage(token_count=4), Checkpoint(id=3)], False),
    ],
)
async def test_undo_asks_before_it_leaves_messages_behind(
    record: Clear | Revert, after: list[Record], refused: bool
) -> None:
    """The rewrite's own notes are none of them."""
    old = data_of(said(1))
    place = named(1, old)
    rewrite = type(record)(origin=place, lines=record.lines)
    context, store = await opened(data_of(rewrite, *after), r1=old)

    if refused:
        with pytest.raises(NothingToUndo, match="force"):
            operations.undo_operation(context, store, force=False, at=5.0)
    operation = operations.undo_operation(context, store, force=refused, at=5.0)
    assert operation.source == 1


async def test_undo_of_a_compaction_takes_what_came_since() -> None:
    """Not what the compaction wrote itself."""
    old = data_of(said(1), said(2))
    compaction = Compaction(id="c", parent=named(1, old), lines=4, next=Next(1, 4))
    log = data_of(compaction, Checkpoint(id=0), said(3), said(2), said(4), Checkpoint(id=1))
    context, store = await opened(log + TORN_BATCH, r1=old)

    operation = operations.undo_operation(context, store, force=False, at=5.0)
    lines = operation.tail(Rotated(2))

    assert lines[0] == encode_line(said(4))
    assert [b'"_checkpoint"' in line for line in lines] == [False, True, False]
    assert b'"_revert"' in lines[-1]


async def test_a_snapshot_of_running_tasks_does_not_stand_in_the_way_of_an_undo() -> None:
    """It is the rewrite's own note, after a clear as after a revert."""
    companions = Companions(background=lambda: [Task(id="t1", title="build")])
    store = await MemoryStore.open(Shelf())
    session = Session(store, settings(), companions=companions, clock=Clock())
    session.replay()
    await session.append(user("a"))
    await session.checkpoint()
    for rewrite in (session.clear, lambda: session.revert(0, note="n")):
        await rewrite()
        assert "t1" in session.context.history[-1].text
        await session.undo()
        assert [message.text for message in session.context.history] == ["a"]
    await session.close()


async def test_a_checkpoint_is_found_through_the_store() -> None:
    """In the log, in a rotation, or not at all."""
    old = data_of(said(1), Checkpoint(id=0))
    log = data_of(Clear(origin=named(1, old)), Checkpoint(id=1))
    context, store = await opened(log, r1=old)

    assert operations.find(store, context, 1).source is None
    assert operations.find(store, context, 0).source == 1
    with pytest.raises(CheckpointNotFound):
        operations.find(store, context, 2)


async def test_rotations_that_the_full_history_needs() -> None:
    """Those that the lineage reaches, and others unless the live log begins with them."""
    first, second = data_of(said(1)), data_of(said(2))
    live = data_of(said(3), Clear(origin=named(2, second)))
    context, store = await opened(live, r1=first, r2=second, r3=live[:20], r4=live + b"x", r5=live)

    assert operations.needed_rotations(store, context) == {1, 2, 4}


async def test_a_rotation_that_cannot_be_read_is_needed(tmp_path: Path) -> None:
    """Nobody knows what is in it."""
    async with open_session(tmp_path / "s", durability="process") as session:
        await session.append(user("a"))
    (tmp_path / "s" / "context_4.jsonl.zst").write_bytes(b"noise")
    async with open_session(tmp_path / "s", durability="process", retention=None) as session:
        assert operations.needed_rotations(session.store, session.context) == {4}


def test_a_closing_session_has_nothing_to_tidy_where_nothing_may_be_done() -> None:
    """No time, or nothing to compress and nothing to remove."""
    store = type("Store", (), {"rotations": list})()
    context = Context()

    assert operations.tidying(store, context, Retention(), now=0.0) is None
    assert operations.tidying(store, context, Retention(on_close_seconds=0), now=0.0) is None
    limited = Retention(rotations_max=1)
    assert operations.tidying(store, context, limited, now=0.0) is not None


@pytest.mark.parametrize("keep_plain", [0, 9])
async def test_a_closing_session_does_not_mind_what_it_cannot_tidy(
    tmp_path: Path, keep_plain: int
) -> None:
    """The folder may be gone by then; the lock is given up all the same, twice if need be."""
    folder = tmp_path / "s"
    async with open_session(
        folder, durability="process", retention=Retention(keep_plain=keep_plain)
    ) as session:
        await session.append(user("a"))
        await session.clear()
        await session.clear()
        folder.rename(tmp_path / "moved")
        await session.close()
    async with open_session(tmp_path / "moved", durability="process") as session:
        assert len(session.rotations()) == 2


async def test_a_lowered_window_is_remembered_where_there_is_room_for_it(tmp_path: Path) -> None:
    """In `session.json`; a store without one, or a full disk, costs the knowledge alone."""
    async with on_memory(Shelf()) as session:
        operations.remember_window(session.store, 900)
    async with open_session(tmp_path / "s", durability="process") as session:
        await session.append(user("a"))
        operations.remember_window(session.store, 900)
        assert isinstance(session.store, FileStore)
        assert session.store.metadata.learned_window == 900
    async with open_session(tmp_path / "s", mode="r") as session:
        assert session.settings.learned_window == 900
        operations.remember_window(session.store, 5)
        assert isinstance(session.store, FileStore)
        assert session.store.metadata.learned_window == 900


async def forked(session: Session, folder: Path, at: int | None = None) -> list[str]:
    """Fork, and give what the fork holds."""
    await session.fork(folder, at=at)
    async with open_session(folder, durability="process", clock=Clock()) as fork:
        return [message.text for message in fork.context.history]


async def test_a_fork_holds_the_log_up_to_a_checkpoint(tmp_path: Path) -> None:
    """Of the log or of a rotation; numbers go on from the source's."""
    async with open_session(
        tmp_path / "s", durability="process", retention=None, clock=Clock()
    ) as session:
        await session.set_system_prompt("p")
        await session.append(user("a"))
        first = await session.checkpoint()
        await session.append(user("b"))
        await session.pin(1)
        await session.clear()
        await session.append(user("c"))
        second = await session.checkpoint()
        await session.append(user("d"))

        assert await forked(session, tmp_path / "end") == ["c", "d"]
        assert await forked(session, tmp_path / "live", second) == ["c"]
        assert await forked(session, tmp_path / "rotation", first) == ["a"]
        following = session.context.next
        with pytest.raises(CheckpointNotFound):
            await session.fork(tmp_path / "none", at=9)
        assert not (tmp_path / "none").exists()

    async with open_session(tmp_path / "rotation", durability="process") as fork:
        assert fork.context.next == following
        assert fork.context.pins == {1}
        assert fork.context.system_prompt == "p"
        assert fork.rotations() == []
        assert [message.text for message in fork.history(full=True)] == ["a"]
    async with open_session(tmp_path / "live", durability="process") as fork:
        assert [rotation.number for rotation in fork.rotations()] == [1]
        assert [message.text for message in fork.history(full=True)] == ["a", "b", "c"]
        original = (tmp_path / "s" / "context_1.jsonl").stat()
        assert os.path.samestat(original, (tmp_path / "live" / "context_1.jsonl").stat())
        assert await fork.checkpoint() == following.checkpoint
        assert (await fork.clear()).number == 2


async def test_a_fork_at_a_checkpoint_has_none_of_what_came_after(tmp_path: Path) -> None:
    """Rotations that only later rewrites name stay with the source."""
    async with open_session(tmp_path / "s", durability="process", retention=None) as session:
        await session.append(user("a"))
        await session.checkpoint()
        await session.append(user("b"))
        await session.clear()
        await session.undo()
        assert await forked(session, tmp_path / "f", 0) == ["a"]
    async with open_session(tmp_path / "f", mode="r") as fork:
        assert fork.rotations() == []
        assert len(fork.history(full=True)) == 1


@pytest.mark.parametrize("tail", [b'{"role":"us', TORN_BATCH, TORN_BATCH + b'{"role":"user"'])
async def test_a_fork_of_a_torn_log_leaves_the_torn_end_out(tmp_path: Path, tail: bytes) -> None:
    """Which would swallow the record of the fork."""
    (tmp_path / "s").mkdir()
    log = b'{"role":"user","content":"a","seq":1}\n{"role":"_checkpoint","id":4}\n'
    (tmp_path / "s" / "context.jsonl").write_bytes(log + tail)
    async with open_session(tmp_path / "s", mode="r") as session:
        await session.fork(tmp_path / "f")
    async with open_session(tmp_path / "f", mode="r") as fork:
        assert fork.problems == ()
        assert fork.context.next == Next(checkpoint=5, seq=2)
        assert len(fork.context.lineage) == 1


async def test_a_revert_to_a_checkpoint_behind_a_failed_batch(tmp_path: Path) -> None:
    """Another program went on behind it; its record is where one can revert to."""
    half = TORN_BATCH + b'{"role":"user","content":"half","seq":2}\n'
    log = b'{"role":"user","content":"a","seq":1}\n' + half + b'{"role": "_checkpoint", "id": 4}\n'
    for act in (_revert, _fork):
        folder = tmp_path / act.__name__
        folder.mkdir()
        (folder / "context.jsonl").write_bytes(log)
        async with open_session(folder, durability="process") as session:
            await act(session, folder / "fork")
        async with open_session(folder / "fork" if act is _fork else folder, mode="r") as session:
            assert [message.text for message in session.context.history] == ["a"]
            assert len(session.context.lineage) == 1
            assert session.problems == ()


async def _revert(session: Session, _folder: Path) -> None:
    await session.revert(4)


async def _fork(session: Session, folder: Path) -> None:
    await session.fork(folder, at=4)


async def test_a_session_without_a_folder_can_be_forked_into_one(tmp_path: Path) -> None:
    """Its rotations are written out."""
    async with on_memory(Shelf()) as session:
        await session.append(user("a"))
        await session.clear()
        await session.append(user("b"))
        await session.fork(tmp_path / "f")
    async with open_session(tmp_path / "f", mode="r") as fork:
        assert [message.text for message in fork.history(full=True)] == ["a", "b"]


@pytest.mark.parametrize("keep_plain", [0, 1])
async def test_a_fork_of_compressed_rotations_reads_them(tmp_path: Path, keep_plain: int) -> None:
    """Those whose shared part stays behind are written out whole."""
    async with open_session(tmp_path / "s", durability="process", retention=None) as session:
        for number in range(60):
            await session.append(user(f"message {number} " * 30))
        await session.checkpoint()
        for number in range(4):
            await session.append(user(f"branch {number} " * 30))
            await session.revert(session.context.checkpoints[-1].id)
            await session.checkpoint()
        await session.clear()
        texts = [message.text for message in session.history(full=True)]
        await session.collect(Retention(keep_plain=keep_plain))
        rotations = session.rotations()
        assert any(rotation.base for rotation in rotations)
        await session.fork(tmp_path / "f")
        middle = next(rotation.number for rotation in rotations if rotation.base)
        await session.restore(middle)
        await session.fork(tmp_path / "g", at=session.context.checkpoints[-1].id)
    async with open_session(tmp_path / "f", mode="r") as fork:
        assert [message.text for message in fork.history(full=True)] == texts
        assert [one.number for one in fork.rotations()] == [one.number for one in rotations]
    async with open_session(tmp_path / "g", mode="r") as fork:
        assert fork.history(full=True)


async def test_a_rotation_whose_body_is_damaged_is_needed(tmp_path: Path) -> None:
    """What it holds cannot be compared with the log."""
    folder = tmp_path / "s"
    async with open_session(folder, durability="process", retention=None) as session:
        await session.append(user("a " * 500))
        await session.set_system_prompt("p")
        await session.clear()
        for number in range(40):
            await session.append(user(f"{number} " * 40))
        await session.collect(Retention(keep_plain=1))
        path = folder / "context_1.jsonl.zst"
        path.write_bytes(path.read_bytes()[:-8])

        assert operations.needed_rotations(session.store, session.context) == {1, 2}


async def test_a_fork_where_links_are_not_to_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rotations are copied, and nobody can tell."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    async with open_session(tmp_path / "s", durability="process", retention=None) as session:
        await session.append(user("a"))
        await session.clear()
        monkeypatch.setattr(os, "link", refuse)
        await session.fork(tmp_path / "f")
    async with open_session(tmp_path / "f", mode="r") as fork:
        assert [message.text for message in fork.history(full=True)] == ["a"]
        assert (tmp_path / "f" / "context_1.jsonl").stat().st_nlink == 1


async def test_a_fork_that_failed_is_not_in_the_way_of_the_next_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was made of it is taken away, rotations that were linked already too."""
    async with open_session(tmp_path / "s", durability="process", retention=None) as session:
        await session.append(user("a"))
        await session.clear()
        with monkeypatch.context() as patch:
            patch.setattr(Disk, "rename", _no_room)
            with pytest.raises(StoreError, match="no space"):
                await session.fork(tmp_path / "f")
        assert list((tmp_path / "f").iterdir()) == []
        await session.fork(tmp_path / "f")
    async with open_session(tmp_path / "f", mode="r") as fork:
        assert [message.text for message in fork.history(full=True)] == ["a"]


def _no_room(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")
