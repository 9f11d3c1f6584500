"""`chat` in a terminal, as a person uses it."""

import os
import pty
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from minutebook.testing.scripted import Answer, Call, Step
from minutebook.testing.server import ProviderServer
from tests.cli.support import run, run_json

SECONDS_MAX = 60
"""A terminal that says nothing for so long fails the test."""


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, folder: Path, *words: object) -> None:
        program = [sys.executable, "-m", "minutebook", *map(str, words)]
        self.pid, self._terminal = pty.fork()
        if not self.pid:  # pragma: no cover - the child
            os.chdir(folder)
            os.execvp(program[0], program)
        self.text = ""

    def until(self, words: str) -> str:
        """Read until these words have come."""
        end = time.monotonic() + SECONDS_MAX
        while words not in self.text:
            ready, _, _ = select.select([self._terminal], [], [], end - time.monotonic())
            assert ready, self.text
            try:
                self.text += os.read(self._terminal, 4096).decode("utf-8", "replace")
            except OSError:
                break
        assert words in self.text, self.text
        found, _, self.text = self.text.partition(words)
        return found

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self._terminal, line.encode() + b"\n")

    def press(self, key: bytes) -> None:
        """Press a key."""
        os.write(self._terminal, key)

    def ended(self) -> int:
        """Wait for the end; give the exit code."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(status)


def test_a_chat_is_held_and_resumed(tmp_path: Path) -> None:
    """It asks before it runs, shows the window, and leaves a session that goes on."""
    pytest.importorskip("openai", reason="needs the extra openai")
    call = Call(name="run", arguments='{"command": "echo made > made.txt"}')
    steps: list[Step | str] = [
        Answer(text="I run it.", calls=(call,)),
        "All done.",
        "Welcome back.",
    ]
    with ProviderServer(steps) as server:
        options = ("--model", "scripted", "--base-url", server.openai_url, "--window", 50_000)
        first = Terminal(tmp_path, "chat", *options, "--resume", "s")
        first.until("> ")
        first.type("make a file")
        first.until("run echo made > made.txt? [y/N] ")
        first.type("y")
        first.until("All done.")
        first.until("tokens]")
        first.until("> ")
        first.type("/context")
        first.until("tool results")
        first.until("> ")
        first.press(b"\x04")
        first.until("go on with: minutebook chat --resume s")
        assert first.ended() == 0
        again = Terminal(tmp_path, "chat", *options, "--resume", "s")
        again.until("> ")
        again.type("hello again")
        again.until("Welcome back.")
        again.until("> ")
        again.type("/quit")
        assert again.ended() == 0
        server.check()

    assert (tmp_path / "made.txt").read_text() == "made\n"
    assert run_json("inspect", tmp_path / "s")["problems"] == []
    assert "hello again" in run("show", tmp_path / "s").stdout


def test_ctrl_c_ends_what_is_under_way_and_the_session_is_whole(tmp_path: Path) -> None:
    """A command that runs is ended; the next turn goes on with a marked result."""
    pytest.importorskip("openai", reason="needs the extra openai")
    call = Call(name="run", arguments='{"command": "echo begun; sleep 600"}')
    with ProviderServer([Answer(calls=(call,)), "Going on."]) as server:
        options = ("--model", "scripted", "--base-url", server.openai_url, "--allow", "run")
        chat = Terminal(tmp_path, "chat", *options, "--resume", "s", "--window", 50_000)
        chat.until("> ")
        chat.type("wait")
        chat.until("→ run")
        os.kill(chat.pid, signal.SIGINT)
        chat.until("interrupted; the session is whole")
        chat.until("> ")
        chat.type("what happened?")
        chat.until("Going on.")
        chat.until("> ")
        os.kill(chat.pid, signal.SIGINT)
        chat.until("the session is in s")
        assert chat.ended() == 0
        server.check()
    assert run_json("verify", tmp_path / "s")["logs"]


def test_without_an_endpoint_it_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And makes nothing."""
    for name in ("MINUTEBOOK_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert "MINUTEBOOK_MODEL" in run("chat", code=1).stderr
    assert "OPENAI_API_KEY" in run("chat", "--model", "gpt-5", code=1).stderr
    assert list(tmp_path.iterdir()) == []
