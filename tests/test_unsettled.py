"""Pairing while messages pass by gives what pairing with the whole history at hand gives."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.messages import Message, assistant, call, replace, tool, user
from minutebook.turns import exchanges, pair
from minutebook.unsettled import OpenCall, Place, Unsettled

IDS = st.sampled_from(["a", "b", ""])
HISTORIES = st.lists(
    st.one_of(
        st.builds(
            lambda ids: assistant("", tool_calls=[call(one, "Shell") for one in ids]),
            st.lists(IDS, max_size=3),
        ),
        st.builds(lambda one: tool(one, "done"), IDS),
        st.builds(lambda one: replace(tool(one, "lost"), origin="notice"), IDS),
        st.just(user("go on")),
        st.just(Message(role="tool", content="of no call")),
    ),
    max_size=14,
)


def unsettled(history: list[Message]) -> Unsettled:
    """Take a history whose messages have their number from 1, and end at ten times that."""
    found = Unsettled()
    for seq, message in enumerate(history, 1):
        found.take(message, Place(seq=seq, end=10 * seq))
    return found


def settled(history: list[Message], opened: list[OpenCall]) -> list[Message]:
    """Write a marked result for each open call behind the record that it names."""
    laid: list[Message] = []
    for seq, message in enumerate(history, 1):
        laid.append(message)
        laid += [
            replace(tool(item.call_id, "unknown"), origin="notice")
            for item in opened
            if item.after == 10 * seq
        ]
    return laid


@given(HISTORIES)
def test_it_finds_what_pairing_the_whole_history_finds(history: list[Message]) -> None:
    """Open calls, orphans and the last message with calls are the same."""
    found, pairing = unsettled(history), pair(history)

    assert [(item.index, item.number) for item in found.open()] == list(pairing.open)
    assert sorted(found.orphans) == sorted(index + 1 for index in pairing.orphans)
    calling = [index for index, message in enumerate(history) if message.calls]
    assert found.last_calling == max(calling, default=-1)


@given(HISTORIES)
def test_a_result_at_its_place_settles_its_call_and_no_other(history: list[Message]) -> None:
    """With a marked result behind each `after` nothing is open, and who answered still does."""
    before = pair(history)

    laid = settled(history, unsettled(history).open())
    pairing = pair(laid)

    assert pairing.open == ()
    old = [index for index, message in enumerate(laid) if any(message is one for one in history)]
    answers = {(old[index], number): old[r] for (index, number), r in before.results.items()}
    assert {key: pairing.results.get(key) for key in answers} == answers


@given(HISTORIES)
def test_the_place_is_the_end_of_the_exchange_where_that_is_safe(history: list[Message]) -> None:
    """A call whose id no later message uses gets its result behind its whole exchange."""
    ends = {exchange.start: exchange.end for exchange in exchanges(history)}

    for item in unsettled(history).open():
        later = history[item.index + 1 : ends[item.index]]
        if all(other.id != item.call_id for message in later for other in message.calls):
            assert item.after == 10 * ends[item.index]


def test_what_is_answered_is_forgotten() -> None:
    """A long conversation without an open call leaves nothing behind."""
    found = Unsettled()
    for seq in range(1, 1_000, 2):
        found.take(assistant("", tool_calls=[call(f"c{seq}", "Shell")]), Place(seq=seq))
        found.take(tool(f"c{seq}", "done"), Place(seq=seq + 1))

    assert found.open() == []
    assert (found._waiting, found._replaceable, found.orphans) == ({}, {}, [])
