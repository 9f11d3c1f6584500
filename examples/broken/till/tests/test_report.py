import unittest

from ..catalog import read_catalog
from ..records import Sale, read_sales
from ..report import by_day, by_week, report_table, table, top_articles

CATALOG = read_catalog(
    [
        "number,name,group,rate\n",
        "0001,Loaf,bread,7\n",
        "0002,Roll,deal,7\n",
        "0042,Coffee,drink,19\n",
        "0043,Ale,drink,19\n",
    ]
)


def sold(*lines: str) -> list[Sale]:
    return read_sales(lines)


class ByDay(unittest.TestCase):
    def test_adds_up_what_was_paid(self) -> None:
        rows = by_day(
            sold("2026-03-02T07:02,R-1,0001,2,4.35", "2026-03-02T07:02,R-1,0002,6,0.85"), CATALOG
        )
        self.assertEqual(
            [(row.period, row.receipts, row.gross) for row in rows], [("2026-03-02", 1, 1210)]
        )

    def test_a_day_without_sales_has_its_row(self) -> None:
        rows = by_day(
            sold("2026-03-02T07:02,R-1,0001,1,4.35", "2026-03-04T07:02,R-2,0001,1,4.35"), CATALOG
        )
        self.assertEqual([row.gross for row in rows], [435, 0, 435])

    def test_the_order_of_the_export_does_not_matter(self) -> None:
        lines = [
            "2026-03-02T07:02,R-1,0001,9,4.35",
            "2026-03-03T07:02,R-2,0042,1,2.90",
            "2026-03-02T07:02,R-1,0042,9,2.90",
            "2026-03-02T08:00,R-3,0043,2,2.10",
        ]
        self.assertEqual(by_day(sold(*lines), CATALOG), by_day(sold(*reversed(lines)), CATALOG))
        self.assertEqual([row.receipts for row in by_day(sold(*lines), CATALOG)], [2, 1])

    def test_tax_is_rounded_once_a_day(self) -> None:
        lines = [f"2026-03-02T07:0{minute},R-{minute},0042,1,2.90" for minute in range(5)]
        lines += [f"2026-03-02T08:0{minute},R-1{minute},0001,1,4.35" for minute in range(3)]
        (row,) = by_day(sold(*lines), CATALOG)
        self.assertEqual(row.tax, {7: 85, 19: 232})

    def test_nothing_sold(self) -> None:
        self.assertEqual(by_day([], CATALOG), [])


class ByWeek(unittest.TestCase):
    def test_a_week_begins_on_monday(self) -> None:
        rows = by_week(
            sold("2026-03-08T12:00,R-1,0001,1,4.35", "2026-03-09T12:00,R-2,0001,1,4.35"), CATALOG
        )
        self.assertEqual([row.period for row in rows], ["2026-W10", "2026-W11"])

    def test_the_night_to_monday_belongs_to_sunday(self) -> None:
        rows = by_week(sold("2026-03-09T01:00,R-1,0043,1,2.10"), CATALOG)
        self.assertEqual([row.period for row in rows], ["2026-W10"])


class TopArticles(unittest.TestCase):
    def test_goes_by_turnover_then_by_name(self) -> None:
        sales = sold(
            "2026-03-02T07:00,R-1,0042,1,4.20",
            "2026-03-02T07:01,R-2,0043,2,2.10",
            "2026-03-02T07:02,R-3,0001,1,4.35",
        )
        self.assertEqual(
            top_articles(sales, CATALOG),
            [("Loaf", 1, 435), ("Ale", 2, 420), ("Coffee", 1, 420)],
        )

    def test_gives_as_many_as_asked(self) -> None:
        sales = sold("2026-03-02T07:00,R-1,0042,1,4.20", "2026-03-02T07:01,R-2,0001,2,2.10")
        self.assertEqual(len(top_articles(sales, CATALOG, 1)), 1)


class Tables(unittest.TestCase):
    def test_columns_stand_below_each_other(self) -> None:
        text = table([["a", "n"], ["bcd", "10"]])
        self.assertEqual(text, "a     n\nbcd  10\n")

    def test_the_last_line_has_the_sums(self) -> None:
        rows = by_day(sold("2026-03-02T07:02,R-1,0001,1,4.35"), CATALOG)
        self.assertEqual(
            report_table(rows).splitlines()[-1].split(), ["sum", "1", "4.35", "0.28", "0.00"]
        )
