"""Which keys there are, and how the value of each is read. Pure.

A key of a plain table is a `Field`: it has its place in the file, a variable of the
environment, and an argument. The elements of the lists (`hooks`, `summarizers`, `tags`) and
the profiles stand in the file alone. The keys of `[compaction]` are the fields of
`budget.Policy`, those of `[retention]` the fields of `store.collecting.Retention`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, structs

from minutebook.budget import Policy, check, preset
from minutebook.config.values import INHERITS, PERCENT_LEAST, PERCENT_MOST
from minutebook.errors import ConfigError
from minutebook.hooks import Command
from minutebook.store.collecting import Retention

PREFIX = "MINUTEBOOK_"

Tokens = Annotated[int, Meta(gt=0)]
Fraction = Annotated[float, Meta(gt=0, lt=1)]


class WrongValue(ValueError):
    """A value that a key may not have, and what it may be instead."""

    def __init__(self, what: str, remedy: str = "") -> None:
        """Say what is wrong, and what to do."""
        self.what = what
        self.remedy = remedy
        super().__init__(what)


Check = Callable[[Any], Any]
"""Gives the value as it is kept; raises `WrongValue` or `ConfigError` if it may not be."""


class Field(Struct, frozen=True, kw_only=True):
    """A key: the type of its value, and what else has to be true of it."""

    type: Any
    check: Check = lambda value: value
    remedy: str = ""
    """What to do about a value of the wrong type; empty: what the type says."""

    def read(self, value: object) -> Any:
        """Read a value as the file or an argument gives it.

        Raises:
            WrongValue: If it may not be.
        """
        return self._checked(lambda: msgspec.convert(value, self.type))

    def read_text(self, text: str) -> Any:
        """Read a value as a variable gives it: several are set apart by commas.

        Raises:
            WrongValue: If it may not be.
        """
        many = tuple(part.strip() for part in text.split(",") if part.strip())
        try:
            return self._checked(lambda: msgspec.convert(text, self.type, strict=False))
        except WrongValue:
            if not _takes_many(self.type):
                raise
        return self._checked(lambda: msgspec.convert(many, self.type))

    def _checked(self, convert: Callable[[], object]) -> Any:
        try:
            return self.check(convert())
        except msgspec.ValidationError as error:
            raise WrongValue(_worded(error), self.remedy or _remedy(self.type)) from error
        except ConfigError as error:
            raise WrongValue(error.what, self.remedy) from error


def _takes_many(kind: Any) -> bool:
    return any(get_origin(one) is tuple for one in _kinds(kind))


def _kinds(kind: Any) -> tuple[Any, ...]:
    """Give the types that a type is one of."""
    return get_args(kind) if get_origin(kind) in {Union, UnionType} else (kind,)


def _remedy(kind: Any) -> str:
    """Say how a value of a type is written."""
    for one in _kinds(kind):
        if get_origin(one) is Literal:
            return f"give one of {', '.join(map(repr, get_args(one)))}"
        if get_origin(one) is tuple:
            return 'give a list of texts, like ["a", "b"]'
    return _WRITTEN.get(_kinds(kind)[0], "see docs/configuration.md")


_WRITTEN: Mapping[Any, str] = {
    bool: "give true or false",
    int: "give a whole number",
    float: "give a number",
    str: "give a text in quotes",
}


def _worded(error: msgspec.ValidationError) -> str:
    """Give the decoder's sentence in the manner of ours."""
    text = str(error).replace("`", "").partition(" - at ")[0]
    return f"{text[:1].lower()}{text[1:]}"


def _said(value: str) -> str:
    if not value.strip():
        raise WrongValue("it is blank", "give a text, or take the key out")
    return value


def _texts(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_said, [value] if isinstance(value, str) else value))


def _preset(value: str) -> str:
    return preset(value).name


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError) as error:
        raise WrongValue(f"{value!r} is no regular expression ({error})") from error
    return value


