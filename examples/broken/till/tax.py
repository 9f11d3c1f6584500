"""The tax that is in a price."""

from .money import round_half_up

RATES = (7, 19)


def tax_in(gross: int, rate: int) -> int:
    """Give the tax that a gross amount holds, in cents: rule 8.

    Raises:
        ValueError: If there is no such rate.
    """
    if rate not in RATES:
        raise ValueError(f"no tax rate of {rate} %")
    return round_half_up(gross * rate, 100)


def net_of(gross: int, rate: int) -> int:
    """Give what is left of a gross amount without its tax, in cents."""
    return gross - tax_in(gross, rate)
