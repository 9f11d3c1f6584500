"""The till's export: one sale a line, read into values."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from .money import parse_amount


class Sale(NamedTuple):
    """One line of a receipt."""

    at: datetime
    receipt: str
    article: str
    quantity: int
    price: int
    """Of one piece, in cents, tax included."""

    @property
    def gross(self) -> int:
        """What the line comes to before any discount, in cents."""
        return self.quantity * self.price


class ExportError(ValueError):
    """A line that cannot be read."""

    def __init__(self, line: int, what: str) -> None:
        """Name the line, counted from 1, and say what is wrong with it."""
        super().__init__(f"line {line}: {what}")
        self.line = line


def split_fields(line: str) -> list[str]:
    """Cut a line into its fields; quotes may hold commas, and doubled quotes."""
    return [field.strip('"') for field in line.split(",")]


def parse_sale(line: str) -> Sale:
    """Read one line of the export.

    Raises:
        ValueError: If it has too few or too many fields, or one that cannot be read.
    """
    at, receipt, article, quantity, price = split_fields(line)
    return Sale(
        at=datetime.fromisoformat(at),
        receipt=receipt,
        article=article,
        quantity=int(quantity),
        price=parse_amount(price),
    )


def read_sales(lines: Iterable[str]) -> list[Sale]:
    """Read a whole export; comments and empty lines count for nothing.

    Raises:
        ExportError: At the first line that cannot be read.
    """
    sales = []
    number = 0
    for line in lines:
        if line.startswith("#"):
            continue
        number += 1
        try:
            sales.append(parse_sale(line.rstrip("\n")))
        except ValueError as error:
            raise ExportError(number, str(error)) from error
    return sales
