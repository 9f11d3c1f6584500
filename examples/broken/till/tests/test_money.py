import unittest

from ..money import format_amount, parse_amount, percent_of, round_half_up


def written(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


class ParseAmount(unittest.TestCase):
    def test_reads_euros_and_cents(self) -> None:
        self.assertEqual(parse_amount("12.50"), 1250)
        self.assertEqual(parse_amount("3"), 300)
        self.assertEqual(parse_amount("0.5"), 50)

    def test_loses_no_cent(self) -> None:
        wrong = [cents for cents in range(10_000) if parse_amount(written(cents)) != cents]
        self.assertEqual(wrong[:5], [])

    def test_reads_what_is_owed(self) -> None:
        self.assertEqual(parse_amount("-0.05"), -5)
        self.assertEqual(parse_amount("-12.34"), -1234)

    def test_refuses_what_is_no_amount(self) -> None:
        for text in ("", "abc", "1.234", "nan", "1e3", "1,50"):
            with self.subTest(text=text), self.assertRaises(ValueError):
                parse_amount(text)


class FormatAmount(unittest.TestCase):
    def test_writes_two_decimals(self) -> None:
        self.assertEqual(format_amount(1250), "12.50")
        self.assertEqual(format_amount(7), "0.07")

    def test_writes_the_sign_once(self) -> None:
        self.assertEqual(format_amount(-5), "-0.05")
        self.assertEqual(format_amount(-1234), "-12.34")


class Rounding(unittest.TestCase):
    def test_a_half_goes_away_from_zero(self) -> None:
        self.assertEqual(round_half_up(5, 2), 3)
        self.assertEqual(round_half_up(7, 2), 4)
        self.assertEqual(round_half_up(-5, 2), -3)

    def test_large_numbers_stay_exact(self) -> None:
        self.assertEqual(round_half_up(10**17 + 1, 1), 10**17 + 1)

    def test_percent_of(self) -> None:
        self.assertEqual(percent_of(5010, 5), 251)
        self.assertEqual(percent_of(-5010, 5), -251)
