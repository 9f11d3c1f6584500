"""What a pass costs and saves."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.context import Counted
from minutebook.costing import Costs, cache_share, costs_of, priced
from minutebook.records import Usage

TOKENS = st.integers(0, 200_000)
SHARES = st.none() | st.floats(0, 1)


def price(model: str, tokens: int, *, cached: bool = False, output_tokens: int = 0) -> float | None:
    """Take a dollar for ten thousand tokens, a tenth of it from the cache; five for output."""
    if model == "unknown":
        return None
    return tokens * (0.1 if cached else 1.0) / 10_000 + output_tokens * 5 / 10_000


def test_the_numbers_of_one_pass() -> None:
    """What is read anew costs the part that the cache would have given."""
    found = costs_of(
        20_000, 10_000, spent={"input": 900, "cache_read": 100, "output": 200}, share=0.5
    )

    assert priced(found, "m", "m", price) == Costs(
        reread_tokens=10_000,
        saved_tokens=10_000,
        summary_input_tokens=1_000,
        summary_output_tokens=200,
        cache_share=0.5,
        cost_usd=0.65,
        saved_usd=0.55,
        pays_after=2,
    )


@given(before=TOKENS, after=TOKENS, share=SHARES, read=TOKENS, written=TOKENS)
def test_it_is_never_below_nothing_and_pays_when_it_says(
    before: int, after: int, share: float | None, read: int, written: int
) -> None:
    """After so many requests what was saved is at least what it cost."""
    found = costs_of(before, after, spent={"input": read, "output": written}, share=share)
    told = priced(found, "m", "w", price)

    assert told.saved_tokens == max(before - after, 0)
    assert told.cost_usd is not None
    assert told.saved_usd is not None
    assert told.cost_usd >= 0
    assert told.saved_usd >= 0
    if told.pays_after is None:
        assert told.saved_tokens * (1 - 0.9 * (share or 0)) < 0.01
    else:
        assert told.pays_after * told.saved_usd >= told.cost_usd - 1e-3


def test_without_a_price_there_are_tokens_alone() -> None:
    """Neither of the model nor, where it wrote, of the summary's."""
    found = costs_of(20, 10, spent={"input": 5}, share=None)
    assert priced(found, "unknown", "m", price) == found
    assert priced(found, "m", "unknown", price) == found
    free = costs_of(20, 10, spent=None, share=None)
    assert priced(free, "m", "unknown", price).cost_usd == 0.0


def test_the_caches_share_is_measured_where_it_was_reported() -> None:
    """Estimates are nobody's count, and a provider that says nothing of a cache says nothing."""
    usages = [
        Usage(token_count=100, input=20, cache_read=60, cache_write=20),
        Usage(token_count=50, input=50),
        Usage(token_count=70, cache_read=70, estimated=True),
        Usage(token_count=100, input=100, cache_read=0),
    ]
    counted = [Counted(usage, number) for number, usage in enumerate(usages)]
    assert cache_share(counted) == 0.3
    assert cache_share(counted[1:3]) is None
    assert cache_share([]) is None
