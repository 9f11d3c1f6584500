"""The demo: what a person sees after `make run`."""

import json
import subprocess
import sys
from pathlib import Path

from examples.demo import ROOT, WINDOW_TOKENS

SESSION = ROOT / "examples" / "session"


def demo(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run it as the Makefile does, with a folder of this test's."""
    program = [sys.executable, str(ROOT / "examples" / "demo.py"), str(folder)]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_the_demo_compacts_a_copy_and_says_how_to_go_on(tmp_path: Path) -> None:
    """It exits 0, shows both reports and the commands to go on with, and leaves a session."""
    before = (SESSION / "context.jsonl").read_bytes()

    done = demo(tmp_path / "copy")

    assert (done.returncode, done.stderr) == (0, "")
    assert "minutebook inspect" in done.stdout
    assert f"--window {WINDOW_TOKENS}" in done.stdout
    assert "summarize" in done.stdout
    assert 'make run ARGS="inspect PATH"' in done.stdout
    assert (SESSION / "context.jsonl").read_bytes() == before
    assert (tmp_path / "copy" / "context_1.jsonl").read_bytes() == before
    log = (tmp_path / "copy" / "context.jsonl").read_text("utf-8")
    roles = [json.loads(line)["role"] for line in log.split("\n") if line]
    assert "_compaction" in roles


def test_the_demo_begins_anew_each_time(tmp_path: Path) -> None:
    """A second run replaces the copy of the first, and its report is the same."""
    assert demo(tmp_path / "copy").stdout == demo(tmp_path / "copy").stdout


def test_the_demo_leaves_a_folder_alone_that_is_no_session(tmp_path: Path) -> None:
    """It exits 1 and says why; the folder stays as it is."""
    (tmp_path / "mine.txt").write_text("mine", "utf-8")

    done = demo(tmp_path)

    assert done.returncode == 1
    assert "no session" in done.stderr
    assert (tmp_path / "mine.txt").read_text("utf-8") == "mine"
