"""How large a model's context window is: what genai-prices knows, then a small table of ours.

The package is imported only when a window is asked for (its import takes longer than ours)
and never updates itself from the network.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

OURS: dict[str, int] = {
    # Gemini 3 guide, ai.google.dev/gemini-api/docs/gemini-3: 1M in, 64k out.
    "gemini-3-pro-preview": 1_048_576,
    # The alias was taken out of service in 2026; 128k by platform.moonshot.ai/docs until then.
    "kimi-latest": 131_072,
    # Kimi CLI's documentation of its configuration: max_context_size of the model of this name.
    "kimi-for-coding": 262_144,
}
"""Windows in tokens that the package lacks."""

_ALIAS = "~"
"""What the package writes before names of a router that stand for changing models."""


@lru_cache(maxsize=256)
def window_of(model: str) -> int | None:
    """Give the context window of *model* in tokens; None if it is not known.

    A name with a provider before it (`google/gemini-2.5-pro`) is also looked for without it, and
    a model whose maker's entry has no window by what others say who serve it: the least of it.
    """
    from genai_prices.data_snapshot import get_snapshot

    snapshot: Any = get_snapshot()
    bare = model.rpartition("/")[2]
    for name in dict.fromkeys((model, bare)):
        try:
            _provider, found = snapshot.find_provider_model(name, None, None, None)
        except LookupError:
            continue
        if found.context_window is not None:
            return int(found.context_window)
    served = [
        one.context_window
        for provider in snapshot.providers
        for one in provider.models
        if one.context_window is not None
        and not one.id.startswith(_ALIAS)
        and one.id.rpartition("/")[2] == bare
    ]
    return min(served) if served else OURS.get(bare)
