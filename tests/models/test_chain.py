"""Who writes a summary, how often it is tried, and what that costs."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from minutebook.compaction.replies import SummaryReply
from minutebook.compaction.task import SummaryRequest, SummaryTask
from minutebook.models.retry import Retries
from minutebook.models.summarizer import FunctionSummarizer
from minutebook.testing.scripted import Answer, Call, Failure, ScriptedModel, Step
from minutebook.tokens.spent import Spent
from tests.models.chains import GOOD, Clockwork, task_for, written

TWICE = Retries(attempts_max=2)
TASK = task_for(2_000)
USAGE = {"input_tokens": 2_500, "output_tokens": 12}


async def test_a_good_reply_is_the_summary() -> None:
    """One call, its text, its cost, its model."""
    model = ScriptedModel([Answer(text=f"<summary>{GOOD}</summary>", usage=USAGE)])

    result = await written(TASK, model)

    assert result.text == GOOD
    assert result.model == "scripted"
    assert (result.parts, result.rounds, result.digested) == (1, 0, ())
    assert result.spent == Spent(calls=1, input=2_500, output=12)
    assert [attempt.outcome for attempt in result.attempts] == ["written"]
    assert result.attempts[0].tokens == model.requests[0].tokens
    assert result.detail == "scripted wrote it with 1 call"


async def test_a_bare_text_is_a_reply() -> None:
    """A callable may give just that; what it cost is then unknown."""

    async def write(request: SummaryRequest) -> str:
        return GOOD

    result = await written(TASK, FunctionSummarizer(write, window_tokens=50_000))

    assert result.text == GOOD
    assert result.spent == Spent(calls=1, uncounted=1)


async def test_an_earlier_summary_is_updated_in_the_one_request() -> None:
    """It stands before the record, and the instruction says what to do with it."""
    model = ScriptedModel([GOOD])

    await written(structs.replace(TASK, previous="## Task\n- Port 7040. (record 1)"), model)

    assert "Port 7040" in model.requests[0].user
    assert "up to date" in model.requests[0].system


async def test_case_c027_blank_replies_are_bounded_and_paid_for() -> None:
    """Case C027: two attempts, nothing kept, both costs counted, and the reason told."""
    blank: list[Step | str] = [
        Answer(text=text, finish="end_turn", usage=USAGE) for text in ("", "\u200b")
    ]

    result = await written(TASK, ScriptedModel(blank), retries=TWICE)

    assert result.text is None
    assert result.model == ""
    assert [(one.outcome, one.kind) for one in result.attempts] == [("refused", "blank")] * 2
    assert result.spent == Spent(calls=2, input=5_000, output=24)
    assert result.detail == (
        "no model wrote a summary in 2 calls; 2 failed, the last: the reply was empty"
    )


async def test_case_c029_a_cut_reply_is_asked_for_again_with_more_room() -> None:
    """Case C029: cut, then an open tag, then whole; only the inner text is kept."""
    replies: list[Step | str] = [
        Answer(text="<summary>Facts one to four: the port is 70", finish="max_tokens"),
        Answer(text="<summary>Facts one to eight were stated.", finish="end_turn"),
        Answer(text="<summary>Facts one to eight; the port is 7040.</summary>"),
    ]
    model = ScriptedModel(replies)

    result = await written(TASK, model)

    limits = [request.output_tokens_max for request in model.requests]
    assert result.text == "Facts one to eight; the port is 7040."
    assert limits == [limits[0], 2 * limits[0], 4 * limits[0]]
    assert [one.kind for one in result.attempts] == ["cut", "cut", ""]


async def test_case_c031_a_tool_call_is_not_run_and_not_kept() -> None:
    """Case C031: as a call and as text; the request has no tools to call."""
    replies: list[Step | str] = [
        Answer(calls=(Call(name="run", arguments='{"cmd": "ls"}'),), finish="tool_use"),
        '{"tool":"run","args":{}}',
    ]

    result = await written(TASK, ScriptedModel(replies), retries=TWICE)

    assert result.text is None
    assert [one.kind for one in result.attempts] == ["tool call", "tool call"]


async def test_case_c033_an_errors_words_come_into_no_request() -> None:
    """Case C033: nothing is kept, the error is told to people, and to no model."""
    broken = [Failure(status=503, body={"error": {"message": "upstream timed out"}})] * 2
    first = ScriptedModel(broken, name="first")
    second = ScriptedModel(["upstream timed out", GOOD], name="second")

    result = await written(TASK, first, second, retries=TWICE)

    asked = [*first.requests, *second.requests]
    assert result.text == GOOD
    assert result.model == "second"
    assert "upstream timed out" in result.attempts[0].reason
    assert not any("upstream timed out" in one.user + one.system for one in asked)


async def test_case_c033_a_loop_without_a_persons_word_is_summarised_too() -> None:
    """Case C033: the model is called with the real content; there is no placeholder."""
    loop = tuple(message for message in TASK.messages if message.role != "user")
    model = ScriptedModel([GOOD])

    result = await written(structs.replace(TASK, messages=loop), model)

    assert result.text == GOOD
    assert "called read_file" in model.requests[0].user


async def test_case_c035_failed_attempts_are_paid_for() -> None:
    """Case C035: 4 900 in and 520 out, from a cut reply and a good one."""
    replies: list[Step | str] = [
        Answer(
            text="half", finish="max_tokens", usage={"input_tokens": 2_500, "output_tokens": 400}
        ),
        Answer(text=GOOD, usage={"input_tokens": 2_400, "output_tokens": 120}),
    ]

    result = await written(TASK, ScriptedModel(replies))

    assert result.spent == Spent(calls=2, input=4_900, output=520)
    assert result.spent.record() == {"calls": 2, "input": 4_900, "output": 520}


async def test_a_transient_failure_is_waited_for_with_backoff() -> None:
    """The wait doubles; an answer of the server's own in between resets nothing."""
    clockwork = Clockwork()
    replies: list[Step | str] = [Failure(status=500), Failure(status=529), GOOD]

    result = await written(TASK, ScriptedModel(replies), clockwork=clockwork)

    assert result.text == GOOD
    assert clockwork.waits == [1.0, 2.0]
    assert [one.kind for one in result.attempts] == ["transient", "transient", ""]
    assert result.spent == Spent(calls=3, uncounted=1)


