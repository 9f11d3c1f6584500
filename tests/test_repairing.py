"""A repair on a store loses no byte, changes nothing more the second time, and fits in memory."""

import asyncio
import errno
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings

from minutebook.codec import encode_line
from minutebook.context import Context, fold
from minutebook.errors import StoreError
from minutebook.lines import scan
from minutebook.messages import Message, assistant, call, replace, tool, user
from minutebook.opening import open_session
from minutebook.records import Checkpoint
from minutebook.repairing import examine, repair, verify
from minutebook.repairs import NO_RESULT
from minutebook.store.contract import Store
from minutebook.store.files import FileStore
from minutebook.store.memory import MemoryStore, Shelf
from minutebook.sums import span_sum
from minutebook.testing.disks import FailAt, WatchedDisk
from tests.damage import DAMAGED, LOG
from tests.playing import on_memory

MEGABYTE = 1 << 20
BROKEN = b"no record\n" + LOG[:-50] + b"\0\0\n" + LOG[-400:-20]


def clock() -> float:
    """Tell the time."""
    return 7.0


def folder_with(tmp_path: Path, log: bytes) -> Path:
    """Make a session's folder."""
    folder = tmp_path / "s"
    folder.mkdir(mode=0o700)
    (folder / "context.jsonl").write_bytes(log)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Give the log and all that belongs to it."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name[0] == "c"}


def context_of(store: Store) -> Context:
    """Fold a store's log."""
    return fold(store.replay())


async def repaired(store: Store) -> tuple[list[str], bytes | None]:
    """Repair; give what was done, and the rotation that it left."""
    done = await repair(store, clock=clock)
    number = None if done.rotation is None else done.rotation.number
    return list(done.actions), None if number is None else b"".join(store.pieces(number))


@settings(max_examples=200)
@given(DAMAGED)
def test_no_byte_is_lost_and_a_second_time_changes_nothing(log: bytes) -> None:
    """Log, rotation and what was set aside hold all bytes; then there is nothing to repair."""

    async def play() -> None:
        shelf = Shelf(log)
        store = await MemoryStore.open(shelf)
        before = context_of(store)
        diagnosis = examine(store)
        actions, rotation = await repaired(store)
        assert bool(actions) == diagnosis.needed == (rotation is not None)
        kept = shelf.log if rotation is None else rotation
        assert log.removesuffix(b"\n") in (kept.removesuffix(b"\n"), log.removesuffix(b"\n"))
        assert log in {kept, kept.removesuffix(b"\n")} or _in_two(log, kept, shelf.bad)
        after = context_of(store)
        texts = [message.text for message in after.history if message.text != NO_RESULT]
        assert texts == [m.text for m in before.history if m.text != NO_RESULT]
        assert after.next_checkpoint_id == before.next_checkpoint_id
        assert after.next_seq >= before.next_seq
        left = dict(shelf.rotations), shelf.log, shelf.bad
        assert await repaired(store) == ([], None)
        assert (dict(shelf.rotations), shelf.log, shelf.bad) == left

    asyncio.run(play())


def _in_two(log: bytes, kept: bytes, bad: bytes) -> bool:
    """Tell whether a torn end was cut off the log and set aside."""
    whole = kept.removesuffix(b"\n") if not log.startswith(kept) else kept
    return log.startswith(whole) and log[len(whole) :].rstrip(b"\n").lstrip(b"\n") in bad


@settings(max_examples=30)
@given(DAMAGED)
def test_files_and_memory_agree(log: bytes) -> None:
    """The same on files: log, rotation and what was set aside are the same bytes."""

    async def play(folder: Path) -> None:
        shelf = Shelf(log)
        memory = await MemoryStore.open(shelf)
        files = await FileStore.open(folder)
        context_of(memory)
        context_of(files)
        assert await repaired(files) == await repaired(memory)
        await files.close()
        found = contents(folder)
        assert found.pop("context.jsonl") == shelf.log
        assert found.pop("context.bad.jsonl", b"") == shelf.bad
        assert list(found.values()) == list(shelf.rotations.values())

    with tempfile.TemporaryDirectory() as parent:
        asyncio.run(play(folder_with(Path(parent), log)))


async def test_what_it_did_is_said_and_noted(tmp_path: Path) -> None:
    """The log's last record names the rotation; bad bytes are in their file; sums are good."""
    folder = folder_with(tmp_path, BROKEN)
    store = await FileStore.open(folder)

    done = await repair(store, clock=clock)

    assert done.rotation is not None
    assert any("set aside" in action for action in done.actions)
    assert any("marked result" in action for action in done.actions)
    assert b"no record\n" in contents(folder)["context.bad.jsonl"]
    context = context_of(store)
    last = context.lineage[-1]
    assert (last.content, last.at) == ("repaired; the log before is rotation 1", 7.0)
    assert last.next == context.next
    assert {span.verdict for span in verify(store)} <= {"good", "unsummed"}
    assert "damaged" in {span.verdict for span in verify(store, done.rotation.number)}
    await store.close()


