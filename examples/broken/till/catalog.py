"""The articles that the shop sells."""

from collections.abc import Iterable
from typing import NamedTuple

from .records import split_fields

NUMBER_LENGTH = 4
"""How many digits an article's number has; some tills drop the leading zeros."""


class Article(NamedTuple):
    """One article."""

    number: str
    name: str
    group: str
    rate: int
    """The tax rate in percent."""


class UnknownArticle(KeyError):
    """A sale names an article that the catalog does not have."""

    def __init__(self, number: str) -> None:
        """Name the number as it stood in the sale."""
        super().__init__(number)
        self.number = number

    def __str__(self) -> str:
        """Say it in one line."""
        return f"no article {self.number}"


def read_catalog(lines: Iterable[str], found: dict[str, Article] = {}) -> dict[str, Article]:
    """Read the list of articles, its heading first; give them by number."""
    rows = iter(lines)
    next(rows, None)
    for line in rows:
        if line.strip():
            number, name, group, rate = split_fields(line.rstrip("\n"))
            found[number] = Article(number, name, group, int(rate))
    return found


def find_article(catalog: dict[str, Article], number: str) -> Article:
    """Find an article by its number, leading zeros or not.

    Raises:
        UnknownArticle: If there is none.
    """
    try:
        return catalog[number]
    except KeyError:
        raise UnknownArticle(number) from None
