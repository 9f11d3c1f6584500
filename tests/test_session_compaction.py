"""Compaction and `fit`: one rewrite or none, smaller or a reason, and undone at will."""

import json
from collections.abc import AsyncIterator

import pytest

from minutebook.errors import ConfigError, ContextOverflow
from minutebook.messages import assistant, call, tool, user
from minutebook.records import Compaction
from minutebook.session import Session
from minutebook.store.memory import Shelf
from tests.playing import assert_replay_is_the_same, on_memory, values

WINDOW = 6_000


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    """Open an empty session with a window."""
    async with on_memory(Shelf(), window=WINDOW) as session:
        yield session
        assert_replay_is_the_same(session)


async def talk(session: Session, turns: int) -> None:
    """Say so much that the window fills."""
    for number in range(turns):
        await session.append(
            user(f"question {number} about src/{number}.py " * 3),
            assistant("I look", tool_calls=[call(f"c{number}", "Shell", '{"command": "make"}')]),
            tool(f"c{number}", f"line {number} of the output\n" * 60),
            assistant(f"answer {number} " * 10),
        )


async def test_a_compaction_makes_the_request_smaller(session: Session) -> None:
    """In one rewrite; its record says what was done, and the count is an estimate."""
    await session.set_system_prompt("You fix builds.")
    await talk(session, 20)
    await session.pin(2)
    before = sum(session.usage().values())

    done = await session.compact("the build", target=0.3)

    assert done.changed
    after = sum(session.usage().values())
    assert sum(done.after.values()) == after < before == sum(done.before.values())
    assert session.used <= 0.3 * WINDOW
    (record,) = session.context.lineage
    assert isinstance(record, Compaction)
    assert record.parent == done.rotation
    assert (record.trigger, record.focus) == ("manual", "the build")
    assert (record.tokens_before, record.tokens_after) == (before, after)
    assert record.steps
    assert record.span is not None
    assert session.context.token_count == after
    assert not session.context.token_count_is_exact
    assert 2 in session.context.pins
    assert len(session.rotations()) == 1
    numbers = {message.seq for message in session.context.history}
    assert numbers == {*record.carried, *record.made}


async def test_a_compaction_that_changes_nothing_says_why(session: Session) -> None:
    """And writes nothing."""
    await session.append(user("hello"))
    before, size = values(session.context), session.store.size

    done = await session.compact()

    assert not done.changed
    assert done.rotation is None
    assert done.plan.reason
    assert values(session.context) == before
    assert (session.store.size, session.rotations()) == (size, [])


async def test_a_compaction_without_a_window_names_the_setting() -> None:
    """Everything else works without one."""
    async with on_memory(Shelf(), window=None) as session:
        await session.append(user("hello"))
        session.view()
        for call_ in (session.compact, session.fit):
            with pytest.raises(ConfigError, match="window"):
                await call_()


async def test_a_window_may_be_known_of_the_model() -> None:
    """Where the caller did not say it."""
    async with on_memory(Shelf(), window=None, model="gpt-4o") as session:
        await session.append(user("hello"))
        view = await session.fit()

        assert len(view.messages) == 1


async def test_what_cannot_fit_is_refused_and_nothing_is_changed(session: Session) -> None:
    """Pins that are larger than the window are named."""
    await session.append(user("word " * 9_000, pin=True), user("go on"))
    before, size = values(session.context), session.store.size

    for attempt in (session.compact, session.fit):
        with pytest.raises(ContextOverflow) as raised:
            await attempt()
        assert raised.value.parts

    assert values(session.context) == before
    assert (session.store.size, session.rotations()) == (size, [])


async def test_fit_compacts_when_it_is_due(session: Session) -> None:
    """And only then; what it gives fits the window."""
    await talk(session, 2)
    view = await session.fit()
    assert len(view.messages) == 8
    assert session.rotations() == []

    await talk(session, 20)
    await session.fit()

    assert len(session.rotations()) == 1
    assert session.used < WINDOW
    (record,) = session.context.lineage
    assert isinstance(record, Compaction)
    assert record.trigger in {"trigger", "limit"}


async def test_fit_takes_tools_and_output_limit(session: Session) -> None:
    """They stay for the calls that follow."""
    await talk(session, 2)
    tools = [{"name": "f", "description": "d " * 1_500}]
    await session.fit(tools, max_output=900)

    assert session.settings.tools == tuple(tools)
    assert session.settings.max_output == 900


async def test_fit_refuses_what_the_provider_counted_too_large(session: Session) -> None:
    """Where the exact count is over the limit and nothing can be made smaller."""
    await session.append(user("hello"), usage=WINDOW)

    with pytest.raises(ContextOverflow) as raised:
        await session.fit()

    assert raised.value.tokens == WINDOW
    assert session.rotations() == []


async def test_fit_goes_on_where_a_compaction_is_only_advisable() -> None:
    """Over the trigger and under the limit, with nothing to make smaller, it is sent as it is."""
    async with on_memory(Shelf(), window=WINDOW, max_output=100) as session:
        await session.append(user("hello"), usage=int(WINDOW * 0.9))
        view = await session.fit()

        assert len(view.messages) == 1
        assert session.rotations() == []


async def test_a_view_after_a_compaction_begins_anew(session: Session) -> None:
    """Marked results that were sent before it need not stay."""
    await talk(session, 8)
    await session.append(assistant("", tool_calls=[call("late", "Shell")]))
    session.view()
    await session.append(tool("late", "came late"))
    assert "came late" not in json.dumps(session.view().to_openai()[-2])

    assert (await session.compact(target=0.4)).changed

    assert session.view().to_openai()[-1]["content"] == "came late"


async def test_a_checkpoint_stands_before_a_compacted_history(session: Session) -> None:
    """One can revert to it, and to those that the compaction left behind."""
    await talk(session, 1)
    old = await session.checkpoint()
    await talk(session, 15)
    await session.compact(target=0.3)
    (mark,) = session.context.checkpoints
    assert (mark.id, mark.messages) == (old + 1, 0)
    later = await session.checkpoint()
    assert later == old + 2

    await session.revert(old)

    assert len(session.context.history) == 4
    assert await session.checkpoint() == old + 3


async def test_several_compactions_in_a_row(session: Session) -> None:
    """A summary that exists is updated; the full history has everything once."""
    for _ in range(3):
        await talk(session, 12)
        assert (await session.compact(target=0.3)).changed
    found = session.history(full=True)

    assert len({message.seq for message in found}) == len(found)
    assert sum(message.origin == "user" for message in found) == 36
    assert sum(m.origin == "summary" for m in session.context.history) <= 1


async def test_a_compaction_says_what_it_costs_and_saves(session: Session) -> None:
    """In tokens; in dollars where the model's price is known; nothing if nothing was changed."""
    await talk(session, 20)
    await session.record_usage({"input_tokens": 500, "cache_read_input_tokens": 4_500})
    done = await session.compact(target=0.3)

    costs = done.costs()
    assert (costs.reread_tokens, costs.saved_tokens) == (
        done.tokens_after,
        done.tokens_before - done.tokens_after,
    )
    assert costs.cache_share == 0.9
    assert costs.cost_usd is None
    priced = done.costs("gpt-4o")
    assert priced.cost_usd is not None
    assert priced.saved_usd is not None
    assert priced.saved_usd > 0
    assert priced.cost_usd > 0
    assert priced.pays_after == 1
    assert done.costs("no-such-model") == costs
    again = await session.compact(target=0.3)
    if not again.changed:
        assert again.costs().saved_tokens == 0
