"""A session's methods, one by one: what is written, what the context is, what is refused."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from minutebook.errors import InvalidMessage, StoreError
from minutebook.flow import WrongPlace
from minutebook.lines import Entry
from minutebook.messages import Message, assistant, call, tool, user
from minutebook.opening import open_session
from minutebook.records import Checkpoint, Tag, Usage
from minutebook.reports import Settings
from minutebook.session import Session
from minutebook.store.memory import MemoryStore, Shelf
from minutebook.sums import Verifier
from minutebook.tools.dmail import OFFER
from tests.playing import Clock, assert_replay_is_the_same, on_memory, values


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    """Open an empty session without a disk."""
    async with on_memory(Shelf()) as session:
        yield session
        assert_replay_is_the_same(session)


def log_of(session: Session) -> bytes:
    """Give the log's bytes."""
    return b"".join(session.store.pieces())


async def test_append_gives_the_messages_with_their_numbers(session: Session) -> None:
    """And the context holds them in order."""
    first = await session.append(user("a"), assistant("b"))
    (third,) = await session.append({"role": "user", "content": "c"})

    assert [message.seq for message in (*first, third)] == [1, 2, 3]
    assert session.history() == session.context.history == (*first, third)
    assert [message.at for message in first] == [1001.0, 1001.0]


async def test_a_reply_and_its_usage_are_one_batch(session: Session) -> None:
    """They count together, and the usage covers the reply."""
    await session.append(user("a"))
    size = session.store.size
    await session.append(assistant("b"), usage={"prompt_tokens": 30, "completion_tokens": 4})

    assert log_of(session)[size:].startswith(b'{"role":"_batch","n":2')
    assert session.context.token_count == 34
    assert session.context.token_count_is_exact
    assert session.context.token_count_pending == 0


async def test_append_of_nothing_writes_nothing(session: Session) -> None:
    """Not even a line."""
    assert await session.append() == ()
    assert log_of(session) == b""


@pytest.mark.parametrize("usage", [12, {"input_tokens": 12}, Usage(token_count=12)])
async def test_a_usage_may_come_by_itself(session: Session, usage: object) -> None:
    """As numbers, a mapping or a record of ours."""
    assert await session.append(usage=usage) == ()
    assert session.context.token_count == 12
    await session.record_usage(usage)
    assert len(session.context.usages) == 2


async def test_the_model_is_written_with_the_usage() -> None:
    """The one that is said with it, else the session's."""
    async with on_memory(Shelf(), model="m-1") as session:
        await session.append(usage=5)
        await session.record_usage(6)
        await session.record_usage(7, model="m-2")

        assert [counted.usage.model for counted in session.context.usages] == ["m-1", "m-1", "m-2"]


@pytest.mark.parametrize(
    "bad", [{"role": "_usage"}, 5, None, cast("Any", Message)("tool", "no id")], ids=repr
)
async def test_a_bad_message_among_good_ones_stops_them_all(session: Session, bad: object) -> None:
    """All or none is written."""
    await session.append(user("a"))
    before, size = values(session.context), session.store.size

    with pytest.raises(InvalidMessage):
        await session.append(user("b"), bad)

    assert values(session.context) == before
    assert session.store.size == size


async def test_a_bad_usage_stops_its_reply(session: Session) -> None:
    """Nothing of the batch is written."""
    with pytest.raises(InvalidMessage, match="usage"):
        await session.append(user("b"), usage={"tokens": 5})

    assert log_of(session) == b""


@pytest.mark.parametrize(
    "act",
    [
        lambda session: session.checkpoint(cast("str", 5)),
        lambda session: session.set_system_prompt(cast("str", None)),
        lambda session: session.pin(1, pinned=cast("bool", "yes")),
        lambda session: session.pin(True),
        lambda session: session.pin(2),
        lambda session: session.tag(2, "a"),
        lambda session: session.tag(1, cast("str", 5)),
        lambda session: session.revert(0, note=cast("str", 5)),
        lambda session: session.record_usage(Usage(token_count=cast("int", "many"))),
    ],
)
async def test_values_of_a_wrong_type_are_refused(
    session: Session, act: Callable[[Session], Any]
) -> None:
    """What a reader of the log would see otherwise than the run is not written."""
    await session.append(user("a"))
    await session.checkpoint()
    before, size = values(session.context), session.store.size

    with pytest.raises(InvalidMessage):
        await act(session)

    assert values(session.context) == before
    assert session.store.size == size


