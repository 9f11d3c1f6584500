"""Days and weeks: which one a sale belongs to."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

DAY_BEGINS = time(3)


def business_day(at: datetime) -> date:
    """Give the business day of a moment: rule 3."""
    if at.time() <= DAY_BEGINS:
        return at.date() - timedelta(days=1)
    return at.date()


def week_of(day: date) -> str:
    """Name the ISO week of a day, as `2026-W09`: rule 4."""
    return f"{day.year}-W{day.isocalendar().week:02d}"


def days_between(first: date, last: date) -> Iterator[date]:
    """Give every day from the first to the last, both included."""
    day = first
    while day < last:
        yield day
        day += timedelta(days=1)
