"""Which formats can be read: ours, and those that other packages bring along.

A package offers a format under the entry point group `minutebook.formats`: a `Format`, a list
of them, or a function that gives either. It is loaded when a file is looked at that none of our
own particular formats takes, and never before. One that cannot be loaded is reported, and stops
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from msgspec import Struct

from minutebook.formats import (
    anthropic_messages,
    claude_code,
    cline_sdk,
    codex,
    gemini,
    kimi,
    kimi_code,
    mini_swe_agent,
    openai_chat,
    openai_responses,
    opencode,
    openhands,
    openhands_v0,
    pi,
    sharegpt,
    swe_agent,
)
from minutebook.formats.value import Format

GROUP = "minutebook.formats"
"""The entry point group."""
PARTICULAR: tuple[Format, ...] = (
    kimi.NATIVE,
    kimi.KIMI,
    kimi_code.FORMAT,
    claude_code.FORMAT,
    codex.FORMAT,
    pi.FORMAT,
    gemini.FORMAT,
    opencode.FORMAT,
    openhands.FORMAT,
    openhands_v0.FORMAT,
    swe_agent.FORMAT,
    mini_swe_agent.FORMAT,
    cline_sdk.FORMAT,
    sharegpt.FORMAT,
    openai_responses.FORMAT,
)
"""Formats that are known by marks of their own."""
PLAIN: tuple[Format, ...] = (anthropic_messages.FORMAT, openai_chat.FORMAT)
"""Forms of messages that anybody may write; asked last."""
FORMATS: tuple[Format, ...] = (*PARTICULAR, *PLAIN)
"""Every format of our own, in the order in which they are asked."""


class Plugins(Struct, frozen=True, kw_only=True):
    """What other packages bring along."""

    formats: tuple[Format, ...] = ()
    problems: tuple[str, ...] = ()
    """One sentence for each entry point that could not be used."""


@cache
def plugins() -> Plugins:
    """Load the formats of other packages, once in the life of the program.

    One that has the name of a format before it is not used. Never raises.
    """
    return loaded(entry_points(group=GROUP))


def loaded(points: Iterable[EntryPoint]) -> Plugins:
    """Load the formats of entry points. Whatever an entry point raises is reported."""
    taken = {form.name for form in FORMATS}
    formats: list[Format] = []
    problems: list[str] = []
    for point in sorted(points, key=lambda found: (found.name, found.value)):
        try:
            found = list(_formats(point.load()))
        except Exception as error:  # noqa: BLE001 (code of others, which may raise anything)
            problems.append(f"{point.name} ({point.value}) could not be loaded: {error!r}")
            continue
        for form in found:
            if form.name in taken:
                problems.append(f"{point.name} ({point.value}) has a name that is taken")
            else:
                taken.add(form.name)
                formats.append(form)
    return Plugins(formats=tuple(formats), problems=tuple(problems))


def _formats(value: Any) -> Iterator[Format]:
    """Give the formats that an entry point names.

    Raises:
        TypeError: If it names something else.
    """
    found = value if isinstance(value, Format) or not callable(value) else value()
    for form in [found] if isinstance(found, Format) else found:
        if not isinstance(form, Format):
            raise TypeError(f"{form!r} is no Format")
        yield form


def every_format() -> Iterator[Format]:
    """Give every format in the order in which they are asked; others' are loaded when due."""
    yield from PARTICULAR
    yield from plugins().formats
    yield from PLAIN