async def test_an_undo_brings_the_log_back_as_it_was() -> None:
    """A repair is a rewrite like any other."""
    shelf = Shelf(b"no record\n" + LOG)
    async with on_memory(shelf) as session:
        before = session.context.history
        await repair(session.store, clock=clock)
        session.replay()
        assert session.context.history != before
        await session.undo(force=True)
        assert session.context.history == before
        assert shelf.log.startswith(b"no record\n" + LOG)


async def test_a_torn_tail_is_no_part_of_a_sum(tmp_path: Path) -> None:
    """A checkpoint as the first write sums the log without the tail that this write cuts off."""
    folder = folder_with(tmp_path, LOG[:-20])
    async with open_session(folder) as session:
        await session.checkpoint()
        assert [span.verdict for span in verify(session.store) if span.summed][-1] == "good"


async def test_a_first_prompt_comes_before_a_log_with_a_torn_tail(tmp_path: Path) -> None:
    """The tail is set aside, and the rest is kept behind the prompt."""
    line = encode_line(replace(user("hello"), seq=1))
    folder = folder_with(tmp_path, line + b'{"role":')
    async with open_session(folder) as session:
        await session.set_system_prompt("Be brief.")
        assert session.context.system_prompt == "Be brief."
        assert [message.text for message in session.context.history] == ["hello"]


async def test_at_any_failure_the_log_is_whole_and_the_next_try_works(tmp_path: Path) -> None:
    """An error at each operation in turn: the old records or the new ones, and nothing gone."""
    folder = folder_with(tmp_path, BROKEN)
    texts = [message.text for message in _history(BROKEN)]
    index = failures = 0
    while True:
        disk = WatchedDisk()
        store = await FileStore.open(folder, disk=disk)
        context_of(store)
        disk.fault = fault = FailAt(index, errno.EIO)
        try:
            await repair(store, clock=clock)
        except StoreError:
            failures += 1
        disk.fault = None
        await store.close()
        found = contents(folder)
        live = [m.text for m in _history(found["context.jsonl"]) if m.text != NO_RESULT]
        assert live == texts
        if fault.hit is None:
            break
        if any(name.startswith("context_") for name in found):
            # Done, but for its last sync: begin again from the start.
            for path in folder.iterdir():
                path.unlink()
            (folder / "context.jsonl").write_bytes(BROKEN)
        index += 1
    assert failures > 20


def _history(log: bytes) -> tuple[Message, ...]:
    context = Context()
    for entry in scan(log)[0]:
        context.apply(entry.record, entry.start, entry.end)
    return context.history


async def test_it_takes_no_more_memory_than_a_few_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log of 20 MB with large calls, all answered, read by 256 KB: repaired in 6 MB."""
    monkeypatch.setattr("minutebook.store.rewriting.PIECE_BYTES", 1 << 18)
    text = "x" * 4_000
    span, parts = b"", [b"no record\n"]
    for seq in range(1, 5_000, 2):
        asked = assistant("", tool_calls=[call(f"c{seq}", "Write", f'{{"text": "{text}"}}')])
        lines = [
            encode_line(replace(asked, seq=seq)),
            encode_line(replace(tool(f"c{seq}", text), seq=seq + 1)),
        ]
        mark = encode_line(Checkpoint(id=seq, content="c", sum=span_sum(span)))
        span = b"".join([mark, *lines])
        parts.append(span)
    store = await FileStore.open(folder_with(tmp_path, b"".join(parts)), durability="process")
    parts.clear()

    tracemalloc.start()
    done = await repair(store, clock=clock)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(done.actions) == 2
    assert store.size > 19 * MEGABYTE
    assert peak < 6 * MEGABYTE
    await store.close()


async def test_a_log_that_is_not_there_cannot_be_repaired(tmp_path: Path) -> None:
    """An empty session needs nothing, and a store for reading refuses."""
    store = await FileStore.open(tmp_path / "new")
    assert await repaired(store) == ([], None)
    await store.close()
    reader = await MemoryStore.open(Shelf(BROKEN), mode="r")
    with pytest.raises(StoreError):
        await repair(reader, clock=clock)


async def test_what_was_copied_by_another_program_is_changed_and_not_damaged() -> None:
    """Kimi CLI leaves out what it does not know; a line that it did not leave out is damage."""
    known = [
        line
        for line in LOG.splitlines(keepends=True)
        if not line.startswith((b'{"role":"_tag"', b'{"role":"_batch"', b'{"role":"_revert"'))
    ]
    copy = b"".join(known)
    original = LOG.replace(b"again", b"AGAIN")
    for log, rotations, verdict in (
        (copy, {1: LOG}, "changed"),
        (copy, {1: LOG, 2: copy}, "changed"),
        (copy, {1: original}, "damaged"),
        (copy.replace(b"again", b"AGAIN"), {1: LOG}, "damaged"),
        (copy.replace(b"again", b"AGAIN"), {1: original}, "damaged"),
        (copy, {}, "damaged"),
    ):
        shelf = Shelf(log)
        shelf.rotations = dict(rotations)
        store = await MemoryStore.open(shelf, mode="r")
        found = {span.verdict for span in verify(store)}
        assert verdict in found
        assert ("damaged" in found) == (verdict == "damaged")
        if 2 in rotations:
            assert "damaged" not in {span.verdict for span in verify(store, 2)}
