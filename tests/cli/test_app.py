"""The program as a whole: help that teaches, exit codes, streams, pipes, and speed."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import minutebook
from minutebook.cli import app as program
from minutebook.cli import inspecting
from tests.cli.support import make_session, run

SLOW_MODULES = (
    "aiohttp",
    "anthropic",
    "genai_prices",
    "mcp",
    "numpy",
    "openai",
    "pydantic",
    "uvicorn",
)
PYTHON = [sys.executable, "-m", "minutebook"]


def start(*words: object, **options: str) -> "subprocess.CompletedProcess[str]":
    """Run the real program in a process of its own, with environment variables."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COV")}
    return subprocess.run(
        [*PYTHON, *map(str, words)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env=environment | {"COLUMNS": "80"} | options,
    )


def test_help_names_every_command_with_what_it_does() -> None:
    """By section, no sentence cut short, within 80 columns."""
    text = run("--help").stdout

    for title, commands in program.SECTIONS:
        assert f"{title}:" in text
        for function, _examples in commands:
            assert f"  {program.name_of(function)} " in text
    assert "..." not in text.split("Look:")[1]
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    "function", [function for _, commands in program.SECTIONS for function, _ in commands]
)
def test_the_help_of_a_command_has_examples(function: program.Command) -> None:
    """What it does, and lines that can be copied; it fits 80 columns."""
    text = run(program.name_of(function), "--help").stdout

    assert f"  minutebook {program.name_of(function)}" in text.split("Examples:")[1]
    assert max(map(len, text.splitlines())) <= 80


def test_the_version() -> None:
    """--version says it and ends."""
    assert run("--version").stdout == f"minutebook {minutebook.__version__}\n"


@pytest.mark.parametrize("words", [[], ["no-such"], ["inspect"], ["inspect", "a", "--no-such"]])
def test_wrong_usage_ends_with_2(words: list[str]) -> None:
    """And shows how it is used, on the error stream."""
    result = run(*words, code=2)

    assert "Usage: minutebook" in result.stderr
    assert result.stdout == ""


def test_an_error_of_ours_is_one_line_without_a_traceback(tmp_path: Path) -> None:
    """In a real process: exit 1, nothing on the output, one line that names the path."""
    done = start("inspect", tmp_path / "missing")

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"minutebook: {tmp_path / 'missing'}: ")
    assert done.stderr.count("\n") == 1


def test_an_error_of_the_system_is_one_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no store translated still ends in words."""

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise PermissionError(13, "Permission denied", "somewhere")

    monkeypatch.setattr(inspecting, "surveying", refuse)

    assert run("inspect", "x", code=1).stderr == "minutebook: somewhere: permission denied\n"


def test_in_a_pipe_there_is_no_color_and_no_progress(tmp_path: Path) -> None:
    """Neither stream has an escape sequence."""
    folder = make_session(tmp_path / "s")

    for words in (["inspect", folder], ["show", folder], ["compact", folder]):
        done = start(*words)
        assert done.returncode == 0
        assert "\x1b" not in done.stdout
        assert done.stderr == ""


def on_terminal(*words: object, **options: str) -> str:
    """Run the real program on a terminal of 80 columns, and give what it wrote there."""
    main, other = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COV")}
    environment = environment | {"COLUMNS": "80", "TERM": "xterm-256color"} | options
    with subprocess.Popen(
        [*PYTHON, *map(str, words)], stdout=other, stderr=other, env=environment
    ) as process:
        os.close(other)
        written = b""
        while True:
            try:
                piece = os.read(main, 65_536)
            except OSError:
                break
            if not piece:
                break
            written += piece
        assert process.wait() == 0
    os.close(main)
    return written.decode()


def test_on_a_terminal_there_is_color_unless_it_is_not_wanted(tmp_path: Path) -> None:
    """Progress and color on a terminal; NO_COLOR takes the color away."""
    folder = make_session(tmp_path / "s")

    assert "compacting 24 messages" in on_terminal("compact", folder)
    shown = on_terminal("show", folder, "--full")
    assert "\x1b[1;36m" in shown
    assert "\x1b[1;36m" not in on_terminal("show", folder, "--full", NO_COLOR="1")


def test_a_terminal_that_lacks_characters_gets_their_codes(tmp_path: Path) -> None:
    """No encoding makes it fail."""
    folder = make_session(tmp_path / "s")

    done = start("show", folder, PYTHONIOENCODING="ascii")

    assert done.returncode == 0
    assert "\\u2192 read" in done.stdout


def test_a_reader_that_has_gone_ends_it_quietly(tmp_path: Path) -> None:
    """As with `| head`: no traceback, and the exit code that shells know."""
    folder = make_session(tmp_path / "s", turns=200)

    with subprocess.Popen(
        [*PYTHON, "show", str(folder), "--unfold"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""

    assert process.returncode == program.PIPE_CLOSED


def test_ctrl_c_ends_it_with_one_line(tmp_path: Path) -> None:
    """Exit 130, and what is on disk is whole."""
    folder = make_session(tmp_path / "s", turns=400)
    before = (folder / "context.jsonl").read_bytes()
    code = (
        "import signal, sys\n"
        "from minutebook import compactor\n"
        "def compact(*a, **k): signal.raise_signal(signal.SIGINT)\n"
        "compactor.compact = compact\n"
        "from minutebook.cli import main\n"
        "main()\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, "compact", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == program.INTERRUPTED
    assert done.stderr == "minutebook: interrupted; what is on disk is whole\n"
    assert (folder / "context.jsonl").read_bytes() == before


def test_help_loads_nothing_slow() -> None:
    """Neither an extra nor the prices: those who only look for a word do not wait for them."""
    code = (
        "import sys; from minutebook.cli.app import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: print('loaded', *sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True
    )

    loaded = {name.partition(".")[0] for name in done.stdout.split("\nloaded ")[1].split()}
    assert not loaded & {*SLOW_MODULES}
