"""Waits between attempts: backoff with jitter, and what a server asks for."""

from email.utils import formatdate
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.models.retry import Retries, retry_after_seconds

NOW = 1_700_000_000.0


class Failed(Exception):
    """An error with a response, as the SDKs have it."""

    def __init__(self, headers: object = None, text: str = "", body: object = None) -> None:
        self.response = SimpleNamespace(headers=headers)
        self.body = body
        super().__init__(text)


@given(st.integers(1, 200), st.floats(0, 1))
def test_a_wait_doubles_up_to_its_most_and_half_of_it_is_chance(
    failures: int, chance: float
) -> None:
    """Never more than the most, never less than half of what is due."""
    retries = Retries(wait_seconds=2.0, wait_seconds_max=30.0)
    whole = min(2.0 * 2 ** min(failures - 1, 10), 30.0)

    assert whole / 2 <= retries.backoff_seconds(failures, chance) <= whole


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": formatdate(NOW + 90, usegmt=True)}, 90.0),
        ({"retry-after": formatdate(NOW - 90, usegmt=True)}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1e12"}, None),
        ({"other": "7"}, None),
        (None, None),
    ],
)
def test_headers_say_how_long_to_wait(headers: object, seconds: float | None) -> None:
    """In seconds, in milliseconds, or as a date; what makes no sense is not heeded."""
    assert retry_after_seconds(Failed(headers), now=NOW) == seconds


@pytest.mark.parametrize(
    ("text", "body", "seconds"),
    [
        ("Rate limit reached. Please try again in 1.2s.", None, 1.2),
        ("Please try again in 20ms.", None, 0.02),
        ("Please try again in 6m30s.", None, 390.0),
        ("Please retry after 12 seconds.", None, 12.0),
        ("429", {"details": [{"retryDelay": "37s"}]}, 37.0),
        ("429", '{"retryDelay": "3.5s"}', 3.5),
        ("try harder", None, None),
        ("", None, None),
    ],
)
def test_without_headers_the_words_say_it(text: str, body: object, seconds: float | None) -> None:
    """OpenAI's sentence, Gemini's `retryDelay`."""
    assert retry_after_seconds(Failed(None, text, body), now=NOW) == seconds


def test_boto3_and_plain_errors_are_read() -> None:
    """Headers inside a mapping, headers on the error itself, and no response at all."""
    boto = SimpleNamespace(
        response={"ResponseMetadata": {"HTTPHeaders": {"retry-after": "4"}}}, body=None
    )

    assert retry_after_seconds(boto, now=NOW) == 4.0
    assert retry_after_seconds(SimpleNamespace(response={}), now=NOW) is None
    assert retry_after_seconds(SimpleNamespace(headers={"retry-after": "5"}), now=NOW) == 5.0
    assert retry_after_seconds(ValueError("x"), now=NOW) is None


class Odd:
    """An object whose attributes and text raise."""

    def __getattribute__(self, name: str) -> object:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError("text")


def test_odd_errors_ask_for_nothing() -> None:
    """Never raises."""
    assert retry_after_seconds(Odd(), now=NOW) is None
    assert retry_after_seconds(None, now=NOW) is None