async def test_retry_after_is_honoured_and_too_long_a_wait_is_not_waited() -> None:
    """A little more than asked is waited; who asks for more than a minute loses its turn."""
    clockwork = Clockwork()
    patient = ScriptedModel(
        [Failure(status=429, headers={"retry-after": "20"}), GOOD], name="patient"
    )
    slow = ScriptedModel([Failure(status=429, headers={"retry-after": "3600"})], name="slow")

    first = await written(TASK, patient, clockwork=clockwork)
    second = await written(TASK, slow, ScriptedModel([GOOD], name="next"), clockwork=clockwork)

    assert first.text == GOOD
    assert clockwork.waits == [pytest.approx(22.0)]
    assert second.model == "next"


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Failure(status=401, message="invalid key"), "no_access"),
        (Failure(status=400, message="no such parameter"), "bad_parameter"),
        (
            Failure(status=429, message="tokens per min (TPM): Limit 100, Requested 9000"),
            "rate_limit",
        ),
    ],
)
async def test_what_waiting_does_not_mend_goes_to_the_next_model_at_once(
    failure: Failure, kind: str
) -> None:
    """One call, no wait."""
    clockwork = Clockwork()

    result = await written(
        TASK, ScriptedModel([failure]), ScriptedModel([GOOD], name="next"), clockwork=clockwork
    )

    assert result.model == "next"
    assert result.attempts[0].kind == kind
    assert clockwork.waits == []


async def test_too_much_room_for_the_reply_is_halved() -> None:
    """The same request, a shorter reply, no wait."""
    clockwork = Clockwork()
    message = "input length and `max_tokens` exceed context limit: 3000 + 2000 > 4000"
    model = ScriptedModel([Failure(status=400, message=message), GOOD])

    result = await written(TASK, model, clockwork=clockwork)

    first, second = model.requests
    assert result.text == GOOD
    assert second.output_tokens_max == first.output_tokens_max // 2
    assert second.task == first.task
    assert clockwork.waits == []


async def test_a_call_that_takes_too_long_is_given_up() -> None:
    """It is cancelled and counts as a bad moment."""
    ended = []

    async def write(request: SummaryRequest) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(request)
        return ""

    retries = Retries(attempts_max=2, call_seconds_max=0.0)
    result = await written(TASK, FunctionSummarizer(write, window_tokens=50_000), retries=retries)

    assert result.text is None
    assert [one.kind for one in result.attempts] == ["transient", "transient"]
    assert len(ended) == 2


