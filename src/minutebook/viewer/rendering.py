"""Templates filled with values: everything from a log is made harmless and escaped, always.

There is one environment with escaping on, and every value that is written passes `shown`. No
template marks a value as safe; a test holds that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from minutebook.cli.harmless import harmless
from minutebook.cli.rendering import moment, number
from minutebook.viewer.texts import say_in

if TYPE_CHECKING:
    import jinja2

BRIEF_CHARACTERS = 300
THEMES = ("auto", "light", "dark")


@cache
def make_templates() -> jinja2.Environment:
    """Make the environment of the templates; once in a process, since each is compiled."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("minutebook.viewer"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": number,
        "moment": moment,
        "tenth": tenth,
        "plain": plain,
        "dollars": dollars,
        "brief": brief,
    }
    return made


def render(
    templates: jinja2.Environment,
    name: str,
    values: Mapping[str, Any],
    *,
    language: str,
    theme: str,
    base: str,
) -> str:
    """Fill a template; *base* is where the viewer's addresses begin."""

    def link(path: str, **query: object) -> str:
        return link_to(base, path, query)

    return templates.get_template(name).render(
        {"done": "", "writable": False, "holder": None, **values},
        t=say_in(language),
        link=link,
        language=language,
        other_language="en" if language == "zh" else "zh",
        theme=theme,
    )


def link_to(base: str, path: str, query: Mapping[str, object]) -> str:
    """Give an address of the viewer's own."""
    asked = urlencode({key: str(value) for key, value in query.items()}, errors="replace")
    return quote(f"{base}{path}") + (f"?{asked}" if asked else "")


def shown(value: object) -> object:
    """Make a value fit to be written, before it is escaped: nothing unseen is left in it."""
    if value is None:
        return ""
    if type(value) is str:
        return harmless(value)
    return value


def tenth(value: float) -> str:
    """Give a number to a tenth."""
    return f"{value:.1f}"


def brief(text: str) -> str:
    """Give as much of a text as fits beside others: a label, a title."""
    return text if len(text) <= BRIEF_CHARACTERS else f"{text[:BRIEF_CHARACTERS]}…"


def dollars(value: float) -> str:
    """Give an amount with as many digits as it takes to be more than nothing."""
    return f"${value:.2f}" if value >= 1 else f"${value:.4f}"


def plain(value: object) -> str:
    """Give a value that a record holds in words."""
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {plain(inner)}" for key, inner in value.items())
    return str(value)
