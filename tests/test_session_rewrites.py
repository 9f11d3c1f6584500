"""Going back, forth and away: which log is in force afterwards, and what stays of the other."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from minutebook.errors import CheckpointNotFound, StoreError
from minutebook.lineage import NothingToUndo
from minutebook.messages import Message, assistant, user
from minutebook.session import Session
from minutebook.store.memory import Shelf
from minutebook.tools.dmail import OFFER
from tests.playing import assert_replay_is_the_same, on_memory, values


@pytest.fixture
def shelf() -> Shelf:
    """Give what stands for the disk."""
    return Shelf()


@pytest.fixture
async def session(shelf: Shelf) -> AsyncIterator[Session]:
    """Open an empty session without a disk."""
    async with on_memory(shelf) as session:
        yield session
        assert_replay_is_the_same(session)


def said(session: Session) -> str:
    """Give what the context holds, as one text."""
    return " ".join(message.text for message in session.context.history)


def full(session: Session, **options: Any) -> list[tuple[str, bool]]:
    """Give everything ever said, and whether the context holds it."""
    return [(m.text, m.active) for m in session.history(full=True, **options)]


async def say(session: Session, *texts: str) -> None:
    """Append user messages."""
    await session.append(*map(user, texts))


async def test_a_revert_drops_the_checkpoint_and_all_after_it(session: Session) -> None:
    """The log before is a rotation, and the numbers go on."""
    await say(session, "a")
    number = await session.checkpoint()
    await say(session, "b")
    await session.checkpoint()
    rotated = await session.revert(number)
    await say(session, "c")

    assert said(session) == "a c"
    assert session.context.checkpoints == ()
    assert await session.checkpoint() == 2
    assert session.context.history[-1].seq == 3
    assert [rotation.number for rotation in session.rotations()] == [rotated.number] == [1]
    assert full(session) == [("a", True), ("b", False), ("c", True)]


async def test_a_note_tells_the_model(session: Session) -> None:
    """It comes after what is kept, as a notice and not as a user's word."""
    await say(session, "a")
    number = await session.checkpoint()
    await session.revert(number, note="do not try that again")

    note = session.context.history[-1]
    assert (note.text, note.origin, note.seq) == ("do not try that again", "notice", 2)


@pytest.mark.parametrize("offered", [True, False])
async def test_a_message_to_oneself_arrives_behind_a_new_checkpoint(
    session: Session, *, offered: bool
) -> None:
    """In one rewrite; the marker is written only while the tool is offered."""
    session.set_tools([OFFER.to_openai()] if offered else [])
    await say(session, "a")
    number = await session.checkpoint(marker=False)
    await say(session, "b")
    session.mailbox.handle({"message": "look elsewhere", "checkpoint_id": number})

    assert await session.deliver()

    origins = [message.origin for message in session.context.history]
    assert origins == ["user", *(["checkpoint"] if offered else []), "dmail"]
    assert ["CHECKPOINT 1" in message.text for message in session.context.history[1:-1]] == (
        [True] * offered
    )
    assert [mark.id for mark in session.context.checkpoints] == [1]
    assert len(session.rotations()) == 1
    assert not await session.deliver()
    await session.undo()
    assert said(session) == "a b"


@pytest.mark.parametrize("leave", ["clear", "compact"])
async def test_a_checkpoint_that_was_left_behind_is_found(session: Session, leave: str) -> None:
    """In the rotation that holds it, and the session is as it was then."""
    await session.set_system_prompt("p")
    await say(session, "a")
    number = await session.checkpoint("here")
    for index in range(30):
        await session.append(user(f"u{index} " * 60), assistant(f"a{index} " * 60))
    before = session.context.history
    await getattr(session, leave)()
    assert session.context.history != before

    await session.revert(number)

    assert said(session) == "a"
    assert session.context.system_prompt == "p"
    assert len(session.rotations()) == 2
    assert await session.checkpoint() > number


@pytest.mark.parametrize("checkpoint", [-1, 5, True, "0", None, 1 << 70])
async def test_an_unknown_checkpoint_changes_nothing(session: Session, checkpoint: Any) -> None:
    """Neither log nor context nor rotations."""
    await say(session, "a")
    await session.checkpoint()
    before, size = values(session.context), session.store.size

    with pytest.raises(CheckpointNotFound):
        await session.revert(checkpoint)

    assert values(session.context) == before
    assert (session.store.size, session.rotations()) == (size, [])


