import unittest

from ..discounts import deal_discount, receipt_discount, spread


class DealDiscount(unittest.TestCase):
    def test_every_third_piece_is_free(self) -> None:
        offs = [deal_discount("deal", quantity, 85) for quantity in (1, 2, 3, 5, 6)]
        self.assertEqual(offs, [0, 0, 85, 85, 170])

    def test_only_in_the_deal_group(self) -> None:
        self.assertEqual(deal_discount("bread", 6, 435), 0)

    def test_a_refund_gets_none(self) -> None:
        self.assertEqual(deal_discount("deal", -1, 195), 0)
        self.assertEqual(deal_discount("deal", -4, 195), 0)


class ReceiptDiscount(unittest.TestCase):
    def test_from_fifty_euros_on(self) -> None:
        self.assertEqual(receipt_discount(49_99), 0)
        self.assertEqual(receipt_discount(50_00), 2_50)
        self.assertEqual(receipt_discount(87_00), 4_35)

    def test_is_rounded_half_up(self) -> None:
        self.assertEqual(receipt_discount(50_10), 2_51)

    def test_a_refund_gets_none(self) -> None:
        self.assertEqual(receipt_discount(-60_00), 0)


class Spread(unittest.TestCase):
    def test_shares_by_size(self) -> None:
        self.assertEqual(spread(300, [1000, 2000]), [100, 200])

    def test_the_shares_add_up(self) -> None:
        for parts in ([3333, 3333, 3334], [1, 1, 1], [9999, 1], [5010]):
            with self.subTest(parts=parts):
                self.assertEqual(sum(spread(251, parts)), 251)

    def test_the_rest_goes_to_the_largest(self) -> None:
        self.assertEqual(spread(100, [3000, 4000, 3000]), [30, 40, 30])
        self.assertEqual(spread(101, [3000, 4000, 3000]), [30, 41, 30])

    def test_nothing_to_share(self) -> None:
        self.assertEqual(spread(0, [100, 200]), [0, 0])
        self.assertEqual(spread(0, []), [])
