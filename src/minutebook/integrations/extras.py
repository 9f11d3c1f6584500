"""What is said where a framework is not installed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from minutebook.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Turn a failed import into an error that says how to install the *extra*.

    Raises:
        ConfigError: If a package that is imported inside is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(
            extra,
            f"the package {error.name} is missing; install it with: "
            f"pip install 'minutebook[{extra}]'",
        ) from error
