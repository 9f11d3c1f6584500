"""A planned history is checked from both sides before it is committed."""

import json

import pytest
from hypothesis import given, settings

from minutebook.budget import Policy
from minutebook.compaction.ladder import compact
from minutebook.compaction.plan import Request, Written
from minutebook.compaction.verify import LISTED_MAX, Checks, verify
from minutebook.errors import ContextOverflow
from minutebook.messages import Message, assistant, replace, user
from tests.compaction.conversations import histories, limits_for, lines, numbered, step
from tests.compaction.summaries import COVERED, TRUE

WORK = numbered(
    [
        user("Fix src/app.py please. Never touch main.py."),
        *step("a", "bash", lines(30), command="make"),
        *step("b", "todo", "ok", todos=[{"title": "write docs", "status": "pending"}]),
        assistant("Next is parse_line."),
    ]
)


def told(text: str) -> Message:
    """Make a summary that the compaction wrote."""
    return Message(role="user", content=text, origin="summary")


def test_what_is_all_there_scores_1() -> None:
    """An unchanged history, say."""
    checks = verify(Request(history=WORK, pins=frozenset([1, 3])), WORK)

    assert checks.score == 1.0
    assert (checks.pins, checks.pins_lost, checks.exchanges_split) == (2, (), ())
    assert (checks.needed_lost, checks.needed_lost_count) == ((), 0)
    assert checks.needed > 3
    assert checks.lines == 0


@pytest.mark.parametrize("change", ["gone", "cut", "role", "call"])
def test_a_pin_is_there_word_for_word_or_the_score_is_0(change: str) -> None:
    """Whatever of it is lost; a copy that says the same is as good."""
    request = Request(history=WORK, pins=frozenset([2]))
    pinned = WORK[1]
    changed = {
        "gone": (),
        "cut": (replace(pinned, content="x"),),
        "role": (replace(pinned, role="user"),),
        "call": (replace(pinned, tool_calls=None),),
    }[change]

    checks = verify(request, [WORK[0], *changed, *WORK[2:]])

    assert checks.pins_lost == (2,)
    assert checks.score == 0.0
    assert verify(request, [WORK[0], replace(pinned, at=5.0), *WORK[2:]]).score == 1.0


def test_a_split_exchange_is_named_and_scores_0() -> None:
    """A call without its result, or the other way round."""
    request = Request(history=WORK)

    for gone in (1, 2):
        checks = verify(request, [m for at, m in enumerate(WORK) if at != gone])
        assert checks.exchanges_split == (2,)
        assert checks.score == 0.0


def test_what_is_still_used_and_gone_is_named() -> None:
    """References of the task and the newest part, directives, entries of the list."""
    checks = verify(Request(history=WORK), [told("Nothing is left of it all, it seems.")])

    assert {"src/app.py", "main.py", "parse_line", "write docs", "Never touch main.py."} <= set(
        checks.needed_lost
    )
    assert checks.needed_lost_count == checks.needed
    assert checks.score == pytest.approx(0.6)


def test_a_ledger_makes_up_for_it() -> None:
    """It stands in a sentence there."""
    line = "In the work so far the agent came across src/app.py, main.py, parse_line, make"
    more = "There is also the rule: Never touch main.py. And the list says: write docs"

    checks = verify(Request(history=WORK), [told(f"{line}\n{more}")])

    assert checks.needed_lost_count == 0


def test_only_some_of_what_is_lost_is_listed() -> None:
    """And all of it is counted."""
    names = " ".join(f"name_{at}" for at in range(100))
    history = numbered([user(f"Look at {names}"), assistant("ok")])

    checks = verify(Request(history=history), [told("Gone.")])

    assert len(checks.needed_lost) == LISTED_MAX
    assert checks.needed_lost_count == 100


def covered_request(text: str) -> Request:
    """Ask with a summary from outside that covers everything."""
    seqs = frozenset(message.seq or 0 for message in COVERED)
    return Request(history=COVERED, summary=Written(text=text, covers=seqs))


def test_a_summary_from_outside_is_checked_against_its_source() -> None:
    """Where it was used; its doubts lower the score."""
    false = TRUE.replace("keep_row", "keep_raw").replace("8080", "8090")
    right = verify(covered_request(TRUE), [*COVERED, told(f"Minutes.\n\n{TRUE}")])
    wrong = verify(covered_request(false), [*COVERED, told(false)])
    unused = verify(covered_request(false), [*COVERED, told("Another one.")])

    assert (right.score, right.lines, right.doubtful_lines) == (1.0, 9, 0)
    assert (wrong.lines, wrong.doubtful_lines) == (9, 2)
    assert [doubt.what for doubt in wrong.doubts] == ["keep_raw", "8090"]
    assert wrong.score == pytest.approx(1 - 0.5 * 2 / 9)
    assert (unused.lines, unused.score) == (0, 1.0)


def test_another_language_is_seen() -> None:
    """And costs a little; where it can't be told it costs nothing."""
    german = (
        "Die Tests sind jetzt grün, und es ist nicht mehr viel zu tun. Das war auch schon alles."
    )
    other = verify(covered_request(german), [*COVERED, told(german)])
    unclear = verify(covered_request("512"), [*COVERED, told("512")])

    assert (other.language, other.summary_language) == ("English", "German")
    assert not other.language_matches
    assert unclear.language_matches
    assert other.score < 1.0


def test_checks_are_plain_values_for_the_record() -> None:
    """They can be written as JSON."""
    false = TRUE.replace("8080", "8090")
    checks = verify(covered_request(false), [*COVERED, told(false)])

    parts = json.loads(json.dumps(checks.parts))

    assert parts["score"] == round(checks.score, 3)
    assert parts["doubts"] == [{"kind": "number", "what": "8090", "line": 8}]
    assert set(parts) >= {"pins_lost", "exchanges_split", "needed_lost", "language"}


def test_empty_histories_have_nothing_to_lose() -> None:
    """Nothing is divided by nothing."""
    assert verify(Request(history=()), []) == Checks(score=1.0, pins=0)


@given(histories())
@settings(max_examples=60)
def test_every_plan_of_the_ladder_keeps_pins_and_exchanges(history: tuple[Message, ...]) -> None:
    """And its checks say so."""
    seqs = [message.seq or 0 for message in history]
    request = Request(history=history, pins=frozenset(seqs[::3]))
    try:
        plan = compact(request, limits_for(400), Policy(), forced=True)
    except ContextOverflow:
        return

    if plan.changed:
        assert plan.checks is not None
        assert plan.checks == verify(request, plan.history)
        assert not plan.checks.pins_lost
        assert not plan.checks.exchanges_split
        assert 0.0 < plan.checks.score <= 1.0
