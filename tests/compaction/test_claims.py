"""What a line claims is compared with the statements that are nearest to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.claims import Claims, form_of, outcome_words, terms_of
from minutebook.compaction.source import Source
from minutebook.messages import assistant, user
from tests.compaction.summaries import COVERED


def claims(*texts: str) -> Claims:
    """Give the claims of a source that says these things."""
    return Claims(Source([user(text) for text in texts] if texts else COVERED))


@pytest.mark.parametrize(
    ("number", "line", "born"),
    [
        ("512", "It must keep exactly 512 rows", True),
        ("521", "It must keep exactly 521 rows", False),
        ("885", "`src/rows/parser.py` has 885 lines", True),
        ("858", "`src/rows/parser.py` has 858 lines", False),
        ("43", "43 passed in the end", True),
        ("44", "44 passed in the end", False),
        ("30s", "a timeout of 30s", True),
        ("30m", "a timeout of 30m", False),
        ("8080", "the upload to port 8080", True),
        ("8081", "the upload to port 8081", False),
        ("3", "these three: `a`, `b`, `c` make 3", True),
        ("4", "these: `a`, `b`, `c` make 4", False),
    ],
)
def test_a_number_has_to_stand_beside_what_it_is_said_of(
    number: str,
    line: str,
    born: bool,
) -> None:
    """With a name, with words of the line, or with its unit; a count may be counted."""
    assert claims().bears_number(number, line) is born


def test_the_number_of_a_line_is_a_place_and_no_count() -> None:
    """`app.py:12`, `app.py(12,3)`, and the numbers before the lines of a file."""
    found = claims("src/app.py:12: error", "src/app.py(13,3)", "14: src/app.py", "15→src/app.py")

    for number in ("12", "13", "14", "15"):
        assert not found.bears_number(number, f"`src/app.py` has {number} rules")


def test_a_time_stands_or_it_does_not() -> None:
    """Its digits say nothing one by one."""
    found = claims("it began at 18:08:20 sharp")

    assert found.bears_number("18:08:20", "18:08:20 - it began")
    assert not found.bears_number("18:09:20", "18:09:20 - it began")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("All tests pass now in tests/test_rows.py", []),
        ("All tests fail now in tests/test_rows.py", ["fail"]),
        ("The upload to port 8080 still fails with a timeout", []),
        ("The upload to port 8080 works with a timeout", ["works"]),
        ("- R2 table of rows checked ✅", []),
        ("- R2 table of rows checked ❌", ["❌"]),
        ("Some other thing failed", []),
        ("Nothing is said of how it went with the upload", []),
        ("The upload to port 8080 failed first and then passed", []),
    ],
)
def test_a_claim_is_contradicted_by_what_is_nearest(line: str, words: list[str]) -> None:
    """Not by what is far, and a line that tells of both is a story."""
    assert list(claims().contradicted(line)) == words


def test_of_equally_near_statements_the_last_one_holds() -> None:
    """What failed at first may work in the end."""
    found = claims("the parser build failed", "x", "the parser build passed")

    assert list(found.contradicted("the parser build passed")) == []
    assert list(found.contradicted("the parser build failed")) == ["failed"]


def test_what_is_said_nearly_so_is_said_otherwise() -> None:
    """The same words but for a number or an outcome, quoted or not."""
    found = claims("after step 4 the shadow branch is gone")

    assert not found.says_otherwise("after step 4 the shadow branch is gone")
    assert found.says_otherwise("after step 5 the shadow branch is gone")
    assert found.says_otherwise('The user said "after step 5 the shadow branch is gone" then')
    assert not found.says_otherwise("step 5 is gone")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("it passed", [("passed", True)]),
        ("it did not pass", [("pass", False)]),
        ("no errors", [("no errors", True), ("errors", True)]),
        ("it is not broken", [("broken", True)]),
        ("没有通过", [("通过", False)]),
        ("hello", []),
    ],
)
def test_outcome_words_are_read_with_their_negation(
    text: str, found: list[tuple[str, bool]]
) -> None:
    """Good, bad, and turned around."""
    assert outcome_words(text) == found


def test_terms_leave_outcomes_out() -> None:
    """Names, numbered things, stems, and pairs of wide characters."""
    assert terms_of("WP4: parse_line passed 测试通过") == {
        "parse_line",
        "WP4",
        "parse",
        "line",
        "测试",
    }
    assert form_of("Row 12 passed, 3 rows failed") == "row # § # rows §"


@given(st.text(max_size=80), st.text(max_size=80))
def test_anything_can_be_claimed(text: str, line: str) -> None:
    """Whatever the characters are."""
    found = Claims(Source([assistant(text)]))

    assert list(found.contradicted(line)) is not None
    assert found.says_otherwise(line) in {True, False}
    assert found.bears_number("12", line) in {True, False}