async def test_what_is_no_reply_is_a_failed_attempt() -> None:
    """A callable that gives something else is told of, and the next one asked."""

    async def write(request: SummaryRequest) -> str:
        return None  # type: ignore[return-value]

    async def broken(request: SummaryRequest) -> str:
        raise KeyError("x")

    result = await written(
        TASK,
        FunctionSummarizer(write, window_tokens=50_000, name="nothing"),
        FunctionSummarizer(broken, window_tokens=50_000, name="broken"),
        ScriptedModel([GOOD]),
        retries=TWICE,
    )

    assert result.text == GOOD
    assert "SummaryReply or text, not NoneType" in result.attempts[0].reason
    assert "KeyError" in result.attempts[2].reason


async def test_without_models_nothing_is_written() -> None:
    """The caller takes the digest."""
    result = await written(TASK)

    assert result.text is None
    assert result.spent == Spent()


async def test_a_window_that_is_too_small_is_told_and_passed_over() -> None:
    """No call is made of it."""
    result = await written(
        TASK, ScriptedModel(name="tiny", window_tokens=600), ScriptedModel([GOOD], name="next")
    )

    assert result.model == "next"
    assert "tokens leave" in result.attempts[0].reason
    assert result.spent.calls == 1


async def test_a_text_that_its_source_does_not_bear_out_is_asked_for_again() -> None:
    """Then of the next model; the doubt is told, and comes into no request."""
    first = ScriptedModel(["## Task\n- Mend lexer9.py.", "## Task\n- Mend lexer8.py."])
    second = ScriptedModel([GOOD], name="second")

    def judge(task: SummaryTask, text: str) -> str:
        assert task is TASK
        return "lexer stands nowhere" if "lexer" in text else ""

    result = await written(TASK, first, second, retries=TWICE, judge=judge)

    assert (result.text, result.model) == (GOOD, "second")
    assert [attempt.kind for attempt in result.attempts] == ["doubtful", "doubtful", ""]
    assert result.attempts[0].reason == "lexer stands nowhere"
    for request in (*first.requests, *second.requests):
        assert "lexer" not in request.system + request.user


async def test_every_attempt_is_told_as_it_ends() -> None:
    """In the same order and of the same value as in the result."""
    seen: list[object] = []
    replies: list[Step | str] = [Failure(status=500), "", GOOD]

    result = await written(TASK, ScriptedModel(replies), seen=seen)  # type: ignore[arg-type]

    assert tuple(seen) == result.attempts


async def test_a_cancelled_writing_cancels_its_calls_and_leaves_none_behind() -> None:
    """Parts under way end with it, and no task is left."""
    begun, ended = asyncio.Event(), []

    async def write(request: SummaryRequest) -> SummaryReply:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(request.task.part)
        raise AssertionError

    model = FunctionSummarizer(write, window_tokens=8_000)
    running = asyncio.create_task(written(task_for(30_000), model))
    await begun.wait()
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert sorted(ended) == [1, 2, 3, 4]
    assert asyncio.all_tasks() == {asyncio.current_task()}


@settings(max_examples=40)
@given(
    st.lists(
        st.sampled_from(["", "S1", "half", "error", "429", "500", "401", "400 overflow", "call"]),
        max_size=12,
    )
)
def test_whatever_the_models_do_the_result_is_a_summary_or_none(script: list[str]) -> None:
    """It ends, within its bounds, with a text that passed the checks or without one."""
    steps: dict[str, Step] = {
        "half": Answer(text="half", finish="length"),
        "error": Answer(text="Error: upstream timed out"),
        "429": Failure(status=429, headers={"retry-after": "1"}),
        "500": Failure(status=500),
        "401": Failure(status=401),
        "400 overflow": Failure(status=400, message="prompt is too long"),
        "call": Answer(calls=(Call(name="run"),)),
    }
    replies = [steps.get(name, Answer(text=name)) for name in script]
    model = ScriptedModel(replies, always=Failure(status=500))

    result = asyncio.run(written(TASK, model))

    assert result.text is None or "S1" in result.text or "record" in result.text
    assert result.spent.calls == len(model.requests) <= 60
    assert len(result.attempts) >= len(model.requests)
