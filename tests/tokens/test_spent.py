"""What calls cost, added up."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.records import Usage
from minutebook.tokens.spent import Spent, spent

COUNTS = st.integers(0, 1_000_000)
COSTS = st.builds(
    Spent,
    calls=COUNTS,
    uncounted=COUNTS,
    input=COUNTS,
    cache_read=COUNTS,
    cache_write=COUNTS,
    output=COUNTS,
    reasoning=COUNTS,
)


@given(COSTS, COSTS, COSTS)
def test_costs_add_up_in_any_order(one: Spent, two: Spent, three: Spent) -> None:
    """A sum is the same however it is made, and nothing in it is lost."""
    assert (one + two) + three == three + (two + one)
    assert (one + two).tokens == one.tokens + two.tokens
    assert one + Spent() == one


@given(COSTS)
def test_a_record_holds_what_is_not_zero(cost: Spent) -> None:
    """What a compaction's record gets gives the same cost back."""
    record = cost.record()
    assert all(record.values())
    assert Spent(**record) == cost


def test_a_server_side_compaction_is_paid_for_too() -> None:
    """Anthropic's `iterations`: what is in no other figure is in this one."""
    report = {
        "input_tokens": 23_000,
        "output_tokens": 1_000,
        "iterations": [
            {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
            {
                "type": "message",
                "input_tokens": 3_000,
                "cache_read_input_tokens": 20_000,
                "output_tokens": 1_000,
            },
        ],
    }
    found = spent({"usage": report})
    assert found == Spent(calls=1, input=183_000, cache_read=20_000, output=4_500)
    assert found.tokens == 207_500


def test_reasoning_is_paid_once() -> None:
    """C053: it is a part of the output, whether it stays in the context or not."""
    found = spent({"promptTokenCount": 9, "candidatesTokenCount": 12, "thoughtsTokenCount": 2303})
    assert (found.output, found.reasoning, found.tokens) == (2315, 2303, 2324)


def test_a_call_without_usage_is_counted_as_such() -> None:
    """What failed calls cost isn't known, but that there were some is."""
    uncounted = Spent(calls=1, uncounted=1)
    assert spent(None) == spent({"error": "overloaded"}) == spent(Usage(token_count=5)) == uncounted
    assert uncounted.record() == {"calls": 1, "uncounted": 1}


def test_a_usage_record_tells_what_its_request_cost() -> None:
    """Reasoning that doesn't stay is in its output all the same."""
    record = Usage(token_count=15, input=10, output=9, cache_read=2, reasoning=6)
    assert spent(record) == Spent(calls=1, input=10, cache_read=2, output=9, reasoning=6)
