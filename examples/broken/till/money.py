"""Amounts of money: whole cents, read, written and rounded."""


def parse_amount(text: str) -> int:
    """Read an amount such as `12.50`, `3` or `-0.05`; give cents.

    Raises:
        ValueError: If the text is no amount, or has more than two decimals.
    """
    return int(float(text) * 100)


def format_amount(cents: int) -> str:
    """Write cents as an amount with two decimals: `12.50`, `-0.05`."""
    return f"{cents // 100}.{cents % 100:02d}"


def round_half_up(numerator: int, denominator: int) -> int:
    """Divide and round to a whole number; a half goes away from zero."""
    return round(numerator / denominator)


def percent_of(amount: int, percent: int) -> int:
    """Give that many percent of an amount of cents, rounded half up."""
    return round_half_up(amount * percent, 100)
