"""Every metric: its name, what it says, its labels and the words that each label may have.

No label ever has a word from a conversation, a path, a model's name or an error's text: what is
not in the list here is `other`, so the number of series is bounded whatever happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Literal, get_args

from msgspec import Struct

from minutebook.compaction.replies import Kind as ReplyKind
from minutebook.providers.overflow import Kind as FaultKind

OTHER = "other"
NONE = "none"

TRIGGERS = ("manual", "trigger", "limit", "overflow", "condense", "background", OTHER)
OUTCOMES = ("committed", "skipped", "vetoed", "refused", "failed", "cancelled", OTHER)
REASONS = (
    NONE,
    "nothing_to_do",
    "hook",
    "no_room",
    "moved_on",
    "not_needed",
    "summary",
    "cancelled",
    OTHER,
)
ENDINGS = (
    ("committed", NONE),
    ("skipped", "nothing_to_do"),
    ("vetoed", "hook"),
    ("refused", "no_room"),
    *(("failed", reason) for reason in ("moved_on", "not_needed", "summary", OTHER)),
    ("cancelled", "cancelled"),
)
"""The outcomes with the reasons that each may have, as far as they are known."""
STEPS = ("mask", "summarize", "window", "clip", OTHER)
STRATEGIES = ("mask", "digest", "model", "window", "clip", NONE, OTHER)
ATTEMPTS = (
    "written",
    *(kind.replace(" ", "_") for kind in (*get_args(ReplyKind), *get_args(FaultKind))),
    OTHER,
)
HOOK_EVENTS = ("PreCompact", "PostCompact", OTHER)
HOOK_OUTCOMES = ("agreed", "instructed", "vetoed", "failed", "timeout", OTHER)
PROBLEMS = ("bad", "torn", "mended", "glued", "rescued", "batch", OTHER)

TOKEN_BUCKETS = tuple(1_000.0 * 2**power for power in range(12))
SECOND_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
SHARE_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SCORE_BUCKETS = (0.1, 0.25, 0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0)


class Metric(Struct, frozen=True, kw_only=True):
    """One metric."""

    name: str
    """With its unit, without the suffixes that its kind adds."""
    kind: Literal["counter", "histogram"]
    help: str
    labels: dict[str, tuple[str, ...]] = {}
    """Each label with the words that it may have."""
    buckets: tuple[float, ...] = ()

    @property
    def series(self) -> tuple[str, ...]:
        """The names that a query may use."""
        if self.kind == "counter":
            return (f"{self.name}_total",)
        return tuple(f"{self.name}_{end}" for end in ("bucket", "sum", "count"))


METRICS = (
    Metric(
        name="minutebook_context_tokens",
        kind="histogram",
        help="Size of a request in tokens: as sent, and before and after a compaction.",
        labels={"at": ("request", "before", "after")},
        buckets=TOKEN_BUCKETS,
    ),
    Metric(
        name="minutebook_compactions",
        kind="counter",
        help="Compactions that have ended.",
        labels={"trigger": TRIGGERS, "outcome": OUTCOMES, "reason": REASONS},
    ),
    Metric(
        name="minutebook_compaction_steps",
        kind="counter",
        help="Steps that were tried; used is yes where one made the request smaller.",
        labels={"step": STEPS, "used": ("yes", "no")},
    ),
    Metric(
        name="minutebook_compaction_saved_tokens",
        kind="counter",
        help="Tokens by which compactions made the next request smaller.",
        labels={"trigger": TRIGGERS},
    ),
    Metric(
        name="minutebook_compression_seconds",
        kind="histogram",
        help="Time from a compaction's beginning to its end in seconds, hooks and models included.",
        labels={"strategy": STRATEGIES},
        buckets=SECOND_BUCKETS,
    ),
    Metric(
        name="minutebook_compaction_cost_dollars",
        kind="counter",
        help="What compactions cost at list prices: what is read anew, and the compactor's calls.",
    ),
    Metric(
        name="minutebook_summary_attempts",
        kind="counter",
        help="Models asked for a summary, by what came of it.",
        labels={"outcome": ATTEMPTS},
    ),
    Metric(
        name="minutebook_summary_tokens",
        kind="counter",
        help="Tokens that those calls used, input and output.",
        labels={"outcome": ATTEMPTS},
    ),
    Metric(
        name="minutebook_verification_score",
        kind="histogram",
        help="How much of what is still needed a planned compaction holds, from 0 to 1.",
        buckets=SCORE_BUCKETS,
    ),
    Metric(
        name="minutebook_hooks",
        kind="counter",
        help="Hooks that were asked or told.",
        labels={"event": HOOK_EVENTS, "outcome": HOOK_OUTCOMES},
    ),
    Metric(
        name="minutebook_refusals",
        kind="counter",
        help="Requests that were too large: for the provider, or for all that a compaction can do.",
        labels={"by": ("provider", "compactor")},
    ),
    Metric(
        name="minutebook_input_tokens",
        kind="counter",
        help="Input that providers reported: fresh, read from their cache, or written to it.",
        labels={"source": ("fresh", "cache_read", "cache_write")},
    ),
    Metric(
        name="minutebook_output_tokens",
        kind="counter",
        help="Output that providers reported.",
    ),
    Metric(
        name="minutebook_left_out_tokens",
        kind="counter",
        help="Tokens of clients' histories that were not sent, added up over requests.",
    ),
    Metric(
        name="minutebook_estimate_error_ratio",
        kind="histogram",
        help="How far the size that was expected lay from what the provider counted, as a share.",
        buckets=SHARE_BUCKETS,
    ),
    Metric(
        name="minutebook_sessions_opened",
        kind="counter",
        help="Sessions that were opened.",
    ),
    Metric(
        name="minutebook_open_problems",
        kind="counter",
        help="Problems that were found in logs on opening, by kind.",
        labels={"kind": PROBLEMS},
    ),
)
"""All of them."""


def combinations(metric: Metric) -> Iterator[tuple[str, ...]]:
    """Give the words of every series that a metric is known to have, in the order of its labels.

    They are there with 0 from the start: a counter that begins with 1 has not increased.
    """
    if "reason" in metric.labels:
        yield from ((trigger, *ending) for trigger, ending in product(TRIGGERS, ENDINGS))
    elif metric.labels:
        yield from product(*metric.labels.values())


def word(value: str, allowed: tuple[str, ...]) -> str:
    """Give a label's word; `other` for one that is not allowed."""
    return value if value in allowed else OTHER


def reason_of(outcome: str, reason: str) -> str:
    """Give of which kind the reason is for which a compaction came to nothing."""
    by_outcome = {
        "committed": NONE,
        "skipped": "nothing_to_do",
        "vetoed": "hook",
        "refused": "no_room",
        "cancelled": "cancelled",
    }
    if outcome in by_outcome:
        return by_outcome[outcome]
    for beginning, kind in (
        ("the session has moved on", "moved_on"),
        ("no summary is needed", "not_needed"),
        ("the summary was approved", "summary"),
    ):
        if beginning in reason:
            return kind
    return OTHER
