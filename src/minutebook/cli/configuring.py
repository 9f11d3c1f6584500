"""`config`: which settings are in force and where each comes from, and what is wrong with them."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import to_builtins

from minutebook.cli.rendering import Page, emit_json, plural

if TYPE_CHECKING:
    from minutebook.config.values import Config, Problem

TEXT_CHARACTERS_MAX = 60
"""How much of a long text a list of settings shows."""


class Action(StrEnum):
    """What can be done with a configuration."""

    SHOW = "show"
    CHECK = "check"


ActionArgument = Annotated[
    Action,
    typer.Argument(help="Show the settings in force, or check them.", show_default=False),
]
PlaceArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="PATH",
        help="A configuration, or a folder to look in and above. Without it: this folder.",
        show_default=False,
    ),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def config(action: ActionArgument, path: PlaceArgument = None, json: JsonFlag = False) -> None:
    """Show or check the settings in force.

    They come from the environment, then from the nearest minutebook.toml, then from the
    defaults. MINUTEBOOK_CONFIG names another file. `show` says where each value comes from;
    `check` lists every problem with its line, and ends with 1 if there is one.
    """
    if action is Action.SHOW:
        _show(path, json=json)
    else:
        _check(path, json=json)


def _load(path: Path | None) -> Config:
    # Imported here: most commands need no settings, and the summarisers' modules are slow.
    from minutebook.config.reading import load_config

    return load_config(_named(path), near=path or Path())


def _named(path: Path | None) -> Path | None:
    """Give the path if it names a file, whether it is there or not."""
    return path if path is not None and not path.is_dir() else None


def _show(path: Path | None, *, json: bool) -> None:
    facts = facts_of(_load(path))
    if json:
        emit_json(facts)
        return
    page = Page()
    page.heading(facts["file"] or "no minutebook.toml here or above: the defaults")
    page.blank()
    page.rows([(one["key"], _worded(one["value"]), one["source"]) for one in facts["settings"]])
    for name in ("summarizers", "hooks", "tags", "profiles"):
        if facts[name]:
            page.blank()
            page.heading(name)
            for one in facts[name]:
                pairs = [(key, _worded(value)) for key, value in one.items() if value]
                page.line(", ".join(f"{key} {value}" for key, value in pairs), indent=2)


def facts_of(config: Config) -> dict[str, Any]:
    """Give the settings as JSON values with stable keys."""
    from minutebook.config.fields import PLAIN

    by_table: dict[str, Any] = {
        "": config,
        "model": {
            "name": config.model or None,
            "window": config.window,
            "max_output": config.max_output,
        },
        "background": {
            "fraction": config.background_fraction,
            "wait_seconds": config.background_wait_seconds,
        },
        "summary": {"prompt": config.prompt or None, "instructions": config.instructions},
        "compaction": config.policy,
        "retention": config.retention,
    }
    settings = []
    for key in PLAIN:
        table, _, name = key.rpartition(".")
        values = by_table[table]
        value = values[name] if isinstance(values, dict) else getattr(values, name)
        settings.append({"key": key, "value": to_builtins(value), "source": config.source(key)})
    return {
        "file": config.file or None,
        "settings": settings,
        "summarizers": to_builtins(config.summarizers),
        "hooks": to_builtins(config.hooks),
        "tags": to_builtins(config.tags),
        "profiles": to_builtins(config.profiles),
    }


def _worded(value: object) -> str:
    """Give a value for people: short, and in one line."""
    if value is None or value in ("", [], ()):
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    line = " ".join(str(value).split())
    return line if len(line) <= TEXT_CHARACTERS_MAX else f"{line[: TEXT_CHARACTERS_MAX - 1]}…"


def _check(path: Path | None, *, json: bool) -> None:
    from minutebook.config.building import missing_keys, small_windows
    from minutebook.config.reading import choose
    from minutebook.config.resolving import unknown_variables
    from minutebook.config.values import WrongConfig

    problems: tuple[Problem, ...] = ()
    notes = [f"{name} stands for no setting" for name in unknown_variables(os.environ)]
    file = choose(_named(path), near=path or Path(), environment=os.environ)
    try:
        config = _load(path)
        names = missing_keys(config, os.environ)
        notes += [f"{name} is not set, so there is no key" for name in names]
        notes += small_windows(config)
    except WrongConfig as error:
        problems = error.problems
    if json:
        emit_json(
            {
                "file": None if file is None else str(file),
                "problems": [
                    {
                        "place": one.place,
                        "line": one.line,
                        "key": one.key,
                        "what": one.what,
                        "remedy": one.remedy,
                    }
                    for one in problems
                ],
                "notes": notes,
            }
        )
    else:
        _show_check(file, problems, notes)
    if problems:
        raise typer.Exit(1)


def _show_check(file: Path | None, problems: tuple[Problem, ...], notes: list[str]) -> None:
    page = Page()
    for problem in problems:
        page.line(str(problem))
    for note in notes:
        page.line(f"note: {note}")
    if problems:
        page.line(plural(len(problems), "problem"))
    else:
        page.line(f"{file or 'no minutebook.toml here or above'}: no problem")
