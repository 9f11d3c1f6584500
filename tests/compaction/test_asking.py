"""What a model is asked to summarise, and what its answer stands for."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from minutebook.budget import PRESETS, Policy
from minutebook.compaction.asking import Asked, summary_task, without_recalled
from minutebook.compaction.ladder import compact
from minutebook.compaction.phrases import ENGLISH
from minutebook.compaction.plan import Request, Written
from minutebook.compaction.task import Capacity, parts, request_for
from minutebook.errors import ContextOverflow
from minutebook.messages import Message, assistant, replace, tool, user
from tests.compaction.conversations import (
    SHARED,
    after,
    called,
    case_history,
    histories,
    limits_for,
    lines,
    numbered,
    step,
)

needs_cases = pytest.mark.skipif(
    not (SHARED / "cases").exists(), reason="the shared cases are not beside the repository"
)
ONLY_SUMMARY = Policy(steps=("summarize",), ledger_share=0.0)
LONG = numbered(
    [
        user("Fix the parser in src/app.py please"),
        *[m for at in range(20) for m in step(f"c{at}", "bash", lines(20), command=f"make t{at}")],
        assistant("All done."),
    ]
)


def asked(history: tuple[Message, ...], target: int = 1_500, **more: object) -> Asked | None:
    """Ask what would be summarised."""
    return summary_task(Request(history=history, **more), limits_for(target), ONLY_SUMMARY)  # type: ignore[arg-type]  # fields


def test_the_task_covers_what_the_plan_replaces() -> None:
    """With a summary as long as its budget, the very messages."""
    found = asked(LONG)
    assert found is not None
    text = "word " * found.task.budget_tokens

    plan = compact(
        Request(history=LONG, summary=Written(text=text, covers=found.covers)),
        limits_for(1_500),
        ONLY_SUMMARY,
    )

    assert frozenset(plan.left_out) == found.covers
    assert sum(message.text.strip() == text.strip() for message in plan.history) == 1
    assert [message.seq for message in found.task.messages] == sorted(found.covers)
    assert found.task.language == "English"
    assert found.task.phrases is ENGLISH


@given(histories(), st.integers(200, 2_000), st.sampled_from([ONLY_SUMMARY, *PRESETS.values()]))
@settings(max_examples=80)
def test_c041_every_message_is_kept_or_in_the_input_of_the_summary(
    history: tuple[Message, ...], target: int, policy: Policy
) -> None:
    """Nothing vanishes between what is kept and what the model is shown."""
    request = Request(history=history)
    try:
        found = summary_task(request, limits_for(target), policy, forced=True)
        if found is None:
            return
        written = Written(text="It was so. " * 3, covers=found.covers)
        plan = compact(changed(request, summary=written), limits_for(target), policy, forced=True)
    except ContextOverflow:
        return
    shown = {message.seq for message in found.task.messages}
    told = {message.seq for message in history if message.origin == "summary"}

    if any(message.text.startswith("It was so.") for message in plan.history):
        assert set(plan.left_out) <= shown | told | set(plan.shortened) | set(plan.left_out) - (
            found.covers
        )
        assert found.covers <= shown | told


def test_the_summariser_sees_whole_outputs() -> None:
    """Not the stubs that the mask has put in their places."""
    found = summary_task(Request(history=LONG), limits_for(900), Policy())

    assert found is not None
    assert lines(20) in [message.text for message in found.task.messages]


def test_an_earlier_summary_is_brought_up_to_date() -> None:
    """It is apart from the messages, and covered."""
    first = Message(role="user", content="The first minutes.", origin="summary", seq=1)
    history = (first, *(replace(message, seq=(message.seq or 0) + 1) for message in LONG))

    found = asked(history)

    assert found is not None
    assert found.task.previous == "The first minutes."
    assert 1 in found.covers
    assert 1 not in {message.seq for message in found.task.messages}


def test_a_ledger_is_not_given_to_a_model() -> None:
    """It is carried on by rule."""
    named = [
        m
        for at in range(20)
        for m in step(
            f"c{at}", "bash", f"{lines(20)}\nLIMIT_{at} in src/part_{at}.py", command="make"
        )
    ]
    first = Request(history=numbered([LONG[0], *named, assistant("Done.")]))
    plan = compact(first, limits_for(1_500), Policy(steps=("window",)))
    more = step("z", "bash", lines(60), command="make last")
    last = max(message.seq or 0 for message in after(plan))
    history = (*after(plan), *(replace(m, seq=last + at + 1) for at, m in enumerate(more)))
    ledger = next(message for message in history if message.text.startswith("Ledger of records"))

    found = summary_task(Request(history=history), limits_for(900), Policy())

    assert found is not None
    assert ledger.seq not in found.covers
    assert ledger.text not in found.task.previous


def test_what_was_brought_back_is_no_news() -> None:
    """Neither the call nor what came of it is shown; both are covered."""
    back = step("r", "recall_history", "The limit was 77.", query="limit")
    mixed = assistant(
        "I look.", tool_calls=[called("x", "recall_history"), called("y", "bash", command="ls")]
    )
    history = numbered(
        [LONG[0], *back, mixed, tool("x", "It was 78."), tool("y", "a.py"), *LONG[1:]]
    )

    found = asked(history)

    assert found is not None
    shown = "\n".join(message.text for message in found.task.messages)
    assert "77" not in shown
    assert "78" not in shown
    assert "I look." in shown
    assert "a.py" in shown
    assert {2, 3, 4, 5, 6} <= found.covers


def test_messages_without_recalls_stay_the_very_same() -> None:
    """Nothing is copied for nothing."""
    kept = without_recalled(LONG)

    assert all(new is old for new, old in zip(kept, LONG, strict=True))


def test_no_summary_is_asked_for_where_none_is_needed() -> None:
    """Within the target; reached by the mask; without the step; off; nothing but a summary."""
    told = Message(role="user", content="told " * 900, origin="summary", seq=1)
    big = numbered([user("Go on please"), *step("a", "bash", lines(900)), assistant("ok")])

    assert asked(LONG, 10**6) is None
    assert summary_task(Request(history=big), limits_for(2_000), Policy()) is None
    assert summary_task(Request(history=LONG), limits_for(900), Policy(steps=("mask",))) is None
    assert summary_task(Request(history=LONG), limits_for(900), PRESETS["off"]) is None
    assert asked((told, replace(user("go"), seq=2)), 300) is None


def test_a_focus_goes_along() -> None:
    """Into the task."""
    found = asked(LONG, focus="the parser")

    assert found is not None
    assert found.task.focus == "the parser"


@needs_cases
def test_c041_a_second_summary_is_asked_of_the_first_and_all_that_it_kept() -> None:
    """S1 and the messages 3 to 9; then the summary of both, and the last two."""
    history = case_history("C041")
    policy = Policy(steps=("summarize",), keep_first=0, keep_last=2, keep_share=0.0, user_share=0.0)

    found = summary_task(Request(history=history), limits_for(700), policy, forced=True)
    assert found is not None
    texts = "\n".join(message.text for message in found.task.messages)

    assert "S1" in found.task.previous
    for name in ("early-03", "early-04", "early-05", "early-06", "late-08", "late-09"):
        assert name in texts
    assert "late-10" not in texts


def test_c039_waiting_questions_are_not_in_the_request() -> None:
    """They follow the summary word for word, in order."""
    history = (*LONG, *(replace(user(text), seq=90 + at) for at, text in enumerate(QUESTIONS)))
    found = asked(history)
    assert found is not None
    request = request_for(found.task, Capacity(window_tokens=50_000, output_tokens_max=4_000))
    written = Written(text="Minutes of it all.", covers=found.covers)

    plan = compact(Request(history=history, summary=written), limits_for(1_500), ONLY_SUMMARY)

    assert not any(question in request.user for question in QUESTIONS)
    assert [message.text for message in plan.history[-2:]] == list(QUESTIONS)
    summary = next(at for at, m in enumerate(plan.history) if m.origin == "summary")
    assert summary < len(plan.history) - 2


QUESTIONS = ("Q1: which port?", "Q2: and which host?")


def test_c043_prohibitions_and_errors_are_asked_for_and_kept() -> None:
    """A person's rules stay verbatim over three compactions; the request holds the error whole."""
    rule, exact = "Do NOT call eval anywhere.", "Keep exactly 512 rows."
    error = "EPERM writing /srv/out (read-only mount)"
    history = numbered(
        [
            user("Please build the exporter"),
            assistant("I begin."),
            user(rule),
            *step("e", "bash", f"Exit code: 1\n{error}", command="./export /srv/out"),
            assistant("It can't be written there."),
            user(exact),
            *[m for at in range(12) for m in step(f"c{at}", "bash", lines(20), command="make")],
            assistant("Built."),
        ]
    )
    seen = ""
    for number in range(3):
        found = asked(history, 1_200)
        assert found is not None
        for part in parts(found.task, Capacity(window_tokens=30_000, output_tokens_max=4_000)):
            request = request_for(part, Capacity(window_tokens=30_000, output_tokens_max=4_000))
            seen = seen or request.user
            assert "constraint and prohibition" in request.system
            assert "attempts that led nowhere" in request.system
            assert "exact values" in request.system
            assert number == 0 or rule not in request.user
        written = Written(text=f"The work went on, part {number}.", covers=found.covers)
        plan = compact(Request(history=history, summary=written), limits_for(1_200), ONLY_SUMMARY)
        texts = [message.text for message in plan.history]
        assert texts.count(rule) == 1
        assert texts.count(exact) == 1
        done = after(plan)
        last = max([*plan.left_out, *(message.seq or 0 for message in done)])
        more = [m for at in range(12) for m in step(f"n{number}{at}", "bash", lines(20), run="x")]
        history = (*done, *(replace(m, seq=last + at + 1) for at, m in enumerate(more)))
        history = (*history, replace(assistant("Ok."), seq=last + 99))

    assert error in seen
    assert json.dumps(seen)
