"""The values of a compaction count right and tell what became of each message."""

from hypothesis import given

from minutebook.budget import Policy
from minutebook.compaction.phrases import ENGLISH
from minutebook.compaction.plan import MADE, Goal, Request, begin, finish, made, shortened
from minutebook.messages import Message, assistant, replace, user
from minutebook.tokens.estimate import estimate_message
from tests.compaction.conversations import histories, numbered

HISTORY = numbered([user("fix it"), assistant("I look"), user("thanks")])


@given(histories())
def test_a_draft_begins_as_the_request(history: tuple[Message, ...]) -> None:
    """Same messages, and the size of the whole request."""
    draft = begin(Request(history=history, fixed=70))

    assert tuple(draft.messages) == history
    assert draft.tokens == 70 + sum(map(estimate_message, history))
    assert [draft.original(item) for item in draft.items] == list(history)


def test_a_plan_lists_what_left_and_what_was_shortened() -> None:
    """What the compaction wrote itself is in neither list."""
    draft = begin(Request(history=HISTORY))
    notice = made(Message(role="user", content="one is gone", origin="notice"))
    short = shortened(draft.items[2], replace(HISTORY[2], content="th…", elided="clip"))

    plan = finish(draft.replaced([draft.items[0], notice, short]), 99, ())

    assert plan.left_out == (2,)
    assert plan.shortened == (3,)
    assert plan.history[1].seq is None
    assert plan.tokens_before == 99
    assert plan.changed


def test_a_plan_with_a_reason_changes_nothing() -> None:
    """The reason is the sign."""
    assert not finish(begin(Request(history=HISTORY)), 99, (), "too small").changed


def test_a_message_of_ours_is_its_own_original_and_never_pinned() -> None:
    """Even if its number, which it does not have yet, were among the pins."""
    draft = begin(Request(history=HISTORY, pins=frozenset([1])))
    own = made(replace(HISTORY[0], origin="notice"))

    assert own.source == MADE
    assert draft.original(own) is own.message
    assert not draft.pinned(own)
    assert [draft.pinned(item) for item in draft.items] == [True, False, False]


def test_the_original_of_a_shortened_message_is_the_request_s() -> None:
    """Steps after the first still see what the first one shortened."""
    draft = begin(Request(history=HISTORY))
    short = shortened(draft.items[0], replace(HISTORY[0], content="f", elided="clip"))

    assert draft.replaced([short]).original(short) is HISTORY[0]


def test_a_share_is_of_the_room() -> None:
    """In whole tokens, rounded down."""
    goal = Goal(policy=Policy(), phrases=ENGLISH, target=150, limit=300, room=99)

    assert goal.share(0.5) == 49
