"""How results look: plain columns that fit the terminal, or JSON for programs.

In a pipe there is no color, no progress, and no line is wrapped. All text goes through
`harmless`, so stored text cannot steer the terminal.
"""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from minutebook.cli.harmless import HARMFUL, harmless, harmless_line

HEADING = "bold"
LABEL = "dim"
WARNING = "yellow"
WIDTH_MIN = 40
"""On a terminal narrower than this, lines are as for this one and the terminal breaks them."""
BAR_CELLS = 20


class PipeConsole(Console):
    """A console that lets a closed pipe be an error, so that one place ends the program."""

    def on_broken_pipe(self) -> None:
        """Raise the error that is being handled on."""
        raise  # noqa: PLE0704 - rich calls this while it handles the BrokenPipeError


class Page:
    """What one command prints for people, line by line."""

    def __init__(self, console: Console | None = None) -> None:
        """Print to *console*; without one, to what is the standard output now."""
        self.console = console or PipeConsole(highlight=False, markup=False, emoji=False)

    @property
    def width(self) -> int | None:
        """How many cells a line has; None in a pipe, where lines are as long as they are."""
        return max(self.console.width, WIDTH_MIN) if self.console.is_terminal else None

    def bar(self, part: int, whole: int) -> str:
        """Give a share as a bar of `BAR_CELLS` cells at most; a full one may be more than whole."""
        cell = "#" if self.console.options.ascii_only else "█"
        return cell * min(BAR_CELLS, round(BAR_CELLS * part / whole))

    def blank(self) -> None:
        """Print an empty line."""
        self._wrapped(Text())

    def heading(self, text: str, aside: str = "", *, style: str = HEADING) -> None:
        """Print a heading, and something of less weight behind it."""
        line = Text(harmless_line(text), style=style)
        if aside:
            line = Text.assemble(line, "  ", (harmless_line(aside), LABEL), style="")
        self._wrapped(line)

    def line(self, text: str, *, style: str = "", indent: int = 0) -> None:
        """Print one line; too long a one goes on below with the same indent."""
        self._wrapped(Text(harmless_line(text), style=style), indent)

    def block(self, text: str, *, style: str = "", indent: int = 0, lead: str = "") -> None:
        """Print text of several lines, each behind *lead*."""
        for line in harmless(text).split("\n"):
            body = Text(line.expandtabs(8).rstrip(), style=style)
            self._hanging(Text(lead, style=style), body, indent, indent + cell_len(lead))

    def pairs(self, pairs: Iterable[tuple[str, str]], *, indent: int = 2) -> None:
        """Print labels and values in two columns; a pair with an empty value is left out."""
        self.rows([(label, value) for label, value in pairs if value], indent=indent, label=True)

    def rows(
        self,
        rows: Iterable[Sequence[str]],
        *,
        right: Iterable[int] = (),
        indent: int = 2,
        label: bool = False,
    ) -> None:
        """Print columns, two spaces apart; those in *right* end at the same cell.

        The last one is wrapped inside of its column; *label* makes the first one stand back.
        """
        cells = [[harmless_line(cell) for cell in row] for row in rows]
        to_right = set(right)
        widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            line = Text()
            for index, (cell, width) in enumerate(zip(row[:-1], widths, strict=False)):
                space = " " * (width - cell_len(cell))
                text = space + cell if index in to_right else cell + space
                line.append(text + "  ", style=LABEL if label and not index else "")
            last = len(row) - 1
            if last in to_right:
                line.append(" " * (widths[last] - cell_len(row[last])))
            hang = indent + sum(widths[:-1]) + 2 * last
            self._hanging(line, Text(row[-1]), indent, hang)

    def _wrapped(self, line: Text, indent: int = 0) -> None:
        self._hanging(Text(), line, indent, indent)

    def _hanging(self, lead: Text, body: Text, indent: int, hang: int) -> None:
        """Print *body* behind *lead*; further lines of it begin *hang* cells from the left."""
        width = self.width
        if width is None:
            # Directly: laying out hundreds of thousands of lines would take minutes.
            plain = " " * indent + lead.plain + body.plain
            self.console.file.write(plain.rstrip() + "\n")
        elif hang > width // 2:
            # No room beside the lead: what goes on below stands further left.
            first, *rest = self._wrap(lead + body, width - indent)
            self._print(first, indent)
            if rest:
                self._hanging(Text(), Text(" ").join(rest), indent + 4, indent + 4)
        else:
            first, *rest = self._wrap(body, width - hang)
            self._print(lead + first, indent)
            for line in rest:
                self._print(line, hang)

    def _wrap(self, text: Text, width: int) -> list[Text]:
        return list(text.wrap(self.console, width)) or [text]

    def _print(self, line: Text, indent: int = 0) -> None:
        line.rstrip()
        self.console.print(Text(" " * indent) + line, soft_wrap=True)


def emit_json(facts: object) -> None:
    """Print a value as JSON, indented, for programs and still safe on a terminal."""
    typer.echo(to_json(facts, ascii_only=not takes_unicode()))


def takes_unicode() -> bool:
    """Tell whether standard output can show every character."""
    return (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")


def to_json(facts: object, *, ascii_only: bool = False) -> str:
    """Give a value as JSON text in which everything that could steer a terminal is escaped.

    None of that stands in JSON outside of a string, so the value stays the same.
    """
    try:
        plain = json.dumps(facts, ensure_ascii=ascii_only, indent=2, allow_nan=False)
    except ValueError:
        # A log that somebody else wrote may hold NaN or infinity, which JSON has not.
        plain = json.dumps(_finite(facts), ensure_ascii=ascii_only, indent=2)
    return HARMFUL.sub(lambda found: json.dumps(found[0])[1:-1], plain)


def _finite(value: Any) -> Any:
    """Put null in the place of every number that is none."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def number(value: int) -> str:
    """Give a count with thousands apart: 48,213."""
    return f"{value:,}"


def plural(count: int, one: str, many: str = "") -> str:
    """Give a count with its noun: 1 message, 2 messages."""
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def byte_size(count: int) -> str:
    """Give a file's size for people: 812 B, 3.4 kB, 1.2 MB, in thousands."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 999.5:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def moment(at: float | None) -> str:
    """Give a time in the local zone, to the minute; empty where there is none."""
    if at is None:
        return ""
    try:
        return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return ""


def percent(part: int, whole: int | None) -> str:
    """Give a share of a whole, to a tenth of a percent; empty where the whole is not known."""
    return f"{100 * part / whole:.1f} %" if whole else ""


def ranges(numbers: Iterable[int]) -> str:
    """Give whole numbers as ranges: 1-4, 7."""
    spans: list[list[int]] = []
    for value in sorted(set(numbers)):
        if spans and value == spans[-1][1] + 1:
            spans[-1][1] = value
        else:
            spans.append([value, value])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def command(*words: object) -> str:
    """Give a command line of ours that can be pasted into a shell."""
    return shlex.join(["minutebook", *map(str, words)])


@contextmanager
def working(what: str) -> Iterator[Any]:
    """Show on a terminal that something is under way; in a pipe, nothing.

    Gives a function that changes the words.
    """
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        yield lambda _words: None
        return
    with console.status(Text(harmless_line(what))) as status:
        yield lambda words: status.update(Text(harmless_line(words)))
