from hypothesis import given
from hypothesis import strategies as st

from minutebook.gateway.costs import costs

TOKENS = st.integers(0, 1_000_000)


@given(sent=TOKENS, saved=TOKENS, now=st.booleans())
def test_a_saving_has_a_lower_and_an_upper_bound(sent: int, saved: int, now: bool) -> None:
    """Nothing left out saves nothing; only the request that compacts pays for it."""
    facts = {"model": "gpt-4o", "tokens_sent": sent, "tokens_saved": saved, "compacted_now": now}
    told = costs(facts)

    low, high, cost = (told[f"{name}_usd_{end}"] for name, end in NAMES)
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert isinstance(cost, float)
    assert 0 <= low <= high
    assert (high > 0) == (saved > 0)
    assert told["saved_tokens"] == saved
    assert told["cost_tokens_max"] == (sent if now else 0)
    assert cost >= 0
    assert now or cost == 0


NAMES = [("saved", "min"), ("saved", "max"), ("cost", "max")]


def test_a_model_without_a_price_has_tokens_alone() -> None:
    """No money is made up."""
    facts = {"model": "scripted", "tokens_sent": 9, "tokens_saved": 4, "compacted_now": True}

    assert costs(facts) == {"saved_tokens": 4, "cost_tokens_max": 9}


def test_a_request_that_was_not_measured_has_no_costs() -> None:
    """It broke off before its size was known."""
    assert costs({}) == {}
