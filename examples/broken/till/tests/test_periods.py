import unittest
from datetime import date, datetime

from ..periods import business_day, days_between, week_of


class BusinessDay(unittest.TestCase):
    def test_the_night_belongs_to_the_day_before(self) -> None:
        self.assertEqual(business_day(datetime(2026, 3, 4, 0, 40)), date(2026, 3, 3))
        self.assertEqual(business_day(datetime(2026, 3, 4, 2, 59)), date(2026, 3, 3))

    def test_three_in_the_morning_is_a_new_day(self) -> None:
        self.assertEqual(business_day(datetime(2026, 3, 4, 3, 0)), date(2026, 3, 4))

    def test_the_first_night_of_a_year(self) -> None:
        self.assertEqual(business_day(datetime(2027, 1, 1, 1, 0)), date(2026, 12, 31))


class WeekOf(unittest.TestCase):
    def test_in_the_middle_of_a_year(self) -> None:
        self.assertEqual(week_of(date(2026, 3, 2)), "2026-W10")

    def test_at_the_turn_of_the_year(self) -> None:
        self.assertEqual(week_of(date(2027, 1, 1)), "2026-W53")
        self.assertEqual(week_of(date(2025, 12, 29)), "2026-W01")


class DaysBetween(unittest.TestCase):
    def test_has_both_ends(self) -> None:
        days = list(days_between(date(2026, 2, 27), date(2026, 3, 2)))
        self.assertEqual([day.day for day in days], [27, 28, 1, 2])

    def test_of_one_day_is_that_day(self) -> None:
        day = date(2026, 3, 2)
        self.assertEqual(list(days_between(day, day)), [day])

    def test_backwards_is_nothing(self) -> None:
        self.assertEqual(list(days_between(date(2026, 3, 2), date(2026, 3, 1))), [])