def _percent(value: float) -> float:
    if value == INHERITS or PERCENT_LEAST <= value <= PERCENT_MOST:
        return value
    raise WrongValue(
        f"{value:g} is no threshold",
        f"give a percentage from {PERCENT_LEAST} to {PERCENT_MOST}, or {INHERITS} to inherit",
    )


def _url(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", value):
        raise WrongValue(f"{value!r} is no base URL", "give one like http://localhost:8080/v1")
    return value


def _variable(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        raise WrongValue(
            "it is no name of an environment variable",
            "name the variable that holds the key; the key itself does not belong into a file",
        )
    return value


def _of_policy(name: str) -> Check:
    def checked(value: Any) -> Any:
        check(structs.replace(Policy(), **{name: value}))
        return value

    return checked


def _not_negative(value: Any) -> Any:
    if isinstance(value, int | float) and not (math.isfinite(value) and value >= 0):
        raise WrongValue(f"{value} is negative, or no number")
    return value


def _of_command(name: str) -> Check:
    def checked(value: Any) -> Any:
        Command(**{"command": "true", name: value})
        return value

    return checked


def _plain() -> dict[str, Field]:
    fields = {
        "preset": Field(type=str, check=_preset),
        "profile": Field(type=str),
        "model.name": Field(type=str, check=_said),
        "model.window": Field(type=Tokens, remedy="give the model's window in tokens"),
        "model.max_output": Field(type=Tokens, remedy="give the longest reply in tokens"),
        "background.fraction": Field(type=Fraction, remedy="give a share between 0 and 1"),
        "background.wait_seconds": Field(type=float, check=_not_negative),
        "summary.prompt": Field(type=str, check=_said),
        "summary.instructions": Field(type=str | tuple[str, ...], check=_texts),
    }
    for one in structs.fields(Policy):
        if one.name != "name":
            key = f"compaction.{one.name}"
            fields[key] = Field(type=one.type, check=_of_policy(one.name))
    for one in structs.fields(Retention):
        fields[f"retention.{one.name}"] = Field(type=one.type, check=_not_negative)
    return fields


PLAIN: Mapping[str, Field] = _plain()
"""The keys of plain tables, with their tables."""

LISTS: Mapping[str, Mapping[str, Field]] = {
    "summarizers": {
        "kind": Field(type=Literal["openai", "anthropic"], remedy="say whose API it speaks"),
        "model": Field(type=str, check=_said),
        "base_url": Field(type=str, check=_url),
        "key_env": Field(type=str, check=_variable),
        "window": Field(type=Tokens),
        "max_output": Field(type=Tokens),
    },
    "hooks": {
        "command": Field(type=str, check=_of_command("command")),
        "event": Field(type=Literal["PreCompact", "PostCompact"], remedy="say when it runs"),
        "matcher": Field(type=str, check=_of_command("matcher")),
        "timeout_seconds": Field(type=float, check=_of_command("timeout_seconds")),
    },
    "tags": {
        "tag": Field(type=str, check=_said),
        "role": Field(type=str, check=_said),
        "tool": Field(type=str, check=_said),
        "matches": Field(type=str, check=_pattern),
        "protected": Field(type=bool),
    },
}
"""The lists of tables, and the keys of an element of each."""

NEEDED: Mapping[str, str] = {"summarizers": "kind", "hooks": "command", "tags": "tag"}
"""The key that every element of a list has to have."""

PROFILE: Mapping[str, Field] = {"threshold_percent": Field(type=float, check=_percent)}
"""The keys of a profile, `[profiles.NAME]`."""

TABLES: frozenset[str] = frozenset(
    [*(key.partition(".")[0] for key in PLAIN if "." in key), *LISTS, "profiles"]
)
"""What may stand between brackets."""


def variable_of(key: str) -> str:
    """Give the environment variable of a key: `MINUTEBOOK_MODEL_WINDOW` for `model.window`."""
    return PREFIX + key.replace(".", "_").upper()


VARIABLES: Mapping[str, str] = {variable_of(key): key for key in PLAIN}
"""The key of each variable."""
