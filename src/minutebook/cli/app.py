"""The program: which commands there are, what `--help` teaches, and how an error ends it.

Exit codes: 0; 1 for an error of ours (one line, no traceback); 2 for wrong usage; 130 after
Ctrl-C; 141 when the reader of a pipe has gone.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from minutebook.cli import (
    chatting,
    compacting,
    configuring,
    exporting,
    inspecting,
    mcp_serving,
    rewinding,
    serving,
    showing,
    stating,
    storing,
    viewing,
)
from minutebook.cli.wording import say, sentence
from minutebook.errors import MinutebookError
from minutebook.version import __version__

ERROR = 1
INTERRUPTED = 130
PIPE_CLOSED = 141

Command = Callable[..., None]

SECTIONS: tuple[tuple[str, tuple[tuple[Command, tuple[str, ...]], ...]], ...] = (
    (
        "Look",
        (
            (inspecting.inspect, ("inspect PATH", "inspect transcript.jsonl --json")),
            (showing.show, ("show PATH --last 10", "show PATH --full --unfold | less")),
            (rewinding.checkpoints, ("checkpoints PATH",)),
            (rewinding.rotations, ("rotations PATH",)),
            (storing.sessions, ("sessions ROOT", "sessions ROOT --json")),
            (stating.stats, ("stats ROOT", "stats ROOT --by day", "stats ROOT --json")),
            (viewing.view, ("view PATH", "view ROOT --allow-write")),
        ),
    ),
    (
        "Make smaller",
        (
            (
                compacting.compact,
                (
                    "compact PATH --dry-run",
                    "compact PATH --window 200000",
                    "compact transcript.jsonl --out smaller --target 0.25",
                    "compact --all ROOT --older-than 7d",
                ),
            ),
            (rewinding.pin, ("pin PATH 12",)),
            (rewinding.unpin, ("unpin PATH 12",)),
        ),
    ),
    (
        "Go back",
        (
            (rewinding.checkpoint, ('checkpoint PATH --label "tests pass"',)),
            (rewinding.revert, ('revert PATH --to 4 --note "That approach failed."',)),
            (rewinding.undo, ("undo PATH",)),
            (rewinding.clear, ("clear PATH",)),
            (rewinding.restore, ("rotations PATH", "restore PATH 3")),
        ),
    ),
    (
        "Take along",
        (
            (rewinding.fork, ("fork PATH new --at 4", "fork transcript.jsonl new")),
            (rewinding.import_, ("import transcript.jsonl new",)),
            (
                exporting.export,
                (
                    "export PATH --to openai > messages.json",
                    "export PATH --to anthropic --full --out all.json",
                ),
            ),
            (exporting.formats, ("formats",)),
        ),
    ),
    (
        "Keep sound",
        (
            (storing.verify, ("verify PATH --all",)),
            (storing.repair, ("repair PATH --dry-run", "repair PATH")),
            (storing.gc, ("gc PATH", "gc ROOT --keep 3 --yes", "gc ROOT --max-bytes 500000000")),
        ),
    ),
    ("Set up", ((configuring.config, ("config show", "config check minutebook.toml")),)),
    (
        "Talk, and stand between",
        (
            (chatting.chat, ("chat --model gpt-5", "chat --resume PATH --allow read,run")),
            (serving.serve, ("serve --upstream openai=https://HOST",)),
            (mcp_serving.mcp, ("mcp ROOT", "mcp ROOT --http 127.0.0.1:8378")),
        ),
    ),
)
"""The commands by section, each with the lines that its help gives as examples."""


class Program(TyperGroup):
    """The group of all commands: the one place where errors become words and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the words name."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError as error:
            _forget_output()
            raise typer.Exit(PIPE_CLOSED) from error
        except (MinutebookError, OSError) as error:
            say(sentence(error))
            raise typer.Exit(ERROR) from error
        except KeyboardInterrupt as error:
            say("interrupted; what is on disk is whole")
            raise typer.Exit(INTERRUPTED) from error
        return result

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 (overrides)
        """Write the commands of the help by section, in the order in which one needs them."""
        room = formatter.width - 6 - max(map(len, self.commands))
        for title, commands in SECTIONS:
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name, self.commands[name].get_short_help_str(room))
                        for name in (name_of(function) for function, _ in commands)
                    ]
                )


def name_of(function: Command) -> str:
    """Give the command's name; that of a keyword of Python has an underscore behind it there."""
    return function.__name__.rstrip("_")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"minutebook {__version__}")
        raise typer.Exit


VersionOption = Annotated[
    bool,
    typer.Option("--version", help="Say the version and exit.", callback=_version, is_eager=True),
]


def top(version: VersionOption = False) -> None:
    r"""The memory of an LLM agent: keeps every word, sends only the minutes.

    PATH is a session's folder, the context.jsonl in it, or a file of another agent, which is
    read and never changed. Whatever rewrites a session keeps the old log and says where it is.

    \b
    Begin with:
      minutebook inspect PATH             what it holds and weighs
      minutebook compact PATH --dry-run   what a compaction would do
      minutebook COMMAND --help           more about a command
    """


def make_app() -> typer.Typer:
    """Put the commands together."""
    made = typer.Typer(
        name="minutebook",
        cls=Program,
        no_args_is_help=True,
        rich_markup_mode=None,
        # A traceback is a fault of ours: plain, and without the values of variables.
        pretty_exceptions_enable=False,
    )
    made.callback(help=_help_of_all())(top)
    for _title, commands in SECTIONS:
        for function, examples in commands:
            made.command(name=name_of(function), help=_help(function, examples))(function)
    return made


def _help_of_all() -> str:
    """Give the help of the program; the sign before lines that stay as they are is a real one."""
    return inspect.cleandoc(top.__doc__ or "").replace("\\b", "\b")


def _help(function: Command, examples: tuple[str, ...]) -> str:
    """Give a command's help: what its function says, and its examples, one a line."""
    lines = "\n".join(f"  minutebook {line}" for line in examples)
    return f"{_dedented(function.__doc__ or '')}\n\n\b\nExamples:\n{lines}"


def _dedented(text: str) -> str:
    first, _, rest = text.partition("\n")
    return "\n".join([first, *(line.strip() for line in rest.split("\n"))]).strip()


app = make_app()


def main() -> None:
    """Run the command line of this process, and end it with an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its code in place of a traceback.
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    app(prog_name="minutebook")


def _forget_output() -> None:
    """Let what is still to be flushed go nowhere: its reader has gone."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
