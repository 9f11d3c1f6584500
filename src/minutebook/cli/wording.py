"""Errors in the words of the command line: one line, with a remedy that can be typed here.

The library's errors name what a program would call; the table says what a person types
instead. What is not in it is passed on as it is.
"""

from __future__ import annotations

import typer

from minutebook.cli.harmless import harmless_line
from minutebook.errors import ConfigError, LogChanged, SessionLocked

INSTEAD = (
    ("list them with session.context.checkpoints", "list them with: minutebook checkpoints PATH"),
    ("check the path, or open with create=True", "check the path"),
    (
        "put it back, or ask with partial=True for what is there",
        "put it back, or ask with --partial for what is there",
    ),
    (
        "put it back; restore() brings back any rotation that is there",
        "put it back; `minutebook restore PATH N` brings back any rotation that is there",
    ),
    ("use force to do it", "--force does it"),
    ('; open with mode="r"', "; inspect, show and export still work"),
    (', or open with mode="r"', "; inspect, show and export still work"),
)
"""A remedy for programs, and what a person does at the command line."""

_LOCKED = "close it there and try again; inspect, show and export work meanwhile"
_CHANGED = "nothing is lost; try again once the other program is done"


def sentence(error: BaseException) -> str:
    """Give an error as one line, without the program's name."""
    match error:
        case SessionLocked() | LogChanged():
            remedy = _LOCKED if isinstance(error, SessionLocked) else _CHANGED
            return harmless_line(f"{error.path}: {error.what}; {remedy}")
        case ConfigError(setting="window" | "target" | "preset"):
            return harmless_line(f"--{error.setting}: {error.what}")
        case OSError():
            what = error.strerror or str(error) or type(error).__name__
            where = f"{error.filename}: " if error.filename else ""
            return harmless_line(f"{where}{what[:1].lower()}{what[1:]}")
        case _:
            return harmless_line(_reworded(str(error)))


def _reworded(text: str) -> str:
    """Put what a person types in the place of what a program calls."""
    for words, instead in INSTEAD:
        text = text.replace(words, instead)
    return text


def say(text: str) -> None:
    """Print one line for people on the standard error stream, behind the program's name."""
    typer.echo(f"minutebook: {harmless_line(text)}", err=True)