async def test_a_prompt_is_the_first_line_of_an_empty_log(session: Session) -> None:
    """Another is a new record, and the last one wins; an equal one is nothing."""
    await session.set_system_prompt("a")
    await session.append(user("x"))
    await session.set_system_prompt("b")
    size = session.store.size
    await session.set_system_prompt("b")

    assert log_of(session).startswith(b'{"role":"_system_prompt","content":"a"}\n')
    assert session.context.system_prompt == "b"
    assert session.store.size == size
    assert session.rotations() == []


async def test_a_prompt_is_put_before_a_log_that_has_none(session: Session) -> None:
    """By one rewrite; everything behind it is as it was."""
    await session.append(user("x"))
    await session.checkpoint()
    before = log_of(session)
    await session.set_system_prompt("p")

    assert log_of(session) == b'{"role":"_system_prompt","content":"p"}\n' + before
    assert [rotation.bytes for rotation in session.rotations()] == [len(before)]
    assert [message.text for message in session.history(full=True)] == ["x"]


async def test_of_two_prompts_at_once_the_later_wins(session: Session) -> None:
    """Also where both find a log without one."""
    await session.append(user("x"))
    await asyncio.gather(session.set_system_prompt("a"), session.set_system_prompt("b"))

    assert session.context.system_prompt == "b"
    assert len(session.rotations()) == 1


async def test_a_prompt_that_utf8_cannot_hold_is_mended(session: Session) -> None:
    """And is the same one when it is set again."""
    await session.set_system_prompt("half \ud83d")
    size = session.store.size
    await session.set_system_prompt("half \ud83d")

    assert session.context.system_prompt == "half \ufffd"
    assert session.store.size == size


async def test_a_revert_goes_back_to_the_prompt_of_its_time(session: Session) -> None:
    """As to everything else."""
    await session.set_system_prompt("a")
    number = await session.checkpoint()
    await session.set_system_prompt("b")
    await session.revert(number)

    assert session.context.system_prompt == "a"


async def test_checkpoints_count_up(session: Session) -> None:
    """With a label, and with a message that shows the id to the model."""
    assert await session.checkpoint() == 0
    assert await session.checkpoint("before lunch") == 1
    assert await session.checkpoint(marker=True) == 2

    marks = session.context.checkpoints
    assert [(mark.id, mark.label, mark.at) for mark in marks] == [
        (0, None, 1001.0),
        (1, "before lunch", 1002.0),
        (2, None, 1003.0),
    ]
    (marker,) = session.context.history
    assert (marker.text, marker.origin) == ("<system>CHECKPOINT 2</system>", "checkpoint")
    assert b'"content":"checkpoint 1: before lunch"' in log_of(session)


async def test_checkpoints_are_shown_while_a_d_mail_may_be_sent(session: Session) -> None:
    """And only then, unless the caller says otherwise."""
    session.set_tools([OFFER.to_anthropic()])
    await session.checkpoint()
    await session.checkpoint(marker=False)
    session.set_tools([])
    await session.checkpoint()

    assert [message.text for message in session.context.history] == [
        "<system>CHECKPOINT 0</system>"
    ]
    assert len(session.context.checkpoints) == 3


async def test_concurrent_checkpoints_have_different_ids(tmp_path: Path) -> None:
    """Also while the first is not on the disk yet, and their sums are of their own spans."""
    async with open_session(tmp_path / "s") as session:
        said = session.append(user("a"))
        numbers = await asyncio.gather(said, *(session.checkpoint() for _ in range(3)))
        assert numbers[1:] == [0, 1, 2]
        verifier = Verifier()
        spans = [*verifier.feed(log_of(session)), *verifier.finish()]
        assert {span.verdict for span in spans[:-1]} == {"good"}


async def test_a_checkpoint_after_a_torn_line_sums_what_stays() -> None:
    """The torn end is set aside by the very append, so it is not in the span."""
    async with on_memory(Shelf(b'{"role":"user","content":"a","seq":1}\n{"role":"us')) as session:
        await session.checkpoint()
        verifier = Verifier()
        verdicts = [span.verdict for span in verifier.feed(log_of(session))]

        assert verdicts == ["good"]
        assert len(session.problems) == 1


async def test_numbers_of_messages_left_behind_cannot_be_pinned(session: Session) -> None:
    """The context has to hold the message."""
    await session.append(user("a"))
    await session.clear()

    with pytest.raises(InvalidMessage, match="no message 1"):
        await session.pin(1)


async def test_tools_are_counted(session: Session) -> None:
    """The schemas that a request carries take room."""
    await session.append(user("a"))
    used = sum(session.usage().values())
    session.set_tools([{"name": "f", "description": "d " * 50}])

    assert session.usage()["tools"] == sum(session.usage().values()) - used > 0
    assert session.settings.tools == ({"name": "f", "description": "d " * 50},)


