"""What tokens cost: the list prices of genai-prices, in dollars.

The package is imported only when a price is asked for, since that takes longer than a request
may, and never updates itself from the network.
"""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4_096)
def price_of(
    model: str, tokens: int, *, cached: bool = False, output_tokens: int = 0
) -> float | None:
    """Give what so many tokens of input, *cached* or fresh, and of output cost, in dollars.

    None if the model is not known.
    """
    from genai_prices import Usage, calc_price

    usage = Usage(
        input_tokens=tokens,
        cache_read_tokens=tokens if cached else None,
        output_tokens=output_tokens or None,
    )
    try:
        return float(calc_price(usage, model_ref=model).total_price)
    except LookupError:
        return None
