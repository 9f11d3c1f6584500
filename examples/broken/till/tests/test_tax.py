import unittest

from ..tax import net_of, tax_in


class TaxIn(unittest.TestCase):
    def test_is_inside_of_the_price(self) -> None:
        self.assertEqual(tax_in(119_00, 19), 19_00)
        self.assertEqual(tax_in(107_00, 7), 7_00)

    def test_is_rounded_half_up(self) -> None:
        self.assertEqual(tax_in(2_90, 19), 46)
        self.assertEqual(tax_in(4_35, 7), 28)

    def test_of_a_refund_is_negative(self) -> None:
        self.assertEqual(tax_in(-119_00, 19), -19_00)

    def test_knows_the_rates(self) -> None:
        with self.assertRaises(ValueError):
            tax_in(100, 16)


class NetOf(unittest.TestCase):
    def test_net_and_tax_are_the_gross(self) -> None:
        self.assertEqual(net_of(119_00, 19), 100_00)
        self.assertEqual(net_of(4_35, 7) + tax_in(4_35, 7), 4_35)
