"""How large a model's context window is, as far as genai-prices knows.

The package is imported only when a window is asked for (its import takes longer than ours)
and never updates itself from the network.
"""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=256)
def window_of(model: str) -> int | None:
    """Give the context window of *model* in tokens; None if it is not known."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        _provider, found = get_snapshot().find_provider_model(model, None, None, None)
    except LookupError:
        return None
    return found.context_window
