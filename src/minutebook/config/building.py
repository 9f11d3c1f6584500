"""Make the summarisers that a configuration names. Needs their extras, and their keys."""

from __future__ import annotations

import os
from collections.abc import Mapping

from minutebook.budget import limits
from minutebook.config.values import Config, SummarizerSettings
from minutebook.errors import ConfigError
from minutebook.models.anthropic_messages import AnthropicSummarizer
from minutebook.models.openai_chat import OpenAISummarizer
from minutebook.models.windows import window_of

ReadySummarizer = OpenAISummarizer | AnthropicSummarizer


def make_summarizers(
    config: Config, environment: Mapping[str, str] | None = None
) -> tuple[ReadySummarizer, ...]:
    """Make the summarisers, in their order; each is to be closed after use.

    *environment* has the keys; None: the variables of this process.

    Raises:
        ConfigError: If a key's variable is not set, a model or its window is not known, or an
            extra is not installed.
    """
    variables = os.environ if environment is None else environment
    missing = missing_keys(config, variables)
    if missing:
        raise ConfigError(
            "summarizers", f"the variable {missing[0]} is not set; put the key into it"
        )
    return tuple(_make(settings, variables) for settings in config.summarizers)


def missing_keys(config: Config, environment: Mapping[str, str]) -> list[str]:
    """Give the variables that summarisers take their keys from and that are not set."""
    named = dict.fromkeys(one.key_env for one in config.summarizers if one.key_env)
    return [name for name in named if not environment.get(name)]


def small_windows(config: Config) -> list[str]:
    """Say which summarisers have a smaller window than the requests that are to be compacted.

    That is no error: what they are shown is divided and merged, which costs calls and detail.
    Nothing is said where a window is not known.
    """
    window = config.window or (window_of(config.model) if config.model else None)
    if window is None:
        return []
    trigger = limits(config.policy, window=window, max_output=config.max_output, fixed=0).trigger
    known = {
        one.model: one.window or (window_of(one.model) if one.model else None)
        for one in config.summarizers
    }
    return [
        f"the summariser {name or 'without a name'} has a window of {size} tokens, and compaction "
        f"begins at {trigger}: what it is shown is divided into parts"
        for name, size in known.items()
        if size is not None and size < trigger
    ]


def _make(settings: SummarizerSettings, environment: Mapping[str, str]) -> ReadySummarizer:
    kind = OpenAISummarizer if settings.kind == "openai" else AnthropicSummarizer
    return kind(
        settings.model or None,
        base_url=settings.base_url or None,
        api_key=environment.get(settings.key_env) if settings.key_env else None,
        window=settings.window,
        max_output=settings.max_output,
    )
