"""`condense`: the model proposes a summary, the user decides, and at most one is put in place."""

import asyncio
from collections.abc import Sequence

import pytest

from minutebook.context import Context, fold
from minutebook.errors import CompactionVetoed
from minutebook.lines import Scanner
from minutebook.messages import Message, assistant, call, tool, user
from minutebook.tools.condense import ACCEPTED, ANOTHER, REFUSED, Condense, Decision
from minutebook.turns import open_calls
from tests.cases import case


class User:
    """A user who decides as the test says, and a session that notes what becomes the summary."""

    def __init__(self, *decisions: Decision) -> None:
        """Give these decisions, in order."""
        self.asked: list[str] = []
        self.summaries: list[str] = []
        self._decisions = list(decisions)

    async def decide(self, proposed: str) -> Decision:
        """Look at a proposal."""
        self.asked.append(proposed)
        await asyncio.sleep(0)
        return self._decisions.pop(0)

    async def commit(self, text: str) -> None:
        """Make a text the summary."""
        self.summaries.append(text)

    def tool(self) -> Condense:
        """Make the tool of this user."""
        return Condense(self.decide, self.commit)


ACCEPT = Decision(what="accept")


async def test_an_accepted_text_becomes_the_summary_once_it_is_applied() -> None:
    """Not before: the result of the call has to be written first."""
    one = User(ACCEPT)
    tool = one.tool()

    assert await tool.handle({"message": "What was done."}) == ACCEPTED
    assert (tool.approved, one.summaries) == ("What was done.", [])
    assert await tool.apply()

    assert (tool.approved, one.summaries) == ("", ["What was done."])
    assert not await tool.apply()
    assert one.summaries == ["What was done."]


async def test_the_user_may_change_the_text() -> None:
    """What was approved is the summary, not what was proposed."""
    one = User(Decision(what="accept", text=" What was really done. \n"))
    tool = one.tool()

    await tool.handle({"message": "What was done."})
    await tool.apply()

    assert one.summaries == ["What was really done."]


@pytest.mark.parametrize(
    ("decision", "answer"),
    [
        (Decision(what="refuse"), REFUSED),
        (Decision(what="refuse", text="not now"), REFUSED),
        (Decision(what="feedback", text=" "), REFUSED),
        (
            Decision(what="feedback", text="Name the port. "),
            "The user wants the summary changed: Name the port.",
        ),
    ],
)
async def test_anything_else_changes_nothing(decision: Decision, answer: str) -> None:
    """Feedback goes back to the model, which may propose again."""
    one = User(decision, ACCEPT)
    tool = one.tool()

    assert await tool.handle({"message": "What was done."}) == answer
    assert not await tool.apply()
    assert await tool.handle({"message": "What was done on port 5433."}) == ACCEPTED
    assert await tool.apply()

    assert one.summaries == ["What was done on port 5433."]


@pytest.mark.parametrize("arguments", ["{", None, {"message": ""}, {"summary": "x"}])
async def test_arguments_that_make_no_sense_are_answered(arguments: str | None) -> None:
    """In words for the model; the user is not asked."""
    one = User()

    assert "`message`" in await one.tool().handle(arguments) or arguments == "{"
    assert one.asked == []


async def test_two_calls_side_by_side_ask_once() -> None:
    """Both get an answer, and one text becomes the summary."""
    one = User(ACCEPT)
    tool = one.tool()

    calls = [tool.handle({"message": text}) for text in ("first", "second")]
    answers = await asyncio.gather(*calls)
    applied = [await tool.apply(), await tool.apply()]

    assert answers == [ACCEPTED, ANOTHER]
    assert one.asked == one.summaries == ["first"]
    assert applied == [True, False]


async def test_a_second_call_is_heard_if_the_first_was_refused() -> None:
    """One after the other, so that the user sees one at a time."""
    one = User(Decision(what="refuse"), ACCEPT)
    tool = one.tool()

    calls = [tool.handle({"message": text}) for text in ("first", "second")]
    answers = await asyncio.gather(*calls)

    assert answers == [REFUSED, ACCEPTED]
    assert tool.approved == "second"


async def test_a_text_that_may_not_be_the_summary_is_gone() -> None:
    """A hook says no, or it holds too little: nothing was changed, and nothing waits."""

    async def commit(_text: str) -> None:
        raise CompactionVetoed("not now", hook="guard")

    tool = Condense(User(ACCEPT).decide, commit)
    await tool.handle({"message": "What was done."})

    assert not await tool.apply()
    assert tool.approved == ""


async def test_an_accepted_text_can_be_dropped() -> None:
    """The conversation that it tells of is not there any more."""
    one = User(ACCEPT)
    tool = one.tool()
    await tool.handle({"message": "What was done."})

    tool.drop()

    assert not await tool.apply()
    assert one.summaries == []


async def test_a_user_who_cannot_be_asked_is_the_agents_matter() -> None:
    """What the agent's own code raises is raised, and the next call may ask again."""

    async def decide(_text: str) -> Decision:
        raise OSError("the terminal is gone")

    tool = Condense(decide, User().commit)

    with pytest.raises(OSError, match="terminal"):
        await tool.handle({"message": "What was done."})
    with pytest.raises(OSError, match="terminal"):
        await tool.handle({"message": "What was done."})
    assert tool.approved == ""


def opened(log: bytes) -> list[Message]:
    """Read the messages of a log."""
    scanner = Scanner()
    context: Context = fold([*scanner.feed(log), *scanner.finish()])
    return list(context.history)


@pytest.mark.parametrize("calls", [("tu_c",), ("tu_c", "tu_d")])
async def test_c005_the_summary_waits_for_the_results_of_its_call(calls: Sequence[str]) -> None:
    """C005: every call has its result before the one rewrite, and the user's words are there."""
    history = opened(case("C005").log())[:-1]
    history.append(assistant(tool_calls=[call(name, "condense") for name in calls]))
    rewritten: list[list[Message]] = []

    async def commit(text: str) -> None:
        assert open_calls(history) == ()
        rewritten.append([user(text), *history[-len(calls) - 2 :]])

    one = User(ACCEPT)
    condense = Condense(one.decide, commit)
    answers = await asyncio.gather(*(condense.handle({"message": "S1"}) for _ in calls))
    history += [tool(name, answer) for name, answer in zip(calls, answers, strict=True)]
    assert await condense.apply()
    assert not await condense.apply()

    (now,) = rewritten
    assert [message.text for message in now].count("S1") == 1
    assert "Tidy your memory now." in [message.text for message in now]
    assert open_calls(now) == ()
    assert answers == [ACCEPTED, *[ANOTHER] * (len(calls) - 1)]
