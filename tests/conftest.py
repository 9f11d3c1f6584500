"""What every test shares: which random cases Hypothesis draws, and what is said at the end."""

import os

import pytest
from hypothesis import HealthCheck, settings

# The same cases on every run and every machine, so that a red test is about the change.
# A slow machine is no failure: no deadline, and no complaint about slow generation.
settings.register_profile(
    "default",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# New cases on each run, and many; what fails is kept in .hypothesis/ and printed.
settings.register_profile(
    "fuzz",
    max_examples=2_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("MINUTEBOOK_HYPOTHESIS", "default"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many states of a power loss were opened."""
    reports = terminalreporter.stats.get("passed", []) + terminalreporter.stats.get("failed", [])
    counts = [
        value for report in reports for name, value in report.user_properties if name == "states"
    ]
    if counts:
        terminalreporter.write_line(
            f"power loss: {sum(counts):,} states of {len(counts)} scenarios were opened; where a "
            "scenario has more, they are drawn with a fixed seed (make test-crash draws more)"
        )
