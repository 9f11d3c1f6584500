"""Public faults of compaction, on a whole session with a scripted model, by their case."""

from __future__ import annotations

import pytest

from minutebook.companions import Companions
from minutebook.events import Event, SummaryAttempted
from minutebook.messages import assistant, user
from minutebook.models.retry import Retries
from minutebook.providers import validate_anthropic
from minutebook.records import Compaction
from minutebook.session import Session
from minutebook.store.memory import MemoryStore, Shelf
from minutebook.testing.scripted import Answer, Failure, ScriptedModel
from tests.cases import case
from tests.cases_sessions import Played
from tests.playing import Clock, assert_replay_is_the_same, settings

GOOD = "## Task\n- The user goes from one module to the next. (record 1)"
TWICE = Retries(attempts_max=2, wait_seconds=0.0)


async def opened(
    model: ScriptedModel, heard: list[Event], *, window: int = 4_000, max_output: int = 400
) -> Session:
    """Open an empty session with a scripted model."""
    session = Session(
        await MemoryStore.open(Shelf()),
        settings(window=window, max_output=max_output),
        companions=Companions(summarizers=(model,), listeners=(heard.append,), retries=TWICE),
        clock=Clock(),
    )
    session.replay()
    return session


async def talk(session: Session, tokens: int, *, said: int = 25) -> None:
    """Say so much, the assistant *said* sentences at a time."""
    while session.used < tokens:
        number = session.context.next_seq
        await session.append(
            user(f"What is module {number} for?"), assistant(f"It is for {number}. " * said)
        )


def compaction(session: Session) -> Compaction:
    """Give the record of the last compaction."""
    (record,) = [one for one in session.context.lineage if isinstance(one, Compaction)]
    return record


async def test_case_c027_an_empty_summary_is_never_stored_and_its_calls_are_paid_for() -> None:
    """Attempts are bounded, each is told, and the digest acts in the model's place, by name."""
    usage = {"input_tokens": 2_500, "output_tokens": 12}
    blanks = [Answer(text=text, usage=usage) for text in ("", " \n\t", "\u200b")]
    heard: list[Event] = []
    session = await opened(ScriptedModel(blanks[:2]), heard)
    await Played(session, case("C027")).play()
    await talk(session, 3_000)

    done = await session.compact()

    told = [event for event in heard if isinstance(event, SummaryAttempted)]
    assert [(event.outcome, event.reason) for event in told] == [
        ("blank", "the reply was empty")
    ] * 2
    assert done.changed
    record = compaction(session)
    assert record.model is None
    assert record.usage is not None
    assert (record.usage["input"], record.usage["output"]) == (5_000, 24)
    summaries = [message.text for message in session.context.history if message.origin == "summary"]
    assert all(len(text) > 200 for text in summaries)
    assert_replay_is_the_same(session)


async def test_case_c035_failed_attempts_count_and_stay_out_of_the_contexts_size() -> None:
    """Both calls are in the record, apart from what turns cost."""
    cut = Answer(
        text="## Task\n- The user",
        finish="length",
        usage={"input_tokens": 2_500, "output_tokens": 400},
    )
    good = Answer(text=GOOD, usage={"input_tokens": 2_400, "output_tokens": 120})
    session = await opened(ScriptedModel([cut, good]), [])
    await talk(session, 3_200)

    await session.compact()

    record = compaction(session)
    assert record.usage is not None
    assert (record.usage["input"], record.usage["output"]) == (4_900, 520)
    assert session.used < 2_400
    assert not session.context.token_count_is_exact
    assert_replay_is_the_same(session)


async def test_case_c025_only_an_overflow_compacts_and_the_prompt_is_sent_once_more() -> None:
    """Of the twelve errors each does what its class says; the waiting prompt is in the log once."""
    for one in case("C025").json("errors.json"):
        session = await opened(ScriptedModel(always=GOOD), [], window=1_500_000)
        await talk(session, 2_000)
        await session.append(user("and the waiting question?"))
        before = b"".join(session.store.pieces())

        overflowed = await session.overflowed(one)

        assert overflowed is (one["want"] == "context_overflow"), one["id"]
        if not overflowed:
            assert b"".join(session.store.pieces()) == before
            continue
        view = await session.fit()
        assert view.messages[-1].text == "and the waiting question?"
        said = [m for m in session.history(full=True) if m.text == "and the waiting question?"]
        assert len(said) == 1
        body = view.to_anthropic()
        assert validate_anthropic.violations(body["messages"], system=None) == []


@pytest.mark.parametrize("status", [500, 503])
async def test_case_c033_an_errors_words_are_in_no_log_and_no_request(status: int) -> None:
    """The history is there at each moment; the digest stands in for the model."""
    failure = Failure(status=status, body="upstream timed out", message="upstream timed out")
    model = ScriptedModel(always=failure)
    session = await opened(model, [])
    await talk(session, 3_200)

    await session.compact()

    assert b"upstream timed out" not in b"".join(session.store.pieces())
    assert all("upstream timed out" not in one.user + one.system for one in model.requests)
    assert compaction(session).model is None


async def test_case_c043_rules_and_exact_words_outlive_three_compactions() -> None:
    """Though the model writes none of them down."""
    session = await opened(ScriptedModel(always=GOOD), [])
    await session.append(
        user("Fix the exporter, please."),
        assistant("I will."),
        user("Do NOT call eval anywhere."),
        assistant("Understood."),
        user("exactly 512 rows"),
    )
    for _ in range(3):
        await talk(session, 3_300, said=150)
        assert (await session.compact()).changed

    texts = [message.text for message in session.context.history]
    assert "Do NOT call eval anywhere." in texts
    assert "exactly 512 rows" in " ".join(texts)
    assert texts.count("Do NOT call eval anywhere.") == 1
