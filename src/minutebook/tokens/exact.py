"""Exact counts, offline, for models whose vocabulary is public.

The extra `minutebook[tokens]` brings the package that holds the vocabularies; it is imported
when the first count is asked for, and never before. Nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Protocol

from minutebook.errors import ConfigError
from minutebook.messages import Message
from minutebook.tokens.estimate import measure_message
from minutebook.tokens.families import family_of

PACKAGE = "quicktok"
"""Where the vocabularies are."""


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
        megabyte takes some 10 to 30 milliseconds.
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
