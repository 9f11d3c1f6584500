"""What a tool is to a model: a name, a description, parameters. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

NUMBER_DIGITS_MAX = 15
"""No record and no checkpoint has a longer number; Python refuses to read very long ones."""


class Offer(Struct, frozen=True, kw_only=True):
    """A tool as a model is offered it."""

    name: str
    description: str
    """What it does and when to use it; OpenAI takes 1 024 characters."""
    parameters: dict[str, Any]
    """A JSON schema of type object."""

    def to_openai(self) -> dict[str, Any]:
        """Give the tool for OpenAI's Chat Completions."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        }

    def to_anthropic(self) -> dict[str, Any]:
        """Give the tool for Anthropic's Messages."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.parameters,
        }

    def is_among(self, tools: Iterable[Mapping[str, Any]]) -> bool:
        """Tell whether a request's tools, in either API's shape, hold one of this name."""
        for tool in tools:
            function = tool.get("function")
            schema = function if isinstance(function, Mapping) else tool
            if schema.get("name") == self.name:
                return True
        return False


class BadArguments(ValueError):
    """A model called a tool with arguments that make no sense; the text is meant for it."""


def read_arguments(arguments: str | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Give a call's arguments as a mapping; none, or blank text, is an empty one.

    Raises:
        BadArguments: If they are no JSON object.
    """
    if isinstance(arguments, Mapping):
        return arguments
    text = (arguments or "").strip()
    try:
        value = json.loads(text, strict=False) if text else {}
    except (ValueError, RecursionError) as error:
        raise BadArguments("The arguments are not JSON.") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadArguments("The arguments are not a JSON object.")
    return value


def text_argument(arguments: Mapping[str, Any], name: str) -> str:
    """Give an argument that has to be text with something in it.

    Raises:
        BadArguments: If it is missing, blank, or not text.
    """
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadArguments(f"`{name}` has to be a text that is not blank.")
    return value


def number_argument(arguments: Mapping[str, Any], name: str) -> int:
    """Give an argument that has to be a whole number, however a model writes one.

    Raises:
        BadArguments: If it is missing or something else.
    """
    value = whole_number(arguments.get(name))
    if value is None:
        raise BadArguments(f"`{name}` has to be a whole number.")
    return value


def whole_number(value: object) -> int | None:
    """Give a JSON value as a whole number: 3, 3.0 or "3" are 3; None for anything else."""
    if isinstance(value, str):
        digits = value.strip()
        plain = digits.isascii() and digits.isdigit() and len(digits) <= NUMBER_DIGITS_MAX
        return int(digits) if plain else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
