"""What a session is set to, and what its operations report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from minutebook.budget import BACKGROUND_WAIT_SECONDS, Limits, Policy, preset
from minutebook.compaction.plan import Plan
from minutebook.config.values import Config
from minutebook.context import Context
from minutebook.costing import Costs, costs_of, priced
from minutebook.errors import ConfigError
from minutebook.messages import Message
from minutebook.models.windows import window_of
from minutebook.records import Rotated
from minutebook.store.collecting import Retention
from minutebook.store.metadata import Metadata
from minutebook.tokens.calibration import Calibration


class Settings(Struct, frozen=True, kw_only=True):
    """Window, model, tools and policy of a session."""

    policy: Policy
    window: int | None = None
    """The context window in tokens, as the caller said it."""
    learned_window: int | None = None
    """What a provider's overflow error taught of the window."""
    model: str | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    max_output: int | None = None
    """The model's output limit in tokens."""
    retention: Retention | None = None
    """What becomes of rotations on closing; None: nothing."""
    background_fraction: float | None = None
    """From which share of the trigger on `fit` prepares a summary in the background by itself;
    None: only where it is asked to, from `preparing.FRACTION` on."""
    background_wait_seconds: float = BACKGROUND_WAIT_SECONDS
    """How long `fit` waits at the limit for a summary in the background."""

    @classmethod
    def of(
        cls,
        *,
        window: int | None,
        model: str | None,
        tools: Sequence[Mapping[str, Any]],
        max_output: int | None,
        preset_name: str,
        retention: Retention | None = None,
    ) -> Settings:
        """Check the caller's words.

        Raises:
            ConfigError: If a number is not positive or there is no such preset.
        """
        _check_positive(window=window, max_output=max_output)
        return cls(
            policy=preset(preset_name),
            window=window,
            model=model,
            tools=tuple(tools),
            max_output=max_output,
            retention=retention,
        )

    def but(self, **changes: object) -> Settings:
        """Give the settings with other values."""
        return structs.replace(self, **changes)

    def for_model(self, model: str | None, window: int | None, max_output: int | None) -> Settings:
        """Give the settings for another model.

        Raises:
            ConfigError: If a number is not positive.
        """
        _check_positive(window=window, max_output=max_output)
        return self.but(model=model, window=window, max_output=max_output, learned_window=None)

    def with_config(self, config: Config, *, preset_is_said: bool) -> Settings:
        """Give the settings with what a configuration says and the caller did not."""
        default = self.retention == Retention()
        return self.but(
            policy=self.policy if preset_is_said else config.policy,
            window=self.window or config.window,
            model=self.model or config.model or None,
            max_output=self.max_output or config.max_output,
            retention=config.retention if default else self.retention,
            background_fraction=config.background_fraction,
            background_wait_seconds=config.background_wait_seconds,
        )

    def described_by(self, metadata: Metadata) -> Settings:
        """Give the settings with what `session.json` knows and the caller did not say."""
        return self.but(
            window=self.window or metadata.window,
            learned_window=metadata.learned_window,
            model=self.model or metadata.model or None,
        )

    def known_window(self) -> int | None:
        """Give the window: what the caller said, else what is known of the model, else None."""
        return self.window_and_source()[0]

    def window_and_source(self) -> tuple[int | None, str]:
        """Give the window and where it came from: `said`, `learned`, `model`; else None.

        What an overflow error taught holds against what the model is known for, and against
        what the caller said only where it is less.
        """
        if self.window is not None:
            if self.learned_window is not None and self.learned_window < self.window:
                return self.learned_window, "learned"
            return self.window, "said"
        if self.learned_window is not None:
            return self.learned_window, "learned"
        found = window_of(self.model) if self.model else None
        return found, "model" if found is not None else ""


def _check_positive(**numbers: int | None) -> None:
    for name, value in numbers.items():
        if value is not None and value <= 0:
            raise ConfigError(name, f"{value} is not a positive number of tokens")


class Measures(Struct, frozen=True, kw_only=True):
    """A session's sizes and bounds at one moment, in tokens."""

    policy: Policy
    limits: Limits
    """The bounds, in the provider's tokens."""
    estimated: Limits
    """The same bounds in our estimates, which the ladder counts in."""
    fixed: int
    """The estimate of system prompt and tools."""
    tokens: int
    """The size of the next request, as well as it is known."""
    by_kind: dict[str, int]
    """The estimate of the whole request by kind."""
    line: Calibration
    """How the provider counts beside our estimates."""


class Proposal(Struct, frozen=True, kw_only=True):
    """A planned compaction that has not been committed."""

    plan: Plan
    trigger: str
    focus: str
    history: tuple[Message, ...]
    """The history that was planned for."""
    pins: frozenset[int]
    measures: Measures
    protected: frozenset[int] = frozenset()
    """What tags and rules protected in it."""
    model: str | None = None
    """The model that wrote the summary; None for the digest."""
    usage: dict[str, int] | None = None
    """What the compactor's own calls used."""

    def still_fits(self, context: Context) -> bool:
        """Tell whether the context is the one that was planned for."""
        return context.history is self.history and context.pins == self.pins

    def holds(self, summary: str) -> bool:
        """Tell whether a new message of the plan has this text in it, word for word."""
        return any(message.seq is None and summary in message.text for message in self.plan.history)


class Compacted(Struct, frozen=True, kw_only=True):
    """What a compaction did."""

    plan: Plan
    limits: Limits
    before: dict[str, int]
    """The estimate of the whole request by kind, in tokens."""
    after: dict[str, int]
    tokens_before: int
    """The size of the next request as well as it was known."""
    tokens_after: int
    rotation: Rotated | None
    """Where the old log is; None if nothing was changed."""
    model: str | None = None
    """The model that wrote the summary; None for the digest."""
    spent: dict[str, int] | None = None
    """What the compactor's own calls used, in tokens."""
    cache_share: float | None = None
    """The share of the session's input that came from the provider's cache, as it was counted
    before; None: nobody reported it."""

    @property
    def changed(self) -> bool:
        """Whether the log was rewritten."""
        return self.rotation is not None

    def costs(self, model: str | None = None) -> Costs:
        """Say what it costs and saves; with *model* in dollars too, where its price is known.

        The first price that is asked for takes some 150 ms: the list has to be loaded.
        """
        after = self.tokens_after if self.changed else 0
        before = self.tokens_before if self.changed else 0
        found = costs_of(before, after, spent=self.spent, share=self.cache_share)
        if not model:
            return found
        from minutebook.models.prices import price_of

        return priced(found, model, self.model or model, price_of)


class Explanation(Struct, frozen=True, kw_only=True):
    """Why the last `fit` did what it did."""

    tokens: int
    """The size of the request before it."""
    spread: int
    """How far that may be off to either side."""
    source: str
    """`counted`, `calibrated`, or `estimated`."""
    limits: Limits
    window_source: str
    """Where the window came from: `said`, `learned`, `model`."""
    due: str | None
    """`limit`, `trigger`, or None if nothing had to be done."""
    compacted: Compacted | None
    sent_tokens: int
    """The size of the request after it."""
    preparing: bool = False
    """Whether a summary is being prepared in the background."""


def describe(folder: str, settings: Settings, *, created: float) -> Metadata:
    """Make the `session.json` of a session that has none."""
    return Metadata(
        id=Path(folder).resolve().name,
        created=round(created, 3),
        model=settings.model or "",
        window=settings.window,
    )
