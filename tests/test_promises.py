"""The promises of the design that concern a session's whole life, each a property by its name.

Promise 2 (crashes) and promise 6 (two writers) are the store's, 4 and 8 (what is sent) the
providers'; their tests stand there.
"""

import asyncio
import tempfile
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.codec import encode_line, frame
from minutebook.context import fold
from minutebook.errors import MinutebookError
from minutebook.messages import Message, assistant, user
from minutebook.opening import open_session
from minutebook.session import Session
from minutebook.store.memory import Shelf
from minutebook.turns import exchanges
from tests.playing import (
    Clock,
    FileHome,
    MemoryHome,
    Player,
    assert_replay_is_the_same,
    examples,
    on_memory,
    unsynced,
    values,
)
from tests.strategies import FORKING_STORIES, STORIES, Do, talks
from tests.wild import NOISE, WILD

WINDOW = 3_000


class Replaying(Player):
    """Reads the log again after each operation."""

    def check(self) -> None:
        """Compare with the model, and with a reader."""
        super().check()
        assert_replay_is_the_same(self.session)


class Remembering(Player):
    """Asks for everything ever said after each operation."""

    def check(self) -> None:
        """Compare with the model, full history included."""
        super().check()
        self.check_all()


@hypothesis.settings(max_examples=examples(150))
@given(STORIES)
def test_promise_1_replay_gives_the_context_of_the_run_that_wrote_the_log(story: list[Do]) -> None:
    """Whatever operations made it, and what it says is what the model says: all values."""
    asyncio.run(Replaying(MemoryHome()).play(story))


@hypothesis.settings(max_examples=examples(70))
@given(FORKING_STORIES)
def test_promise_1_holds_for_files_and_their_forks(story: list[Do]) -> None:
    """On a disk as in memory, and a fork is a session like any other."""
    with tempfile.TemporaryDirectory() as folder, unsynced():
        asyncio.run(Replaying(FileHome(Path(folder) / "session")).play(story))


@hypothesis.settings(max_examples=examples(120))
@given(STORIES)
def test_promise_3_nothing_is_split_lost_repeated_or_dropped(story: list[Do]) -> None:
    """No exchange is split, no pin lost, no checkpoint id repeated, no message dropped."""
    asyncio.run(Remembering(MemoryHome()).play(story))


@hypothesis.settings(max_examples=examples(90))
@given(
    st.lists(talks(), min_size=1, max_size=5),
    st.sampled_from([None, 0.05, 0.2, 0.5, 0.9]),
    st.sampled_from([800, 2_500, 8_000, 100_000]),
    st.none() | st.integers(1, 20_000),
    st.sampled_from(["default", "kimi", "kilo"]),
    st.lists(st.integers(0, 60), max_size=4),
)
def test_promise_5_a_compaction_makes_the_request_smaller_or_says_why_not(
    said: list[list[Message]],
    target: float | None,
    window: int,
    used: int | None,
    preset: str,
    pinned: list[int],
) -> None:
    """By hand or when it is due; refused or without effect, nothing has changed."""

    async def work() -> None:
        async with on_memory(Shelf(), window=window, preset_name=preset) as session:
            for messages in said:
                await session.append(*messages)
            for index in pinned:
                await session.pin(1 + index % len(session.context.history))
            if used is not None:
                await session.record_usage(used)
            await _compact_and_check(session, target)
            await _fit_and_check(session)

    asyncio.run(work())


async def _compact_and_check(session: Session, target: float | None) -> None:
    before, size = values(session.context), session.store.size
    history, tokens = session.context.history, sum(session.usage().values())
    pins = {seq: message for message in history if (seq := message.seq) in session.context.pins}
    try:
        done = await session.compact(target=target)
    except MinutebookError:
        assert values(session.context) == before
        assert session.store.size == size
        return
    if not done.changed:
        assert done.plan.reason
        assert values(session.context) == before
        return
    after = {message.seq: message for message in session.context.history}
    assert sum(session.usage().values()) < tokens
    assert {seq: after.get(seq) for seq in pins} == pins
    for exchange in exchanges(history):
        inside = history[exchange.start : exchange.end]
        kept = {message.seq in after for message in inside if message.role in {"assistant", "tool"}}
        assert len(kept) == 1
    assert_replay_is_the_same(session)


async def _fit_and_check(session: Session) -> None:
    before, tokens = values(session.context), sum(session.usage().values())
    rotations = len(session.rotations())
    try:
        await session.fit()
    except MinutebookError:
        assert values(session.context) == before
        return
    if len(session.rotations()) == rotations:
        assert values(session.context) == before
    else:
        assert sum(session.usage().values()) < tokens
    assert_replay_is_the_same(session)


