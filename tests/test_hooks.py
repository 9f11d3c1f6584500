"""Hooks are asked before a compaction and told after it, and none of them can do harm."""

import asyncio
from typing import Any

import pytest

from minutebook.errors import CompactionVetoed
from minutebook.events import Event, HookRan
from minutebook.hooks import (
    INSTRUCTIONS_CHARACTERS_MAX,
    REASON_CHARACTERS_MAX,
    Answer,
    Hook,
    Hooks,
    PostCompact,
    PreCompact,
)

PRE = PreCompact(session="s1", trigger="trigger", focus="the parser", tokens_before=9_000)
POST = PostCompact(
    session="s1",
    trigger="trigger",
    focus="",
    tokens_before=9_000,
    tokens_after=4_000,
    outcome="applied",
)


def ran(seen: list[Event]) -> list[tuple[str, str]]:
    """Give the hooks that ran with their outcomes, by name."""
    return sorted((event.hook, event.outcome) for event in seen if isinstance(event, HookRan))


async def test_without_hooks_there_is_nothing_to_say() -> None:
    """Nobody is asked, nothing is added."""
    assert await Hooks().ask(PRE) == ""
    await Hooks().tell(POST)


async def test_instructions_of_all_hooks_are_joined_in_their_order() -> None:
    """Text and answers, sync and async; blank ones add nothing."""

    def plain(_details: PreCompact) -> str:
        return "  Keep the paths.\n"

    async def waiting(_details: PreCompact) -> Answer:
        await asyncio.sleep(0)
        return Answer(instructions="Keep the numbers.")

    def silent(_details: PreCompact) -> None:
        return None

    def blank(_details: PreCompact) -> str:
        return " \n"

    hooks = Hooks(before=(plain, silent, waiting, blank))

    assert await hooks.ask(PRE) == "Keep the paths.\n\nKeep the numbers."


async def test_each_hook_gets_the_same_frozen_details() -> None:
    """Those before get what is known before, those after what came of it."""
    seen: list[Any] = []

    async def after(details: PostCompact) -> None:
        seen.append(details)

    hooks = Hooks(before=(seen.append, seen.append), after=(seen.append, after))
    await hooks.ask(PRE)
    await hooks.tell(POST)

    assert seen == [PRE, PRE, POST, POST]
    with pytest.raises(AttributeError):
        seen[0].trigger = "manual"


def refusing(_details: PreCompact) -> Answer:
    """Veto with an answer."""
    return Answer(veto="the tests are running")


def raising(_details: PreCompact) -> None:
    """Veto with our own error."""
    raise CompactionVetoed("the tests are running")


async def refusing_later(_details: PreCompact) -> Answer:
    """Veto after a turn of the loop."""
    await asyncio.sleep(0)
    return Answer(veto="the tests are running")


@pytest.mark.parametrize("hook", [refusing, raising, refusing_later])
async def test_any_hook_may_veto(hook: Hook) -> None:
    """One no outweighs every yes, with its reason and its name; all the others were asked."""
    asked: list[PreCompact] = []
    seen: list[Event] = []
    hooks = Hooks(before=(asked.append, hook, asked.append))

    with pytest.raises(CompactionVetoed) as caught:
        await hooks.ask(PRE, [seen.append])

    assert (caught.value.reason, caught.value.hook) == ("the tests are running", hook.__name__)
    assert asked == [PRE, PRE]
    assert (hook.__name__, "vetoed") in ran(seen)


async def test_of_several_vetoes_the_first_hooks_is_told() -> None:
    """First in the order in which they were given, not in time."""

    def second(_details: PreCompact) -> Answer:
        return Answer(veto="I was quicker")

    with pytest.raises(CompactionVetoed, match="the tests are running"):
        await Hooks(before=(refusing_later, second)).ask(PRE)


