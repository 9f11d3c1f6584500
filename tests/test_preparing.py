"""A summary that is prepared while the agent works: begun, committed, dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from minutebook.compaction.task import SummaryRequest
from minutebook.companions import Companions
from minutebook.errors import StoreError
from minutebook.events import (
    CompactionBegun,
    CompactionCommitted,
    CompactionEnded,
    Event,
    SummaryAttempted,
)
from minutebook.hooks import Answer, Hooks, PreCompact
from minutebook.messages import assistant, user
from minutebook.models.retry import Retries
from minutebook.models.summarizer import FunctionSummarizer
from minutebook.records import Compaction
from minutebook.reports import Settings
from minutebook.session import Session
from minutebook.store.memory import MemoryStore, Shelf

WINDOW = 6_000
TEXT = "## Task\n- The user asks what the modules are for, one after the other."
Act = Callable[[Session], Awaitable[object]]


class Model:
    """A model that writes its summary when the test lets it, and counts what it is asked."""

    def __init__(self) -> None:
        self.calls = 0
        self.cancelled = 0
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()
        self.error: Exception | None = None

    async def write(self, _request: SummaryRequest) -> str:
        """Wait, then write or fail."""
        self.calls += 1
        self.asked.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error
        return TEXT

    @property
    def summarizer(self) -> FunctionSummarizer:
        """As the session takes it."""
        return FunctionSummarizer(self.write, window_tokens=50_000, name="scripted")


class Desk:
    """A session with a model, and what its listeners heard."""

    def __init__(self, **companions: Any) -> None:
        self.model = Model()
        self.heard: list[Event] = []
        self._companions = Companions(
            **{
                "summarizers": (self.model.summarizer,),
                "listeners": (self.heard.append,),
                "retries": Retries(attempts_max=1),
                **companions,
            }
        )
        self.session: Session

    async def open(self, store: MemoryStore | None = None, **changes: Any) -> Session:
        """Open it, empty."""
        settings = Settings.of(
            window=WINDOW, model=None, tools=(), max_output=500, preset_name="default"
        ).but(**changes)
        store = store or await MemoryStore.open(Shelf())
        self.session = Session(store, settings, companions=self._companions, clock=lambda: 5.0)
        self.session.replay()
        return self.session

    async def fill(self, tokens: int) -> None:
        """Talk until the request has so many tokens."""
        while self.session.used < tokens:
            number = self.session.context.next_seq
            await self.session.append(
                user(f"What is module {number}.py for?"), assistant(f"It is for {number}. " * 25)
            )

    async def begun(self) -> None:
        """Fill it up to where a summary is begun, and let the model be asked."""
        await self.fill(4_200)
        await self.session.fit(background=True)
        await self.model.asked.wait()

    async def written(self) -> None:
        """Let the model write, and wait until the summary is there."""
        self.model.go_on.set()
        run = self.session._preparing._run
        assert run is not None
        await run.prepared.wait()

    @property
    def log(self) -> bytes:
        """What is written."""
        return b"".join(self.session.store.pieces())

    def outcomes(self) -> list[str]:
        """Give how compactions ended; each that was begun has ended once."""
        ended = [
            "committed" if isinstance(event, CompactionCommitted) else event.outcome
            for event in self.heard
            if isinstance(event, CompactionCommitted | CompactionEnded)
        ]
        assert sum(isinstance(event, CompactionBegun) for event in self.heard) == len(ended)
        return ended


@pytest.fixture
async def desk() -> Desk:
    """Open a session with room."""
    made = Desk()
    await made.open()
    return made


async def test_the_agent_works_while_a_summary_is_written_and_the_next_boundary_has_it(
    desk: Desk,
) -> None:
    """What came meanwhile stays behind it, word for word; it is one compaction."""
    await desk.begun()
    before = desk.log
    await desk.session.append(user("and meanwhile this"))
    await desk.written()
    assert desk.log.startswith(before)
    await desk.session.append(assistant("and this"))

    await desk.session.fit(background=True)

    history = desk.session.context.history
    assert [message.text for message in history[-2:]] == ["and meanwhile this", "and this"]
    assert [TEXT in message.text for message in history if message.origin == "summary"] == [True]
    record = desk.session.context.lineage[-1]
    assert isinstance(record, Compaction)
    assert (record.trigger, record.model) == ("background", "scripted")
    assert desk.outcomes() == ["committed"]
    explained = desk.session.explain()
    assert explained is not None
    assert explained.compacted is not None
    assert explained.compacted.tokens_after < explained.compacted.tokens_before
    assert explained.due is None


async def test_below_the_fraction_nothing_is_begun(desk: Desk) -> None:
    """Nor without the background, nor without a model."""
    await desk.fill(3_000)
    await desk.session.fit(background=True)
    await desk.fill(4_200)
    await desk.session.fit()
    assert desk.model.calls == 0
    assert desk.heard == []
    alone = Desk(summarizers=())
    await alone.open()
    await alone.fill(4_200)
    await alone.session.fit(background=True)
    assert alone.heard == []


async def test_the_configuration_says_from_where_on() -> None:
    """Then `fit` does it by itself, unless it is told not to."""
    desk = Desk()
    session = await desk.open(background_fraction=0.3)
    await desk.fill(2_000)
    await session.fit(background=False)
    assert desk.heard == []
    await session.fit()
    await desk.model.asked.wait()
    await session.close()


async def test_one_is_prepared_at_a_time_and_the_trigger_passes_meanwhile(desk: Desk) -> None:
    """The request may still be sent, so nobody waits; `explain` says so."""
    await desk.begun()
    await desk.fill(5_200)

    view = await desk.session.fit(background=True)

    assert len(view.messages) == len(desk.session.context.history)
    explained = desk.session.explain()
    assert explained is not None
    assert (explained.due, explained.preparing, explained.compacted) == ("trigger", True, None)
    assert desk.model.calls == 1
    await desk.session.close()
    assert desk.outcomes() == ["cancelled"]


async def test_at_the_limit_it_is_waited_for(desk: Desk) -> None:
    """And the request fits."""
    await desk.begun()
    await desk.fill(5_600)
    fitting = asyncio.ensure_future(desk.session.fit(background=True))
    asyncio.get_running_loop().call_soon(desk.model.go_on.set)

    await fitting

    assert desk.session.used < 5_000
    assert any(TEXT in message.text for message in desk.session.context.history)
    assert desk.outcomes() == ["committed"]


async def test_waited_for_in_vain_the_ladder_goes_on_without_a_model() -> None:
    """No longer than is said, and the model is not asked once more."""
    desk = Desk()
    await desk.open(background_wait_seconds=0.0)
    await desk.begun()
    await desk.fill(5_600)

    await desk.session.fit(background=True)

    assert desk.session.used < 5_000
    assert not any(TEXT in message.text for message in desk.session.context.history)
    assert desk.model.calls == 1
    await desk.session.close()
    assert desk.model.cancelled == 1
    assert sorted(desk.outcomes()) == ["cancelled", "committed"]


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda session: session.revert(0), id="revert"),
        pytest.param(lambda session: session.clear(), id="clear"),
        pytest.param(lambda session: session.pin(3), id="pin"),
        pytest.param(lambda session: session.compact(), id="compact"),
    ],
)
@pytest.mark.parametrize("when", ["writing", "written"])
async def test_what_changes_the_span_drops_it(act: Act, when: str) -> None:
    """Whether it is still being written or waits: it is never committed."""
    desk = Desk()
    session = await desk.open()
    await session.append(user("begin"))
    await session.checkpoint()
    await desk.begun()
    if when == "written":
        await desk.written()
    else:
        asyncio.get_running_loop().call_later(0, desk.model.go_on.set)

    await act(session)
    await session.fit(background=True)

    compactions = [one for one in session.context.lineage if isinstance(one, Compaction)]
    assert "background" not in {one.trigger for one in compactions}
    await session.close()
    assert "cancelled" in desk.outcomes()


async def test_what_lies_behind_the_span_does_not_drop_it(desk: Desk) -> None:
    """A pin of a message that came later, or the way back to it."""
    await desk.begun()
    mark = await desk.session.checkpoint()
    (new,) = await desk.session.append(user("and this"))
    await desk.session.pin(new.seq or 0)
    await desk.session.revert(mark)
    (new,) = await desk.session.append(user("or this"))
    await desk.session.pin(new.seq or 0)
    await desk.written()

    await desk.session.fit(background=True)

    assert desk.outcomes() == ["committed"]
    assert desk.session.context.history[-1].text == "or this"
    assert new.seq in desk.session.context.pins


async def test_its_failure_reaches_no_call_and_is_not_repeated_at_each_step(desk: Desk) -> None:
    """Until the request has grown; at the trigger the session compacts as it does without."""
    desk.model.error = ValueError("no")
    await desk.begun()
    desk.model.go_on.set()
    (task,) = desk.session._preparing._tasks
    await asyncio.wait([task])
    for _ in range(3):
        await desk.session.fit(background=True)
    assert desk.model.calls == 1
    assert desk.outcomes() == ["failed"]

    await desk.fill(5_200)
    await desk.session.fit(background=True)
    await asyncio.sleep(0)
    await desk.session.fit(background=True)

    assert desk.model.calls >= 2
    await desk.fill(5_600)
    await desk.session.fit(background=True)
    assert desk.session.used < 5_000
    await desk.session.close()


async def test_a_veto_and_a_summary_that_nobody_needs_come_to_nothing(desk: Desk) -> None:
    """The events say why, and the calls go on."""

    def veto(details: PreCompact) -> Answer:
        return Answer(veto=f"not in the {details.trigger}")

    vetoed = Desk(hooks=Hooks(before=(veto,)))
    await vetoed.open()
    policy = vetoed.session.settings.policy
    needless = Desk()
    await needless.open(policy=type(policy)(steps=("mask", "window")))
    for one, told in ((vetoed, "background"), (needless, "no summary is needed")):
        await one.fill(4_200)
        before = one.log
        await one.session.fit(background=True)
        (task,) = one.session._preparing._tasks
        await asyncio.wait([task])
        await one.session.fit(background=True)
        assert one.log == before
        assert one.model.calls == 0
        ended = next(event for event in one.heard if isinstance(event, CompactionEnded))
        assert told in ended.reason


async def test_closing_gives_it_up_and_nothing_has_happened(desk: Desk) -> None:
    """Its call has ended before `close` returns."""
    await desk.begun()
    before = desk.log

    await desk.session.close()

    assert desk.model.cancelled == 1
    assert desk.log == before
    assert desk.outcomes() == ["cancelled"]
    assert not any(isinstance(event, SummaryAttempted) for event in desk.heard)


class Full(MemoryStore):
    """A store whose disk is full when it is rewritten."""

    async def rewrite(self, **_: Any) -> Any:
        """Fail."""
        raise StoreError("no space", path="memory")


async def test_a_log_that_cannot_be_written_is_told() -> None:
    """That is the session's trouble, not the summary's; log and context are as before."""
    desk = Desk()
    await desk.open(await Full.open(Shelf()))
    await desk.begun()
    await desk.written()
    before = desk.session.context.history

    with pytest.raises(StoreError, match="no space"):
        await desk.session.fit(background=True)

    assert desk.session.context.history == before
    assert desk.outcomes() == ["failed"]
    await desk.session.close()
