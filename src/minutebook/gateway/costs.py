"""What a request's compaction cost and saved, in tokens and, where prices are known, in dollars.

Prices are asked for only when somebody asks for costs: see `models.prices`.
"""

from __future__ import annotations

from collections.abc import Mapping

from minutebook.models.prices import price_of


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
