"""Make the summarisers that a configuration names. Needs their extras, and their keys."""

from __future__ import annotations

import os
from collections.abc import Mapping

from minutebook.config.values import Config, SummarizerSettings
from minutebook.errors import ConfigError
from minutebook.models.anthropic_messages import AnthropicSummarizer
from minutebook.models.openai_chat import OpenAISummarizer

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


def _make(settings: SummarizerSettings, environment: Mapping[str, str]) -> ReadySummarizer:
    kind = OpenAISummarizer if settings.kind == "openai" else AnthropicSummarizer
    return kind(
        settings.model or None,
        base_url=settings.base_url or None,
        api_key=environment.get(settings.key_env) if settings.key_env else None,
        window=settings.window,
        max_output=settings.max_output,
    )
