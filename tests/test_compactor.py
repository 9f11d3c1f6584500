"""Compaction of a session: who is asked, who is told, and what stays when it fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import structs

from minutebook import assistant, call, tool, user
from minutebook.compaction.replies import SummaryReply
from minutebook.compaction.task import SummaryRequest
from minutebook.companions import Companions, Task
from minutebook.config.values import TagRule
from minutebook.errors import CompactionFailed, CompactionVetoed, ContextOverflow
from minutebook.events import (
    CompactionBegun,
    CompactionCommitted,
    CompactionEnded,
    Event,
    HookRan,
    StepTaken,
    SummaryAttempted,
    Verified,
)
from minutebook.hooks import Answer, Hooks, PostCompact, PreCompact
from minutebook.models.summarizer import FunctionSummarizer
from minutebook.records import Compaction
from minutebook.reports import Compacted, Settings
from minutebook.session import Session
from minutebook.store.memory import MemoryStore, Shelf
from minutebook.tools.condense import Condense, Decide, Decision
from minutebook.turns import open_calls

WINDOW = 4_000


async def session_with(
    companions: Companions, *, turns: int = 12, window: int = WINDOW, said: int = 1
) -> Session:
    """Give a session on a shelf with some turns of work in it, and so much said in each."""
    settings = Settings.of(
        window=window, model=None, tools=(), max_output=500, preset_name="default"
    )
    store = await MemoryStore.open(Shelf())
    session = Session(store, settings, companions=companions, clock=lambda: 5.0)
    session.replay()
    for number in range(turns):
        await session.append(
            user(f"please look at module {number}.py"),
            assistant("I read it.", tool_calls=[call(f"c{number}", "read_file")]),
            tool(f"c{number}", f"def function_{number}():\n    return {number}\n" * 40),
            assistant(f"function_{number} returns {number}, which is right. " * said),
        )
    return session


async def first_of(asked: asyncio.Event, running: asyncio.Future[Compacted]) -> None:
    """Wait until the model is asked; fail at once where the compaction ends without that."""
    waiting: asyncio.Future[Any] = asyncio.ensure_future(asked.wait())
    futures: list[asyncio.Future[Any]] = [waiting, running]
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
    assert asked.is_set() or await running is None


async def test_begin_and_end_pair_and_hooks_are_told_once() -> None:
    """An applied compaction is begun, stepped, committed; the hooks hear of both sides."""
    heard: list[Event] = []
    asked: list[PreCompact] = []
    told: list[PostCompact] = []
    hooks = Hooks(before=(asked.append,), after=(told.append,))
    session = await session_with(Companions(hooks=hooks, listeners=(heard.append,)))

    done = await session.compact("the return values")

    assert done.changed
    steps = [event for event in heard if not isinstance(event, HookRan)]
    assert isinstance(steps[0], CompactionBegun)
    assert isinstance(steps[-1], CompactionCommitted)
    assert all(isinstance(event, StepTaken) for event in steps[1:-2])
    assert done.plan.checks is not None
    checks = done.plan.checks
    assert steps[-2] == Verified(score=checks.score, parts=checks.parts)
    assert done.tokens_after < done.tokens_before
    assert [details.focus for details in asked] == ["the return values"]
    assert [(details.outcome, details.tokens_after) for details in told] == [
        ("applied", done.tokens_after)
    ]


async def test_a_veto_changes_nothing_and_is_told() -> None:
    """A hook's no is obeyed, named, and the log stays byte for byte."""
    heard: list[Event] = []
    told: list[PostCompact] = []

    def never(_details: PreCompact) -> Answer:
        return Answer(veto="not now")

    hooks = Hooks(before=(never,), after=(told.append,))
    session = await session_with(Companions(hooks=hooks, listeners=(heard.append,)))
    before = b"".join(session.store.pieces())

    with pytest.raises(CompactionVetoed, match="not now") as raised:
        await session.compact()

    assert raised.value.hook == "never"
    assert b"".join(session.store.pieces()) == before
    assert isinstance(heard[0], CompactionBegun)
    ended = [event for event in heard if isinstance(event, CompactionEnded)]
    assert ended == [CompactionEnded(trigger="manual", outcome="vetoed", reason="not now")]
    hooks_heard = [event.outcome for event in heard if isinstance(event, HookRan)]
    assert hooks_heard[0] == "vetoed"
    assert [details.outcome for details in told] == ["skipped"]


