"""Strict JSON: what can be the body of a request."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.providers.strict_json import problem_of


@given(
    st.lists(st.one_of(st.text(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
)
def test_plain_values_have_no_problem(value: list[object]) -> None:
    """Any text without half pairs, any finite number."""
    assert problem_of({"a": value}) is None


@pytest.mark.parametrize("value", [math.nan, math.inf, "\ud83d", {"\udc88": 1}, object(), b"x"])
def test_what_json_cannot_hold_is_named(value: object) -> None:
    """The answer says which kind of error it is."""
    assert "Error: " in (problem_of([value]) or "")


def test_endless_nesting_is_a_problem_and_no_crash() -> None:
    """The writer gives up long before the machine does."""
    value: list[object] = []
    for _ in range(10_000):
        value = [value]

    assert "RecursionError" in (problem_of(value) or "")
