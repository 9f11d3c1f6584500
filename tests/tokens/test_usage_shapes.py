"""Usage in the shapes of many providers: disjoint buckets, and totals that decide."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import defstruct

from minutebook.errors import InvalidMessage
from minutebook.records import Usage
from minutebook.tokens.usage import TOKENS_MAX, all_input, buckets, keeps, merge, usage_record

COUNTS = st.integers(0, 1_000_000)
ODD = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
REPORTS = st.recursive(
    st.dictionaries(st.sampled_from(["input_tokens", "output_tokens", "iterations", "x"]), ODD),
    lambda inner: st.dictionaries(
        st.sampled_from(["usage", "message", "input_tokens_details", "iterations"]),
        inner | st.lists(inner, max_size=2),
    ),
    max_leaves=6,
)


def read(report: object, **options: Any) -> tuple[int | None, ...]:
    """Read a report as fresh input, cache read, cache written, output, reasoning, context."""
    found = usage_record(report, **options)
    return (
        found.input,
        found.cache_read,
        found.cache_write,
        found.output,
        found.reasoning,
        found.token_count,
    )


@given(COUNTS, COUNTS, COUNTS, COUNTS, st.booleans())
def test_anthropics_buckets_are_taken_as_they_are(
    fresh: int, cached: int, written: int, output: int, totalled: bool
) -> None:
    """Its input leaves out what went through the cache; Bedrock's does too, and has a total."""
    whole = fresh + cached + written
    expected = (fresh, cached, written, output, 0, whole + output)
    anthropic = {
        "input_tokens": fresh,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
        "output_tokens": output,
    }
    assert read(anthropic) == expected
    bedrock = {
        "inputTokens": fresh,
        "cacheReadInputTokens": cached,
        "cacheWriteInputTokens": written,
        "outputTokens": output,
    }
    total = {"totalTokens": whole + output} if totalled else {}
    assert read(bedrock | total) == expected


@given(COUNTS, COUNTS, COUNTS)
def test_openais_input_includes_the_cache(fresh: int, cached: int, output: int) -> None:
    """Chat and Responses say all input and how much of it was cached; no token counts twice."""
    chat = {
        "prompt_tokens": fresh + cached,
        "completion_tokens": output,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    responses = {
        "input_tokens": fresh + cached,
        "output_tokens": output,
        "input_tokens_details": {"cached_tokens": cached},
    }
    expected = (fresh, cached, 0, output, 0, fresh + cached + output)
    assert read(chat) == expected
    assert read(responses) == expected
    assert read(responses | {"total_tokens": fresh + cached + output}) == expected


@pytest.mark.parametrize(
    "report",
    [
        {
            "prompt_tokens": 100,
            "completion_tokens": 2315,
            "total_tokens": 2415,
            "completion_tokens_details": {"reasoning_tokens": 2303},
        },
        {
            "promptTokenCount": 100,
            "candidatesTokenCount": 12,
            "thoughtsTokenCount": 2303,
            "totalTokenCount": 2415,
        },
        {
            "prompt_tokens": 100,
            "completion_tokens": 12,
            "reasoning_tokens": 2303,
            "total_tokens": 2415,
        },
        {
            "promptTokenCount": 100,
            "candidatesTokenCount": 2315,
            "thoughtsTokenCount": 2303,
            "totalTokenCount": 2415,
        },
        {
            "prompt_tokens": 100,
            "completion_tokens": 12,
            "completion_tokens_details": {"reasoning_tokens": 2303},
        },
    ],
)
def test_reasoning_is_counted_once_and_does_not_stay(report: dict[str, Any]) -> None:
    """C053: inside of the output or beside it, the total decides; no later request holds it."""
    found = usage_record(report)
    assert (found.output, found.reasoning) == (2315, 2303)
    assert found.token_count == 100 + 12


def test_reasoning_that_goes_back_stays() -> None:
    """In the Responses API, at Anthropic and for Kimi's models; and wherever the caller says."""
    chat = {
        "prompt_tokens": 10,
        "completion_tokens": 9,
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    assert usage_record(chat).token_count == 14
    assert usage_record(chat, keeps_reasoning=True).token_count == 19
    assert usage_record(chat, model="kimi-k2-thinking").token_count == 19
    responses = {
        "input_tokens": 10,
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 5},
    }
    assert usage_record(responses).token_count == 19
    assert usage_record(responses, keeps_reasoning=False).token_count == 14
    assert [keeps(shape, None) for shape in ("chat", "responses", "anthropic", "gemini")] == [
        False,
        True,
        True,
        False,
    ]


def test_a_total_moves_cached_input_to_where_it_belongs() -> None:
    """Some who speak OpenAI's shape count cached input beside it, some of Anthropic's inside."""
    beside = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "total_tokens": 1010,
        "prompt_tokens_details": {"cached_tokens": 900},
    }
    assert read(beside) == (100, 900, 0, 10, 0, 1010)
    del beside["total_tokens"]
    assert read(beside) == (100, 900, 0, 10, 0, 1010)
    inside = {
        "input_tokens": 1000,
        "cache_read_input_tokens": 900,
        "output_tokens": 10,
        "total_tokens": 1010,
    }
    assert read(inside) == (100, 900, 0, 10, 0, 1010)


