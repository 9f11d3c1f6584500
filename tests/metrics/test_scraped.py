"""A real Prometheus scrapes a running gateway, and answers what the dashboard asks."""

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp", reason="needs the extra gateway")
pytest.importorskip("prometheus_client", reason="needs the extra metrics")
pytest.importorskip("uvicorn", reason="needs the extra gateway")

# isort: split
import aiohttp

from minutebook.testing.server import ProviderServer
from tests.gateway.support import Running, running, user

PROGRAM = shutil.which("prometheus")
DASHBOARD = Path(__file__).parents[2] / "deploy" / "grafana.json"
SECONDS_MAX = 60


class Prometheus:
    """One that runs."""

    def __init__(self, address: str, client: aiohttp.ClientSession) -> None:
        self._url = f"http://{address}/api/v1/query"
        self._client = client

    async def ask(self, query: str) -> list[dict[str, Any]]:
        """Give the series that answer a query."""
        async with self._client.get(self._url, params={"query": query}) as response:
            answer = json.loads(await response.read())
        assert answer["status"] == "success", answer
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    async def until(self, query: str) -> list[dict[str, Any]]:
        """Ask until there is an answer."""
        async with asyncio.timeout(SECONDS_MAX):
            while True:
                with suppress(aiohttp.ClientError):
                    found = await self.ask(query)
                    if found:
                        return found
                await asyncio.sleep(0.05)


@asynccontextmanager
async def prometheus(folder: Path, gateway: Running) -> AsyncIterator[Prometheus]:
    """Run one that scrapes the gateway ten times a second."""
    assert PROGRAM is not None
    target = gateway.url.removeprefix("http://")
    config = {
        "global": {"scrape_interval": "100ms", "scrape_timeout": "100ms"},
        "scrape_configs": [{"job_name": "here", "static_configs": [{"targets": [target]}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--web.listen-address=127.0.0.1:0",
        stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
    )
    assert process.stderr is not None
    try:
        address, told = "", b""
        async with asyncio.timeout(SECONDS_MAX):
            while not address:
                line = await process.stderr.readline()
                assert line, told
                told += line
                found = re.search(rb"Listening on\"? address=(127\.0\.0\.1:[1-9][0-9]*)", line)
                address = found[1].decode() if found else ""
        draining = asyncio.ensure_future(process.stderr.read())
        async with aiohttp.ClientSession() as client:
            yield Prometheus(address, client)
        draining.cancel()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest.mark.skipif(PROGRAM is None, reason="needs Prometheus: apt-get install prometheus")
async def test_a_prometheus_answers_every_query_of_the_dashboard(tmp_path: Path) -> None:
    """After some exchanges and compactions, those have figures that have happened."""
    queries = [
        target["expr"].replace("$__rate_interval", "1m").replace("$__range", "1m")
        for panel in json.loads(DASHBOARD.read_text())["panels"]
        for target in panel["targets"]
    ]
    with ProviderServer(always="ok") as upstream:
        async with (
            running(tmp_path / "root", upstream, metrics=True, window=3_000) as gateway,
            prometheus(tmp_path, gateway) as asked,
        ):
            history: list[dict[str, Any]] = [user("hi")]
            history.append(await gateway.chat(*history))
            await asked.until("count_over_time(minutebook_sessions_opened_total[1m]) > 1")
            for turn in range(8):
                history.append(user(f"part {turn}: " + "some words about it " * 120))
                history.append(await gateway.chat(*history))
            wanted = "sum(rate(minutebook_compression_seconds_sum[1m])) by (strategy)"
            spent = await asked.until(f"{wanted} > 0")
            answers = {query: await asked.ask(query.replace("$job", "here")) for query in queries}

    assert {one["metric"]["strategy"] for one in spent} <= {"mask", "digest", "window", "clip"}
    assert [query for query, found in answers.items() if not found] == []
