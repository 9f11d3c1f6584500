"""Public faults of other systems that concern a session's life, by the number of their case."""

import json
from pathlib import Path
from typing import Any

import pytest

from minutebook.lineage import NothingToUndo
from minutebook.messages import assistant, user
from minutebook.opening import open_session
from minutebook.providers import validate_anthropic
from minutebook.session import Session
from minutebook.store.memory import Shelf
from tests.cases import case
from tests.cases_sessions import Played
from tests.playing import Clock, assert_replay_is_the_same, on_memory


def sent(session: Session) -> str:
    """Give what would be sent, as text; it has to be valid."""
    body = session.view().to_anthropic()
    if body["messages"]:
        found = validate_anthropic.violations(body["messages"], system=body.get("system"))
        assert found == []
    return json.dumps(body, ensure_ascii=False)


def texts(session: Session) -> list[str]:
    """Give what the context holds."""
    return [message.text for message in session.context.history]


async def test_c084_reverted_messages_do_not_come_back() -> None:
    """Not live, not after reopening, not after a compaction, not in its summary."""
    shelf = Shelf()
    secrets = ("SECRET-PLAN-B", "plan b noted")

    def check(session: Session) -> None:
        assert not any(secret in sent(session) for secret in secrets)

    async with on_memory(shelf) as session:
        await Played(session, case("C084")).play()
        assert texts(session) == ["keep this", "kept", "new direction"]
        check(session)
        undone = [m.text for m in session.history(full=True) if not m.active]
        assert undone == ["SECRET-PLAN-B: drop the table", "plan b noted"]
        assert sum(session.context.estimates) == session.context.token_count_with_pending
        counted = sum(session.usage().values())
    async with on_memory(shelf) as session:
        check(session)
        assert sum(session.usage().values()) == counted
        for number in range(20):
            await session.append(user(f"go on {number} " * 40), assistant(f"yes {number} " * 40))
        done = await session.compact(target=0.1)
        assert done.changed
        check(session)
        summaries = [m.text for m in session.context.history if m.origin == "summary"]
        assert not any(secret in text for secret in secrets for text in summaries)
        await session.undo()
        check(session)


async def test_c086_undoing_a_turn_behind_a_summary() -> None:
    """The last question goes, not the summary; once more, and the summary goes with its question.

    The rule: one goes back to the checkpoint before a turn. One that a compaction left behind
    brings back the log of that time. Pins and tags of kept messages stay as they are now.
    """
    async with on_memory(Shelf()) as session:
        played = await Played(session, case("C086")).play()
        assert texts(session) == ["S: q1 answered.", "q2", "a2"]
        before = await session.checkpoint()
        await session.append(user("q3"), assistant("a3"))
        await session.tag(session.context.history[0].seq or 0, "done")
        first = sent(session)

        await session.revert(before)
        assert texts(session) == ["S: q1 answered.", "q2", "a2"]
        assert "done" in session.context.tags.values().__iter__().__next__()
        await session.revert(played.before["m3"])
        assert texts(session) == ["q1", "a1"]
        await session.revert(played.before["m1"])
        assert texts(session) == []

        for _ in range(3):
            await session.undo()
        assert sent(session) == first
        assert ("done",) in session.context.tags.values()


async def test_c086_a_new_message_after_an_undo_ends_the_redo() -> None:
    """It would be left behind, so the redo has to be forced, or the log named by its number."""
    async with on_memory(Shelf()) as session:
        played = await Played(session, case("C086")).play()
        rotated = await session.revert(played.before["m1"])
        await session.append(user("another question"))

        with pytest.raises(NothingToUndo):
            await session.undo()

        assert texts(session) == ["another question"]
        await session.restore(rotated.number)
        assert texts(session) == ["S: q1 answered.", "q2", "a2"]
        assert "another question" in [m.text for m in session.history(full=True)]


@pytest.mark.parametrize(
    ("target", "kept", "made_up"),
    [("m2", 2, ["p1", "p2"]), ("m3", 3, ["p2"]), ("m4", 4, []), ("m5", 5, [])],
)
async def test_c088_going_back_into_a_batch_of_results(
    target: str, kept: int, made_up: list[str]
) -> None:
    """The log goes back exactly; a call whose result is gone is sent as of unknown outcome."""
    async with on_memory(Shelf()) as session:
        played = await Played(session, case("C088")).play()
        await session.revert(played.after[target])
        await session.append(user("and now?"))

        assert len(session.context.history) == kept + 1
        sent(session)
        results = {
            block["tool_use_id"]: json.dumps(block)
            for message in session.view().to_anthropic()["messages"]
            for block in message["content"]
            if isinstance(block, dict) and block.get("type") == "tool_result"
        }
        unknown = [name for name, block in results.items() if "outcome is unknown" in block]
        assert unknown == made_up
        assert set(results) == {"p1", "p2"}
        assert_replay_is_the_same(session)


