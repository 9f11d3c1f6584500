"""Summaries of what is larger than the summariser's window: divided, covered, merged."""

import asyncio
import importlib

import pytest
from msgspec import structs

from minutebook.compaction.task import (
    Capacity,
    Piece,
    SummaryRequest,
    SummaryTask,
    merges,
    parts,
    task_of,
)
from minutebook.errors import ConfigError
from minutebook.messages import assistant, call, tool, user
from minutebook.models.retry import Retries
from minutebook.models.summarizer import FunctionSummarizer
from minutebook.testing.scripted import Answer, Failure, Outcome, ProviderError, ScriptedModel
from minutebook.tokens.estimate import estimate_text
from minutebook.turns import exchanges
from tests.compaction.conversations import lines, numbered
from tests.models.chains import GOOD, Clockwork, Digests, task_for, written

try:
    count_exact = importlib.import_module("quicktok").get_encoding("o200k_base").count
except ImportError:
    count_exact = estimate_text

ONE_BY_ONE = Retries(parallel_max=1)


def short(request: SummaryRequest) -> Outcome:
    """Answer with minutes that name the records they are of."""
    first, last = request.task.span
    rows = "\n".join(f"- Row {row} of the work was looked at. (record {first})" for row in range(9))
    return Answer(text=f"## Task\n- Minutes of {first} to {last}. (record {first})\n{rows}")


def covered(model: ScriptedModel) -> list[int]:
    """Give the records that the model was shown, in the order of the parts."""
    asked = [request.task for request in model.requests if not request.task.pieces]
    return [m.seq or 0 for task in sorted(asked, key=lambda one: one.span) for m in task.messages]


async def test_200_000_tokens_go_through_a_window_of_8_000() -> None:
    """No request is larger, by an exact count; every message in one part; one text at the end."""
    task = task_for(200_000)
    model = ScriptedModel(always=short, window_tokens=8_000, count=count_exact)

    result = await written(task, model)

    merging = [request for request in model.requests if request.task.pieces]
    parts = [request.task for request in model.requests if not request.task.pieces]
    heads = {part.span[0] for part in parts}
    assert covered(model) == [message.seq for message in task.messages]
    assert all(
        not heads & {m.seq for m in task.messages[one.start + 1 : one.end]}
        for one in exchanges(task.messages)
    )
    assert result.text is not None
    assert result.text.startswith(f"## Task\n- Minutes of 1 to {len(task.messages)}.")
    assert result.parts == len(parts) > 25
    assert 2 <= result.rounds <= 4
    assert len(merging) <= len(parts) // 3
    assert result.digested == ()


async def test_case_c023_parts_are_sized_by_the_summarisers_window() -> None:
    """Case C023: thirty thousand tokens, eight thousand at a time; a failure removes nothing."""
    task = task_for(30_000)
    failing = ScriptedModel(always=Failure(status=500), name="failing", window_tokens=8_000)
    model = ScriptedModel(always=short, window_tokens=8_000)

    failed = await written(task, failing)
    result = await written(task, model)

    assert failed.text is None
    assert covered(model) == [message.seq for message in task.messages]
    assert max(request.tokens for request in model.requests) <= 8_000
    assert result.text is not None


async def test_parts_run_side_by_side_up_to_a_number() -> None:
    """No more than four at once, and really four."""
    inside = peak = 0

    async def write(request: SummaryRequest) -> str:
        nonlocal inside, peak
        inside += 1
        peak = max(peak, inside)
        await asyncio.sleep(0)
        inside -= 1
        return GOOD

    await written(task_for(40_000), FunctionSummarizer(write, window_tokens=8_000))

    assert peak == 4


async def test_after_a_rate_limit_parts_run_one_after_the_other() -> None:
    """Also those that were under way: the next attempt of each waits for its turn."""
    inside = peak = calls = 0

    async def write(request: SummaryRequest) -> str:
        nonlocal inside, peak, calls
        calls += 1
        if calls == 1:
            error = RuntimeError("rate limit reached")
            raise error
        inside += 1
        peak = max(peak, inside) if calls > 4 else 0
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        inside -= 1
        return GOOD

    result = await written(task_for(40_000), FunctionSummarizer(write, window_tokens=8_000))

    assert result.text == GOOD
    assert calls > 8
    assert peak == 1


async def test_a_part_that_no_model_writes_is_covered_by_the_digest() -> None:
    """Not left out in silence: the digest gets its messages, and its span is told."""
    task = task_for(20_000)
    digests = Digests()

    def all_but_two(request: SummaryRequest) -> Outcome:
        return Answer(text="") if request.task.part == 2 else short(request)

    model = ScriptedModel(always=all_but_two, window_tokens=8_000)

    result = await written(task, model, digests=digests)

    missed = next(one.task for one in model.requests if one.task.part == 2)
    assert result.digested == (missed.span,)
    assert digests.covered == [[message.seq for message in missed.messages]]
    merged = next(one for one in model.requests if one.task.pieces)
    assert f"minutes {missed.span[0]} to {missed.span[1]}" in merged.user
    assert "the digest covers 1 of them" in result.detail


