"""What stands in README and docs is true: their code runs, and they name what there is."""

import importlib.util
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec import structs

from minutebook.cli.app import SECTIONS, name_of
from minutebook.config.fields import LISTS, PLAIN, PROFILE, VARIABLES
from minutebook.config.parsing import parse
from minutebook.config.resolving import OTHER_VARIABLES
from minutebook.events import Event
from minutebook.hooks import Command, PostCompact, PreCompact
from minutebook.testing.server import ProviderServer
from minutebook.tools import condense, dmail, recall
from tests.documents import PAGES, ROOT, blocks, covered, run_page

DOCS = ROOT / "docs"
SKIPPED_MAX = 5
"""More code than this that is shown and never run would go out of date unseen."""
HAS_EXTRAS = all(importlib.util.find_spec(name) for name in ("openai", "anthropic", "quicktok"))
REPLY = "## Task\n- The parts are being mended, on ports from 5000 on. (record 1)"


def page(name: str) -> str:
    """Give a page's text."""
    return (DOCS / name).read_text(encoding="utf-8")


def named(text: str) -> set[str]:
    """Give everything that stands between backticks."""
    return set(re.findall(r"`([^`\n]+)`", text))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_code_of_a_page_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order, as it stands, in a folder of its own, with a server of ours for providers."""
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES.keys() | OTHER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with ProviderServer(always=REPLY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        names: dict[str, Any] = {
            "__name__": path.stem,
            "openai_url": server.openai_url,
            "anthropic_url": server.anthropic_url,
            "covered": covered(),
        }

        count = run_page(path, names, has_extras=HAS_EXTRAS)

    wanted = [one for one in blocks(path) if one.language in {"python", "py"}]
    assert count >= sum(one.skipped is None for one in wanted)


def test_code_that_is_not_run_says_why_and_is_rare() -> None:
    """A block without a reason would be one that nobody has tried."""
    skipped = [one for path in PAGES for one in blocks(path) if one.skipped is not None]

    assert [f"{one.page.name}:{one.line}" for one in skipped if not one.skipped] == []
    assert len(skipped) <= SKIPPED_MAX


def test_every_configuration_that_is_shown_is_right() -> None:
    """Each block of TOML that is a minutebook.toml can be copied."""
    shown = [
        one
        for path in PAGES
        for one in blocks(path)
        if one.language == "toml" and "minutebook.toml" in one.text.partition("\n")[0]
    ]

    assert shown
    assert [parse(one.text.encode()).problems for one in shown] == [()] * len(shown)


def test_every_command_is_named() -> None:
    """With its program, in the page of the command line."""
    text = page("cli.md")

    names = [name_of(function) for _, commands in SECTIONS for function, _ in commands]
    assert [name for name in names if f"minutebook {name}" not in text] == []


@pytest.mark.parametrize("details", [PreCompact, PostCompact, Command])
def test_every_hook_is_named_with_its_fields(details: type[Any]) -> None:
    """What a hook is told, and what a command is configured with."""
    there = named(page("hooks.md"))

    fields = {one.name for one in structs.fields(details)}
    assert fields <= there
    assert {"PreCompact", "PostCompact"} <= there


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_every_event_is_named_with_its_fields(kind: type[Any]) -> None:
    """In one row of the table, with what its outcome may be."""
    row = next(
        line for line in page("hooks.md").splitlines() if line.startswith(f"| `{kind.__name__}`")
    )

    words = {one.name for one in structs.fields(kind)}
    words |= {
        str(word)
        for one in structs.fields(kind)
        if one.name == "outcome"
        for word in get_args(one.type)
    }
    assert words <= named(row)


@pytest.mark.parametrize("offer", [dmail.OFFER, recall.OFFER, condense.OFFER])
def test_every_tool_is_named_with_its_parameters(offer: Any) -> None:
    """In one row of the table."""
    row = next(
        line for line in page("tools.md").splitlines() if line.startswith(f"| `{offer.name}`")
    )

    assert set(offer.parameters["properties"]) <= named(row)


def keys() -> set[str]:
    """Give every key of a configuration, with its table."""
    found = set(PLAIN)
    found |= {f"{table}.{key}" for table, fields in LISTS.items() for key in fields}
    return found | {f"profiles.NAME.{key}" for key in PROFILE}


def test_every_configuration_key_is_named_and_no_other() -> None:
    """In a row of its own; a key that is gone is struck from the page."""
    rows = re.findall(
        r"^\| `([a-z_]+(?:\.[A-Za-z_]+)*)` \|", page("configuration.md"), re.MULTILINE
    )

    assert set(rows) == keys()
    assert len(rows) == len(set(rows))


def test_every_variable_is_named() -> None:
    """Those of keys by their rule, the others one by one."""
    text = page("configuration.md")

    assert named(text) >= OTHER_VARIABLES
    examples = {name for name in named(text) if name.startswith("MINUTEBOOK_") and "=" not in name}
    assert examples - {"MINUTEBOOK_"} <= VARIABLES.keys() | OTHER_VARIABLES


def outline(text: str) -> dict[str, object]:
    """Give what two languages of one page have in common."""
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {
        "code": re.findall(r"```.*?```", text, re.DOTALL),
        "headings": [len(marks) for marks in re.findall(r"^(#+) ", outside, re.MULTILINE)],
        "links": [link for link in re.findall(r"\]\(([^)]+)\)", outside) if "README" not in link],
        "rows": len(re.findall(r"^\|", outside, re.MULTILINE)),
        "items": len(re.findall(r"^- ", outside, re.MULTILINE)),
        "numbers": sorted(re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])", outside)),
    }


def test_the_chinese_readme_keeps_step_with_the_english_one() -> None:
    """The same code, headings, links, tables and figures; the words are Chinese."""
    english, chinese = (
        (ROOT / name).read_text("utf-8") for name in ("README.md", "README.zh-CN.md")
    )

    assert outline(chinese) == outline(english)
    assert len(re.findall(r"[\u4e00-\u9fff]", chinese)) > 800
    assert re.findall(r"[\u4e00-\u9fff]", english.replace("简体中文", "")) == []
