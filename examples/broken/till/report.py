"""Reports: what was sold in each period, and which articles sold best."""

from collections.abc import Callable, Iterable
from datetime import date
from itertools import groupby
from typing import NamedTuple

from .catalog import Article, find_article
from .discounts import deal_discount, receipt_discount, spread
from .money import format_amount
from .periods import business_day, days_between, week_of
from .records import Sale
from .tax import RATES, tax_in


class Line(NamedTuple):
    """One sale with all that is taken off it."""

    day: date
    article: Article
    quantity: int
    paid: int
    """What the customer paid, in cents."""


class Row(NamedTuple):
    """What was sold in one period."""

    period: str
    receipts: int
    gross: int
    tax: dict[int, int]
    """The tax in cents, by rate."""


def paid_lines(sales: Iterable[Sale], catalog: dict[str, Article]) -> list[Line]:
    """Take deals and receipt discounts off the sales, receipt by receipt."""
    lines = []
    for _, group in groupby(sales, key=lambda sale: sale.receipt):
        receipt = list(group)
        articles = [find_article(catalog, sale.article) for sale in receipt]
        amounts = [
            sale.gross - deal_discount(article.group, sale.quantity, sale.price)
            for sale, article in zip(receipt, articles, strict=True)
        ]
        off = spread(receipt_discount(sum(amounts)), amounts)
        for sale, article, amount, share in zip(receipt, articles, amounts, off, strict=True):
            lines.append(Line(business_day(sale.at), article, sale.quantity, amount - share))
    return lines


def by_day(sales: Iterable[Sale], catalog: dict[str, Article]) -> list[Row]:
    """Give a row for each business day, days without a sale between them too."""
    sold = list(sales)
    rows = _rows(sold, catalog, date.isoformat)
    there = {row.period: row for row in rows}
    days = sorted({business_day(sale.at) for sale in sold})
    if not days:
        return []
    return [
        there.get(day.isoformat()) or Row(day.isoformat(), 0, 0, dict.fromkeys(RATES, 0))
        for day in days_between(days[0], days[-1])
    ]


def by_week(sales: Iterable[Sale], catalog: dict[str, Article]) -> list[Row]:
    """Give a row for each week in which something was sold."""
    return _rows(list(sales), catalog, week_of)


def _rows(sales: list[Sale], catalog: dict[str, Article], name: Callable[[date], str]) -> list[Row]:
    """Add the sales up by the period that *name* gives their day."""
    lines = paid_lines(sales, catalog)
    rows = []
    for period, group in groupby(lines, key=lambda line: name(line.day)):
        inside = list(group)
        tax = dict.fromkeys(RATES, 0)
        for line in inside:
            tax[line.article.rate] += tax_in(line.paid, line.article.rate)
        receipts = len({sale.receipt for sale in sales if name(business_day(sale.at)) == period})
        rows.append(Row(period, receipts, sum(line.paid for line in inside), tax))
    return rows


def top_articles(
    sales: Iterable[Sale], catalog: dict[str, Article], count: int = 10
) -> list[tuple[str, int, int]]:
    """Give name, pieces and turnover of the best-selling articles: rule 9."""
    pieces: dict[str, int] = {}
    turnover: dict[str, int] = {}
    for line in paid_lines(sales, catalog):
        name = line.article.name
        pieces[name] = pieces.get(name, 0) + line.quantity
        turnover[name] = turnover.get(name, 0) + line.paid
    ranked = sorted(turnover, key=lambda name: (turnover[name], name), reverse=True)
    return [(name, pieces[name], turnover[name]) for name in ranked[:count]]


def report_table(rows: list[Row]) -> str:
    """Write rows as a table with a line for the sums at its end."""
    cells = [["period", "receipts", "gross", *(f"tax {rate}%" for rate in RATES)]]
    for row in rows:
        taxes = [format_amount(row.tax[rate]) for rate in RATES]
        cells.append([row.period, str(row.receipts), format_amount(row.gross), *taxes])
    sums = [format_amount(sum(row.tax[rate] for row in rows)) for rate in RATES]
    gross = format_amount(sum(row.gross for row in rows))
    cells.append(["sum", str(sum(row.receipts for row in rows)), gross, *sums])
    return table(cells)


def top_table(articles: list[tuple[str, int, int]]) -> str:
    """Write a list of articles as a table."""
    cells = [["article", "pieces", "turnover"]]
    cells += [[name, str(pieces), format_amount(amount)] for name, pieces, amount in articles]
    return table(cells)


def table(cells: list[list[str]]) -> str:
    """Set cells in columns: the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = []
    for row in cells:
        first = row[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines) + "\n"
