"""Compact the example session to a small window and say how to take one's own: `make run`.

It runs the command line itself on a copy, `build/demo` unless another folder is given, so that
what the report names can be looked at afterwards. No key, no server, no model.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
WINDOW_TOKENS = 16_000
INTRODUCTION = """\
An agent was asked to repair a small program. examples/record.py recorded it while it really
ran the commands and tests. The log has every word of it; here it is made to fit a model whose
window takes {window:,} tokens. That needs no model and no key.
"""
OWN_FILE = """\
Look at what came of it:
  make run ARGS="show {copy} --view"        what a model would be sent now
  make run ARGS="show {copy} --full"        every word, none is lost
  make run ARGS="undo {copy}"               and back

Take your own: a session's folder, a context.jsonl of Kimi CLI, OpenAI or Anthropic messages
as JSON, or a transcript of Claude Code. With --dry-run or --out it stays as it is.
  make run ARGS="inspect PATH"
  make run ARGS="compact PATH --window 128000 --dry-run"
  make run ARGS="compact PATH --window 128000 --out DIR"
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Copy, inspect, compact; give the exit code of the first command that fails, else 0."""
    given = sys.argv[1:] if arguments is None else arguments
    copy = Path(given[0]) if given else Path("build", "demo")
    target = ROOT / copy
    if target.exists():
        if not (target / "context.jsonl").exists():
            print(f"{copy} is there and is no session; name another folder", file=sys.stderr)
            return 1
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "examples" / "session", target)
    # A checkout has the modes of its umask; a session's are private.
    for path in (target, *target.iterdir()):
        path.chmod(0o700 if path.is_dir() else 0o600)
    print(INTRODUCTION.format(window=WINDOW_TOKENS))
    for command in (["inspect"], ["compact", "--window", str(WINDOW_TOKENS)]):
        words = [command[0], str(copy), *command[1:]]
        print(f"$ minutebook {' '.join(words)}", flush=True)
        done = subprocess.run([sys.executable, "-m", "minutebook", *words], cwd=ROOT, check=False)
        if done.returncode:
            return done.returncode
        print()
    print(OWN_FILE.format(copy=copy), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
