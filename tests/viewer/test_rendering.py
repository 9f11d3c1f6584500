"""Templates and the values in them."""

import re
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("jinja2", reason="needs the extra viewer")

import minutebook.viewer
from minutebook.cli.harmless import harmless
from minutebook.viewer.rendering import (
    brief,
    dollars,
    link_to,
    make_templates,
    plain,
    render,
    shown,
    tenth,
)

FOLDER = Path(minutebook.viewer.__file__).parent
TEMPLATES = sorted((FOLDER / "templates").iterdir())


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_goes_around_the_escaping(path: Path) -> None:
    """None marks a value as safe, none has a script or a style of its own."""
    source = path.read_text(encoding="utf-8")

    assert not re.search(r"\|\s*safe\b|autoescape|Markup|\|\s*tojson", source)
    assert not re.search(r"\sstyle=|\son[a-z]+=|<style|javascript:|https?:", source)
    assert "<script" not in source or path.name == "base.html"
    # Every attribute that has a value in it stands between quotes.
    assert not re.search(r"=\{\{", source)


def test_no_code_goes_around_it_either() -> None:
    """Markup is made by templates alone."""
    for path in FOLDER.glob("*.py"):
        assert "Markup" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_template_compiles(path: Path) -> None:
    """Before somebody asks for it."""
    assert make_templates().get_template(path.name) is not None


@given(text=st.text())
def test_a_value_is_made_harmless_and_escaped(text: str) -> None:
    """Both at once, in this order."""
    written = make_templates().from_string("{{ value }}").render(value=text)

    assert not set(written) & set("<>\"'")
    assert written == make_templates().from_string("{{ value }}").render(value=harmless(text))


@given(
    path=st.text(st.characters(exclude_categories=["Cs"])),
    value=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
)
def test_an_address_keeps_what_it_is_given(path: str, value: str) -> None:
    """And nothing of it is taken for another part of the address."""
    made = link_to("/ui", f"/s/{path}", {"q": value})
    parts = urlsplit(made)

    assert made.isascii()
    assert unquote(parts.path) == f"/ui/s/{path}"
    assert parse_qs(parts.query)["q"] == [value]
    assert not set(made) & set("<>\"' ")


def test_an_address_is_made_of_half_a_pair_too() -> None:
    """It leads nowhere, and nothing breaks."""
    assert link_to("", "/", {"q": "\ud800"}) == "/?q=%3F"


def test_values_have_their_forms() -> None:
    """Numbers, lists and tables of a record in words."""
    assert tenth(3.14) == "3.1"
    assert dollars(12.345) == "$12.35"
    assert dollars(0.00123) == "$0.0012"
    assert plain(0.5) == "0.50"
    assert plain([1, "a", {"b": (2.0,)}]) == "1, a, b: 2.00"
    assert brief("a") == "a"
    assert brief("a" * 999) == "a" * 300 + "…"
    assert shown(None) == ""
    assert shown(3) == 3


def test_an_error_page_has_nothing_but_its_words() -> None:
    """It can be made without a session."""
    values = {"heading": "<h>", "what": "w", "back": "/", "here": "/"}
    text = render(make_templates(), "error.html", values, language="en", theme="auto", base="")

    assert "&lt;h&gt;" in text