@pytest.mark.parametrize("spoil", [lambda data: b"", lambda data: data[:-3], lambda data: None])
async def test_a_checkpoint_in_a_rotation_that_was_changed_is_not_found(
    shelf: Shelf, session: Session, spoil: Callable[[bytes], bytes | None]
) -> None:
    """A file that does not match is not that rotation."""
    await say(session, "a")
    number = await session.checkpoint()
    await session.clear()
    changed = spoil(shelf.rotations.pop(1))
    if changed is not None:
        shelf.rotations[1] = changed

    with pytest.raises(CheckpointNotFound):
        await session.revert(number)
    with pytest.raises(StoreError, match="rotation 1 is missing or was changed"):
        await session.undo()


async def test_pins_and_tags_are_those_of_now(session: Session) -> None:
    """A revert does not take back what was marked after the checkpoint; a clear drops all."""
    await say(session, "a", "b")
    number = await session.checkpoint()
    await session.pin(1)
    await session.tag(2, "x")
    await say(session, "c")
    await session.pin(3)
    await session.revert(number)
    assert (session.context.pins, session.context.tags) == ({1}, {2: ("x",)})

    await session.clear()
    assert (session.context.pins, session.context.tags) == (frozenset(), {})
    await session.undo()
    assert (session.context.pins, session.context.tags) == ({1}, {2: ("x",)})


async def test_marks_come_back_with_a_message_that_was_left(session: Session) -> None:
    """A pin that was set after the checkpoint is not lost by a detour."""
    await say(session, "a")
    number = await session.checkpoint()
    await session.pin(1)
    await session.clear()
    await session.revert(number)

    assert session.context.pins == {1}


async def test_undo_of_a_revert_brings_back_what_was_undone(session: Session) -> None:
    """And what was undone by it becomes a rotation in turn."""
    await say(session, "a")
    number = await session.checkpoint()
    await say(session, "b")
    before = session.context.history
    await session.revert(number, note="no")
    await session.undo()

    assert session.context.history == before
    assert [rotation.number for rotation in session.rotations()] == [1, 2]
    assert full(session) == [("a", True), ("b", True), ("no", False)]


@pytest.mark.parametrize("name", ["revert", "clear", "restore"])
async def test_undo_does_not_leave_later_messages_behind_unless_forced(
    session: Session, name: str
) -> None:
    """Of a revert, a clear or a restore with messages after it."""
    await say(session, "a")
    await session.checkpoint()
    await say(session, "b")
    await session.clear()
    await session.undo()
    if name == "revert":
        await session.revert(0, note="note of its own")
    elif name == "clear":
        await session.clear()
    else:
        await session.restore(1)
    await say(session, "later")
    before = values(session.context)

    with pytest.raises(NothingToUndo, match="1 messages came after"):
        await session.undo()
    assert values(session.context) == before

    await session.undo(force=True)
    assert said(session) == "a b"
    assert ("later", False) in full(session)


async def test_undo_of_a_compaction_keeps_what_was_appended_since(session: Session) -> None:
    """In order, without the usage that counted the compacted context."""
    await say(session, "start")
    await session.append(assistant("fine"), usage=60)
    for index in range(30):
        await session.append(user(f"u{index} " * 60), assistant(f"a{index} " * 60))
    before = session.context.history
    exact = session.context.token_count
    assert (await session.compact(target=0.2)).changed
    await session.append(user("since"), assistant("then"), usage=999)
    number = await session.checkpoint("later")
    await session.tag(before[0].seq or 0, "kept")
    await session.undo()

    assert session.context.history[: len(before)] == before
    assert [message.text for message in session.context.history[len(before) :]] == ["since", "then"]
    assert (session.context.token_count, session.context.token_count_is_exact) == (exact, True)
    assert session.context.mark(number).label == "later"
    assert session.context.tags == {before[0].seq: ("kept",)}
    assert full(session)[-2:] == [("since", True), ("then", True)]
    assert any(not active for _, active in full(session))


async def test_undo_twice_goes_further_back_and_restore_is_the_redo(session: Session) -> None:
    """Each undo takes one rewrite back; the log that it left can be brought back whole."""
    await say(session, "a")
    first = await session.checkpoint()
    await say(session, "b")
    second = await session.checkpoint()
    await say(session, "c")
    await session.revert(second)
    assert said(session) == "a b"
    await session.revert(first)
    assert said(session) == "a"
    state = values(session.context)["history"]

    one = await session.undo()
    assert said(session) == "a b"
    two = await session.undo()
    assert said(session) == "a b c"
    with pytest.raises(NothingToUndo, match="nothing was"):
        await session.undo()

    await session.restore(two.number)
    assert said(session) == "a b"
    await session.restore(one.number)
    assert said(session) == "a"
    assert session.context.history == state


