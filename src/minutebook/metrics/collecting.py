"""Fills a Prometheus registry from the events of sessions, and from what their callers know.

Metrics are a listener like any other: one that fails harms nobody. The clock is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, assert_never

from msgspec import structs

from minutebook.companions import Companions
from minutebook.errors import ConfigError
from minutebook.events import (
    CompactionBegun,
    CompactionCommitted,
    CompactionEnded,
    Event,
    HookRan,
    Listener,
    StepTaken,
    SummaryAttempted,
    Verified,
)
from minutebook.metrics.names import (
    ATTEMPTS,
    HOOK_EVENTS,
    HOOK_OUTCOMES,
    METRICS,
    NONE,
    OTHER,
    OUTCOMES,
    PROBLEMS,
    STEPS,
    TRIGGERS,
    Metric,
    combinations,
    reason_of,
    word,
)

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from minutebook.lines import Problem
    from minutebook.records import Usage

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
"""What `Metrics.page` is."""


class Metrics:
    """The metrics of one process, in a registry.

    metrics = Metrics(clock=time.monotonic)
    with minutebook.open_sync(path, companions=metrics.companions()) as session:
        metrics.opened(session.problems)
    """

    def __init__(
        self, *, clock: Callable[[], float], registry: CollectorRegistry | None = None
    ) -> None:
        """Make the metrics in *registry*, or in one of their own; *clock* gives seconds.

        Raises:
            ConfigError: If the extra is not installed.
        """
        try:
            from prometheus_client import CollectorRegistry
        except ImportError as error:
            remedy = "install it with: pip install 'minutebook[metrics]'"
            raise ConfigError("metrics", f"needs an extra; {remedy}") from error
        self.registry = CollectorRegistry() if registry is None else registry
        self.clock = clock
        self._made = {metric.name: _made(metric, self.registry) for metric in METRICS}

    def companions(self, others: Companions | None = None) -> Companions:
        """Give what one session is opened with; every session needs its own."""
        others = others or Companions()
        return structs.replace(others, listeners=(*others.listeners, self.listener()))

    def listener(self) -> Listener:
        """Make the listener of one session."""
        return _Session(self)

    def opened(self, problems: Iterable[Problem] = ()) -> None:
        """Count a session that was opened, and what was found in its log."""
        self.count("minutebook_sessions_opened")
        for problem in problems:
            self.count("minutebook_open_problems", kind=word(problem.kind, PROBLEMS))

    def request(self, tokens: int, usage: Usage | None = None, *, left_out: int = 0) -> None:
        """Count a request that was expected to take *tokens*, and what the provider reported.

        *left_out* are the tokens of its history that were not sent.
        """
        self.observe("minutebook_context_tokens", tokens, at="request")
        self.count("minutebook_left_out_tokens", left_out)
        if usage is None or usage.estimated or usage.input is None:
            return
        parts = {
            "fresh": usage.input,
            "cache_read": usage.cache_read or 0,
            "cache_write": usage.cache_write or 0,
        }
        for source, amount in parts.items():
            self.count("minutebook_input_tokens", amount, source=source)
        self.count("minutebook_output_tokens", usage.output or 0)
        counted = sum(parts.values())
        if counted > 0:
            self.observe("minutebook_estimate_error_ratio", abs(tokens - counted) / counted)

    def cost(self, dollars: float | None) -> None:
        """Count what a compaction cost, as `Compacted.costs` says it; None is not counted."""
        self.count("minutebook_compaction_cost_dollars", dollars or 0.0)

    def page(self) -> bytes:
        """Give everything in Prometheus' text format, see `CONTENT_TYPE`."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter; what is negative is not counted."""
        if amount >= 0:
            self._labelled(name, labels).inc(amount)

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Put a value into a histogram."""
        self._labelled(name, labels).observe(value)

    def _labelled(self, name: str, labels: dict[str, str]) -> Any:
        metric = self._made[name]
        return metric.labels(**labels) if labels else metric


def _made(metric: Metric, registry: CollectorRegistry) -> Any:
    from prometheus_client import Counter, Histogram

    labels = tuple(metric.labels)
    made: Any
    if metric.kind == "counter":
        made = Counter(metric.name, metric.help, labels, registry=registry)
    else:
        buckets = metric.buckets
        made = Histogram(metric.name, metric.help, labels, registry=registry, buckets=buckets)
    for words in combinations(metric):
        made.labels(*words)
    return made


class _Session:
    """The listener of one session: knows which compactions are under way."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._begun: dict[str, float] = {}
        """When one began, by trigger: one in the background waits beside others."""
        self._by_model = False
        """Whether a model has written a summary since the last one was committed."""
        self._steps: list[str] = []
        """The steps that made the request smaller, in the compaction that commits now."""

    def __call__(self, event: Event) -> None:
        metrics = self._metrics
        match event:
            case CompactionBegun():
                self._begun[event.trigger] = metrics.clock()
                metrics.observe("minutebook_context_tokens", event.tokens_before, at="before")
                if event.trigger == "overflow":
                    metrics.count("minutebook_refusals", by="provider")
            case HookRan():
                metrics.count(
                    "minutebook_hooks",
                    event=word(event.event, HOOK_EVENTS),
                    outcome=word(event.outcome, HOOK_OUTCOMES),
                )
            case StepTaken():
                used = event.tokens_after < event.tokens_before
                step = word(event.name, STEPS)
                metrics.count(
                    "minutebook_compaction_steps", step=step, used="yes" if used else "no"
                )
                if used:
                    self._steps.append(step)
            case SummaryAttempted():
                outcome = word(event.outcome.replace(" ", "_"), ATTEMPTS)
                self._by_model = self._by_model or outcome == "written"
                metrics.count("minutebook_summary_attempts", outcome=outcome)
                metrics.count("minutebook_summary_tokens", event.tokens, outcome=outcome)
            case Verified():
                metrics.observe("minutebook_verification_score", event.score)
            case CompactionCommitted():
                metrics.observe("minutebook_context_tokens", event.tokens_after, at="after")
                metrics.count(
                    "minutebook_compaction_saved_tokens",
                    event.tokens_before - event.tokens_after,
                    trigger=word(event.trigger, TRIGGERS),
                )
                self._end(event.trigger, "committed", "", self._strategy())
            case CompactionEnded():
                if event.outcome == "refused":
                    metrics.count("minutebook_refusals", by="compactor")
                self._end(event.trigger, event.outcome, event.reason, NONE)
            case _:
                assert_never(event)

    def _strategy(self) -> str:
        """Give what the committed compaction went furthest with."""
        if not self._steps:
            return OTHER
        last = max(self._steps, key=STEPS.index)
        if last != "summarize":
            return last
        return "model" if self._by_model else "digest"

    def _end(self, trigger: str, outcome: str, reason: str, strategy: str) -> None:
        """Count an ending and how long it took; what comes next begins with nothing."""
        metrics, begun = self._metrics, self._begun.pop(trigger, None)
        self._steps, self._by_model = [], False
        metrics.count(
            "minutebook_compactions",
            trigger=word(trigger, TRIGGERS),
            outcome=word(outcome, OUTCOMES),
            reason=reason_of(outcome, reason),
        )
        if begun is not None:
            seconds = max(metrics.clock() - begun, 0.0)
            metrics.observe("minutebook_compression_seconds", seconds, strategy=strategy)
