"""Read the bytes of a `minutebook.toml`: values with their lines, and every problem. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from msgspec import Struct

from minutebook.config.fields import LISTS, NEEDED, PLAIN, PROFILE, TABLES, Field, WrongValue
from minutebook.config.places import Path, line_of, places
from minutebook.config.values import Problem, Profile, SummarizerSettings, TagRule
from minutebook.hooks import Command

KEYS_NAMED_MAX = 30
"""How many keys an answer about an unknown one lists."""
SECRETS = frozenset(("key", "api_key", "apikey", "token", "secret", "password"))
"""What people call the key of an API; none of it belongs into a file that is shared."""

_LINE = re.compile(r"\(at line (\d+), column \d+\)")


class Parsed(Struct, frozen=True, kw_only=True):
    """What a file says, as far as it makes sense."""

    name: str
    """The file, as problems call it."""
    plain: dict[str, Any] = {}
    """The values of plain keys, by key with its table."""
    lines: dict[str, int] = {}
    """The line of each of them, and of each profile's threshold."""
    summarizers: tuple[SummarizerSettings, ...] = ()
    hooks: tuple[Command, ...] = ()
    tags: tuple[TagRule, ...] = ()
    profiles: tuple[Profile, ...] = ()
    problems: tuple[Problem, ...] = ()
    """In the order of the file."""


def parse(data: bytes, name: str = "minutebook.toml") -> Parsed:
    """Read a file's bytes. Never raises: what is wrong is in `problems`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _unreadable(name, "it is not UTF-8", "save it as UTF-8", line)
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        found = _LINE.search(str(error))
        what = f"it is not TOML ({_LINE.sub('', str(error)).strip()})"
        return _unreadable(name, what, "mend the line", int(found[1]) if found else None)
    return _File(name, document, places(text)).read()


def _unreadable(name: str, what: str, remedy: str, line: int | None) -> Parsed:
    problem = Problem(key="", what=what, remedy=remedy, place=name, line=line)
    return Parsed(name=name, problems=(problem,))


class _File:
    """Walks over what a file holds; notes values and problems."""

    def __init__(self, name: str, document: dict[str, Any], found: dict[Path, int]) -> None:
        self._name = name
        self._document = document
        self._places = found
        self._plain: dict[str, Any] = {}
        self._lines: dict[str, int] = {}
        self._problems: list[Problem] = []

    def read(self) -> Parsed:
        """Read everything."""
        for name, value in self._document.items():
            if name in PLAIN:
                self._read_plain(name, value, (name,))
            elif name in LISTS or name == "profiles":
                continue
            elif name in TABLES:
                self._read_table(name, value)
            else:
                self._unknown((name,), [*TABLES, *(key for key in PLAIN if "." not in key)])
        summarizers = [SummarizerSettings(**found) for _, found in self._list("summarizers")]
        hooks = [Command(**found) for _, found in self._list("hooks")]
        tags = tuple(self._rules())
        profiles = tuple(self._profiles())
        # In the order of the file; what has no line concerns the whole.
        self._problems.sort(key=lambda problem: problem.line or 0)
        return Parsed(
            name=self._name,
            plain=self._plain,
            lines=self._lines,
            summarizers=tuple(summarizers),
            hooks=tuple(hooks),
            tags=tags,
            profiles=profiles,
            problems=tuple(self._problems),
        )

    def _read_table(self, table: str, value: object) -> None:
        if not isinstance(value, dict):
            self._wrong((table,), "it is no table", f"write [{table}] and its keys below")
            return
        known = [key.removeprefix(f"{table}.") for key in PLAIN if key.startswith(f"{table}.")]
        for name, inner in value.items():
            if name in known:
                self._read_plain(f"{table}.{name}", inner, (table, name))
            else:
                self._unknown((table, name), known)

    def _read_plain(self, key: str, value: object, path: Path) -> None:
        try:
            self._plain[key] = PLAIN[key].read(value)
        except WrongValue as error:
            self._wrong(path, error.what, error.remedy)
        self._lines[key] = line_of(self._places, path) or 1

    def _list(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Give the elements of a list of tables that make sense, each with its index."""
        elements = self._document.get(name, [])
        if not isinstance(elements, list):
            self._wrong((name,), "it is no list of tables", f"write [[{name}]] for each")
            return
        for at, element in enumerate(elements):
            found = self._members((name, at), element, LISTS[name], f"[[{name}]]")
            if found is None:
                continue
            needed = NEEDED[name]
            if needed not in found:
                if needed not in element:
                    self._wrong((name, at), f"`{needed}` is missing", "add it")
                continue
            yield at, found

    def _profiles(self) -> Iterator[Profile]:
        table = self._document.get("profiles", {})
        if not isinstance(table, dict):
            self._wrong(("profiles",), "it is no table", "write [profiles.NAME] for each")
            return
        for name, value in table.items():
            found = self._members(("profiles", name), value, PROFILE, f"[profiles.{name}]")
            if found is not None:
                for key in found:
                    line = line_of(self._places, ("profiles", name, key)) or 1
                    self._lines[f"profiles.{name}.{key}"] = line
                yield Profile(name=name, **found)

    def _members(
        self, path: Path, value: object, fields: Mapping[str, Field], header: str
    ) -> dict[str, Any] | None:
        """Read the keys of one element; None if it is no table."""
        if not isinstance(value, dict):
            self._wrong(path, "it is no table", f"write {header} and its keys below")
            return None
        found = {}
        for name, inner in value.items():
            if name not in fields:
                self._unknown((*path, name), list(fields))
                continue
            try:
                found[name] = fields[name].read(inner)
            except WrongValue as error:
                self._wrong((*path, name), error.what, error.remedy)
        return found

    def _rules(self) -> Iterator[TagRule]:
        """Give the rules that have a condition; one without would mark every message."""
        for at, found in self._list("tags"):
            rule = TagRule(**found)
            if rule.role or rule.tool or rule.matches:
                yield rule
            else:
                self._wrong(("tags", at), "it has no condition", "add role, tool or matches")

    def _unknown(self, path: Path, known: list[str]) -> None:
        name = str(path[-1])
        near = get_close_matches(name, known, n=1)
        if near:
            remedy = f"did you mean {near[0]}?"
        elif name.lower() in SECRETS and "key_env" in known:
            remedy = "put the key into a variable of the environment, and name that in key_env"
        else:
            remedy = f"there are {', '.join(sorted(known)[:KEYS_NAMED_MAX])}"
        self._wrong(path, "there is no such key", remedy)

    def _wrong(self, path: Path, what: str, remedy: str) -> None:
        self._problems.append(
            Problem(
                key=_shown(path),
                what=what,
                remedy=remedy,
                place=self._name,
                line=line_of(self._places, path),
            )
        )


def _shown(path: Path) -> str:
    """Write a path as people read it: elements of a list count from 1."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            text += f".{part}" if text else part
    return text
