"""The gateway's metrics: off unless asked for, and then true."""

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp", reason="needs the extra gateway")
pytest.importorskip("prometheus_client", reason="needs the extra metrics")
pytest.importorskip("uvicorn", reason="needs the extra gateway")

# isort: split
from minutebook.errors import ConfigError
from minutebook.gateway.app import Gateway
from minutebook.gateway.metering import make_metrics, measure
from minutebook.gateway.settings import make_settings
from minutebook.metrics.collecting import Metrics
from minutebook.testing.server import ProviderServer
from tests.gateway.support import Running, running, user

UPSTREAM = {"upstream": {"openai": "http://127.0.0.1:1"}}


def value(metrics: Metrics | None, name: str, **labels: str) -> float:
    """Give a series' value; 0 where there is none."""
    assert metrics is not None
    return metrics.registry.get_sample_value(name, labels) or 0.0


def silent() -> float:
    """Give no time."""
    return 0.0


async def scraped(gateway: Running, headers: dict[str, str] | None = None) -> tuple[int, str]:
    """Ask for the page as Prometheus does."""
    status, data, _ = await gateway.ask("/metrics", b"", headers or {}, "GET")
    return status, data.decode()


async def test_exchanges_are_counted(tmp_path: Path) -> None:
    """Each request with what the provider reported; each session once."""
    with ProviderServer(["one", "two"]) as upstream:
        async with running(tmp_path, upstream, metrics=True) as gateway:
            first = await gateway.chat(user("hi"))
            await gateway.chat(user("hi"), first, user("a telling question"))
            status, page = await scraped(gateway)
            metrics = gateway.gateway.metrics

    assert status == 200
    assert "telling" not in page
    assert "minutebook_sessions_opened_total 1.0" in page
    assert value(metrics, "minutebook_context_tokens_count", at="request") == 2
    assert value(metrics, "minutebook_input_tokens_total", source="fresh") > 0
    assert value(metrics, "minutebook_estimate_error_ratio_count") == 2


async def test_compactions_are_counted(tmp_path: Path) -> None:
    """By trigger and strategy, with what was left out."""
    with ProviderServer(always="ok") as upstream:
        async with running(tmp_path, upstream, metrics=True, window=3_000) as gateway:
            history: list[dict[str, Any]] = []
            for turn in range(8):
                history.append(user(f"part {turn}: " + "some words about it " * 120))
                history.append(await gateway.chat(*history))
            metrics = gateway.gateway.metrics
            _, page = await scraped(gateway)

    assert 'minutebook_compression_seconds_sum{strategy="' in page
    assert 'outcome="committed"' in page
    assert value(metrics, "minutebook_left_out_tokens_total") > 0


async def test_the_page_is_guarded_and_off_unless_asked_for(tmp_path: Path) -> None:
    """By the token, as all else; without the setting the path is an upstream's."""
    with ProviderServer() as upstream:
        async with running(tmp_path / "a", upstream, metrics=True, token="secret") as gateway:
            assert (await scraped(gateway))[0] == 401
            assert (await scraped(gateway, {"x-minutebook-token": "secret"}))[0] == 200
            assert (await scraped(gateway, {"host": "rebound.example"}))[0] == 403
        async with running(tmp_path / "b", upstream) as gateway:
            assert "minutebook_" not in (await scraped(gateway))[1]
            assert gateway.gateway.metrics is None


async def test_a_cost_is_counted_where_a_price_is_known() -> None:
    """Of the request that compacts alone; facts that are none count nothing."""
    facts = {"tokens_sent": 1_000, "tokens_saved": 10, "usage": {"odd": 1}}
    metrics = Metrics(clock=silent)

    await measure(metrics, {})
    await measure(metrics, {**facts, "model": "gpt-4o"})
    assert value(metrics, "minutebook_compaction_cost_dollars_total") == 0
    await measure(metrics, {**facts, "model": "nobodys", "compacted_now": True})
    assert value(metrics, "minutebook_compaction_cost_dollars_total") == 0
    await measure(metrics, {**facts, "model": "gpt-4o", "compacted_now": True})
    assert value(metrics, "minutebook_compaction_cost_dollars_total") > 0
    assert value(metrics, "minutebook_context_tokens_count", at="request") == 3


def test_without_the_extra_the_setting_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """And without the setting nothing is missed."""
    monkeypatch.setitem(sys.modules, "prometheus_client", None)

    assert make_metrics(make_settings(UPSTREAM)) is None
    with pytest.raises(ConfigError, match="metrics"):
        Gateway(make_settings({**UPSTREAM, "metrics": True}))


def test_no_upstream_takes_the_pages_name() -> None:
    """It would hide it."""
    with pytest.raises(ConfigError, match="upstream"):
        make_settings({"upstream": {"metrics": "http://127.0.0.1:1"}})