async def fork(session: Session, folder: Path, at: int | None) -> tuple[str, list[Any]]:
    """Fork; give what the fork sends, and everything it knows."""
    await session.fork(folder, at=at)
    async with open_session(folder, durability="process", window=3_000, clock=Clock()) as child:
        numbers = {message.seq for message in child.history(full=True)}
        assert child.context.pins <= numbers
        for record in child.context.lineage:
            carried = getattr(record, "carried", ())
            assert set(carried) <= numbers
        return sent(child), [m.text[:3] for m in child.context.history]


async def test_c090_a_fork_of_a_compacted_session(tmp_path: Path) -> None:
    """At its end, before the compaction, and between: nothing points to what is not there."""
    async with open_session(
        tmp_path / "parent", durability="process", window=3_000, retention=None, clock=Clock()
    ) as session:
        played = await Played(session, case("C090")).play()
        assert session.context.pins == {played.numbers.of_id["m7"]}

        end, held = await fork(session, tmp_path / "end", None)
        assert end == sent(session)
        assert held == ["S: ", "f-7", "f-8", "f-1"]
        parent = sum(session.usage().values())

        _, held = await fork(session, tmp_path / "m5", played.after["m5"])
        assert held == ["f-1", "f-2", "f-3", "f-4", "f-5"]
        _, held = await fork(session, tmp_path / "m8", played.after["m8"])
        assert held == [f"f-{number}" for number in range(1, 9)]
        _, held = await fork(session, tmp_path / "k1", played.before["m10"])
        assert held == ["S: ", "f-7", "f-8"]
    async with open_session(tmp_path / "end", mode="r") as child:
        assert sum(child.usage().values()) == parent
        assert child.context.pins == {played.numbers.of_id["m7"]}
    async with open_session(tmp_path / "k1", mode="r") as child:
        # Pinned after the place of the fork, and pinned all the same.
        assert child.context.pins == {played.numbers.of_id["m7"]}


async def test_c037_a_pin_survives_reopening_and_ends_when_it_is_taken_away() -> None:
    """Points 2 and 3: its state comes from the log; without the pin the message may go."""
    shelf, config = Shelf(), case("C037").json("config.json")
    word_for_word = "Build with -tags fast_lock, always."
    window = {"window": config["window"], "max_output": config["output_reserve"]}
    async with on_memory(shelf, **window) as session:
        played = await Played(session, case("C037")).play()
        seq = played.numbers.of_id["m1"]
        assert session.context.pins == {seq}
        assert (await session.compact(target=0.3)).changed
        assert sent(session).count(word_for_word) >= 1
    async with on_memory(shelf, **window) as session:
        assert session.context.pins == {seq}
        for number in range(12):
            await session.append(user(f"more {number} " * 30), assistant(f"yes {number} " * 30))
        assert (await session.compact(target=0.3)).changed
        kept = [m for m in session.context.history if m.text == word_for_word]
        assert [message.seq for message in kept] == [seq]
        assert session.context.pins == {seq}
    async with on_memory(shelf, **window) as session:
        await session.pin(seq, pinned=False)
        for number in range(24):
            await session.append(user(f"on {number} " * 30), assistant(f"yes {number} " * 30))
        assert (await session.compact(target=0.3)).changed
        assert session.context.pins == frozenset()


async def test_c075_the_order_is_that_of_the_log_whatever_the_clock_says() -> None:
    """A new message gets the number behind the highest, and a revert goes by position."""
    shelf = Shelf(case("C075").log())
    said = ["first", "answer one", "second", "answer two", "third", "answer three"]
    async with on_memory(shelf) as session:
        assert texts(session) == said
        assert [message.text for message in session.history(full=True)] == said
        number = await session.checkpoint()
        (new,) = await session.append(user("fourth"))
        assert new.seq == 7
        await session.revert(number)
        assert texts(session) == said
        (newer,) = await session.append(user("fifth"))
        assert newer.seq == 8
        await session.clear()
        full = [message.text for message in session.history(full=True)]
        assert full == [*said, "fourth", "fifth"]
