"""Record `examples/session`: a scripted agent really repairs `examples/broken`.

`python -m examples.record [FOLDER]` copies the broken program into a temporary folder and
goes through `story.toml` there: what the agent says is written down in it, what the tools
answer is not. Every command is run and every file is read, and the session is written
through the library as an agent would write it. Where the story expects something that the
real output does not hold, the recording stops.

The same bytes come out each time: the clock is the story's, durations are cut out, paths are
relative, and the commands see an environment of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import minutebook
from minutebook.store.files import FileStore
from minutebook.store.metadata import Metadata

HERE = Path(__file__).parent
STARTED = 1_773_651_600.0
"""When the recorded agent began, in seconds since 1970: 16 March 2026, 09:00 UTC."""
STEP_SECONDS = 9
MODEL = "scripted-agent"
WINDOW_TOKENS = 128_000
CHARACTERS_PER_TOKEN = 3.5
"""Makes the usage figures, since no provider counts here. What o200k takes for these very
texts, measured once they were recorded."""
SYSTEM_PROMPT = """\
You are a programmer who works in one folder with the tools given. Look before you change
anything, make small changes, and run the tests after each. Say what you found and what you
did in a few plain sentences. What the user forbids stays forbidden for the whole session."""


def schema(name: str, description: str, required: str, optional: str = "") -> dict[str, Any]:
    """Give a tool's schema in OpenAI's shape; parameters are texts unless they are numbers."""
    numbers = {"start", "end"}
    names = [*required.split(), *optional.split()]
    properties = {key: {"type": "integer" if key in numbers else "string"} for key in names}
    parameters = {"type": "object", "properties": properties, "required": required.split()}
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


TOOLS = (
    schema("shell", "Run a command in the folder; gives what it prints.", "command"),
    schema("read_file", "Read a file, or its lines start to end.", "path", "start end"),
    schema("write_file", "Write a whole file.", "path content"),
    schema("edit_file", "Replace a text that occurs once in a file.", "path old new"),
)


class Workshop:
    """A temporary copy of the broken program, and the tools that work on it."""

    def __init__(self, folder: Path) -> None:
        """Copy the program into *folder* and make a `python` that knows nothing of us."""
        self._root = folder / "program"
        shutil.copytree(
            HERE / "broken",
            self._root,
            ignore=shutil.ignore_patterns("ruff.toml", "__pycache__", ".*"),
        )
        programs = folder / "bin"
        programs.mkdir()
        python = programs / "python"
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n', encoding="utf-8")
        python.chmod(0o700)
        self._environment = {
            "PATH": f"{programs}:/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            # A stale .pyc of the same second would hide a change; carets differ by version.
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONNODEBUGRANGES": "1",
            "PYTHONHASHSEED": "0",
            "PYTHON_COLORS": "0",
            "COLUMNS": "80",
        }

    def use(self, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Use a tool; give its output and whether it failed."""
        try:
            return self._clean(getattr(self, f"_{tool}")(**arguments)), False
        except (OSError, ValueError) as error:
            return self._clean(str(error)), True

    def _clean(self, text: str) -> str:
        """Cut out what another run or machine would print differently."""
        return re.sub(r"\bin \d+\.\d+s", "in 0.00s", text.replace(f"{self._root}/", ""))

    def _shell(self, command: str) -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self._root,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        output = done.stdout.decode("utf-8", "replace").rstrip("\n")
        code = f"[exit code {done.returncode}]" if done.returncode else ""
        return "\n".join(part for part in (output, code) if part) or "(no output)"

    def _read_file(self, path: str, start: int = 1, end: int | None = None) -> str:
        lines = (self._root / path).read_text("utf-8").splitlines()
        shown = lines[start - 1 : end]
        return "\n".join(f"{number:>4}  {line}" for number, line in enumerate(shown, start))

    def _write_file(self, path: str, content: str) -> str:
        (self._root / path).write_text(content, "utf-8")
        return f"Wrote {len(content.splitlines())} lines to {path}."

    def _edit_file(self, path: str, old: str, new: str) -> str:
        text = (self._root / path).read_text("utf-8")
        if text.count(old) != 1:
            count = text.count(old)
            raise ValueError(f"{path} was not changed: the old text occurs {count} times in it.")
        (self._root / path).write_text(text.replace(old, new), "utf-8")
        first = text[: text.index(old)].count("\n") + 1
        return f"Changed {path} from line {first} on."


