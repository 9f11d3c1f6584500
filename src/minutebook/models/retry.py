"""When to try again, and how long to wait before. No clock of its own: the caller gives the time.

Why no retry package: what is sent again is seldom the same request (a longer reply is
allowed, the part is made smaller, parts stop running side by side, the next model takes
over), so of what tenacity or stamina offer one formula would be used, and it would be a
dependency of the core, since any callable may write summaries and needs no extra.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from msgspec import Struct

RETRY_AFTER_SECONDS_ABSURD = 30 * 24 * 3600.0
"""A server that asks for more than a month means a date in the wrong unit."""

_TEXT = re.compile(
    r"(?:try again|retry(?:ing)?|wait)(?: in| after)? (?:(\d+)m)?(\d+(?:\.\d+)?) ?(ms|s\b|seconds)",
    re.IGNORECASE,
)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)s")


class Retries(Struct, frozen=True, kw_only=True):
    """How often and how patiently a summary is tried."""

    attempts_max: int = 3
    """How many calls one model gets for one request."""
    wait_seconds: float = 1.0
    """The wait before the second attempt; it doubles for each further one."""
    wait_seconds_max: float = 30.0
    retry_after_seconds_max: float = 60.0
    """A server that asks for a longer wait than this has lost its turn: the next model's."""
    call_seconds_max: float = 300.0
    """One call that takes longer is given up."""
    parallel_max: int = 4
    """How many parts are summarised side by side, until a rate limit says otherwise."""

    def backoff_seconds(self, failures: int, chance: float) -> float:
        """Give the wait after so many failures in a row, from 1; *chance* is from 0 to 1.

        Half of it is jitter, so that those who failed together don't come back together.
        """
        whole = self.wait_seconds * float(1 << min(failures - 1, 30))
        return min(whole, self.wait_seconds_max) * (0.5 + 0.5 * chance)


def retry_after_seconds(error: object, *, now: float) -> float | None:
    """Give how long the server of a failed call asks to wait; None if it doesn't say.

    Read from the headers of the error's response (`retry-after-ms`, `retry-after` as seconds
    or as a date, which *now*, in seconds since 1970, makes a wait), from Gemini's
    `retryDelay`, else from the error's words. Never raises, and never gives less than 0.
    """
    seconds = _from_headers(_headers(error), now)
    if seconds is None:
        text = _words(error)
        delay = _DURATION.fullmatch(_after(text, "retryDelay"))
        seconds = float(delay[1]) if delay else _from_words(text)
    if seconds is None or seconds > RETRY_AFTER_SECONDS_ABSURD:
        return None
    return max(0.0, seconds)


def _headers(error: object) -> Iterator[tuple[str, str]]:
    """Give the headers of an error's response, names in lower case."""
    response = _attribute(error, "response")
    if isinstance(response, Mapping):
        # boto3: {"ResponseMetadata": {"HTTPHeaders": {…}}}
        metadata = response.get("ResponseMetadata")
        headers = metadata.get("HTTPHeaders") if isinstance(metadata, Mapping) else None
    else:
        headers = _attribute(response, "headers") or _attribute(error, "headers")
    if isinstance(headers, Mapping):
        for name, value in headers.items():
            yield str(name).lower(), str(value)


def _from_headers(headers: Iterator[tuple[str, str]], now: float) -> float | None:
    found = dict(headers)
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return float(found[name]) * unit
        except (KeyError, ValueError):
            continue
    try:
        return parsedate_to_datetime(found["retry-after"]).timestamp() - now
    except (KeyError, ValueError, OverflowError):
        return None


def _from_words(text: str) -> float | None:
    found = _TEXT.search(text)
    if found is None:
        return None
    seconds = float(found[2]) * (0.001 if found[3].lower() == "ms" else 1.0)
    return seconds + 60 * int(found[1] or 0)


def _after(text: str, name: str) -> str:
    """Give the value behind a JSON name in a text, its quotes taken off."""
    _, _, rest = text.partition(name)
    return rest.lstrip("\"': ").partition('"')[0].partition("'")[0]


def _words(error: object) -> str:
    try:
        return f"{error} {_attribute(error, 'body') or ''}"[:8_000]
    except Exception:  # noqa: BLE001 - an odd object's text may raise anything
        return ""


def _attribute(item: object, name: str) -> Any:
    try:
        return getattr(item, name, None)
    except Exception:  # noqa: BLE001 - and so may its attributes
        return None
