"""What the tests of the command line share: a way to run it, and small sessions to run it on."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

import minutebook
from minutebook.cli.app import app

SHARED = Path(__file__).parents[2] / "../shared"
WINDOW = 4_000
"""The window that `make_session` states: its messages are a few times larger."""


def run(*words: object, code: int = 0) -> Result:
    """Run a command line as in a pipe, and check how it ended."""
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80"})
    assert result.exit_code == code, result.output
    if code == 1:
        assert result.stderr.startswith("minutebook: ")
        assert len(result.stderr.splitlines()) == 1
    return result


def run_json(*words: object) -> Any:
    """Run a command line with --json, and read what it prints."""
    return json.loads(run(*words, "--json").stdout)


def make_session(folder: Path, *, turns: int = 6, window: int | None = WINDOW) -> Path:
    """Make a session with a checkpoint before each of its turns, four messages in each."""
    with minutebook.open_sync(folder, window=window, durability="process") as session:
        session.set_system_prompt("You mend small programs.")
        for turn in range(turns):
            session.checkpoint()
            path = f"src/part_{turn}.py"
            session.append(
                minutebook.user(f"Please mend the function in {path}."),
                minutebook.assistant(
                    "I look at it first.",
                    tool_calls=[minutebook.call(f"c{turn}", "read", json.dumps({"path": path}))],
                ),
                minutebook.tool(f"c{turn}", f"def part_{turn}(): return {turn}  # a line\n" * 60),
                minutebook.assistant(f"The function in {path} is mended."),
            )
    return folder


def make_transcript(path: Path, *, turns: int = 6) -> Path:
    """Write a small conversation in the shape of OpenAI's chat messages."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You mend small programs."}]
    for turn in range(turns):
        function = {"name": "read", "arguments": json.dumps({"path": f"src/part_{turn}.py"})}
        messages += [
            {"role": "user", "content": f"Please mend src/part_{turn}.py."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{turn}", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": f"c{turn}", "content": f"return {turn}\n" * 200},
            {"role": "assistant", "content": "It is mended."},
        ]
    path.write_text(json.dumps(messages), encoding="utf-8")
    return path


def lines_of(folder: Path) -> list[bytes]:
    """Give the lines of a session's log."""
    return (folder / "context.jsonl").read_bytes().splitlines()
