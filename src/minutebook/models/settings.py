"""What the ready summarisers take from arguments and the environment. Reads the environment."""

from __future__ import annotations

import os

from msgspec import Struct

from minutebook.compaction.task import Capacity
from minutebook.errors import ConfigError
from minutebook.models.summarizer import OUTPUT_TOKENS_UNKNOWN, capacity_of
from minutebook.models.windows import window_of

MODEL_VARIABLE = "MINUTEBOOK_SUMMARY_MODEL"
BASE_URL_VARIABLE = "MINUTEBOOK_SUMMARY_BASE_URL"
KEY_VARIABLE = "MINUTEBOOK_SUMMARY_API_KEY"
"""They come before the SDKs' own variables, which say where the agent's own model is."""


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where a summariser's model is, and what it takes."""

    model: str
    capacity: Capacity
    base_url: str | None
    """None: the SDK's own, from its variable or its default."""
    api_key: str | None
    """None: the SDK's own."""


def endpoint(
    *,
    model: str | None,
    base_url: str | None,
    api_key: str | None,
    window: int | None,
    max_output: int | None,
) -> Endpoint:
    """Put together what was given, the environment, and what is known of the model.

    Raises:
        ConfigError: If no model is named, or its window is not known.
    """
    name = model or os.environ.get(MODEL_VARIABLE, "")
    if not name:
        raise ConfigError("summarizer model", f"none; name one, or set {MODEL_VARIABLE}")
    known = window if window is not None else window_of(name)
    if known is None:
        raise ConfigError(
            "summarizer window", f"that of {name} is unknown; say how many tokens it takes"
        )
    return Endpoint(
        model=name,
        capacity=capacity_of(known, OUTPUT_TOKENS_UNKNOWN if max_output is None else max_output),
        base_url=base_url or os.environ.get(BASE_URL_VARIABLE) or None,
        api_key=api_key or os.environ.get(KEY_VARIABLE) or None,
    )


def missing(extra: str, error: ImportError) -> ConfigError:
    """Give the error for an extra that is not installed."""
    return ConfigError(
        "summarizer", f"the package {error.name} is missing; install minutebook[{extra}]"
    )