async def test_what_is_used_is_what_the_provider_counted_and_what_came_after(
    session: Session,
) -> None:
    """Without an exact count the whole is estimated."""
    await session.set_system_prompt("p")
    await session.append(user("a"))
    assert session.used == sum(session.usage().values())
    await session.record_usage(500)
    assert session.used == 500
    await session.append(user("b"))

    assert session.context.token_count_with_pending == 500 + session.context.token_count_pending
    assert session.used > 500


async def test_the_view_is_stable_once_sent(session: Session) -> None:
    """A marked result that was sent stays until the next rewrite."""
    await session.append(user("a"), assistant("", tool_calls=[call("c", "f")]))
    first = session.view().to_openai()
    await session.append(tool("c", "late"))

    assert session.view().to_openai()[:3] == first
    number = await session.checkpoint()
    await session.revert(number)
    assert session.view().to_openai()[2]["content"] == "late"


async def test_problems_of_the_log_are_told() -> None:
    """What was wrong with the bytes when they were read."""
    async with on_memory(Shelf(b'nonsense\n{"role":"user","content":"a"}\n')) as session:
        assert [problem.line for problem in session.problems] == [1]
        assert len(session.context.history) == 1


async def test_a_session_without_a_disk_names_itself(session: Session) -> None:
    """Its store is there for those who look below."""
    assert session.store.path == "memory"


def test_a_session_is_made_of_a_store_and_settings() -> None:
    """Made by hand it has read nothing before `replay`."""

    async def work() -> None:
        shelf = Shelf(b'{"role":"user","content":"a"}\n')
        settings = Settings.of(
            window=None, model=None, tools=(), max_output=None, preset_name="default"
        )
        session = Session(await MemoryStore.open(shelf), settings, clock=Clock())
        assert session.context.history == ()
        session.replay()
        assert len(session.context.history) == 1
        await session.close()
        await session.close()
        with pytest.raises(StoreError, match="closed"):
            await session.append(user("x"))

    asyncio.run(work())


async def elsewhere(session: Session) -> dict[str, Any]:
    """Call every method from where the session is not at home; give what came out."""
    calls: dict[str, Callable[[], Any]] = {
        "append": lambda: session.append(user("x")),
        "record_usage": lambda: session.record_usage(5),
        "set_system_prompt": lambda: session.set_system_prompt("x"),
        "set_tools": lambda: session.set_tools([]),
        "checkpoint": session.checkpoint,
        "pin": lambda: session.pin(1),
        "tag": lambda: session.tag(1, "x"),
        "revert": lambda: session.revert(0),
        "undo": session.undo,
        "restore": lambda: session.restore(1),
        "clear": session.clear,
        "compact": session.compact,
        "fit": session.fit,
        "view": session.view,
        "usage": session.usage,
        "history": session.history,
        "rotations": session.rotations,
        "fork": lambda: session.fork("x"),
        "refresh": session.refresh,
        "close": session.close,
    }
    found: dict[str, Any] = {}
    for name, made in calls.items():
        try:
            result = made()
            found[name] = await result if asyncio.iscoroutine(result) else result
        except WrongPlace as error:
            found[name] = error
    return found


async def test_every_method_refuses_another_thread(session: Session) -> None:
    """A session belongs to one event loop, and nothing has happened."""
    await session.append(user("a"))
    before = values(session.context)
    found: dict[str, Any] = {}

    thread = threading.Thread(target=lambda: found.update(asyncio.run(elsewhere(session))))
    thread.start()
    thread.join()

    assert {name for name, error in found.items() if not isinstance(error, WrongPlace)} == set()
    assert values(session.context) == before


def test_every_method_refuses_another_loop() -> None:
    """Also one that runs in the same thread, later."""

    async def begin() -> Session:
        store = await MemoryStore.open(Shelf())
        settings = Settings.of(
            window=9_000, model=None, tools=(), max_output=None, preset_name="default"
        )
        session = Session(store, settings)
        session.replay()
        await session.append(user("a"))
        return session

    session = asyncio.run(begin())
    found = asyncio.run(elsewhere(session))

    assert {name for name, error in found.items() if not isinstance(error, WrongPlace)} == set()


async def test_records_of_ours_are_what_the_log_holds(session: Session) -> None:
    """Special records carry one readable line, for Kimi CLI's reader."""
    await session.append(user("a"))
    await session.checkpoint()
    await session.pin(1)
    await session.record_usage(5)

    records = [entry for run in session.store.replay() for entry in _records(run)]
    special = [record for record in records if not isinstance(record, Message)]
    assert [type(record) for record in special] == [Checkpoint, Tag, Usage]
    assert all(record.content for record in special)


def _records(item: Any) -> list[Any]:
    return [item.record] if isinstance(item, Entry) else list(item.records)
