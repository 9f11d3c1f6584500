"""What may not go: pins, what waits, the ends, people's words, exchanges whole."""

from hypothesis import given
from msgspec.structs import replace as changed

from minutebook.budget import Policy
from minutebook.compaction.keep import Kept, choose_personal, protect, weights
from minutebook.compaction.phrases import ENGLISH
from minutebook.compaction.plan import Draft, Goal, Request, begin
from minutebook.messages import Message, assistant, system, tool, user
from minutebook.turns import pair
from tests.compaction.conversations import called, histories, lines, numbered, step

ENDS = Policy(keep_first=1, keep_last=2)
NO_ENDS = Policy(keep_first=0, keep_last=0)


def goal(policy: Policy = NO_ENDS, room: int = 1_000) -> Goal:
    """Give a goal with that room."""
    return Goal(policy=policy, phrases=ENGLISH, target=room, limit=room * 4, room=room)


def draft(*messages: Message, pins: frozenset[int] = frozenset()) -> Draft:
    """Begin a compaction of these messages."""
    return begin(Request(history=numbered(messages), pins=pins))


@given(histories())
def test_what_must_stay_holds_whole_exchanges(history: tuple[Message, ...]) -> None:
    """A call is in it if and only if each of its results is."""
    must = protect(begin(Request(history=history)), goal(ENDS)).must

    for (head, _), result in pair(history).results.items():
        assert (head in must) == (result in must)


def test_late_results_belong_to_their_call() -> None:
    """Whatever stands between, call and result are one unit."""
    calls = [called("a", "bash"), called("b", "bash")]
    history = [assistant(tool_calls=calls), tool("a", "1"), user("wait"), tool("b", "2")]

    kept = protect(draft(*history, assistant("done")), goal())

    assert kept.units == (0, 0, 2, 0, 4)
    assert kept.whole([3]) == {0, 1, 3}


def test_pins_are_those_of_the_request() -> None:
    """The key in the message alone pins nothing: it may have been unpinned."""
    kept = protect(draft(user("a", pin=True), user("b"), pins=frozenset([2])), goal())

    assert kept.pinned == {1}


def test_unanswered_messages_are_fresh_and_a_summary_is_not() -> None:
    """All after the last reply, and that reply if its results are not seen yet."""
    told = Message(role="user", content="told", origin="summary")
    history = [user("go"), *step("a", "bash", "out"), told, user("and then?")]

    assert protect(draft(*history), goal()).fresh == {1, 2, 4}
    assert protect(draft(*history, assistant("done")), goal()).fresh == frozenset()


def test_a_history_without_any_reply_is_fresh() -> None:
    """Nobody has answered it."""
    assert protect(draft(user("a"), user("b")), goal()).fresh == {0, 1}


def test_a_call_is_open_until_people_and_assistant_went_on() -> None:
    """In its own turn it may still be answered; after the next reply it is given up."""
    waiting = assistant(tool_calls=[called("a", "bash")])
    history = [user("go"), waiting, assistant("meanwhile")]

    assert protect(draft(*history), goal()).must == {1}
    assert 1 in protect(draft(*history, user("stop")), goal()).must
    assert 1 not in protect(draft(*history, user("stop"), assistant("ok")), goal()).must


def test_the_policy_keeps_both_ends_without_summaries() -> None:
    """Counted in messages of people and the assistant; results come along."""
    told = Message(role="user", content="told", origin="summary")
    history = [told, user("go"), assistant("x"), *step("a", "bash", "out"), assistant("z")]

    kept = protect(draft(*history), goal(ENDS))

    assert kept.ends == {1, 3, 5}
    assert kept.must == {1, 3, 4, 5}


def test_the_task_is_the_first_message_that_says_something() -> None:
    """Commands and nods are none; system messages are protected like a person's."""
    history = [system("Be brief."), user("/model opus"), user("ok"), user("Fix the parser please")]

    kept = protect(draft(*history, assistant("done")), goal())

    assert kept.task == 3
    assert kept.personal == (0, 1, 2, 3)


