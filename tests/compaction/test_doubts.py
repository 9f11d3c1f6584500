"""Faults in a summary are doubted, a true one is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.doubts import Checker, check_summary, names_of, numbers_in
from tests.compaction.conversations import SHARED
from tests.compaction.summaries import COVERED, TRUE

CHECKER = Checker(COVERED)


def doubts(old: str, new: str) -> list[tuple[str, str]]:
    """Give the doubts about the true summary with one thing changed."""
    assert old in TRUE
    found = CHECKER.check(TRUE.replace(old, new, 1)).doubts
    return [(doubt.kind, doubt.what) for doubt in found]


def test_a_true_summary_has_no_doubts() -> None:
    """Paths by their ends, approximations, lists: all is borne out."""
    checked = check_summary(TRUE, COVERED)

    assert checked.doubts == ()
    assert checked.lines == 9
    assert checked.score == 1.0


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("keep_row", "keep_raw", "name"),
        ("src/rows/parser.py", "src/rows/parse.py", "name"),
        ("src/rows/parser.py", "/home/else/app/main.go", "name"),
        ("ValueError", "ValueEror", "name"),
        ("512", "521", "number"),
        ("43", "34", "number"),
        ("8080", "8090", "number"),
        ("30s", "20s", "number"),
        ("885", "855", "number"),
        ("All tests pass", "All tests fail", "outcome"),
        ("still fails", "now works", "outcome"),
        ("[x]", "[ ]", "outcome"),
    ],
)
def test_a_changed_name_number_or_outcome_is_doubted(old: str, new: str, kind: str) -> None:
    """By a doubt of its kind; what no longer counts as borne out may bring another."""
    found = [found for found, _ in doubts(old, new)]

    assert kind in found
    assert len(found) <= 2


def test_a_doubt_says_where_it_is() -> None:
    """The words as they stand, and the line from 1."""
    (doubt,) = check_summary(TRUE.replace("8080", "8090"), COVERED).doubts

    assert (doubt.what, doubt.line) == ("8090", 8)


def test_the_score_falls_twice_as_fast_as_lines_are_doubted() -> None:
    """And not below 0; of nothing it is 0."""
    one = check_summary(TRUE.replace("8080", "8090"), COVERED)
    all_wrong = check_summary("- `other_name` is 77\n- `wrong_name`", COVERED)

    assert one.doubtful_lines == 1
    assert one.score == 1 - 2 / 9
    assert all_wrong.score == 0.0
    assert check_summary("", COVERED).score == 0.0


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("see `Endedt`, and/or the re-run of step-by-step work", ["step-by-step", "Endedt"]),
        ("src/main.t and main-ne.wts", ["src/main.t", "main-ne.wts"]),
        ("e.g. the 2nd, 12ms, ENT-109 and uENT-109", ["uENT-109"]),
        ("a cut/pa… is none", []),
        ("fooBar x1 A", ["fooBar"]),
    ],
)
def test_what_is_written_as_a_name_is_one(line: str, names: list[str]) -> None:
    """Also where it is misspelled; prose with signs in it is none."""
    assert names_of(line) == names


def test_numbers_stand_for_themselves() -> None:
    """Not inside a name, not after a tilde, times whole, records left out by the caller."""
    line = "12 rows, 3.5%, 30s at 18:08:20, ~1100, v2.1, a1b2, app.py:12, 1,024 and 7"

    assert numbers_in(line) == ["12", "3.5%", "30s", "18:08:20", "1,024", "7"]


def test_record_numbers_and_list_numbers_are_no_claims() -> None:
    """In all languages of ours."""
    text = "12. It keeps the rows (record 99), (records 7 to 99), (记录 88), (#77)"

    assert check_summary(text, COVERED).doubts == ()


@given(st.text(max_size=300))
def test_any_text_can_be_checked(text: str) -> None:
    """Whatever a model writes."""
    assert 0.0 <= CHECKER.check(text).score <= 1.0


@pytest.mark.skipif(not (SHARED / "samples").exists(), reason="no recorded sessions beside it")
def test_faults_in_summaries_by_models_are_caught() -> None:
    """A slice of the campaign that `python -m benchmarks.faults` runs whole."""
    from benchmarks.faults import plant, truths

    samples = SHARED / "samples"
    found = truths([samples / "opencode", samples / "pi"])
    results = plant(found, 100, seed=5)

    assert {one.kind for one in found} == {"model", "digest"}
    for kind, least in (("name", 0.95), ("number", 0.9), ("path", 0.9), ("outcome", 0.6)):
        own = [result.caught for result in results if result.kind == kind]
        assert sum(own) >= least * len(own), kind
    for one in found:
        assert len(one.doubted_untouched) <= 0.05 * len(one.lines)
