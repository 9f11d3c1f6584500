"""What a request's compaction cost and saved, in tokens and, where prices are known, in dollars.

The prices are those of genai-prices, which is imported only when somebody asks: it takes longer
than a request may. It never updates itself from the network here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache


def costs(facts: Mapping[str, object]) -> dict[str, object]:
    """Give the costs of a request of which the gateway noted these facts.

    Whether the provider's cache would have held what was left out is not known, so what was
    saved in dollars lies between two figures; what a compaction cost is at most its figure:
    all that was sent had to be read anew, instead of from the cache.
    """
    model, sent, saved = (facts.get(name) for name in ("model", "tokens_sent", "tokens_saved"))
    if not isinstance(sent, int) or not isinstance(saved, int):
        return {}
    read = sent if facts.get("compacted_now") else 0
    told: dict[str, object] = {"saved_tokens": saved, "cost_tokens_max": read}
    if not isinstance(model, str):
        return told
    fresh, fresh_more = price_of(model, sent), price_of(model, sent + saved)
    cached, cached_more = (
        price_of(model, sent, cached=True),
        price_of(model, sent + saved, cached=True),
    )
    if fresh is None or fresh_more is None or cached is None or cached_more is None:
        return told
    told["saved_usd_min"] = round(min(cached_more - cached, fresh_more - fresh), 6)
    told["saved_usd_max"] = round(max(cached_more - cached, fresh_more - fresh), 6)
    told["cost_usd_max"] = round(max(fresh - cached, 0.0), 6) if read else 0.0
    return told


@lru_cache(maxsize=4_096)
def price_of(model: str, tokens: int, *, cached: bool = False) -> float | None:
    """Give what so many tokens of input cost, in dollars; None if the model is not known."""
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=tokens, cache_read_tokens=tokens if cached else None)
    try:
        return float(calc_price(usage, model_ref=model).total_price)
    except LookupError:
        return None