class Recorder:
    """Writes the session step by step, as an agent's loop would."""

    def __init__(self, session: minutebook.Session, workshop: Workshop) -> None:
        """Take an open session and the folder that the tools work in."""
        self._session = session
        self._workshop = workshop
        self._calls = 0
        self._sent_before = 0

    async def user(self, step: dict[str, Any]) -> None:
        """Write what the user says."""
        message = minutebook.user(step["user"].strip(), pin=step.get("pin", False))
        await self._session.append(message)

    async def agent(self, step: dict[str, Any]) -> None:
        """Take one step of the agent: a checkpoint, the reply with its usage, the results."""
        session = self._session
        await session.checkpoint(step.get("label"))
        calls, planned = [], []
        for item in step.get("call", ()):
            arguments = {key: item[key] for key in item if key not in {"tool", "expect"}}
            self._calls += 1
            text = json.dumps(arguments, ensure_ascii=False)
            calls.append(minutebook.call(f"call_{self._calls:03d}", item["tool"], text))
            planned.append((item["tool"], arguments, item.get("expect", "")))
        reply = minutebook.assistant(
            step.get("say", "").strip(), tool_calls=calls, thinking=step.get("think", "").strip()
        )
        await session.append(reply, usage=self._usage(reply))
        results = []
        for made, (tool, arguments, expected) in zip(calls, planned, strict=True):
            output, failed = self._workshop.use(tool, arguments)
            if expected not in output:
                raise SystemExit(f"{made.id}: expected {expected!r}, got:\n{output}")
            results.append(minutebook.tool(made.id, output, error=failed))
        if results:
            await session.append(*results)

    def _usage(self, reply: minutebook.Message) -> dict[str, Any]:
        """Make the usage of a reply: what was sent before is taken from the cache."""
        context = self._session.context
        written = [SYSTEM_PROMPT, json.dumps(TOOLS), *map(_text, context.history)]
        sent = round(sum(map(len, written)) / CHARACTERS_PER_TOKEN)
        cached, self._sent_before = self._sent_before, sent
        return {
            "prompt_tokens": sent,
            "completion_tokens": max(1, round(len(_text(reply)) / CHARACTERS_PER_TOKEN)),
            "prompt_tokens_details": {"cached_tokens": cached},
        }


def _text(message: minutebook.Message) -> str:
    """Give all that a provider counts of a message."""
    calls = "".join(call.name + call.arguments for call in message.calls)
    return message.text + message.thinking + calls


def record(folder: Path) -> None:
    """Record the session into *folder*, which must not exist yet.

    Raises:
        FileExistsError: If it does.
        SystemExit: If a tool does not answer what the story expects.
    """
    if folder.exists():
        raise FileExistsError(folder)
    story = tomllib.loads((HERE / "story.toml").read_text("utf-8"))
    with tempfile.TemporaryDirectory() as temporary:
        workshop = Workshop(Path(temporary).resolve())
        asyncio.run(_tell(story, folder, workshop))
    # The lock is for the writer of that time; a reader takes none.
    (folder / ".lock").unlink()


async def _tell(story: dict[str, Any], folder: Path, workshop: Workshop) -> None:
    """Go through the story once."""
    now = STARTED
    async with minutebook.open(
        folder,
        window=WINDOW_TOKENS,
        model=MODEL,
        tools=TOOLS,
        durability="process",
        clock=lambda: now,
    ) as session:
        assert isinstance(session.store, FileStore)
        session.store.save_metadata(
            Metadata(
                id="session",
                title=story["title"],
                created=STARTED,
                agent="examples/record.py",
                model=MODEL,
                window=WINDOW_TOKENS,
            )
        )
        await session.set_system_prompt(SYSTEM_PROMPT)
        recorder = Recorder(session, workshop)
        for step in story["step"]:
            now += STEP_SECONDS
            await (recorder.user(step) if "user" in step else recorder.agent(step))


def main(arguments: Sequence[str] | None = None) -> int:
    """Record into a new folder, or anew into `examples/session`; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m examples.record", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="must not exist yet")
    folder = parser.parse_args(arguments).folder
    if folder is None:
        # Recorded beside it first: a story that stops leaves the old session as it is.
        folder = HERE / "session"
        with tempfile.TemporaryDirectory(dir=HERE) as temporary:
            fresh = Path(temporary) / "session"
            record(fresh)
            shutil.rmtree(folder, ignore_errors=True)
            fresh.rename(folder)
    else:
        record(folder)
    print(f"recorded {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