def test_no_message_of_a_person_means_no_task() -> None:
    """A loop of tools, say."""
    assert protect(draft(*step("a", "bash", "out")), goal()).task is None


def test_fresh_results_weigh_at_most_their_share_of_the_room() -> None:
    """Since they can be clipped; pinned ones weigh what they take."""
    batch = draft(*step("a", "bash", lines(300)))
    pinned = draft(*step("a", "bash", lines(300)), pins=frozenset([2]))

    assert weights(batch, goal(), protect(batch, goal()))[1] == 400
    assert weights(pinned, goal(), protect(pinned, goal()))[1] == pinned.items[1].tokens


def test_a_person_s_answered_message_weighs_at_most_its_share() -> None:
    """A fifth of the room, what clip leaves of it; unanswered it weighs what it takes."""
    history = draft(user(lines(300)), assistant("ok"), user(lines(300)))
    sizes = weights(history, goal(), protect(history, goal()))

    assert sizes[0] == 200
    assert sizes[2] == history.items[2].tokens


def some(*sizes: int, task: int | None = 1) -> tuple[Kept, list[int]]:
    """Give a person's messages of these sizes, and nothing else that is kept."""
    none: frozenset[int] = frozenset()
    kept = Kept(
        units=tuple(range(len(sizes))),
        pinned=none,
        protected=none,
        fresh=none,
        ends=none,
        injected=none,
        directives=none,
        personal=tuple(range(len(sizes))),
        task=task,
        summaries=none,
    )
    return kept, list(sizes)


def test_people_s_messages_are_chosen_from_both_ends() -> None:
    """The task first, whatever it costs, then the oldest, then the newest that fit."""
    kept, sizes = some(10, 500, 30, 400, 40, 20)

    assert choose_personal(kept, sizes, 0, ()) == {1}
    assert choose_personal(kept, sizes, 510, ()) == {0, 1}
    assert choose_personal(kept, sizes, 570, ()) == {0, 1, 4, 5}
    assert choose_personal(kept, sizes, 600, ()) == {0, 1, 2, 4, 5}


def test_what_stays_anyway_costs_nothing() -> None:
    """Only the rest counts against the budget."""
    kept, sizes = some(10, 500, 30, task=None)

    assert choose_personal(kept, sizes, 40, [1]) == {0, 1, 2}
    assert choose_personal(changed(kept, task=1), sizes, 10, [1]) == {0, 1}


def test_a_question_stays_with_its_answer() -> None:
    """A reply before unanswered words of a person may be what they answer."""
    history = [user("go"), assistant("Shall I delete it?"), user("yes")]

    assert protect(draft(*history), goal()).must == {1, 2}


def test_directives_come_before_other_messages() -> None:
    """What is to hold from then on, the newest first; then the oldest and the newest."""
    history = [user("one two three"), user("Never touch main.py"), user("nice"), user("必须用中文")]
    kept = protect(draft(*history, assistant("ok"), user("x"), assistant("y")), goal())
    sizes = [10, 10, 10, 10, 0, 10, 0]

    assert kept.directives == {1, 3}
    assert choose_personal(changed(kept, task=None), sizes, 20, ()) == {1, 3}
    assert choose_personal(changed(kept, task=None), sizes, 30, ()) == {0, 1, 3}


def test_tags_protect_like_pins_and_are_told_apart() -> None:
    """A pin that is also tagged is a pin."""
    history = numbered([user("a"), user("b"), assistant("c"), user("d"), assistant("e")])
    request = Request(history=history, pins=frozenset([1]), protected=frozenset([1, 2]))

    kept = protect(begin(request), goal())

    assert (kept.pinned, kept.protected) == ({0}, {1})
    assert kept.must == {0, 1}


def test_injections_weigh_at_most_a_share_even_unanswered() -> None:
    """The program will put them in again."""
    slipped = Message(role="user", content=lines(300), origin="injection")
    history = draft(user("go"), assistant("ok"), slipped, user("on"))

    assert weights(history, goal(), protect(history, goal()))[2] == 200