async def test_a_veto_after_the_fact_is_nothing() -> None:
    """A compaction that is done stays done, whatever hooks say then."""
    seen: list[Event] = []

    await Hooks(after=(refusing, raising)).tell(POST, [seen.append])

    assert ran(seen) == [("raising", "vetoed"), ("refusing", "vetoed")]


def broken(_details: PreCompact) -> str:
    """Raise something that is not ours."""
    raise ValueError("no such key")


async def broken_later(_details: PreCompact) -> None:
    """Raise while it is awaited."""
    await asyncio.sleep(0)
    raise OSError("no such host")


async def impatient(_details: PreCompact) -> None:
    """Raise the error of a limit of its own."""
    raise TimeoutError("my own limit")


async def self_cancelled(_details: PreCompact) -> None:
    """Be cancelled from within."""
    raise asyncio.CancelledError


def saying_no(_details: PreCompact) -> bool:
    """Give what is no answer."""
    return False


@pytest.mark.parametrize("hook", [broken, broken_later, impatient, self_cancelled, saying_no])
async def test_a_hook_that_fails_has_said_nothing(hook: Any) -> None:
    """The compaction goes on, others are heard, and the events tell of it."""
    seen: list[Event] = []

    said = await Hooks(before=(hook, lambda _: "Keep it.")).ask(PRE, [seen.append])

    assert said == "Keep it."
    assert ran(seen) == [("<lambda>", "instructed"), (hook.__name__, "failed")]
    (failed,) = [one for one in seen if isinstance(one, HookRan) and one.outcome == "failed"]
    assert failed.reason


async def test_a_hook_that_hangs_is_ended_after_its_time() -> None:
    """It has said nothing, and it is really ended."""
    ended = asyncio.Event()
    seen: list[Event] = []

    async def hanging(_details: PreCompact) -> str:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()
        return "too late"

    said = await Hooks(before=(hanging,), timeout_seconds=0.001).ask(PRE, [seen.append])

    assert said == ""
    assert ended.is_set()
    assert ran(seen) == [("hanging", "timeout")]


async def test_hooks_run_side_by_side() -> None:
    """None of these would pass the barrier if one were asked after the other."""
    barrier = asyncio.Barrier(3)

    async def meeting(_details: PreCompact) -> str:
        await barrier.wait()
        return "met"

    assert await Hooks(before=(meeting,) * 3).ask(PRE) == "met\n\nmet\n\nmet"


async def test_cancelling_ends_the_hooks() -> None:
    """The caller's cancel reaches each of them, and none is left behind."""
    inside = asyncio.Barrier(3)
    ended: list[str] = []

    async def hanging(_details: PreCompact) -> None:
        await inside.wait()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append("ended")

    asking = asyncio.create_task(Hooks(before=(hanging, hanging)).ask(PRE))
    await inside.wait()
    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking
    assert ended == ["ended", "ended"]


async def test_what_a_hook_says_is_bounded() -> None:
    """Neither reasons nor instructions are as long as a hook likes."""
    with pytest.raises(CompactionVetoed) as caught:
        await Hooks(before=(lambda _: Answer(veto="no" * 10_000),)).ask(PRE)

    said = await Hooks(before=(lambda _: "x" * 1_000_000,)).ask(PRE)

    assert len(caught.value.reason) == REASON_CHARACTERS_MAX
    assert len(said) == INSTRUCTIONS_CHARACTERS_MAX


async def test_a_veto_without_a_reason_has_one_that_says_so() -> None:
    """An error without words helps nobody."""
    with pytest.raises(CompactionVetoed, match="no reason was given"):
        await Hooks(before=(lambda _: Answer(veto="  "),)).ask(PRE)


async def test_any_callable_may_be_a_hook() -> None:
    """An object is named by its class."""

    class Guard:
        async def __call__(self, details: PreCompact) -> Answer:
            return Answer(veto=f"not at {details.tokens_before}")

    with pytest.raises(CompactionVetoed) as caught:
        await Hooks(before=(Guard(),)).ask(PRE)

    assert (caught.value.hook, caught.value.reason) == ("Guard", "not at 9000")
