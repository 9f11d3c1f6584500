"""`python -m minutebook` is the command line."""

import os
import subprocess
import sys

import minutebook


def test_the_package_runs_as_a_program() -> None:
    """It says its version, as `minutebook` does."""
    done = subprocess.run(
        [sys.executable, "-m", "minutebook", "--version"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )

    assert done.stdout == f"minutebook {minutebook.__version__}\n"
    assert done.returncode == 0
