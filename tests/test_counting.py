"""Sizes of a session, and which reports of a provider are believed."""

from __future__ import annotations

from msgspec import structs

from minutebook import assistant, user
from minutebook.companions import Companions
from minutebook.counting import Counting
from minutebook.journal import Journal
from minutebook.records import Usage
from minutebook.reports import Settings
from minutebook.store.memory import MemoryStore, Shelf
from tests.test_compactor import session_with

TOOLS = ({"type": "function", "function": {"name": "ls", "description": "list", "parameters": {}}},)


async def counting_of(*, model: str | None = None, window: int | None = 8_000) -> Counting:
    """Give the counting of an empty session."""
    settings = Settings.of(
        window=window, model=model, tools=TOOLS, max_output=500, preset_name="default"
    )
    journal = Journal(await MemoryStore.open(Shelf()))
    journal.replay()
    return Counting(journal, settings)


def openai_usage(prompt: int, completion: int) -> dict[str, int]:
    """Give a report in OpenAI's shape."""
    return {"prompt_tokens": prompt, "completion_tokens": completion}


async def test_the_fixed_part_is_prompt_and_tools() -> None:
    """Both take room in every request, whatever the history."""
    counting = await counting_of()

    alone = counting.fixed
    counting.settings = counting.settings.but(tools=())

    assert alone > counting.fixed == 0


async def test_plain_numbers_and_own_records_are_taken_as_they_are() -> None:
    """What the caller says itself is not judged; nothing reported is nothing believed."""
    counting = await counting_of()
    record = Usage(token_count=7, content="7 tokens")

    assert counting.believed(None) == []
    assert counting.believed(record) == [record]
    assert [one.token_count for one in counting.believed(123)] == [123]


async def test_zero_and_absurd_reports_are_not_believed() -> None:
    """A report of nothing, and one far beyond the window, are not written."""
    session = await session_with(Companions())

    for report in (openai_usage(0, 0), openai_usage(9_000_000, 5)):
        await session.append(assistant("fine"), usage=report)
        assert session.context.token_count == 0


async def test_a_plausible_report_is_the_size_from_then_on() -> None:
    """After it the size is exact, and grows by what is appended."""
    session = await session_with(Companions())
    size = session.used

    await session.append(assistant("fine"), usage=openai_usage(size, 5))
    assert session.context.token_count == size + 5
    assert session.size().source == "counted"
    await session.append(user("and now?"), assistant("done"), usage=openai_usage(size + 20, 5))
    assert session.used == size + 25
    await session.append(user("one more"))
    assert session.used > size + 25


async def test_bounds_are_held_in_estimates_and_in_tokens() -> None:
    """Where nothing was counted yet, both are the same but for the message constant."""
    session = await session_with(Companions())

    measures = session._counting.measure()

    assert measures.tokens == session.used
    assert measures.limits.window == measures.estimated.window
    assert 0 < measures.estimated.target < measures.estimated.trigger <= measures.limits.trigger


async def test_a_size_that_straddles_a_bound_stays_where_no_vocabulary_is_public() -> None:
    """Without a model there is nothing to count exactly with."""
    session = await session_with(Companions())
    counting = session._counting
    near = structs.replace(counting.limits(), trigger=session.used)

    assert counting.size().straddles(near.trigger)
    assert counting.sure_size(near) == counting.size()