async def test_a_part_goes_to_the_next_model_and_is_divided_for_its_window() -> None:
    """The smaller window of the second model divides the part once more."""
    task = task_for(20_000)

    def not_the_last(request: SummaryRequest) -> Outcome:
        last = request.task.part == request.task.parts
        return Answer(text="") if last and not request.task.pieces else short(request)

    first = ScriptedModel(always=not_the_last, name="first", window_tokens=12_000)
    second = ScriptedModel(always=short, name="second", window_tokens=4_000)

    result = await written(task, first, second)

    lost = max((one.task for one in first.requests if not one.task.pieces), key=lambda t: t.span)
    assert covered(second) == [message.seq for message in lost.messages]
    assert len([one for one in second.requests if not one.task.pieces]) > 1
    assert result.digested == ()
    assert result.model == "first"


async def test_a_model_that_fails_again_and_again_is_left_alone() -> None:
    """After three parts in a row without a summary no further one is tried with it."""
    model = ScriptedModel(always=Answer(text=""), window_tokens=8_000)

    result = await written(task_for(60_000), model, retries=Retries(parallel_max=1, attempts_max=2))

    assert result.text is None
    assert len(model.requests) == 6
    assert result.digested == ()


async def test_a_model_that_is_down_is_down_for_all_parts() -> None:
    """A wrong key is found out once, also by those who wait for their turn."""
    calls = 0

    async def write(request: SummaryRequest) -> str:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0)
        raise ProviderError(401, "invalid key")

    locked = FunctionSummarizer(write, window_tokens=8_000)

    result = await written(
        task_for(40_000), locked, ScriptedModel(always=short), retries=ONE_BY_ONE
    )

    assert calls == 1
    assert result.text is not None


async def test_a_merge_that_no_model_writes_is_made_by_rule() -> None:
    """The pieces are read back by the digest; none of them is lost."""

    def no_merging(request: SummaryRequest) -> Outcome:
        return Answer(text="") if request.task.pieces else short(request)

    model = ScriptedModel(always=no_merging, window_tokens=8_000)
    digests = Digests()

    result = await written(task_for(14_000), model, digests=digests)

    asked = [one.task.span[0] for one in model.requests if not one.task.pieces]
    assert result.text is not None
    assert len(digests.covered) == 1
    assert all(f"Minutes of {first} to" in result.text for first in asked)


async def test_a_merge_by_rule_of_what_the_digest_cannot_tell_is_still_one_text() -> None:
    """Then the pieces stand behind each other, shortened to the budget."""

    def no_merging(request: SummaryRequest) -> Outcome:
        return Answer(text="") if request.task.pieces else short(request)

    class Silent(Digests):
        def __call__(self, messages: object, budget_tokens: int) -> str:
            return ""

    result = await written(
        task_for(14_000), ScriptedModel(always=no_merging, window_tokens=8_000), digests=Silent()
    )

    assert result.text is not None
    assert "Minutes of 1 to" in result.text
    assert estimate_text(result.text) <= 1_000


async def test_a_piece_that_is_left_over_waits_for_the_next_round() -> None:
    """Long pieces go two at a time; of an odd number the last goes on as it is."""

    def long(request: SummaryRequest) -> Outcome:
        first, last = request.task.span
        return Answer(text=f"## Task\n- {first} to {last} (record {first})\n- " + "word " * 1_150)

    model = ScriptedModel(always=long, window_tokens=6_000)

    result = await written(task_for(11_500), model)

    merged = [len(one.task.pieces) for one in model.requests if one.task.pieces]
    assert result.parts % 2 == 1
    assert set(merged) == {2}
    assert len(merged) == result.parts - 1
    assert result.text is not None


async def test_a_part_of_which_the_digest_has_nothing_to_tell_is_still_named() -> None:
    """Its span is in the report; the others are merged."""

    class Silent(Digests):
        def __call__(self, messages: object, budget_tokens: int) -> str:
            return ""

    def all_but_two(request: SummaryRequest) -> Outcome:
        return Answer(text="") if request.task.part == 2 else short(request)

    model = ScriptedModel(always=all_but_two, window_tokens=8_000)

    result = await written(task_for(20_000), model, digests=Silent())

    assert result.text is not None
    assert len(result.digested) == 1