def test_other_dialects_are_read() -> None:
    """DeepSeek, Moonshot, OpenRouter, LiteLLM, Codex, Ollama: each has names of its own."""
    deepseek = {"prompt_tokens": 30, "completion_tokens": 2, "prompt_cache_hit_tokens": 20}
    assert read(deepseek) == (10, 20, 0, 2, 0, 32)
    moonshot = {"prompt_tokens": 30, "completion_tokens": 2, "cached_tokens": 20}
    assert read(moonshot) == (10, 20, 0, 2, 0, 32)
    openrouter = {
        "prompt_tokens": 30,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 5},
    }
    assert read(openrouter) == (5, 20, 5, 2, 0, 32)
    overlap = {
        "prompt_tokens": 30,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 25},
    }
    assert read(overlap) == (0, 20, 10, 2, 0, 32)
    litellm = {
        "prompt_tokens": 30,
        "completion_tokens": 2,
        "total_tokens": 32,
        "cache_read_input_tokens": 20,
        "cache_creation_input_tokens": 5,
    }
    assert read(litellm) == (5, 20, 5, 2, 0, 32)
    codex = {
        "input_tokens": 30,
        "cached_input_tokens": 20,
        "output_tokens": 9,
        "reasoning_output_tokens": 4,
        "total_tokens": 39,
    }
    assert read(codex) == (10, 20, 0, 9, 4, 39)
    assert read({"prompt_eval_count": 30, "eval_count": 2}) == (30, 0, 0, 2, 0, 32)


