"""The table of forms: what it must hold to be read by `overflow`."""

import pytest

from minutebook.providers import overflow_forms as forms
from minutebook.providers.overflow import any_of, number_pattern

TEXTS = [
    pattern
    for group in (
        forms.OVERFLOW_TEXTS,
        forms.OUTPUT_TEXTS,
        forms.BODY_TEXTS,
        forms.RATE_TEXTS,
        forms.ACCESS_TEXTS,
        forms.HISTORY_TEXTS,
        forms.TRANSIENT_TEXTS,
    )
    for pattern in group
]


def test_codes_are_in_lower_case_and_in_one_class_only() -> None:
    """They are compared so, and none means two things."""
    classes = [
        forms.OVERFLOW_CODES,
        forms.RATE_CODES,
        forms.ACCESS_CODES,
        forms.BODY_CODES,
        forms.TRANSIENT_CODES,
    ]
    codes = [code for group in classes for code in group]

    assert codes == [code.lower() for code in codes]
    assert len(set(codes)) == len(codes)


def test_numbers_have_a_group_for_each_name() -> None:
    """Alternatives have one group each, of which one matches."""
    for names, pattern in (*forms.NUMBERS, *forms.RATE_NUMBERS):
        assert number_pattern(pattern).groups >= len(names)
        assert set(names) <= {"input", "output", "total", "window", "excess", "limit"}


@pytest.mark.parametrize("pattern", TEXTS, ids=lambda pattern: pattern[:40])
def test_a_pattern_does_not_match_an_ordinary_sentence(pattern: str) -> None:
    """Nor nothing at all."""
    assert not any_of((pattern,)).search("")
    assert not any_of((pattern,)).search(
        "The function returned 42 instead of the name of the file."
    )
