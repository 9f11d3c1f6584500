"""A page takes lines while there is room, and stands in order at the end."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.digest.page import Line, Page
from minutebook.compaction.phrases import ENGLISH, SECTIONS
from minutebook.tokens.estimate import estimate_text

LINES = st.builds(
    Line,
    text=st.text(min_size=1, max_size=60),
    record=st.integers(1, 99),
    worth=st.floats(0, 9),
    order=st.integers(0, 9),
)


@given(st.lists(st.tuples(st.sampled_from(SECTIONS), LINES), max_size=30), st.integers(0, 400))
def test_a_page_is_within_its_budget(lines: list[tuple[str, Line]], budget: int) -> None:
    """Whatever is offered, unless not even the lead fits."""
    page = Page("lead", ENGLISH, budget)

    for section, line in lines:
        page.add(section, line)

    assert estimate_text(page.finish()) <= max(budget, estimate_text("lead"))


def test_sections_and_records_stand_in_order() -> None:
    """However they came; further lines of an entry are indented."""
    page = Page("lead", ENGLISH, 999)
    page.add("open", Line("third", 5, 1.0))
    page.add("task", Line("first\nand more", 1, 1.0))
    page.add("open", Line("second", 3, 9.0))

    assert page.finish() == (
        "lead\n\n## Task\n- first\n  and more\n\n## Still open\n- second\n- third"
    )


def test_the_most_worthy_lines_fill_a_quota() -> None:
    """What doesn't fit is tried in its brief form; what is there isn't added again."""
    lines = [
        Line("a dear line of some words", 1, 9.0, 0),
        Line("a long line " * 20, 2, 5.0, 1, brief="a brief one"),
        Line("another one " * 20, 3, 4.0, 2),
        Line("a cheap line", 4, 1.0, 3),
    ]
    page = Page("lead", ENGLISH, 999)

    page.fill("open", lines, 40)
    assert page.texts() == ["a dear line of some words", "a brief one", "a cheap line"]

    page.fill("open", lines, 999)
    assert page.texts()[3:] == [lines[2].text]


def test_of_quotes_from_one_record_the_first_says_which() -> None:
    """The others follow it."""
    page = Page("lead", ENGLISH, 999)
    for order, word in enumerate("abc"):
        page.add("open", Line(f"{word} (record {7 + order // 2})", 7 + order // 2, 1.0, order))

    assert page.finish().endswith("- a (record 7)\n- b\n- c (record 8)")


def test_what_takes_more_together_than_apart_is_brought_within_the_budget() -> None:
    """The least worthy line of the longest section goes."""
    page = Page("lead", ENGLISH, 60)
    for number in range(4):
        page.add("open", Line(f"line number {number}", number + 1, 9.0 - number, number))
    page._budget_tokens = estimate_text(page.finish()) - 1

    text = page.finish()

    assert "line number 2" in text
    assert "line number 3" not in text


def test_lines_that_were_told_before_take_at_most_their_share() -> None:
    """But for what a person said to hold from then on."""
    page = Page("lead", ENGLISH, 999)
    page.told, page.left_for_told = 10, 12

    assert page.add("open", Line("told", 10, 1.0))
    assert not page.add("open", Line("told before, and long ago too", 3, 1.0))
    assert page.add("open", Line("quite new, and not told before", 11, 1.0))
    assert page.add("rules", Line("never touch the table of bills", 3, 1.0))
    page.left_for_told = page.left
    assert page.add("open", Line("told before, and long ago too", 3, 1.0))


def test_the_names_on_a_page_are_those_of_its_lines() -> None:
    """Each once."""
    page = Page("lead_name", ENGLISH, 999)
    page.add("open", Line("see a_b and c/d.py", 1, 1.0))

    assert page.names() == {"a_b", "c/d.py"}