def test_of_iterations_the_last_that_read_the_context_counts() -> None:
    """Anthropic: a compaction's own call says nothing of the context, nor does an advisor's."""
    one = {"input_tokens": 23_000, "output_tokens": 400}
    report = {
        "input_tokens": 46_900,
        "output_tokens": 1_400,
        "iterations": [
            {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
            {"type": "message", **one},
            {
                "type": "message",
                "input_tokens": 400,
                "cache_read_input_tokens": 23_400,
                "cache_creation_input_tokens": 100,
                "output_tokens": 1_000,
            },
            {"type": "advisor_message", "input_tokens": 90_000, "output_tokens": 1},
        ],
    }
    assert read(report) == (400, 23_400, 100, 1_000, 0, 24_900)
    only_compacted = {**one, "iterations": [{"type": "compaction", "input_tokens": 9}]}
    assert read(only_compacted) == (23_000, 0, 0, 400, 0, 23_400)
    assert read({**one, "iterations": "none"}) == (23_000, 0, 0, 400, 0, 23_400)


def test_a_whole_reply_gives_its_usage() -> None:
    """A reply, a chunk and an event hold it at places of their own, as objects and as JSON."""
    counts = {"input_tokens": 10, "output_tokens": 2}
    holders: list[object] = [
        {"usage": counts, "content": []},
        {"type": "message_start", "message": {"usage": counts}},
        {"type": "response.completed", "response": {"usage": counts}},
        SimpleNamespace(usage=SimpleNamespace(**counts)),
        SimpleNamespace(response=SimpleNamespace(usage=counts)),
        SimpleNamespace(message=SimpleNamespace(usage=counts), usage=None),
    ]
    for holder in holders:
        assert usage_record(holder).token_count == 12
    gemini = SimpleNamespace(usage_metadata={"prompt_token_count": 10, "candidates_token_count": 2})
    assert usage_record(gemini).token_count == 12
    record = Usage(token_count=5)
    assert usage_record(record) is record


def test_a_struct_of_counts_is_read_like_an_object() -> None:
    """Whatever holds the counts, their names say what they are."""
    report = defstruct("Report", [("prompt_tokens", int), ("completion_tokens", int)])(9, 2)
    assert usage_record(report).token_count == 11


def test_what_is_no_usage_is_refused() -> None:
    """An unknown shape, no shape at all, and counts that are none."""
    for value in (None, {}, {"usage": None}, {"tokens": 5}, "12", object()):
        with pytest.raises(InvalidMessage, match="unknown shape"):
            usage_record(value)
    for count in (-1, 1.5, True, "7", TOKENS_MAX):
        with pytest.raises(InvalidMessage, match="not a number of tokens"):
            usage_record({"input_tokens": count})


def test_the_size_of_a_request_is_told_only_if_it_was() -> None:
    """A record of one number can't say how much of it is the request."""
    assert all_input(usage_record(4711)) is None
    assert all_input(usage_record({"input_tokens": 10, "output_tokens": 2})) == 10
    assert buckets({"input_tokens": 10, "cache_read_input_tokens": 5}).all_input == 15


@given(st.lists(REPORTS, max_size=4))
@example([{"iterations": 1}, {"iterations": []}])
@example([{"input_tokens_details": {"cached": 2}}, {"input_tokens_details": 3}])
def test_merging_never_raises_and_order_does_not_matter(reports: list[dict[str, Any]]) -> None:
    """Whatever a server streams, it is taken; of each count the largest stays."""
    forward: dict[str, Any] = {}
    backward: dict[str, Any] = {}
    for one in reports:
        forward = merge(forward, one)
    for one in reversed(reports):
        backward = merge(backward, one)
    for name, value in forward.items():
        if isinstance(value, int):
            assert backward[name] == value


@given(st.lists(st.tuples(COUNTS, COUNTS), min_size=1, max_size=5))
def test_a_stream_counts_up_and_is_never_added(pairs: list[tuple[int, int]]) -> None:
    """Each chunk's counts include those before; the largest is the final one."""
    merged: dict[str, Any] = {}
    for given_, output in pairs:
        merged = merge(merged, {"usage": {"prompt_tokens": given_, "completion_tokens": output}})
    inputs, outputs = zip(*pairs, strict=True)
    assert merged.get("prompt_tokens", 0) == max(inputs)
    assert merged.get("completion_tokens", 0) == max(outputs)


def test_a_stream_of_anthropics_events_is_one_usage() -> None:
    """The first event has the input and one token of output, the last the output, cumulative."""
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 25, "output_tokens": 1}}},
        {"type": "content_block_delta", "delta": {"text": "hi"}},
        {"type": "message_delta", "usage": {"output_tokens": 15}},
        {"type": "message_delta", "usage": {"input_tokens": 0, "output_tokens": 15}},
        {"type": "message_stop"},
    ]
    merged: dict[str, Any] = {}
    for event in events:
        merged = merge(merged, event)
    assert read(merged) == (25, 0, 0, 15, 0, 40)


def test_odd_counts_in_a_stream_say_nothing() -> None:
    """Null, negative, absurd, and true are no counts; details are merged inside."""
    good = {"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}}
    merged = merge(None, good)
    for count in (None, -5, True, TOKENS_MAX, "12", 2.5):
        merged = merge(merged, {"usage": {"prompt_tokens": count}})
    merged = merge(merged, {"usage": {"prompt_tokens_details": {"cached_tokens": 0, "x": None}}})
    assert merged == {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}
    assert merge(merged, None) == merged
    assert merge(merged, {"usage": {"prompt_tokens_details": {}}}) == merged


def test_iterations_in_a_stream_are_taken_as_they_last_stood() -> None:
    """Their list grows; a shorter one is an older one."""
    first = [{"type": "message", "input_tokens": 5}]
    last = [*first, {"type": "message", "input_tokens": 9}]
    merged = merge(None, {"usage": {"input_tokens": 5, "iterations": first}})
    merged = merge(merged, {"usage": {"input_tokens": 14, "iterations": last}})
    merged = merge(merged, {"usage": {"iterations": first}})
    assert usage_record(merged).token_count == 9
