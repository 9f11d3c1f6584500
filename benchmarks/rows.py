"""A measured cost beside its floor, and how the table of them is printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, to_builtins

HEADINGS = ("what", "messages", "cost", "floor", "ratio", "target", "")


class Row(Struct, frozen=True, kw_only=True):
    """One line of the table."""

    group: str
    what: str
    messages: int
    """How many messages the log holds."""
    cost: float
    """In *unit*."""
    floor: float | None = None
    """What the least that has to be done costs, in *unit*; none where there is no floor."""
    unit: str = "us"
    """`us` for microseconds, `MB` for 10^6 bytes."""
    limit: float | None = None
    """What the cost may be, in *unit*; none where no target is set."""
    target: str = ""
    """The target in words."""

    @property
    def ratio(self) -> float | None:
        """How many times the floor the cost is."""
        return self.cost / self.floor if self.floor else None

    @property
    def verdict(self) -> str:
        """`pass` or `miss`; empty where no target is set."""
        if self.limit is None:
            return ""
        return "pass" if self.cost <= self.limit else "miss"


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Give the rows as JSON values, ratio and verdict among them."""
    return [
        {**to_builtins(row), "ratio": row.ratio, "verdict": row.verdict or None} for row in rows
    ]


def as_table(rows: Sequence[Row]) -> str:
    """Set the rows in columns, group by group, each below its heading."""
    groups = list(dict.fromkeys(row.group for row in rows))
    rows = sorted(rows, key=lambda row: groups.index(row.group))
    cells = [HEADINGS, *map(_cells, rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADINGS))]
    lines = []
    group = ""
    for row, line in zip((None, *rows), cells, strict=True):
        if row is not None and row.group != group:
            group = row.group
            lines += ["", group]
        left, *middle, target, verdict = line
        right = [cell.rjust(width) for cell, width in zip(middle, widths[1:5], strict=True)]
        end = [target.ljust(widths[5]), verdict]
        lines.append("  ".join([f"  {left.ljust(widths[0])}", *right, *end]).rstrip())
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    floor = "" if row.floor is None else amount(row.floor, row.unit)
    limit = f"{row.target} ({amount(row.limit, row.unit)})" if row.limit else row.target
    count = f"{row.messages:,}" if row.messages else ""
    return (row.what, count, amount(row.cost, row.unit), floor, ratio, limit, row.verdict)


def amount(value: float, unit: str) -> str:
    """Write a value with three digits that say something, in the unit that suits it."""
    if unit == "us" and value >= 1_000_000:
        value, unit = value / 1_000_000, "s"
    elif unit == "us" and value >= 1_000:
        value, unit = value / 1_000, "ms"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit.replace('us', 'µs')}"
