"""Metrics count what events tell, with the real client, and harm nobody."""

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("prometheus_client", reason="needs the extra metrics")

# isort: split
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

import minutebook
from minutebook.companions import Companions
from minutebook.errors import ConfigError
from minutebook.events import (
    CompactionBegun,
    CompactionCommitted,
    CompactionEnded,
    Event,
    HookRan,
    StepTaken,
    SummaryAttempted,
    Verified,
)
from minutebook.lines import Problem
from minutebook.metrics.collecting import Metrics
from minutebook.metrics.names import METRICS
from minutebook.records import Usage
from tests.cli.support import make_session

EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        CompactionBegun, trigger=st.text(), tokens_before=st.integers(), target=st.integers()
    ),
    st.builds(HookRan, hook=st.text()),
    st.builds(StepTaken, name=st.text() | st.sampled_from(["mask", "clip"])),
    st.builds(SummaryAttempted, outcome=st.text(), tokens=st.integers()),
    st.builds(Verified, score=st.floats(allow_nan=False), parts=st.just({})),
    st.builds(CompactionCommitted, trigger=st.text(), steps=st.just(())),
    st.builds(CompactionEnded, trigger=st.text()),
)


class Clock:
    """A clock that goes on by a second each time it is asked."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def made(**more: Any) -> Metrics:
    """Make metrics with a registry and a clock of their own."""
    return Metrics(clock=Clock(), **more)


def value(metrics: Metrics, name: str, **labels: str) -> float:
    """Give a series' value; 0 where there is none."""
    return metrics.registry.get_sample_value(name, labels) or 0.0


def begun(trigger: str = "trigger") -> CompactionBegun:
    """Begin at 50 000 tokens."""
    return CompactionBegun(trigger=trigger, tokens_before=50_000, target=20_000)


def committed(trigger: str = "trigger") -> CompactionCommitted:
    """Commit at 20 000."""
    return CompactionCommitted(
        trigger=trigger, tokens_before=50_000, tokens_after=20_000, steps=("mask",), rotation=1
    )


def step(name: str, after: int = 1) -> StepTaken:
    """Take a step from 2 tokens."""
    return StepTaken(name=name, tokens_before=2, tokens_after=after, detail="")


@given(st.lists(EVENTS, max_size=10))
def test_no_event_puts_text_into_a_label(events: list[Event]) -> None:
    """Any words, in any order: nothing is raised, and every label is one of the list."""
    metrics = made()
    listen = metrics.listener()
    for event in events:
        listen(event)

    allowed = {
        (label, one)
        for metric in METRICS
        for label, words in metric.labels.items()
        for one in words
    }
    for family in text_string_to_metric_families(metrics.page().decode()):
        for sample in family.samples:
            assert {item for item in sample.labels.items() if item[0] != "le"} <= allowed


@given(st.lists(st.sampled_from(["committed", "failed", "vetoed"]), max_size=8))
def test_every_beginning_has_one_ending(outcomes: list[str]) -> None:
    """So the histogram of durations has as many entries as there were compactions."""
    metrics = made()
    listen = metrics.listener()
    for outcome in outcomes:
        listen(begun())
        if outcome == "committed":
            listen(committed())
        else:
            listen(CompactionEnded(trigger="trigger", outcome=outcome, reason=""))  # type: ignore[arg-type]

    text = metrics.page().decode()
    families = {one.name: one for one in text_string_to_metric_families(text)}
    ended = [
        one.value
        for one in families["minutebook_compactions"].samples
        if one.name.endswith("_total")
    ]
    timed = [
        one.value
        for one in families["minutebook_compression_seconds"].samples
        if one.name.endswith("_count")
    ]
    assert sum(ended) == sum(timed) == len(outcomes)


@pytest.mark.parametrize(
    ("before", "strategy"),
    [
        ([step("mask")], "mask"),
        ([step("mask"), step("summarize")], "digest"),
        ([step("summarize"), step("clip")], "clip"),
        ([step("mask"), step("summarize", after=2)], "mask"),
        ([], "other"),
    ],
    ids=["mask", "digest", "clip", "unused", "unknown"],
)
def test_a_compaction_is_counted_and_timed_by_its_strategy(
    before: list[Event], strategy: str
) -> None:
    """By the furthest step that made the request smaller."""
    metrics = made()
    listen = metrics.listener()
    for event in (begun(), *before, committed()):
        listen(event)

    assert value(metrics, "minutebook_compression_seconds_sum", strategy=strategy) == 1.0
    assert value(metrics, "minutebook_compaction_saved_tokens_total", trigger="trigger") == 30_000
    labels = {"trigger": "trigger", "outcome": "committed", "reason": "none"}
    assert value(metrics, "minutebook_compactions_total", **labels) == 1
    for at, tokens in (("before", 50_000), ("after", 20_000)):
        assert value(metrics, "minutebook_context_tokens_sum", at=at) == tokens


