"""What docs/compaction.md says in figures is right; that its code runs, tests/test_docs.py sees."""

import re
from pathlib import Path

from minutebook.budget import limits, preset
from minutebook.compaction.digest.facts import Facts, Quote
from minutebook.compaction.digest.render import render
from minutebook.compaction.phrases import ENGLISH

PAGE = Path(__file__).parents[2] / "docs" / "compaction.md"
TEXT = PAGE.read_text("utf-8")
ROW = re.compile(r"^\| ([\d ]+), ([\d.]+) \| (.+) \|$", re.MULTILINE)
OUTPUTS = {"8.2": 8_192, "64": 64_000, "4.1": 4_096}


def test_the_table_of_triggers_is_right() -> None:
    """Every number in it, in thousands."""
    rows = ROW.findall(TEXT)
    for window, output, cells in rows:
        for name, cell in zip(("default", "kimi", "kilo"), cells.split(" | "), strict=False):
            found = limits(
                preset(name),
                window=int(window.replace(" ", "")) * 1_000,
                max_output=OUTPUTS[output],
                fixed=0,
            )
            for figure, written in zip(
                (found.trigger, found.target, found.limit), cell.split(" / "), strict=True
            ):
                assert abs(figure - float(written) * 1_000) <= 100, (window, name)

    assert len(rows) == 6


def test_the_page_names_every_heading_of_the_digest() -> None:
    """Those that a reader of a summary will see."""
    facts = Facts(task=Quote("x y z", 1), first=1, last=1, count=1)

    assert render(facts, 200, ENGLISH)
    for heading in ENGLISH.headings.values():
        assert f"| {heading} |" in TEXT
