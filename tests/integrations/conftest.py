"""Nothing is skipped where all frameworks are said to be there."""

import os
from collections.abc import Generator

import pytest

Report = pytest.CollectReport | pytest.TestReport


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Report, Report]:
    """Turn a file that skips itself into a failure."""
    return _failed((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Report, Report]:
    """Turn a skipped test into a failure."""
    return _failed((yield))


def _failed(report: Report) -> Report:
    if report.skipped and os.environ.get("MINUTEBOOK_INTEGRATIONS") == "all":
        report.outcome = "failed"
    return report
