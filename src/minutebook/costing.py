"""What a compaction costs and saves, in tokens and, where prices are known, in dollars. Pure.

One pass makes one break in the provider's prompt cache: the next request is read anew where it
would have been read from the cache. From then on every request is smaller. How much of the
input the cache gives is measured on the session's own usage; without one it is taken for 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import ceil
from typing import TYPE_CHECKING

from msgspec import Struct, structs

if TYPE_CHECKING:
    from minutebook.context import Counted

Price = Callable[..., float | None]
"""`models.prices.price_of`."""


class Costs(Struct, frozen=True, kw_only=True):
    """The two sides of one pass. Dollars are None where a price is not known."""

    reread_tokens: int
    """What the next request takes: of it the cache has nothing to give."""
    saved_tokens: int
    """By how much each request from then on is smaller."""
    summary_input_tokens: int = 0
    """What the compactor's own calls read, those that failed among them."""
    summary_output_tokens: int = 0
    cache_share: float | None = None
    """The share of the session's input that came from the cache; None: nobody reported it."""
    cost_usd: float | None = None
    """Once: what is read anew, at the fresh price less what the cache would have asked, and the
    compactor's calls."""
    saved_usd: float | None = None
    """With each request."""
    pays_after: int | None = None
    """How many requests it takes until the pass has paid for itself."""


def cache_share(usages: Iterable[Counted]) -> float | None:
    """Give the share of all counted input that came from the provider's cache."""
    read = whole = 0
    for counted in usages:
        usage = counted.usage
        if usage.estimated or usage.cache_read is None:
            continue
        read += usage.cache_read
        whole += (usage.input or 0) + usage.cache_read + (usage.cache_write or 0)
    return read / whole if whole else None


def costs_of(
    before: int, after: int, *, spent: Mapping[str, int] | None, share: float | None
) -> Costs:
    """Give the tokens that a pass costs and saves.

    *before* and *after* are the sizes of the request, *spent* what the compactor's own calls
    used, *share* what the cache gives usually.
    """
    used = spent or {}
    return Costs(
        reread_tokens=after,
        saved_tokens=max(before - after, 0),
        summary_input_tokens=sum(
            used.get(name, 0) for name in ("input", "cache_read", "cache_write")
        ),
        summary_output_tokens=used.get("output", 0),
        cache_share=share,
    )


def priced(costs: Costs, model: str, writer: str, price: Price) -> Costs:
    """Give costs in dollars too, where prices are known.

    *model* is the one that is sent the requests, *writer* the one that wrote the summary.
    """
    share, after = costs.cache_share or 0.0, costs.reread_tokens
    before = after + costs.saved_tokens

    def usual(tokens: int) -> float | None:
        """Give the price of a request, so much of it from the cache as is usual here."""
        fresh, cached = price(model, tokens), price(model, tokens, cached=True)
        if fresh is None or cached is None:
            return None
        return fresh * (1 - share) + cached * share

    summary: float | None = 0.0
    if costs.summary_input_tokens or costs.summary_output_tokens:
        summary = price(
            writer, costs.summary_input_tokens, output_tokens=costs.summary_output_tokens
        )
    fresh, now, was = price(model, after), usual(after), usual(before)
    if fresh is None or now is None or was is None or summary is None:
        return costs
    cost, saved = max(fresh - now, 0.0) + summary, max(was - now, 0.0)
    return structs.replace(
        costs,
        cost_usd=round(cost, 6),
        saved_usd=round(saved, 6),
        pays_after=ceil(cost / saved) if saved else None,
    )
