"""How large a session's next request is, and which usage reports are believed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from minutebook.budget import limits
from minutebook.errors import ConfigError
from minutebook.messages import Message
from minutebook.records import Usage
from minutebook.reports import Measures
from minutebook.tokens.breakdown import by_kind
from minutebook.tokens.calibration import read_learned
from minutebook.tokens.estimate import estimate_message, estimate_system, estimate_tools
from minutebook.tokens.exact import counter_of, exact_size
from minutebook.tokens.meter import Meter
from minutebook.tokens.usage import usage_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minutebook.budget import Limits
    from minutebook.context import Context
    from minutebook.journal import Journal
    from minutebook.records import Record
    from minutebook.reports import Settings
    from minutebook.tokens.calibration import Calibration, Observation, Size

PLAUSIBLE_LEAST, PLAUSIBLE_MOST = 0.5, 1.5
"""A report within these shares of what was expected is taken without a closer look: it is
neither doubled nor absurd, and the closer look costs a walk over the history."""


class _Fixed(NamedTuple):
    """What every request of these takes; they are told apart by identity."""

    prompt: str | None
    tools: Sequence[Mapping[str, Any]]
    tokens: int


class Counting:
    """The sizes of one session; all follow from its log, but for one doubted report."""

    def __init__(self, journal: Journal, settings: Settings) -> None:
        """Take the journal, whose context is measured, and what the session is set to."""
        self.settings = settings
        self._journal = journal
        self._meter = Meter()
        self._fixed: _Fixed | None = None

    @property
    def fixed(self) -> int:
        """The estimate of what every request takes: system prompt and tool schemas.

        Made anew only when another prompt or other tools are set.
        """
        prompt, tools = self._journal.context.system_prompt, self.settings.tools
        known = self._fixed
        if known is None or known.prompt is not prompt or known.tools is not tools:
            tokens = estimate_system(prompt) + sum(estimate_tools(tools).values())
            self._fixed = known = _Fixed(prompt, tools, tokens)
        return known.tokens

    def by_kind(self) -> dict[str, int]:
        """Give the estimate of the whole request by kind, in tokens."""
        context = self._journal.context
        return by_kind(context.system_prompt, self.settings.tools, context.history, context.pins)

    def size(self) -> Size:
        """Give the size of the next request, with its spread."""
        context = self._journal.context
        return self._meter.size(
            *context.measured(),
            fixed=self.fixed,
            model=self.settings.model,
            carried=_carried(context),
        )

    def line(self) -> Calibration:
        """Give how the provider counts beside our estimates, as far as it is known."""
        context = self._journal.context
        return self._meter.line(
            *context.measured(),
            model=self.settings.model,
            carried=_carried(context),
        )

    def sure_size(self, bounds: Limits) -> Size:
        """Give the size, what is new counted exactly where the estimate cannot tell.

        Only for models whose vocabulary is public and at hand; else as `size` does.
        """
        size = self.size()
        if not (size.straddles(bounds.trigger) or size.straddles(bounds.limit + 1)):
            return size
        with suppress(ConfigError):
            counter = counter_of(self.settings.model)
            if counter is not None:
                return exact_size(counter, size, self._journal.context.history)
        return size

    def limits(self, target_ratio: float | None = None) -> Limits:
        """Give the bounds of the moment, in the provider's tokens.

        Raises:
            ConfigError: If the window is not known, or the fixed part leaves no room.
        """
        settings = self.settings
        return limits(
            settings.policy,
            window=settings.known_window(),
            max_output=settings.max_output,
            fixed=self.fixed,
            target_ratio=target_ratio,
        )

    def measure(self, target_ratio: float | None = None) -> Measures:
        """Take the sizes and bounds of the moment; raises as `limits` does."""
        bounds, line = self.limits(target_ratio), self.line()
        count = len(self._journal.context.history)
        estimated = structs.replace(
            bounds,
            trigger=max(1, line.estimate(bounds.trigger, count)),
            target=max(1, line.estimate(bounds.target, count)),
            limit=max(1, line.estimate(bounds.limit, count)),
        )
        return Measures(
            policy=self.settings.policy,
            limits=bounds,
            estimated=estimated,
            fixed=self.fixed,
            tokens=self.size().tokens,
            by_kind=self.by_kind(),
            line=line,
        )

    def believed(
        self, reported: object, new: Sequence[Record] = (), *, model: str | None = None
    ) -> list[Usage]:
        """Give the record of what a provider reported, if there is one that can be believed.

        *new* are the messages that are appended with it, the reply among them. A number or a
        `Usage` of the caller's own is taken as it is.

        Raises:
            InvalidMessage: If it is of no known shape.
        """
        if reported is None:
            return []
        found = usage_record(reported, model=model or self.settings.model)
        if isinstance(reported, int | Usage):
            return [found]
        reply = sum(
            estimate_message(one)
            for one in new
            if isinstance(one, Message) and one.role == "assistant"
        )
        context = self._journal.context
        expected = context.token_count_with_pending + reply
        plausible = PLAUSIBLE_LEAST * expected <= found.token_count <= PLAUSIBLE_MOST * expected
        if context.token_count_is_exact and plausible and 2 * (found.output or 0) >= reply:
            return [found]
        believed = self._meter.judge(
            found,
            *context.measured(),
            fixed=self.fixed,
            reply=reply,
            window=self.settings.window,
            carried=_carried(context),
        ).usage
        return [] if believed is None else [believed]


def _carried(context: Context) -> tuple[Observation, ...]:
    """Give what was learned before the last compaction, as its usage record carries it."""
    counted = context.measured().counted
    first = counted[0].usage if counted else None
    return read_learned(first.learned) if first is not None and first.estimated else ()
