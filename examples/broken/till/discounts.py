"""What the customer does not pay: rules 5, 6 and 7."""

from .money import percent_of

DEAL_GROUP = "deal"
DEAL_PIECES = 3
"""Of so many pieces one is free."""
RECEIPT_FROM = 50_00
"""From so many cents on a receipt gets its discount."""
RECEIPT_PERCENT = 5


def deal_discount(group: str, quantity: int, price: int) -> int:
    """Give what three for two takes off a line, in cents."""
    if group != DEAL_GROUP:
        return 0
    return quantity // DEAL_PIECES * price


def receipt_discount(total: int) -> int:
    """Give what is taken off a receipt of *total* cents, which has its deals taken off."""
    if total > RECEIPT_FROM:
        return percent_of(total, RECEIPT_PERCENT)
    return 0


def spread(discount: int, parts: list[int]) -> list[int]:
    """Share a discount out over the parts of a receipt, by their size.

    The shares are whole cents and their sum is the discount: what rounding leaves over goes
    to the largest part, the first of them if several are as large.
    """
    total = sum(parts)
    if not total:
        return [0 for _ in parts]
    return [discount * part // total for part in parts]
