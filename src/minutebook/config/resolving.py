"""Put a configuration together: arguments before environment before file before defaults. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from msgspec import structs

from minutebook.budget import BACKGROUND_WAIT_SECONDS, check, preset
from minutebook.config.fields import PLAIN, PREFIX, VARIABLES, WrongValue
from minutebook.config.parsing import Parsed
from minutebook.config.values import INHERITS, Config, Problem, Profile, WrongConfig
from minutebook.errors import ConfigError
from minutebook.models.settings import BASE_URL_VARIABLE, KEY_VARIABLE, MODEL_VARIABLE
from minutebook.store.collecting import Retention

ARGUMENT = "argument"
FILE_VARIABLE = f"{PREFIX}CONFIG"
"""Names the file, in place of the nearest one."""
OTHER_VARIABLES = frozenset((FILE_VARIABLE, MODEL_VARIABLE, BASE_URL_VARIABLE, KEY_VARIABLE))
"""Variables of ours that stand for no key of the file."""
TRIGGER = "compaction.trigger_ratio"


class _Layer(NamedTuple):
    """Values of plain keys from one place, and what to call that place for each."""

    values: dict[str, Any]
    sources: dict[str, str]


def resolve(
    parsed: Parsed | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    arguments: Mapping[str, object] | None = None,
) -> Config:
    """Put together what a file says, the environment and arguments.

    *arguments* are by key, with its table (`model.window`); None is not said. A variable
    that is empty is not said either.

    Raises:
        WrongConfig: If something makes no sense, with every problem.
    """
    problems = list(parsed.problems) if parsed is not None else []
    by_file = _Layer({}, {})
    if parsed is not None:
        places = {key: f"{parsed.name}:{line}" for key, line in parsed.lines.items()}
        by_file = _Layer(dict(parsed.plain), places)
    layers = [
        by_file,
        _from_environment(environment or {}, problems),
        _from_arguments(arguments or {}, problems),
    ]
    profile = _profile(layers, parsed, problems)
    if profile is not None and profile.threshold_percent != INHERITS and parsed is not None:
        by_file.values[TRIGGER] = profile.threshold_percent / 100
        by_file.sources[TRIGGER] = by_file.sources[f"profiles.{profile.name}.threshold_percent"]
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for layer in layers:
        values.update(layer.values)
        sources.update({key: layer.sources.get(key, "") for key in layer.values})
    if problems:
        raise WrongConfig(problems)
    return _config(values, sources, parsed)


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Give the variables that look like ours and are none, sorted, for a note."""
    known = VARIABLES.keys() | OTHER_VARIABLES
    return sorted(name for name in environment if name.startswith(PREFIX) and name not in known)


def _from_environment(environment: Mapping[str, str], problems: list[Problem]) -> _Layer:
    layer = _Layer({}, {})
    for name, key in VARIABLES.items():
        text = environment.get(name, "")
        if not text.strip():
            continue
        try:
            layer.values[key] = PLAIN[key].read_text(text)
            layer.sources[key] = name
        except WrongValue as error:
            problem = Problem(key="", what=error.what, remedy=error.remedy, place=name)
            problems.append(problem)
    return layer


def _from_arguments(arguments: Mapping[str, object], problems: list[Problem]) -> _Layer:
    layer = _Layer({}, {})
    for key, value in arguments.items():
        if key not in PLAIN:
            near = get_close_matches(key, PLAIN, n=1)
            remedy = f"did you mean {near[0]}?" if near else "see docs/configuration.md"
            problems.append(Problem(key=key, what="there is no such key", remedy=remedy))
        elif value is not None:
            try:
                layer.values[key] = PLAIN[key].read(value)
                layer.sources[key] = ARGUMENT
            except WrongValue as error:
                problems.append(Problem(key=key, what=error.what, remedy=error.remedy))
    return layer


def _profile(
    layers: list[_Layer], parsed: Parsed | None, problems: list[Problem]
) -> Profile | None:
    """Give the profile in force; None if there is none."""
    name, source = "", ""
    for layer in layers:
        if "profile" in layer.values:
            name, source = layer.values["profile"], layer.sources.get("profile", "")
    if not name:
        return None
    known = {profile.name: profile for profile in (parsed.profiles if parsed is not None else ())}
    if name not in known:
        there = f"there are {', '.join(sorted(known))}" if known else "there is none at all"
        problems.append(
            Problem(
                key="profile",
                what=f"{name!r} is no profile",
                remedy=f"{there}; add [profiles.{name}]",
                place="" if source == ARGUMENT else source,
            )
        )
    return known.get(name)


def _config(values: dict[str, Any], sources: dict[str, str], parsed: Parsed | None) -> Config:
    """Make the configuration of values that are all right by themselves."""
    policy = structs.replace(preset(values.get("preset", "default")), **_of(values, "compaction"))
    try:
        check(policy)
    except ConfigError as error:
        key = f"compaction.{error.setting}"
        problem = Problem(key=key, what=error.what, place=sources.get(key, ""))
        raise WrongConfig([problem]) from error
    found = Parsed(name="") if parsed is None else parsed
    return Config(
        preset=values.get("preset", "default"),
        profile=values.get("profile", ""),
        policy=policy,
        model=values.get("model.name", ""),
        window=values.get("model.window"),
        max_output=values.get("model.max_output"),
        background_fraction=values.get("background.fraction"),
        background_wait_seconds=values.get("background.wait_seconds", BACKGROUND_WAIT_SECONDS),
        prompt=values.get("summary.prompt", ""),
        instructions=values.get("summary.instructions", ()),
        summarizers=found.summarizers,
        hooks=found.hooks,
        retention=structs.replace(Retention(), **_of(values, "retention")),
        tags=found.tags,
        profiles=found.profiles,
        file=found.name,
        sources=sources,
    )


def _of(values: Mapping[str, Any], table: str) -> dict[str, Any]:
    """Give the values of one table, by their keys without it."""
    return {
        key.removeprefix(f"{table}."): value
        for key, value in values.items()
        if key.startswith(f"{table}.")
    }
