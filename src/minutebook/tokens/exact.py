"""Exact counts, offline, for models whose vocabulary is public.

The extra `minutebook[tokens]` brings the package that holds the vocabularies; it is imported
when the first count is asked for, and never before. Nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Protocol

from msgspec import structs

from minutebook.errors import ConfigError
from minutebook.messages import Message
from minutebook.tokens.calibration import Size
from minutebook.tokens.estimate import measure_message
from minutebook.tokens.families import family_of

PACKAGE = "quicktok"
"""Where the vocabularies are."""

MESSAGE_SPREAD_TOKENS = 3
"""How far the exact count of a message may be from the provider's: what the wire adds.

Measured on recorded sessions of GPT-5.4: nine of ten messages by 2 to 3 tokens at most, what is
new in a request by 1.1 % at the median (estimated: 5 to 6 %).
"""


class Counter(Protocol):
    """Counts tokens as one model's provider does."""

    def count(self, text: str) -> int:
        """Give the tokens of *text*; never raise, whatever it holds."""
        ...


class Vocabulary:
    """One public vocabulary. Make it with `counter_of`."""

    def __init__(self, name: str, count: Callable[[str], int]) -> None:
        """Take a function that counts any text that can be written as UTF-8."""
        self.name = name
        self._count = count

    def count(self, text: str) -> int:
        """Give the tokens of *text*, special tokens' names taken as the text that they are.

        A lone surrogate counts as the sign U+FFFD that a provider gets in its place. A
        megabyte takes some 10 to 30 milliseconds, one of a single sign up to a second.
        """
        try:
            return self._count(text)
        except (TypeError, UnicodeError):
            data = text.encode("utf-16-le", "surrogatepass")
            return self._count(data.decode("utf-16-le", "replace"))


def counter_of(model: str | None) -> Counter | None:
    """Give the counter of *model*; None if its vocabulary is not public.

    Raises:
        ConfigError: If the extra is not installed.
    """
    encoding = family_of(model).encoding
    return None if encoding is None else counter(encoding)


@lru_cache(maxsize=8)
def counter(encoding: str) -> Counter:
    """Give the counter of a vocabulary by its public name. The first call loads it.

    Raises:
        ConfigError: If the extra is not installed, or has no vocabulary of that name.
    """
    try:
        package = import_module(PACKAGE)
    except ImportError:
        raise ConfigError(
            "tokens", "exact counts need the extra: pip install 'minutebook[tokens]'"
        ) from None
    try:
        count: Callable[[str], int] = package.get_encoding(encoding).count
    except (KeyError, ValueError, OSError, RuntimeError) as error:
        raise ConfigError("tokens", f"there is no vocabulary {encoding!r}: {error}") from error
    return Vocabulary(encoding, count)


def exact_message(counter: Counter, message: Message) -> int:
    """Give the tokens of *message* with its texts counted exactly.

    What isn't text keeps its rule: media, what the wire adds, thinking in cipher text.
    """
    return measure_message(message, counter.count)


def exact_size(counter: Counter, size: Size, history: Sequence[Message]) -> Size:
    """Give *size* with the messages that are new in it counted exactly.

    For where `Size.straddles` says that the estimate can't tell. Costs what is new: some 20
    milliseconds a megabyte. A size that no provider's count is in stays as it is: what else
    the request holds isn't known any better.
    """
    if not size.counted or size.source == "counted":
        return size
    new = history[size.start :]
    tokens = size.counted + sum(exact_message(counter, message) for message in new)
    spread = min(size.spread, MESSAGE_SPREAD_TOKENS * len(new))
    return structs.replace(size, tokens=tokens, spread=spread, source="counted")
