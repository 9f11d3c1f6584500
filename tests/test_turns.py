"""Turns, pairing, exchanges and cuts, against a slow and obvious model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.messages import (
    ImagePart,
    MediaUrl,
    Message,
    TextPart,
    ToolCall,
    assistant,
    call,
    system,
    tool,
    user,
)
from minutebook.turns import (
    Exchange,
    cuts,
    exchanges,
    is_made_up,
    is_real_user,
    open_calls,
    origin_of,
    pair,
    turns,
)

SUMMARY_LEAD = (
    "<system>Previous context has been compacted. Here is the compaction output:</system>"
)
IDS = st.sampled_from(["", "a", "b", "Shell:0"])
HISTORIES = st.lists(
    st.one_of(
        st.builds(user, st.sampled_from(["do it", "<system>note</system>"])),
        st.builds(
            lambda ids: assistant("x", tool_calls=[call(call_id, "f") for call_id in ids]),
            st.lists(IDS, max_size=4),
        ),
        st.builds(
            lambda call_id, origin: Message(
                "tool", "out", tool_call_id=call_id or None, origin=origin
            ),
            IDS,
            st.sampled_from([None, "tool", "tool", "notice"]),
        ),
        st.just(Message("oracle", "?", tool_calls=(call("a", "f"),))),
    ),
    max_size=14,
)


def plain(text: str) -> Message:
    """Make a user message as Kimi CLI writes it: without an origin."""
    return Message("user", text)


def nearest_call(
    history: list[Message], result: int, closed: dict[tuple[int, int], int]
) -> tuple[int, int] | None:
    """Look back from a result, message by message, for the first open call of its id."""
    wanted = history[result].tool_call_id or ""
    for index in range(result - 1, -1, -1):
        for number, asked in enumerate(history[index].calls):
            key = (index, number)
            taken = key in closed and (
                is_made_up(history[result]) or not is_made_up(history[closed[key]])
            )
            if history[index].role == "assistant" and asked.id == wanted and not taken:
                return key
    return None


def slow_results(history: list[Message]) -> dict[tuple[int, int], int]:
    """Pair every result by looking back."""
    results: dict[tuple[int, int], int] = {}
    for index, message in enumerate(history):
        if message.role == "tool":
            key = nearest_call(history, index, results)
            if key is not None:
                results[key] = index
    return results


def all_calls(history: list[Message]) -> set[tuple[int, int]]:
    """Name every call of the history."""
    return {
        (index, number)
        for index, message in enumerate(history)
        if message.role == "assistant"
        for number in range(len(message.calls))
    }


@given(HISTORIES)
def test_pairing_agrees_with_looking_back_from_each_result(history: list[Message]) -> None:
    """Each result goes to the nearest open call of its id; what is left is open or orphaned."""
    found = pair(history)

    expected = slow_results(history)
    tools = {index for index, message in enumerate(history) if message.role == "tool"}
    assert found.results == expected
    assert found.orphans == tools - set(expected.values())
    assert set(found.open) == all_calls(history) - set(expected)
    assert list(found.open) == sorted(found.open) == list(open_calls(history))


@given(HISTORIES)
def test_a_made_up_result_is_known_also_when_a_real_one_took_its_place(
    history: list[Message],
) -> None:
    """Where a call ever had a made-up result, the pairing names it."""
    found = pair(history)

    for key, index in found.made_up.items():
        assert is_made_up(history[index])
        assert found.results[key] == index or index in found.orphans
    made_up_answers = {k: i for k, i in found.results.items() if is_made_up(history[i])}
    assert made_up_answers.items() <= found.made_up.items()


@given(HISTORIES)
def test_an_exchange_covers_its_calls_and_all_their_results(history: list[Message]) -> None:
    """There is one for each message with calls, from it to the last of its results."""
    found = pair(history)

    covered = exchanges(history)

    assert covered == exchanges(history, found)
    assert [exchange.start for exchange in covered] == sorted({i for i, _ in all_calls(history)})
    for exchange in covered:
        mine = [result for (index, _), result in found.results.items() if index == exchange.start]
        assert exchange.end == max([exchange.start, *mine]) + 1


@given(HISTORIES)
def test_a_cut_is_legal_where_no_exchange_has_parts_on_both_sides(history: list[Message]) -> None:
    """Every other position would separate a call from one of its results."""
    results = slow_results(history)

    expected = [
        position
        for position in range(len(history) + 1)
        if not any(index < position <= result for (index, _), result in results.items())
    ]

    assert cuts(history) == cuts(history, pair(history)) == expected


@given(HISTORIES)
def test_turns_begin_with_a_real_user_and_leave_no_gap(history: list[Message]) -> None:
    """Joined, the turns are everything from the first real user message on."""
    found = turns(history)

    starts = [index for index, message in enumerate(history) if is_real_user(message)]
    assert [turn.start for turn in found] == starts
    joined = [index for turn in found for index in turn]
    assert joined == (list(range(starts[0], len(history))) if starts else [])


@given(HISTORIES, HISTORIES)
def test_what_is_appended_changes_no_pair_of_real_results(
    history: list[Message], more: list[Message]
) -> None:
    """A result that has found its call stays with it, unless it was made up."""
    before, after = pair(history).results, pair(history + more).results

    for key, index in before.items():
        assert after[key] == index or is_made_up(history[index])


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("fix the build", "user"),
        ("", "user"),
        ("<div> is not closed", "user"),
        ("<system>CHECKPOINT 12</system>", "checkpoint"),
        ("<system>CHECKPOINT 12</system> and so on", "notice"),
        ("<system-reminder>\nplan mode\n</system-reminder>", "injection"),
        ('\n<notification id="n1">done</notification>', "injection"),
        ("<notification>done</notification>", "injection"),
        ("<notifications are broken, please look", "user"),
        ("<task-notification>\nt1\n</task-notification>", "injection"),
        (f"{SUMMARY_LEAD}\nthe rest", "summary"),
        ("<system>The user has imported context from x.</system>", "import"),
        ("<system>The working directory has changed.</system>", "notice"),
    ],
)
def test_without_an_origin_the_markers_of_kimi_cli_decide(text: str, origin: str) -> None:
    """A user message that no user wrote is known by how it begins."""
    assert origin_of(plain(text)) == origin
    assert is_real_user(plain(text)) is (origin == "user")


def test_a_marker_that_stands_beside_other_parts_is_no_injection() -> None:
    """Kimi CLI takes a reminder for one only if it is the whole message; so do we."""
    reminder = TextPart("<system-reminder>x</system-reminder>")

    beside = Message("user", (reminder, TextPart("and fix the build")))

    assert origin_of(Message("user", (reminder,))) == "injection"
    assert origin_of(beside) == "user"


def test_a_summary_may_have_its_text_in_a_part_of_its_own() -> None:
    """The lead alone says that the message is one; so it is with an import and a notice."""
    assert origin_of(Message("user", (TextPart(SUMMARY_LEAD), TextPart("## Task")))) == "summary"


def test_a_message_that_begins_with_a_picture_is_the_users() -> None:
    """Only text can be a marker."""
    picture = ImagePart(MediaUrl("https://example.org/a.png"))

    assert origin_of(Message("user", (picture, TextPart("<system>x</system>")))) == "user"


@pytest.mark.parametrize("origin", ["user", "summary", "dmail", "whatever comes next"])
def test_where_there_is_an_origin_text_never_overrides_it(origin: str) -> None:
    """A user may write what looks like a marker, and a summary what looks like a user's text."""
    assert origin_of(Message("user", SUMMARY_LEAD, origin=origin)) == origin


