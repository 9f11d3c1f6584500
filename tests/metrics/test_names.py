"""The names of metrics: documented, with units, and with labels that cannot grow."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from minutebook.metrics.names import (
    ENDINGS,
    METRICS,
    OTHER,
    OUTCOMES,
    REASONS,
    combinations,
    reason_of,
    word,
)

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


@given(st.text(), st.sampled_from([metric for metric in METRICS if metric.labels]))
def test_a_label_has_a_known_word_or_other(text: str, metric: object) -> None:
    """Whatever somebody says, content among it."""
    for allowed in metric.labels.values():  # type: ignore[attr-defined]
        assert word(text, allowed) in {*allowed, OTHER}


@given(st.sampled_from(OUTCOMES) | st.text(), st.text())
def test_a_reason_is_of_a_known_kind(outcome: str, reason: str) -> None:
    """Its words are told to nobody."""
    assert reason_of(outcome, reason) in REASONS


def test_reasons_are_told_apart() -> None:
    """What a compaction's ending says, by kind."""
    assert reason_of("vetoed", "the user is typing") == "hook"
    assert reason_of("refused", "does not fit") == "no_room"
    assert reason_of("failed", "the session has moved on since it was proposed") == "moved_on"
    assert reason_of("failed", "the summary was approved, but nothing to compact") == "summary"
    assert reason_of("failed", "the disk is full") == "other"


def test_names_say_their_unit_and_are_no_other_metrics() -> None:
    """Counters end with `_total` in queries; no name is used twice."""
    series = [name for metric in METRICS for name in metric.series]

    assert len(series) == len(set(series))
    assert all(re.fullmatch(r"minutebook(_[a-z]+)+", metric.name) for metric in METRICS)
    assert all(metric.help.endswith(".") for metric in METRICS)
    assert all(metric.buckets == tuple(sorted(set(metric.buckets))) for metric in METRICS)
    assert all(bool(metric.buckets) == (metric.kind == "histogram") for metric in METRICS)


def test_the_series_of_the_start_have_words_of_their_labels() -> None:
    """One word for each label; every known ending of a compaction is among them."""
    for metric in METRICS:
        found = list(combinations(metric))
        assert len(found) == len(set(found))
        assert bool(found) == bool(metric.labels)
        for words in found:
            assert all(
                one in allowed for one, allowed in zip(words, metric.labels.values(), strict=True)
            )
    assert all(reason_of(outcome, "") in {reason, OTHER} for outcome, reason in ENDINGS)


def test_series_are_few() -> None:
    """Even if every combination of labels happens."""
    most = 0
    for metric in METRICS:
        count = len(metric.buckets) + 3
        for words in metric.labels.values():
            count *= len(words)
        most += count

    assert most < 10_000
    assert sum(len(list(combinations(metric))) for metric in METRICS) < 200


def test_the_page_names_every_metric_label_and_word() -> None:
    """As they stand in the registry, in code marks."""
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`([^`\n]+)`", text))
    rows = {name for name in named if re.fullmatch(r"minutebook_[a-z_]+", name)}

    for metric in METRICS:
        shown = f"{metric.name}_total" if metric.kind == "counter" else metric.name
        assert shown in named
        assert set(metric.labels) <= named
        for words in metric.labels.values():
            assert set(words) <= named
    known = {name for metric in METRICS for name in (metric.name, *metric.series)}
    assert rows <= known
