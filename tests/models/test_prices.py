"""List prices, without the network."""

from minutebook.models.prices import price_of


def test_what_the_cache_holds_is_cheaper() -> None:
    """So a compaction, which the cache does not know, costs something."""
    fresh, cached = price_of("gpt-4o", 1_000), price_of("gpt-4o", 1_000, cached=True)

    assert fresh is not None
    assert cached is not None
    assert cached < fresh


def test_output_costs_beside_input_and_an_unknown_model_has_no_price() -> None:
    """No money is made up."""
    both, alone = price_of("gpt-4o", 1_000, output_tokens=100), price_of("gpt-4o", 1_000)
    assert both is not None
    assert alone is not None
    assert both > alone > 0
    assert price_of("no-such-model", 1_000) is None
