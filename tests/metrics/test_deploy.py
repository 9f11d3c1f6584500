"""What lies in deploy/: rules that load, and queries that name only what there is."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.metrics.names import METRICS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SERIES = {series: metric for metric in METRICS for series in metric.series}
ADDED = {"job", "instance", "le"}
"""Labels that Prometheus adds, and that of a histogram's buckets."""
PROMTOOL = shutil.which("promtool")

_SERIES = re.compile(r"minutebook_[a-z_]+")
_SELECTOR = re.compile(r"(minutebook_[a-z_]+)\{([^}]*)\}")
_MATCHER = re.compile(r'([a-z_]+)(=~|!~|!=|=)"([^"]*)"')


def dashboard() -> Any:
    """Read the dashboard."""
    return json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))


def dashboard_queries() -> list[str]:
    """Give the query of every panel, and of every variable."""
    found = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    variables = dashboard()["templating"]["list"]
    return found + [one["query"]["query"] for one in variables if one["type"] == "query"]


def rule_queries() -> list[str]:
    """Give the expression of every rule, as it stands in the file."""
    text = (DEPLOY / "alerts.yml").read_text(encoding="utf-8")
    found = re.findall(r"^        expr: (?:\|\n((?: {10}.*\n)+)|(.+))", text, flags=re.MULTILINE)
    return [long or short for long, short in found]


def page_queries() -> list[str]:
    """Give the queries that the page shows."""
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    block = text.partition("## Queries\n\n```text\n")[2].partition("```")[0]
    return [query for query in block.split("\n\n") if query]


QUERIES = [*dashboard_queries(), *rule_queries(), *page_queries()]


def wrong(query: str) -> Iterator[str]:
    """Say what a query names that there is not."""
    for name in _SERIES.findall(query):
        if name not in SERIES:
            yield name
    for name, matchers in _SELECTOR.findall(query):
        labels = SERIES[name].labels if name in SERIES else {}
        for label, operator, value in _MATCHER.findall(matchers):
            if label in ADDED:
                continue
            words = value.split("|") if "~" in operator else [value]
            yield from (f"{name} {label} {word}" for word in words if word not in labels[label])
    known = {label for name in _SERIES.findall(query) for label in SERIES[name].labels} | ADDED
    for group in re.findall(r"by \(([^)]*)\)", query):
        yield from (f"by {label}" for label in re.split(r", *", group) if label not in known)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_names_only_what_there_is(query: str) -> None:
    """Its metrics, its labels, and the words that it compares them with."""
    assert _SERIES.search(query)
    assert list(wrong(query)) == []


def test_every_metric_is_on_the_dashboard() -> None:
    """None is collected that nobody would see."""
    shown = {SERIES[name].name for query in dashboard_queries() for name in _SERIES.findall(query)}

    assert shown == {metric.name for metric in METRICS}


def test_the_query_by_strategy_works_with_our_names() -> None:
    """As dashboards of others have it; the page shows it and the dashboard has it."""
    wanted = "sum(rate(minutebook_compression_seconds_sum[5m])) by (strategy)"

    assert any(wanted in query for query in page_queries())
    assert any(
        re.sub(r"\{[^}]*\}", "", query).replace("$__rate_interval", "5m") == wanted
        for query in dashboard_queries()
    )