def test_a_summary_of_a_model_is_a_strategy_of_its_own_and_only_once() -> None:
    """The next one is the digest's again."""
    metrics = made()
    listen = metrics.listener()
    cut = SummaryAttempted(model="m", outcome="not smaller", reason="", tokens=5)
    used = SummaryAttempted(model="m", outcome="written", reason="", tokens=7)
    for event in (begun(), cut, used, step("summarize"), committed()):
        listen(event)
    for event in (begun(), step("summarize"), committed()):
        listen(event)

    for strategy in ("model", "digest"):
        assert value(metrics, "minutebook_compression_seconds_count", strategy=strategy) == 1
    assert value(metrics, "minutebook_summary_tokens_total", outcome="written") == 7
    assert value(metrics, "minutebook_summary_attempts_total", outcome="not_smaller") == 1


def test_one_in_the_background_is_timed_beside_another() -> None:
    """It begins before, and ends after."""
    metrics = made()
    listen = metrics.listener()
    for event in (begun("background"), begun("limit"), committed("limit"), committed("background")):
        listen(event)

    # The clock ticks at each beginning and each ending: 1 second inside of 3.
    assert value(metrics, "minutebook_compression_seconds_sum", strategy="other") == 4.0


def test_refusals_hooks_and_scores_are_counted() -> None:
    """A request can be too large for the provider, and for the ladder."""
    metrics = made()
    listen = metrics.listener()
    listen(begun("overflow"))
    listen(HookRan(hook="mine", event="PreCompact", outcome="agreed"))
    listen(Verified(score=0.9, parts={}))
    listen(CompactionEnded(trigger="overflow", outcome="refused", reason="does not fit"))

    for by in ("provider", "compactor"):
        assert value(metrics, "minutebook_refusals_total", by=by) == 1
    assert value(metrics, "minutebook_hooks_total", event="PreCompact", outcome="agreed") == 1
    assert value(metrics, "minutebook_verification_score_sum") == 0.9
    assert value(metrics, "minutebook_compression_seconds_count", strategy="none") == 1


def test_a_request_is_measured_beside_what_the_provider_counted() -> None:
    """Error of the estimate, what the cache gave, and what was left out."""
    metrics = made()
    usage = Usage(token_count=1_050, input=400, cache_read=600, output=50)

    metrics.request(900, usage, left_out=70)
    metrics.request(900, Usage(token_count=5))
    metrics.request(900, Usage(token_count=5, input=5, estimated=True))
    metrics.request(900, Usage(token_count=0, input=0))

    assert value(metrics, "minutebook_context_tokens_count", at="request") == 4
    assert value(metrics, "minutebook_estimate_error_ratio_sum") == pytest.approx(0.1)
    assert value(metrics, "minutebook_estimate_error_ratio_count") == 1
    assert value(metrics, "minutebook_input_tokens_total", source="cache_read") == 600
    assert value(metrics, "minutebook_output_tokens_total") == 50
    assert value(metrics, "minutebook_left_out_tokens_total") == 70


def test_openings_and_costs_are_counted() -> None:
    """Problems by kind; a cost that is not known is nothing."""
    metrics = made()
    metrics.opened()
    metrics.opened([Problem(line=1, byte=0, bytes=3, kind=kind, what="") for kind in ("bad", "x")])
    metrics.cost(0.5)
    metrics.cost(None)

    assert value(metrics, "minutebook_sessions_opened_total") == 2
    assert value(metrics, "minutebook_open_problems_total", kind="bad") == 1
    assert value(metrics, "minutebook_open_problems_total", kind="other") == 1
    assert value(metrics, "minutebook_compaction_cost_dollars_total") == 0.5


def test_a_session_fills_them(tmp_path: Path) -> None:
    """Opened with them, compacted, and refused something; in a registry of the program's own."""
    registry = CollectorRegistry()
    metrics, heard = made(registry=registry), list[Event]()
    make_session(tmp_path / "s")
    companions = metrics.companions(Companions(listeners=(heard.append,)))
    with minutebook.open_sync(tmp_path / "s", companions=companions) as session:
        metrics.opened(session.problems)
        done = session.compact()

    assert metrics.registry is registry
    saved = value(metrics, "minutebook_compaction_saved_tokens_total", trigger="manual")
    assert saved == done.tokens_before - done.tokens_after
    assert isinstance(heard[-1], CompactionCommitted)
    assert b"minutebook_compression_seconds_sum" in metrics.page()


def test_every_series_is_there_from_the_start() -> None:
    """A query for an increase would miss the first of what begins with 1."""
    page = made().page().decode()

    assert 'minutebook_refusals_total{by="compactor"} 0.0' in page
    assert 'minutebook_compression_seconds_sum{strategy="digest"} 0.0' in page
    assert "minutebook_compaction_cost_dollars_total 0.0" in page


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the module still imports."""
    monkeypatch.setitem(sys.modules, "prometheus_client", None)

    with pytest.raises(ConfigError, match=r"minutebook\[metrics\]"):
        made()
