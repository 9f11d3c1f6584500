"""What a summary covers: all that is older than what fits beside it."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.budget import Policy
from minutebook.compaction.covering import (
    SUMMARY_OF_COVERED_MAX,
    SUMMARY_TOKENS_MAX,
    SUMMARY_TOKENS_MIN,
    cover,
    cover_for,
    insert,
)
from minutebook.compaction.keep import protect, weights
from minutebook.compaction.phrases import ENGLISH
from minutebook.compaction.plan import Goal, Request, begin, made
from minutebook.messages import Message, assistant, user
from minutebook.turns import cuts, pair
from tests.compaction.conversations import histories, lines, numbered, step


def goal(room: int, **more: object) -> Goal:
    """Give a goal with that room."""
    policy = Policy(keep_first=0, **more)  # type: ignore[arg-type]  # fields
    return Goal(policy=policy, phrases=ENGLISH, target=room, limit=room * 4, room=room)


@given(histories(), st.integers(100, 4_000))
def test_what_stays_and_what_is_covered_are_all(history: tuple[Message, ...], room: int) -> None:
    """No exchange is split, what must stay does, and the run at the end is unbroken."""
    draft = begin(Request(history=history))
    kept = protect(draft, goal(room))

    found = cover(draft, goal(room), kept)

    assert {*found.stays, *found.covered} == set(range(len(history)))
    assert not found.stays & set(found.covered)
    assert kept.must <= found.stays
    assert not kept.summaries & found.stays
    assert set(range(found.start, len(history))) <= found.stays
    assert found.start - 1 not in found.stays
    for (head, _), result in pair(history).results.items():
        assert (head in found.stays) == (result in found.stays)


@given(histories(), st.integers(100, 4_000))
def test_more_room_keeps_more(history: tuple[Message, ...], room: int) -> None:
    """A smaller summary leaves more messages."""
    draft = begin(Request(history=history))
    kept = protect(draft, goal(room))

    small = cover_for(draft, goal(room), kept, 0)
    large = cover_for(draft, goal(room), kept, room // 2)

    assert large.stays <= small.stays


def test_the_budget_is_bounded_from_all_sides() -> None:
    """By its share, by a stated most, by what it stands for, and by what must stay."""
    history = numbered(
        [user("Fix it all please"), *step("a", "bash", lines(60)) * 20, assistant("x")]
    )
    draft = begin(Request(history=history))
    kept = protect(draft, goal(1))

    def budget(room: int) -> int:
        return cover(draft, goal(room), kept).budget

    assert budget(4_000) == 2_000
    covered = cover(draft, goal(10**6, keep_share=0.0), kept)
    most = int(sum(draft.items[at].tokens for at in covered.covered) * SUMMARY_OF_COVERED_MAX)
    assert covered.budget == min(most, SUMMARY_TOKENS_MAX)
    waiting = numbered([*history, user(lines(300))])
    full = begin(Request(history=waiting))
    must = protect(full, goal(3_000))
    assert sum(weights(full, goal(3_000), must)[at] for at in must.must) > 2_500
    assert cover(full, goal(3_000), must).budget == SUMMARY_TOKENS_MIN


def test_what_an_approved_summary_covers_goes_though_there_is_room() -> None:
    """Unless it must stay."""
    history = numbered([user("Fix it all please"), *[assistant("Hm, yes.")] * 5])
    draft = begin(Request(history=history))
    kept = protect(draft, goal(10_000))

    found = cover_for(draft, goal(10_000), kept, 50, gone=frozenset([1, 2, 5]))

    assert found.covered == (1, 2)


@given(histories(), st.integers(100, 2_000))
def test_new_messages_split_no_exchange(history: tuple[Message, ...], room: int) -> None:
    """They stand before the newest part."""
    draft = begin(Request(history=history))
    kept = protect(draft, goal(room))
    found = cover(draft, goal(room), kept)
    new = made(Message(role="user", content="told", origin="summary"))

    items = insert(draft, found, [new])

    at = items.index(new)
    assert at in cuts([item.message for item in items if item is not new])
    assert len(items) == len(found.stays) + 1