def test_panels_have_names_of_their_own_and_do_not_overlap() -> None:
    """Each lies inside of the 24 columns."""
    panels = dashboard()["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    for key in ("id", "title"):
        assert len({panel[key] for panel in panels}) == len(panels)
    assert all(panel["description"] for panel in panels)


def test_every_rule_has_a_severity_and_says_what_to_do() -> None:
    """Alerts without words wake people for nothing."""
    text = (DEPLOY / "alerts.yml").read_text(encoding="utf-8")
    rules = text.split("      - alert: ")[1:]

    assert len(rules) == len(rule_queries()) > 0
    for rule in rules:
        assert re.search(r"severity: (critical|warning|info)\n", rule)
        assert "summary: " in rule
        assert "description: " in rule


@pytest.mark.skipif(PROMTOOL is None, reason="needs promtool: apt-get install prometheus")
@pytest.mark.parametrize("words", [("rules", "alerts.yml"), ("config", "prometheus.yml")])
def test_promtool_finds_nothing_wrong(words: tuple[str, str]) -> None:
    """The rules load, and the scrape that names them."""
    kind, file = words
    assert PROMTOOL is not None
    done = subprocess.run(
        [PROMTOOL, "check", kind, str(DEPLOY / file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "SUCCESS" in done.stdout


COMPACTIONS = "minutebook_compactions_total"
FIRING: dict[str, tuple[dict[str, str], str]] = {
    "MinutebookCompactionsRefused": (
        {'minutebook_refusals_total{by="compactor"}': "0x70 1x50"},
        "1h15m",
    ),
    "MinutebookCompactionsFail": (
        {
            f'{COMPACTIONS}{{outcome="failed",reason="other"}}': "0+1x120",
            f'{COMPACTIONS}{{outcome="committed",reason="none"}}': "0+2x120",
        },
        "2h",
    ),
    "MinutebookCompactionsSlow": (
        {
            'minutebook_compression_seconds_bucket{strategy="model",le="60"}': "0x120",
            'minutebook_compression_seconds_bucket{strategy="model",le="120"}': "0+1x120",
            'minutebook_compression_seconds_bucket{strategy="model",le="+Inf"}': "0+1x120",
        },
        "2h",
    ),
    "MinutebookSummariesRefused": (
        {
            'minutebook_summary_attempts_total{outcome="blank"}': "0+3x120",
            'minutebook_summary_attempts_total{outcome="written"}': "0+1x120",
        },
        "2h",
    ),
    "MinutebookProviderRefusals": (
        {'minutebook_refusals_total{by="provider"}': "0+1x120"},
        "1h",
    ),
    "MinutebookEstimatesOff": (
        {
            "minutebook_estimate_error_ratio_sum": "0+0.5x180",
            "minutebook_estimate_error_ratio_count": "0+1x180",
        },
        "3h",
    ),
    "MinutebookCacheLost": (
        {
            'minutebook_input_tokens_total{source="fresh"}': "0+100x180",
            'minutebook_input_tokens_total{source="cache_read"}': "0+1x180",
        },
        "3h",
    ),
    "MinutebookDamagedLogs": (
        {
            'minutebook_open_problems_total{kind="bad"}': "0x60 1x60",
            'minutebook_open_problems_total{kind="mended"}': "0+1x120",
        },
        "1h10m",
    ),
}
"""What each rule fires at, by minutes, and when."""


def fires(folder: Path, series: dict[str, str], at: str, alert: str, *, wanted: bool) -> str:
    """Let promtool play series against the rules; give what it finds other than *wanted*."""
    query = f'ALERTS{{alertname="{alert}",alertstate="firing"}}'
    test = {
        "rule_files": [str(DEPLOY / "alerts.yml")],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": name, "values": values} for name, values in series.items()
                ],
                "promql_expr_test": [
                    {
                        "expr": f"count({query}) or vector(0)",
                        "eval_time": at,
                        "exp_samples": [{"labels": "{}", "value": int(wanted)}],
                    }
                ],
            }
        ],
    }
    file = folder / "test.yml"
    file.write_text(json.dumps(test))
    assert PROMTOOL is not None
    done = subprocess.run(
        [PROMTOOL, "test", "rules", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.skipif(PROMTOOL is None, reason="needs promtool: apt-get install prometheus")
@pytest.mark.parametrize("alert", FIRING)
def test_a_rule_fires_when_it_should_and_not_when_nothing_happens(
    alert: str, tmp_path: Path
) -> None:
    """Of a process whose figures stay 0 there is nothing to say."""
    series, at = FIRING[alert]
    silent = dict.fromkeys(series, "0x180")

    assert fires(tmp_path, series, at, alert, wanted=True) == ""
    assert fires(tmp_path, silent, at, alert, wanted=False) == ""


def test_every_rule_is_tried() -> None:
    """None fires unseen."""
    text = (DEPLOY / "alerts.yml").read_text(encoding="utf-8")

    assert set(re.findall(r"- alert: (\w+)", text)) == set(FIRING)


@pytest.mark.skipif(PROMTOOL is None, reason="needs promtool: apt-get install prometheus")
def test_promtool_reads_every_query_of_the_dashboard(tmp_path: Path) -> None:
    """As rules, with Grafana's variables filled in."""
    rules = []
    for number, query in enumerate(dashboard_queries()):
        if query.startswith("label_values"):
            continue
        filled = query.replace("$__rate_interval", "5m").replace("$__range", "1d")
        filled = filled.replace("$job", ".*")
        rules.append({"record": f"minutebook:panel{number}", "expr": filled})
    file = tmp_path / "rules.yml"
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    assert PROMTOOL is not None
    done = subprocess.run(
        [PROMTOOL, "check", "rules", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert done.returncode == 0, done.stdout + done.stderr