async def test_a_window_that_takes_parts_but_no_merging_merges_by_rule() -> None:
    """The instruction to merge is longer than the one to summarise."""
    task = task_for(3_000)
    pieces = [Piece(text="a", first=1, last=1, count=1), Piece(text="b", first=2, last=2, count=1)]
    window = next(size for size in range(4_000, 1_000, -1) if not _takes(task, pieces, size))
    assert _takes(task, [], window)
    model = ScriptedModel(always=short, window_tokens=-(-window * 100 // 85))
    digests = Digests()

    result = await written(task, model, digests=digests)

    assert result.text is not None
    assert result.rounds == 1
    assert len(digests.covered) == 1
    assert not [one for one in model.requests if one.task.pieces]


def _takes(task: SummaryTask, pieces: list[Piece], window: int) -> bool:
    """Tell whether a window has room for parts, or for merging if there are pieces."""
    capacity = Capacity(window_tokens=window, output_tokens_max=8_192)
    try:
        found = merges(task, pieces, capacity) if pieces else parts(task, capacity)
    except ConfigError:
        return False
    return bool(found)


async def test_an_earlier_summary_is_the_first_piece_of_a_divided_task() -> None:
    """It is in no part, and in the merging; nothing of it is retold twice."""
    task = structs.replace(task_for(20_000), previous="## Task\n- Port 7040 stays. (record 1)")
    model = ScriptedModel(always=short, window_tokens=8_000)

    await written(task, model)

    with_port = [one for one in model.requests if "Port 7040" in one.user]
    assert [bool(one.task.pieces) for one in with_port] == [True]
    assert "===== earlier minutes " in with_port[0].user


async def test_an_overflow_teaches_the_window_and_divides_the_rest_by_it() -> None:
    """The window that the error names is believed from then on, with a margin."""
    task = task_for(60_000)

    def strict(request: SummaryRequest) -> Outcome:
        size = request.tokens + request.output_tokens_max
        if size <= 16_000:
            return short(request)
        message = f"prompt is too long: {request.tokens} tokens > 16000 maximum"
        return Failure(status=400, message=message)

    model = ScriptedModel(always=strict, window_tokens=100_000)

    result = await written(task, model, retries=ONE_BY_ONE)

    refused = [one for one in result.attempts if one.kind == "context_overflow"]
    assert result.text is not None
    assert len(refused) == 1
    assert result.parts > 3


async def test_an_overflow_without_a_number_is_found_by_cutting_down() -> None:
    """Each refusal makes the next request smaller, until one fits."""

    def strict(request: SummaryRequest) -> Outcome:
        if request.tokens + request.output_tokens_max <= 16_000:
            return short(request)
        return Failure(status=400, message="Input is too long for requested model.")

    model = ScriptedModel(always=strict, window_tokens=100_000)

    result = await written(task_for(60_000), model, retries=ONE_BY_ONE)

    sizes = [one.tokens for one in result.attempts if one.kind == "context_overflow"]
    assert result.text is not None
    assert result.digested == ()
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) <= 6


async def test_a_server_that_counts_more_than_we_do_gets_smaller_requests() -> None:
    """Where it names its count of our request, ours is corrected by it."""

    def counts_double(request: SummaryRequest) -> Outcome:
        real = 2 * request.tokens
        if real + request.output_tokens_max <= 10_000:
            return short(request)
        return Failure(status=400, message=f"prompt is too long: {real} tokens > 10000 maximum")

    model = ScriptedModel(always=counts_double, window_tokens=10_000)

    result = await written(task_for(20_000), model, retries=ONE_BY_ONE)

    refused = [one for one in result.attempts if one.kind == "context_overflow"]
    assert result.text is not None
    assert len(refused) <= 2


async def test_a_reply_that_is_always_cut_makes_the_part_smaller() -> None:
    """Where no longer reply is possible, less is asked for at a time."""

    def cut_when_large(request: SummaryRequest) -> Outcome:
        if len(request.task.messages) > 8:
            return Answer(text="half of", finish="length")
        return short(request)

    model = ScriptedModel(always=cut_when_large, window_tokens=60_000, output_tokens_max=1_000)

    result = await written(task_for(10_000), model, retries=ONE_BY_ONE)

    assert result.text is not None
    assert result.parts > 2
    assert result.digested == ()


async def test_an_exchange_that_cannot_be_divided_is_given_up_after_some_tries() -> None:
    """It is clipped smaller and smaller, then left to the next model or the digest."""
    history = numbered(
        [
            user(lines(60)),
            assistant(tool_calls=[call("c", "read", "{}")]),
            tool("c", lines(4_000)),
        ]
    )
    task = structs.replace(task_of(history, 500), result_tokens_max=None)

    def no_exchange(request: SummaryRequest) -> Outcome:
        if "result of read" in request.user:
            return Failure(status=400, message="Input is too long for requested model.")
        return short(request)

    model = ScriptedModel(always=no_exchange, window_tokens=50_000)

    result = await written(task, model, retries=ONE_BY_ONE)

    refused = [one.tokens for one in result.attempts if one.kind == "context_overflow"]
    assert refused == sorted(refused, reverse=True)
    assert len(set(refused)) == len(refused) <= 6
    assert result.digested == ((2, 3),)


async def test_waits_of_parts_are_not_waited_at_once() -> None:
    """A rate limit of one part holds the others back, too: one wait after another."""
    clockwork = Clockwork()
    model = ScriptedModel(
        [Failure(status=429, headers={"retry-after": "3"})] * 2, always=short, window_tokens=8_000
    )

    result = await written(task_for(20_000), model, clockwork=clockwork)

    assert result.text is not None
    assert clockwork.waits == [pytest.approx(3.3)] * 2
