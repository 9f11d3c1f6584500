import unittest
from datetime import datetime

from ..records import ExportError, Sale, parse_sale, read_sales, split_fields

GOOD = "2026-03-02T09:14,R-1005,0044,2,3.80"


class SplitFields(unittest.TestCase):
    def test_cuts_at_commas(self) -> None:
        self.assertEqual(split_fields("a,b,,c"), ["a", "b", "", "c"])

    def test_quotes_hold_commas(self) -> None:
        self.assertEqual(split_fields('7,"Cake, apple",x'), ["7", "Cake, apple", "x"])

    def test_doubled_quotes_are_one(self) -> None:
        self.assertEqual(split_fields('8,"Cake, 9"" cheese"'), ["8", 'Cake, 9" cheese'])

    def test_an_open_quote_is_an_error(self) -> None:
        with self.assertRaises(ValueError):
            split_fields('7,"Cake')


class ParseSale(unittest.TestCase):
    def test_reads_every_field(self) -> None:
        expected = Sale(datetime(2026, 3, 2, 9, 14), "R-1005", "0044", 2, 380)
        self.assertEqual(parse_sale(GOOD), expected)

    def test_gross_is_quantity_times_price(self) -> None:
        self.assertEqual(parse_sale(GOOD).gross, 760)

    def test_a_refund_is_negative(self) -> None:
        self.assertEqual(parse_sale("2026-03-03T10:01,R-1009,0007,-1,12.50").gross, -1250)

    def test_says_how_many_fields_there_should_be(self) -> None:
        with self.assertRaisesRegex(ValueError, "4 fields, not 5"):
            parse_sale("2026-03-02T09:14,R-1005,0044,2")


class ReadSales(unittest.TestCase):
    def test_skips_comments_and_empty_lines(self) -> None:
        self.assertEqual(len(read_sales(["# till 2\n", GOOD + "\n", "\n", "  \n", GOOD])), 2)

    def test_takes_the_line_ends_of_other_systems(self) -> None:
        self.assertEqual(read_sales([GOOD + "\r\n", "\r\n"]), read_sales([GOOD]))

    def test_names_the_line_as_an_editor_counts(self) -> None:
        with self.assertRaises(ExportError) as caught:
            read_sales(["# till 2\n", GOOD + "\n", "\n", "nonsense\n"])
        self.assertEqual(caught.exception.line, 4)