async def test_a_veto_at_the_limit_is_passed_on_and_at_the_trigger_is_not() -> None:
    """Where the request may be sent it is sent; where not, the hook is named."""
    hooks = Hooks(before=(lambda _details: Answer(veto="no"),))
    session = await session_with(Companions(hooks=hooks))

    with pytest.raises(CompactionVetoed):
        await session.fit()

    roomy = await session_with(Companions(hooks=hooks), window=session.used + 900)
    view = await roomy.fit()
    assert len(view.messages) == 48
    explained = roomy.explain()
    assert explained is not None
    assert (explained.due, explained.compacted) == ("trigger", None)


async def test_what_fails_is_told_as_refused() -> None:
    """A request that cannot be made to fit ends in `refused`, and nothing is changed."""
    heard: list[Event] = []
    session = await session_with(Companions(listeners=(heard.append,)), turns=1, window=300)
    await session.pin(3)
    before = b"".join(session.store.pieces())

    with pytest.raises(ContextOverflow):
        await session.fit()

    assert b"".join(session.store.pieces()) == before
    ended = [event for event in heard if isinstance(event, CompactionEnded)]
    assert [event.outcome for event in ended] == ["refused"]


async def test_a_proposal_is_committed_only_while_the_session_is_the_same() -> None:
    """`propose` changes nothing; `apply` refuses once the session has moved on."""
    session = await session_with(Companions())
    before = b"".join(session.store.pieces())

    proposal = await session.propose()
    assert b"".join(session.store.pieces()) == before
    done = await session.apply(proposal)
    assert done.changed
    assert session.context.history[-1] == proposal.history[-1]

    again = await session.compact(dry_run=True)
    await session.append(user("one more"))
    with pytest.raises(CompactionFailed, match="moved on"):
        await session.apply(again)


async def test_what_a_tag_or_a_rule_protects_stays_word_for_word() -> None:
    """Without either, the same messages are summarised away."""
    rule = TagRule(tag="answer", role="assistant", matches="^function_3 ", protected=True)
    plain, marked = (
        await session_with(Companions(), said=30),
        await session_with(Companions(tagging=(rule,)), said=30),
    )
    by_tag, by_rule = marked.context.history[19], marked.context.history[15]
    assert by_tag.seq is not None
    await marked.tag(by_tag.seq, "read", "read", protected=True)
    assert by_rule.seq is not None
    assert marked.context.tags == {
        by_rule.seq: ("answer", "protected"),
        by_tag.seq: ("read", "protected"),
    }

    await plain.compact()
    await marked.compact()

    left = {message.text for message in plain.context.history}
    assert not {by_rule.text, by_tag.text} & left
    for kept in (by_tag, by_rule):
        assert kept in marked.context.history
    assert marked.context.tags[by_tag.seq] == ("read", "protected")


async def test_rules_tag_what_is_appended_and_protect_what_is_older() -> None:
    """The tags are written with the message, results by the tool of the call they answer."""
    rule = TagRule(tag="read", tool="read_file", role="tool")
    old = TagRule(tag="answer", role="assistant", matches="^function_3 ", protected=True)
    session = await session_with(Companions(tagging=(rule,)), turns=2)
    assert session.context.tags == {3: ("read",), 7: ("read",)}
    await session.append(
        assistant("", tool_calls=[call("c1", "read_file"), call("x", "shell")]), usage=700
    )
    await session.append(tool("x", "no"), tool("c1", "yes"))
    assert session.context.tags == {3: ("read",), 7: ("read",), 11: ("read",)}
    assert session.context.token_count == 700

    older = await session_with(Companions(), said=30)
    with_rule = Session(
        older.store, older.settings, companions=Companions(tagging=(old,)), clock=lambda: 5.0
    )
    with_rule.replay()
    await with_rule.compact()
    assert any(message.text.startswith("function_3 ") for message in with_rule.context.history)
    assert with_rule.context.tags == {}


async def test_a_later_tag_without_protection_takes_it_away() -> None:
    """Tags replace those that were there, `protected` too; a proposal for others is stale."""
    session = await session_with(Companions(), said=30)
    seq = session.context.history[15].seq
    assert seq is not None
    await session.tag(seq, "a", protected=True)
    proposal = await session.propose()
    assert seq in {message.seq for message in proposal.plan.history}

    await session.tag(seq, "a")
    with pytest.raises(CompactionFailed, match="moved on"):
        await session.apply(proposal)
    await session.compact()

    assert session.context.tags.get(seq) is None
    assert seq not in {message.seq for message in session.context.history}


