"""The documentation as programs: which code stands in a page, and how it is run.

The ```python blocks of a page run in order, in one namespace and in a folder of their own; an
`await` at the top is allowed. Where a page needs a provider, these names are there, and the
SDKs' own variables say the same:

- `openai_url`, `anthropic_url`: a strict server of ours that answers everything with one text
- `covered`: messages that a summary may be asked for

A block is left out if its fence says ```` ```python no-run <reason>````, or the line before it is
`<!-- no-run: <reason> -->`. A ```toml block that begins with `# minutebook.toml` is written to
that file. In a ```console block the lines after `$ minutebook …` are what the command prints.
"""

import ast
import asyncio
import doctest
import inspect
import re
import textwrap
import types
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from minutebook.cli.app import app
from minutebook.errors import ConfigError
from minutebook.messages import Message, assistant, replace, user

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("README.md"), *(ROOT / "docs").rglob("*.md")])
CHEAP = {"config", "formats", "--version"}
"""The commands of which what a page shows is compared with what they print."""

_FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n`]*)\n"
    r"(?P<text>.*?)^(?P=indent)(?P=fence)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"<!-- no-run: *(?P<reason>.*?) *-->\s*\Z", re.DOTALL)


class Block(NamedTuple):
    """A fenced block of a page."""

    page: Path
    line: int
    """Where its text begins, from 1."""
    language: str
    text: str
    skipped: str | None
    """Why it is not run; empty if no reason is given, None if it is."""


def blocks(page: Path) -> list[Block]:
    """Give the fenced blocks of a page, in order."""
    whole = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(whole):
        language, _, rest = match["info"].strip().partition(" ")
        comment = _COMMENT.search(whole[: match.start()])
        skipped = comment["reason"] if comment else None
        if rest.strip().startswith("no-run"):
            skipped = rest.strip().removeprefix("no-run").strip()
        line = whole.count("\n", 0, match.start("text")) + 1
        text = textwrap.dedent(match["text"])
        found.append(Block(page, line, language.lower(), text, skipped))
    return found


def covered() -> tuple[Message, ...]:
    """Give messages that a summary may be asked for."""
    messages = []
    for number in range(20):
        messages += [
            user(f"Please mend src/part_{number}.py on port {5_000 + number}."),
            assistant(f"src/part_{number}.py is mended and listens on {5_000 + number}. " * 8),
        ]
    return tuple(replace(message, seq=at + 1) for at, message in enumerate(messages))


def run_page(page: Path, names: dict[str, Any], *, has_extras: bool) -> int:
    """Run the blocks of a page in order, in the current folder; give how many ran.

    Without the extras the page is skipped at the first block that asks for one.
    """
    count = 0
    with asyncio.Runner() as runner:
        try:
            for block in blocks(page):
                if block.skipped is None:
                    count += _run(block, names, runner)
        except (ImportError, ConfigError) as error:
            missing = error if isinstance(error, ImportError) else error.__cause__
            if has_extras or not isinstance(missing, ImportError):
                raise
            pytest.skip(f"{page.name} needs a package that is not installed: {missing.name}")
        finally:
            runner.run(_close(names))
    return count


def _run(block: Block, names: dict[str, Any], runner: asyncio.Runner) -> int:
    if block.language in {"python", "py"}:
        if block.text.lstrip().startswith(">>>"):
            _run_examples(block, names)
        else:
            _run_python(block, names, runner)
        return 1
    if block.language == "toml" and block.text.startswith("# minutebook.toml\n"):
        Path("minutebook.toml").write_text(block.text, encoding="utf-8")
    if block.language == "console":
        return _compare(block)
    return 0


def _run_python(block: Block, names: dict[str, Any], runner: asyncio.Runner) -> None:
    """Run a block; a traceback names the page's own line."""
    source = "\n" * (block.line - 1) + block.text
    code = compile(
        source, str(block.page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
    )
    if code.co_flags & inspect.CO_COROUTINE:
        run: Any = types.FunctionType(code, names)
        runner.run(run())
    else:
        exec(code, names)


def _run_examples(block: Block, names: dict[str, Any]) -> None:
    """Run a block that shows what each line prints."""
    where = f"{block.page.name}:{block.line}"
    test = doctest.DocTestParser().get_doctest(block.text, names, where, where, block.line)
    test.globs = names
    said: list[str] = []
    failed = doctest.DocTestRunner().run(test, out=said.append, clear_globs=False).failed
    assert not failed, "".join(said)


def _compare(block: Block) -> int:
    """Compare what a page shows of cheap commands with what they print."""
    count = 0
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        words = line.split()
        if words[0] == "minutebook" and words[1] in CHEAP:
            result = CliRunner().invoke(app, words[1:])
            assert result.output.rstrip() == shown.rstrip(), f"{block.page.name}:{block.line}"
            count += 1
    return count


async def _close(names: dict[str, Any]) -> None:
    """Close what a page has opened and not closed, as clients of providers."""
    for value in list(names.values()):
        close = getattr(value, "close", None)
        if not isinstance(value, type) and inspect.iscoroutinefunction(close):
            await close()