async def test_an_undone_restore_is_undone_as_any_rewrite(session: Session) -> None:
    """What was in force before it comes back."""
    await say(session, "a")
    await session.clear()
    await say(session, "b")
    await session.restore(1)
    assert said(session) == "a"
    await session.undo()

    assert said(session) == "b"


async def test_without_a_rewrite_there_is_nothing_to_undo(session: Session) -> None:
    """Nothing is changed."""
    await say(session, "a")
    with pytest.raises(NothingToUndo):
        await session.undo(force=True)
    assert said(session) == "a"


async def test_a_rotation_that_is_not_there_cannot_be_restored(session: Session) -> None:
    """The error names those that are."""
    await say(session, "a")
    before = values(session.context)
    with pytest.raises(StoreError, match="no rotation 7"):
        await session.restore(7)
    assert values(session.context) == before


async def test_a_rotation_with_a_torn_end_is_restored_without_it(
    shelf: Shelf, session: Session
) -> None:
    """A batch that is not whole would swallow the record of the restore."""
    await say(session, "a")
    shelf.rotations[1] = (
        b'{"role":"user","content":"old","seq":1}\n'
        b'{"role":"_batch","n":3,"bytes":400,"hash":"crc32:00000000","content":"batch of 3"}\n'
        b'{"role":"user","content":"half","seq":2}\n'
    )
    await session.restore(1)

    assert said(session) == "old"
    assert len(session.context.lineage) == 1
    assert session.context.next_seq == 2


async def test_a_clear_keeps_prompt_and_numbers(session: Session) -> None:
    """Everything else is in the rotation."""
    await session.set_system_prompt("p")
    await say(session, "a")
    await session.checkpoint()
    await session.record_usage(9)
    await session.clear()

    context = session.context
    assert (context.system_prompt, context.history, context.checkpoints) == ("p", (), ())
    assert (context.token_count, context.token_count_is_exact) == (0, False)
    assert (context.next_seq, context.next_checkpoint_id) == (2, 1)
    assert full(session) == [("a", False)]


async def test_a_first_prompt_behind_a_torn_end(shelf: Shelf) -> None:
    """The torn end is set aside by the very rewrite that puts the prompt before."""
    shelf.log = b'{"role":"user","content":"a"}\n{"role":"us'
    async with on_memory(shelf) as session:
        await session.set_system_prompt("p")

        assert session.context.system_prompt == "p"
        assert said(session) == "a"
        assert shelf.bad == b'{"role":"us\n'


async def test_full_history_names_what_is_missing(shelf: Shelf, session: Session) -> None:
    """And gives what is there only if it is asked to."""
    await say(session, "a")
    await session.clear()
    await say(session, "b")
    await session.clear()
    del shelf.rotations[1]
    await say(session, "c")

    with pytest.raises(StoreError, match="needs rotation 1, which is missing"):
        session.history(full=True)
    assert full(session, partial=True) == [("b", False), ("c", True)]


async def test_full_history_of_a_session_that_got_its_prompt_late(session: Session) -> None:
    """The rotation without the prompt is named by nobody, and repeats nothing."""
    await say(session, "a", "b")
    await session.set_system_prompt("p")
    await session.clear()
    await say(session, "c")
    await session.revert(await session.checkpoint())

    assert full(session) == [("a", False), ("b", False), ("c", True)]


async def test_summaries_and_notices_are_in_the_full_history(session: Session) -> None:
    """Marked by their origin; originals stand for their shortened copies."""
    for index in range(30):
        await session.append(user(f"u{index} " * 60), assistant(f"a{index} " * 60))
    said_before = [message.text for message in session.context.history]
    done = await session.compact(target=0.2)
    found = session.history(full=True)

    assert [message.text for message in found[: len(said_before)]] == said_before
    made = found[len(said_before) :]
    assert made
    assert all(message.origin in {"summary", "notice"} for message in made)
    assert not any(message.elided for message in found)
    assert done.rotation is not None
    assert {message.seq for message in found if message.active} == {
        message.seq for message in session.context.history
    }


async def test_a_message_of_the_full_history_can_be_said_again(session: Session) -> None:
    """It is another message then."""
    await say(session, "a")
    await session.clear()
    (old,) = session.history(full=True)
    (new,) = await session.append(old)

    assert (old.seq, old.active, new.seq, new.active) == (1, False, 2, True)
    assert isinstance(new, Message)
    assert full(session) == [("a", False), ("a", True)]
