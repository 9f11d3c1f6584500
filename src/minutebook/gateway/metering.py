"""What the gateway measures, if it is asked to: its sessions' events, and each exchange."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress

from minutebook.errors import InvalidMessage
from minutebook.gateway.costs import costs
from minutebook.gateway.settings import Settings
from minutebook.metrics.collecting import CONTENT_TYPE, Metrics
from minutebook.records import Usage
from minutebook.tokens.usage import usage_record

PAGE = ((b"content-type", CONTENT_TYPE), (b"cache-control", b"no-store"))
"""The headers of `/metrics`."""


def make_metrics(settings: Settings) -> Metrics | None:
    """Make the metrics that the settings ask for.

    Raises:
        ConfigError: If they do, and the extra is not installed.
    """
    return Metrics(clock=time.monotonic) if settings.metrics else None


async def measure(metrics: Metrics, facts: Mapping[str, object]) -> None:
    """Count an exchange by the facts that were noted of it."""
    sent, left_out = facts.get("tokens_sent"), facts.get("tokens_saved")
    if not isinstance(sent, int) or not isinstance(left_out, int):
        return
    metrics.request(sent, _usage(facts.get("usage")), left_out=left_out)
    if facts.get("compacted_now"):
        # The prices are loaded at the first of these, which takes a moment: not in the loop.
        with suppress(Exception):
            # The reply is written and passed on: no fault of a price may harm the exchange.
            cost = (await asyncio.to_thread(costs, facts)).get("cost_usd_max")
            metrics.cost(cost if isinstance(cost, float) else None)


def _usage(reported: object) -> Usage | None:
    with suppress(InvalidMessage):
        return usage_record(reported) if reported else None
    return None
