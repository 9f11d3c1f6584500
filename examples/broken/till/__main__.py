"""The command line: `python -m till report|top|check EXPORT`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .catalog import find_article, read_catalog
from .records import ExportError, read_sales
from .report import by_day, by_week, report_table, top_articles, top_table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; give the exit code: 0, or 1 where something cannot be read."""
    options = parser().parse_args(arguments)
    catalog_path = options.articles or options.export.parent / "articles.csv"
    try:
        with catalog_path.open(encoding="utf-8") as lines:
            catalog = read_catalog(lines)
        with options.export.open(encoding="utf-8") as lines:
            sales = read_sales(lines)
        if options.command == "report":
            rows = by_week(sales, catalog) if options.by == "week" else by_day(sales, catalog)
            print(report_table(rows), end="")
        elif options.command == "top":
            print(top_table(top_articles(sales, catalog, options.count)), end="")
        else:
            for sale in sales:
                find_article(catalog, sale.article)
            print(
                f"{len(sales)} sales on {len({sale.receipt for sale in sales})} receipts, all good"
            )
    except (OSError, ExportError) as error:
        print(f"till: {error}", file=sys.stderr)
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    """Say what the command line takes."""
    found = argparse.ArgumentParser(prog="till", description=__doc__)
    commands = found.add_subparsers(dest="command", required=True)
    for name in ("report", "top", "check"):
        command = commands.add_parser(name)
        command.add_argument("export", type=Path)
        command.add_argument("--articles", type=Path, help="default: articles.csv beside it")
        if name == "report":
            command.add_argument("--by", choices=("day", "week"), default="day")
        if name == "top":
            command.add_argument("--count", type=int, default=10)
    return found


if __name__ == "__main__":
    sys.exit(main())