def attempts(session: Session, folder: Path) -> Iterator[Callable[[], Awaitable[object]]]:
    """Give everything that one may try with a session that opened."""
    ids = [mark.id for mark in session.context.checkpoints]
    seqs = [message.seq or 0 for message in session.context.history]
    yield lambda: session.append(user("x"), assistant("y"), usage=7)
    yield lambda: session.checkpoint("here", marker=True)
    yield lambda: session.set_system_prompt("p")
    for seq in seqs[:2]:
        yield lambda seq=seq: session.pin(seq)  # type: ignore[misc]
    yield lambda: session.append(user("word " * 400), user("z"))
    yield lambda: session.compact(target=0.1)
    yield lambda: session.undo(force=True)
    for checkpoint in (*ids[-2:], 0):
        yield lambda to=checkpoint: session.revert(to, note="n")  # type: ignore[misc]
    yield session.clear
    yield lambda: session.restore(1)
    yield lambda: session.restore(2)
    yield session.fit
    yield lambda: session.fork(folder / "fork")
    yield lambda: session.fork(folder / "part", at=0)


@hypothesis.settings(max_examples=examples(140))
@given(WILD, st.none() | WILD, st.none() | NOISE)
def test_promise_7_any_bytes_raise_nothing_but_our_errors(
    log: bytes, rotation: bytes | None, metadata: bytes | None
) -> None:
    """A session opens on them in both modes, and what is then done to it works or is refused."""

    async def work(folder: Path) -> None:
        session_folder = folder / "session"
        session_folder.mkdir()
        (session_folder / "context.jsonl").write_bytes(log)
        if rotation is not None:
            (session_folder / "context_1.jsonl").write_bytes(rotation)
            (session_folder / "context_2.jsonl.zst").write_bytes(rotation)
        if metadata is not None:
            (session_folder / "session.json").write_bytes(metadata)
        async with open_session(session_folder, mode="r") as session:
            read = values(session.context)
            for look in (session.view, session.usage, session.rotations):
                look()
            with suppress(MinutebookError):
                session.history(full=True)
        assert (session_folder / "context.jsonl").read_bytes() == log
        async with open_session(
            session_folder, durability="process", window=WINDOW, clock=Clock()
        ) as session:
            assert values(session.context) == read
            for attempt in attempts(session, folder):
                with suppress(MinutebookError):
                    await attempt()
                assert_replay_is_the_same(session)
            session.history(full=True, partial=True)
            written = values(session.context)
        async with open_session(session_folder, mode="r") as session:
            assert values(session.context) == written

    with tempfile.TemporaryDirectory() as folder, unsynced():
        asyncio.run(work(Path(folder)))


SIZE = 120_000
KINDS = {
    "messages": encode_line(user("word " * 40)),
    "short messages": b'{"role":"a","content":""}\n',
    "checkpoints": b'{"role":"_checkpoint","id":1}\n',
    "usages": b'{"role":"_usage","token_count":1}\n',
    "unknown records": b'{"role":"_x"}\n',
    "batches": frame([encode_line(user("a")), encode_line(user("b"))]),
    "batches that claim the rest": b'{"role":"_batch","n":9,"bytes":120000,"hash":"x"}\n',
    "empty lines": b"\n",
    "brackets": b"[" * 1_000,
    "roles": b'{"role":',
    "glued records": b'{"role":"a"}',
    "zeros": b"\0" * 1_000,
    "no text": bytes(range(128, 256)),
    "quotes": b'"\\',
    "braces": b"{}\n",
}
MEMORY_RATIO_MAX = 16
MEMORY_RATIO_GLUED_MAX = 40
"""How many times a file's size may be taken at most. Messages of a few words take 3 times theirs;
the smallest records there are, of twelve bytes each and all glued on one line, are the worst."""


@pytest.mark.parametrize("kind", KINDS)
def test_promise_7_memory_stays_within_a_few_times_the_files_size(kind: str) -> None:
    """Whatever the bytes are, the values made of them and what it takes to read them."""
    line = KINDS[kind]

    async def read(count: int) -> int:
        async with on_memory(Shelf(line * count)) as session:
            return len(session.context.history)

    # What is made once and kept is not the file's.
    asyncio.run(read(1))
    tracemalloc.start()
    try:
        asyncio.run(read(SIZE // len(line)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    ratio = MEMORY_RATIO_GLUED_MAX if kind == "glued records" else MEMORY_RATIO_MAX
    assert peak <= ratio * SIZE


def test_an_empty_log_folds_to_an_empty_context() -> None:
    """The smallest log of all."""
    context = fold([])

    assert context.history == ()
    assert context.system_prompt is None
    assert (context.token_count, context.token_count_with_pending) == (0, 0)
    assert (context.next_seq, context.next_checkpoint_id) == (1, 0)