def accepting(text: str) -> Decide:
    """Give a user who accepts everything, in these words."""

    async def decide(_proposed: str) -> Decision:
        return Decision(what="accept", text=text)

    return decide


async def test_a_model_writes_the_summary_and_messages_that_come_meanwhile_stay() -> None:
    """The summary is asked for while the session goes on; what came since is kept behind it."""
    heard: list[Event] = []
    asked = asyncio.Event()
    go_on = asyncio.Event()

    async def write(request: SummaryRequest) -> SummaryReply:
        asked.set()
        await go_on.wait()
        assert "function_0" in request.user
        return SummaryReply(text="## Task\n- The user asks about modules 0 to 11 in turn.")

    summarizer = FunctionSummarizer(write, window_tokens=50_000, name="scripted")
    companions = Companions(summarizers=(summarizer,), listeners=(heard.append,))
    session = await session_with(companions, said=30)

    running = asyncio.ensure_future(session.compact())
    await first_of(asked, running)
    await session.append(user("and this came meanwhile"))
    go_on.set()
    done = await running

    assert done.changed
    assert session.context.history[-1].text == "and this came meanwhile"
    summaries = [one for one in session.context.history if one.origin == "summary"]
    assert "asks about modules 0 to 11" in summaries[0].text
    attempts = [event for event in heard if isinstance(event, SummaryAttempted)]
    assert [event.model for event in attempts] == ["scripted"]
    assert session.context.lineage[-1].model == "scripted"  # type: ignore[union-attr]  # a compaction


async def test_an_approved_text_is_the_summary_word_for_word() -> None:
    """Whatever its checks say, with a ledger beside it; the exchange that asked stays whole."""
    session = await session_with(Companions(), said=30)
    session._counting.settings = session.settings.but(
        policy=structs.replace(session.settings.policy, score_min=0.9)
    )
    await session.pin(2)
    condense = Condense(accepting("It was lexer99.py.\nNothing is left."), session.condense)
    await session.append(assistant("", tool_calls=[call("c", "condense", "{}")]))
    answer = await condense.handle({"message": "It was the lexer."})
    await session.append(tool("c", answer))

    assert await condense.apply()

    history = session.context.history
    summary = next(message for message in history if message.origin == "summary")
    assert "It was lexer99.py.\nNothing is left." in summary.text
    assert 2 in {message.seq for message in history}
    assert [message.role for message in history[-2:]] == ["assistant", "tool"]
    assert not open_calls(history)
    record = session.context.lineage[-1]
    assert isinstance(record, Compaction)
    assert record.trigger == "condense"
    assert not await condense.apply()


@pytest.mark.parametrize("text", ["", " \n", "much longer than what it is about " * 4_000])
async def test_an_approved_text_that_cannot_be_used_changes_nothing(text: str) -> None:
    """It is said why."""
    session = await session_with(Companions(), said=30)
    before = b"".join(session.store.pieces())

    with pytest.raises(CompactionFailed, match="summary"):
        await session.condense(text)

    assert b"".join(session.store.pieces()) == before


async def test_a_cancelled_summary_leaves_everything_as_it_was() -> None:
    """Cancelled before the rewrite: nothing has happened, and the end is told."""
    heard: list[Event] = []
    asked = asyncio.Event()

    async def write(_request: SummaryRequest) -> SummaryReply:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    summarizer = FunctionSummarizer(write, window_tokens=50_000)
    session = await session_with(
        Companions(summarizers=(summarizer,), listeners=(heard.append,)), said=30
    )
    before = b"".join(session.store.pieces())

    running = asyncio.ensure_future(session.compact())
    await first_of(asked, running)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert b"".join(session.store.pieces()) == before
    ended = [event for event in heard if isinstance(event, CompactionEnded)]
    assert [event.outcome for event in ended] == ["cancelled"]


async def test_the_snapshot_of_background_tasks_follows_compaction_revert_and_clear() -> None:
    """After each the model reads which tasks still run."""
    companions = Companions(background=lambda: [Task(id="t1", title="the long build")])
    session = await session_with(companions)
    mark = await session.checkpoint()

    for rewrite in (session.compact, lambda: session.revert(mark), session.clear):
        await rewrite()
        assert "the long build" in session.context.history[-1].text
        assert session.context.history[-1].origin == "notice"
