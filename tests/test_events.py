"""The stream of events: nobody who listens can do harm, and what has begun also ends, once."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import (
    CompactionFailed,
    CompactionVetoed,
    ConfigError,
    ContextOverflow,
    StoreError,
)
from minutebook.events import (
    Compacting,
    CompactionBegun,
    CompactionCommitted,
    CompactionEnded,
    Ending,
    Event,
    HookRan,
    StepTaken,
    emit,
    result_of,
)

BEGUN = CompactionBegun(trigger="manual", tokens_before=900, target=500)
STEP = StepTaken(name="mask", tokens_before=900, tokens_after=700, detail="one output masked")
COMMITTED = CompactionCommitted(
    trigger="manual", tokens_before=900, tokens_after=400, steps=("mask",), rotation=1
)
ENDED = CompactionEnded(trigger="manual", outcome="skipped", reason="nothing to compact")
RAN = HookRan(hook="notify", event="PreCompact", outcome="agreed")
OVERFLOW = ContextOverflow(tokens=9, limit=8, parts={"pinned messages": 9})


def angry(_event: Event) -> None:
    """Raise on every event."""
    raise RuntimeError("I do not like it")


def endings(seen: list[Event]) -> list[Event]:
    """Give the endings among events."""
    return [event for event in seen if isinstance(event, Ending)]


def test_every_listener_is_told_in_order_although_one_raises() -> None:
    """What a listener raises is dropped, and those behind it are told all the same."""
    first: list[Event] = []
    second: list[Event] = []

    emit((first.append, angry, second.append), BEGUN)
    emit((first.append, angry, second.append), STEP)

    assert first == second == [BEGUN, STEP]


def test_a_listener_cannot_swallow_ctrl_c() -> None:
    """Only errors are dropped: what ends the program is no error."""

    def interrupted(_event: Event) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        emit((interrupted,), BEGUN)


@given(
    st.lists(st.sampled_from([STEP, RAN, COMMITTED, ENDED])),
    st.sampled_from([None, StoreError("full"), asyncio.CancelledError()]),
)
def test_what_has_begun_ends_exactly_once(told: list[Event], error: BaseException | None) -> None:
    """Whatever is told, and however the block is left, one ending comes, and it comes last."""
    seen: list[Event] = []
    caught: BaseException | None = None

    tell = Compacting((angry, seen.append), BEGUN)
    try:
        with tell:
            for event in told:
                tell(event)
            if error is not None:
                raise error
    except (StoreError, asyncio.CancelledError) as raised:
        caught = raised

    assert caught is error
    assert seen[0] == BEGUN
    assert len(endings(seen)) == 1
    assert seen[-1] == endings(seen)[0] == tell.ending
    if first := endings(told):
        assert seen[1:] == told[: told.index(first[0]) + 1]


@pytest.mark.parametrize(
    ("error", "outcome", "words"),
    [
        (CompactionVetoed("the tests run", hook="guard"), "vetoed", "the tests run (said guard)"),
        (CompactionVetoed("not now"), "vetoed", "not now"),
        (OVERFLOW, "refused", str(OVERFLOW)),
        (ConfigError("window", "unknown"), "refused", "window: unknown"),
        (StoreError("no space left"), "failed", "no space left"),
        (CompactionFailed("it is larger"), "failed", str(CompactionFailed("it is larger"))),
        (KeyError(), "failed", "KeyError"),
        (asyncio.CancelledError(), "cancelled", "CancelledError"),
        (KeyboardInterrupt(), "cancelled", "KeyboardInterrupt"),
    ],
)
def test_an_error_says_how_a_compaction_ended(
    error: BaseException, outcome: str, words: str
) -> None:
    """Each kind of error has its word, and the reason is the error's own."""
    seen: list[Event] = []

    with pytest.raises(type(error)), Compacting((seen.append,), BEGUN):
        raise error

    assert seen[1:] == [CompactionEnded(trigger="manual", outcome=outcome, reason=words)]  # type: ignore[arg-type]  # a parameter


def test_a_block_without_an_ending_did_nothing() -> None:
    """Then the compaction was skipped."""
    seen: list[Event] = []

    with Compacting((seen.append,), BEGUN):
        pass

    assert [result_of(event) for event in seen if isinstance(event, Ending)] == ["skipped"]


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        ("skipped", "skipped"),
        ("vetoed", "skipped"),
        ("refused", "failed"),
        ("failed", "failed"),
        ("cancelled", "failed"),
    ],
)
def test_hooks_are_told_one_of_three_words(outcome: str, word: str) -> None:
    """The five ways to end without a change are two words for a hook; a commit is the third."""
    ended: Callable[..., CompactionEnded] = CompactionEnded

    assert result_of(ended(trigger="limit", outcome=outcome, reason="")) == word
    assert result_of(COMMITTED) == "applied"