def test_other_roles_name_their_own_origin() -> None:
    """A model's reply, a result and a system message need no key."""
    assert origin_of(Message("assistant", "<system>x</system>")) == "assistant"
    assert origin_of(Message("tool", "x", tool_call_id="a")) == "tool"
    assert origin_of(system("x")) == "system"
    assert origin_of(Message("oracle", "x")) == "oracle"


def test_only_a_user_message_is_a_real_users() -> None:
    """An origin of user on a reply does not begin a turn."""
    assert not is_real_user(Message("assistant", "x", origin="user"))


def test_what_stands_before_the_first_user_belongs_to_no_turn() -> None:
    """A log whose head is lost begins with replies."""
    history = [assistant("hm"), user("a"), assistant("b"), user("c")]

    assert turns(history) == [range(1, 3), range(3, 4)]
    assert turns([assistant("hm")]) == []


def test_repeated_ids_go_to_the_nearest_open_call() -> None:
    """Kimi CLI counts its ids anew, so an abandoned call may have the id of a later one."""
    history = [
        assistant(tool_calls=[call("Shell:0", "Shell")]),
        user("stop, do this"),
        assistant(tool_calls=[call("Shell:0", "Shell")]),
        tool("Shell:0", "out"),
    ]

    found = pair(history)

    assert found.results == {(2, 0): 3}
    assert found.open == ((0, 0),)


def test_calls_without_an_id_are_paired_by_position() -> None:
    """An adapter that leaves ids empty still gives the results in the order of the calls."""
    history = [
        assistant(tool_calls=[call("", "read"), call("", "write")]),
        Message("tool", "first", tool_call_id=None),
        Message("tool", "second", tool_call_id=""),
    ]

    assert pair(history).results == {(0, 0): 1, (0, 1): 2}


def test_a_late_real_result_takes_the_place_of_a_made_up_one() -> None:
    """What a recovery wrote gives way to what the tool said, whenever that comes."""
    history = [
        assistant(tool_calls=[call("t7", "f")]),
        Message("tool", "interrupted", tool_call_id="t7", origin="notice"),
        user("and?"),
        tool("t7", "real output"),
        tool("t7", "once more"),
    ]

    found = pair(history)

    assert found.results == {(0, 0): 3}
    assert found.made_up == {(0, 0): 1}
    assert found.orphans == {1, 4}
    assert exchanges(history) == [Exchange(start=0, end=4)]


def test_a_result_before_its_call_answers_nothing() -> None:
    """A history may begin in the middle of a batch."""
    history = [tool("a", "x"), assistant(tool_calls=[call("a", "f")])]

    assert pair(history).orphans == {0}
    assert cuts(history) == [0, 1, 2]


def test_a_late_result_keeps_everything_before_it_together() -> None:
    """No cut between a call and a result that came after other messages."""
    history = [
        user("go"),
        assistant(tool_calls=[call("a", "f"), call("b", "f")]),
        tool("b", "x"),
        user("quick question"),
        assistant("answer"),
        tool("a", "y"),
        user("next"),
    ]

    assert cuts(history) == [0, 1, 6, 7]


def test_ten_thousand_calls_of_one_id_are_paired_at_once() -> None:
    """Hostile repetition costs no more than a logarithm."""
    count = 10_000
    calls: list[ToolCall] = [call("x", "f")] * count
    history = [assistant(tool_calls=calls), *[tool("x", "r")] * count]

    assert pair(history).results == {(0, number): number + 1 for number in range(count)}
