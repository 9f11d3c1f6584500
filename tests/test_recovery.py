"""A pin of what a compaction has left behind brings it back, word for word."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import InvalidMessage
from minutebook.messages import Message, assistant, call, replace, tool, user
from minutebook.opening import open_session
from minutebook.providers import validate_anthropic, validate_chat
from minutebook.records import Compaction
from minutebook.repairing import verify
from minutebook.session import Session
from minutebook.store.memory import Shelf
from tests.cases import case
from tests.cases_sessions import Played
from tests.playing import assert_replay_is_the_same, on_memory

WINDOW = 4_000


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    """Open a session of twelve turns that was compacted: little of it is left."""
    async with on_memory(Shelf(), window=WINDOW) as session:
        await grow(session)
        assert (await session.compact(target=0.2)).changed
        yield session
        assert_replay_is_the_same(session)
        assert {span.verdict for span in verify(session.store)} <= {"good", "unsummed"}


async def grow(session: Session) -> None:
    """Talk: question, call, result, answer; message 4n+2 has the call, 4n+3 the result."""
    for number in range(12):
        await session.append(
            user(f"what does src/{number}.py do? " * 4),
            assistant("I look", tool_calls=[call(f"c{number}", "read")]),
            tool(f"c{number}", f"line {number} of the module\n" * 40),
            assistant(f"it is module {number} " * 8),
        )


def original(session: Session, seq: int) -> Message:
    """Give a message as it was written."""
    found = next(message for message in session.history(full=True) if message.seq == seq)
    return replace(found, active=True)


async def test_what_was_summarised_comes_back_word_for_word(session: Session) -> None:
    """At its place, pinned, in one rewrite that can be undone; the next compaction keeps it."""
    before = session.context.history
    assert 5 not in {message.seq for message in before}
    was = original(session, 5)

    await session.pin(5)

    (back,) = [message for message in session.context.history if message.seq == 5]
    assert back == was
    assert session.context.pins == {5}
    assert [message for message in session.context.history if message.seq != 5] == list(before)
    numbers = [m.seq or 0 for m in session.context.history if m.origin in {"user", "assistant"}]
    assert numbers == sorted(numbers)
    record = session.context.lineage[-1]
    assert isinstance(record, Compaction)
    assert record.trigger == "pin"
    for number in range(3):
        await session.append(user(f"and {number}? " * 60), assistant(f"so {number} " * 60))
        await session.compact(target=0.2)
    assert back in session.context.history
    assert len(full := session.history(full=True)) == len({message.seq for message in full})


async def test_undo_takes_the_pin_back_and_keeps_what_came_since(session: Session) -> None:
    """As of any compaction."""
    before = [message.text for message in session.context.history]
    await session.pin(5)
    await session.append(user("since"))
    await session.undo()
    assert [message.text for message in session.context.history] == [*before, "since"]
    assert session.context.pins == frozenset()


async def test_an_exchange_comes_back_whole(session: Session) -> None:
    """A result with its call, and the request is one that a provider takes."""
    assert not {18, 19} & {message.seq for message in session.context.history}

    await session.pin(19)

    assert {18, 19} <= {message.seq for message in session.context.history}
    body = session.view().to_anthropic()
    assert validate_anthropic.violations(body["messages"], system=None) == []
    assert validate_chat.violations(session.view().to_openai()) == []


async def test_a_shortened_message_has_its_whole_words_again() -> None:
    """The original takes the place of the copy."""
    async with on_memory(Shelf(), window=WINDOW) as session:
        await grow(session)
        await session.compact(target=0.6)
        short = next(m for m in session.context.history if m.elided and m.role == "tool")
        count = len(session.context.history)
        await session.pin(short.seq or 0)
        assert len(session.context.history) == count
        (back,) = [m for m in session.context.history if m.seq == short.seq]
        assert not back.elided
        assert back.text == original(session, short.seq or 0).text


async def test_after_several_compactions_the_newest_whole_one_is_taken(session: Session) -> None:
    """However far back it lies, and after a restart too."""
    for number in range(3):
        await session.append(user(f"and {number}? " * 90), assistant(f"so {number} " * 90))
        await session.compact(target=0.2)
    was = original(session, 9)
    await session.pin(9)
    assert was in session.context.history


async def test_what_was_undone_or_never_was_is_no_past(session: Session) -> None:
    """Nothing is changed."""
    mark = await session.checkpoint()
    (gone,) = await session.append(user("in vain"))
    await session.revert(mark)
    before = b"".join(session.store.pieces())
    for seq in (gone.seq or 0, 9_999):
        with pytest.raises(InvalidMessage, match="there is no message"):
            await session.pin(seq)
    with pytest.raises(InvalidMessage):
        await session.pin(5, pinned=False)
    assert b"".join(session.store.pieces()) == before
    await session.clear()
    with pytest.raises(InvalidMessage, match="there is no message 5"):
        await session.pin(5)


async def test_a_missing_rotation_is_said(tmp_path: Path) -> None:
    """The pin cannot be kept, and nothing is changed."""
    async with open_session(tmp_path / "s", window=WINDOW) as session:
        await grow(session)
        done = await session.compact(target=0.2)
        assert done.rotation is not None
        (tmp_path / "s" / f"context_{done.rotation.number}.jsonl").unlink()
        with pytest.raises(InvalidMessage, match="no log that can be read"):
            await session.pin(5)


async def test_bytes_come_back_as_they_were(tmp_path: Path) -> None:
    """Keys that nobody knows here too."""
    folder = tmp_path / "s"
    folder.mkdir()
    odd = b'{"role":"assistant","content":"also odd","x_key":[1.50],"seq":2}'
    first = b'{"role":"user","content":"odd","seq":1}'
    (folder / "context.jsonl").write_bytes(first + b"\n" + odd + b"\n")
    async with open_session(folder, window=WINDOW) as session:
        await grow(session)
        await session.compact(target=0.1)
        assert 2 not in {message.seq for message in session.context.history}
        await session.pin(2)
    assert odd in (folder / "context.jsonl").read_bytes()


@given(st.lists(st.integers(1, 48), min_size=1, max_size=4), st.sampled_from([0.15, 0.3, 0.5]))
async def test_any_pins_leave_a_session_that_is_whole(seqs: list[int], target: float) -> None:
    """Whatever is brought back: each number once, exchanges whole, both providers take it."""
    async with on_memory(Shelf(), window=WINDOW) as session:
        await grow(session)
        await session.compact(target=target)
        for seq in seqs:
            await session.pin(seq)
            assert original(session, seq) in session.context.history
        assert session.context.pins == set(seqs)
        numbers = [message.seq for message in session.context.history]
        assert len(numbers) == len(set(numbers))
        body = session.view().to_anthropic()
        assert validate_anthropic.violations(body["messages"], system=None) == []
        assert_replay_is_the_same(session)


async def test_c037_a_pin_brings_what_was_covered_back() -> None:
    """Word for word from the log."""
    config = case("C037").json("config.json")
    window = {"window": config["window"], "max_output": config["output_reserve"]}
    async with on_memory(Shelf(), **window) as session:
        played = await Played(session, case("C037")).play()
        seq = played.numbers.of_id["m1"]
        await session.pin(seq, pinned=False)
        for number in range(24):
            await session.append(user(f"on {number} " * 30), assistant(f"yes {number} " * 30))
        await session.compact(target=0.1)
        text = "Build with -tags fast_lock, always."
        covered = next(m for m in session.history(full=True) if not m.active and m.seq)
        await session.pin(covered.seq or 0)
        assert covered.text in [message.text for message in session.context.history]
        await session.pin(seq)
        assert [m.seq for m in session.context.history if m.text == text] == [seq]
