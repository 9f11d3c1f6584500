"""Each line of a digest can be worked out again from what it covers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.compaction.digest.write import digest
from minutebook.compaction.exact import DigestChecker, check_digest
from minutebook.compaction.phrases import ALL, ENGLISH, Phrases
from minutebook.messages import Message, replace
from tests.compaction.conversations import histories
from tests.compaction.summaries import COVERED

TEXT = digest(COVERED, 2_000, phrases=ENGLISH)
CHECKER = DigestChecker(COVERED)


@given(histories(), st.sampled_from(ALL), st.integers(200, 3_000))
@settings(max_examples=80)
def test_no_line_of_a_digest_is_doubted(
    history: tuple[Message, ...], phrases: Phrases, budget: int
) -> None:
    """Whatever the conversation, the language and the budget; earlier summaries aside."""
    told = [message for message in history if message.origin != "summary"]
    text = digest(told, budget, phrases=phrases)

    assert not text or check_digest(text, told).doubts == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Minutes of records 1 to 14", "Minutes of records 1 to 15"),
        ("exactly 512 rows", "exactly 521 rows"),
        ("`src/rows/parser.py` was", "`src/rows/parse.py` was"),
        ("read 1×, edited 1×", "read 2×, edited 1×"),
        ("`MAX_ROWS + 1`", "`MAX_ROWS + 2`"),
        ("was run 2×", "was run 3×"),
        ("it failed 1×", "it failed 2×"),
        ("43 passed", "34 passed"),
        ("bad row 17", "bad row 71"),
        ("the same worked later in record 10", "not seen to work since"),
        ("keep_row drops the last row", "keep_row keeps the last row"),
        ("raw_text", "raw_test"),
    ],
)
def test_whatever_is_changed_is_doubted(old: str, new: str) -> None:
    """Counts, quotes, names, outcomes, the lead and the headings."""
    assert old in TEXT
    changed = TEXT.replace(old, new, 1)
    line = next(
        at
        for at, (one, other) in enumerate(
            zip(TEXT.split("\n"), changed.split("\n"), strict=True), 1
        )
        if one != other
    )

    assert CHECKER.check(TEXT).doubts == ()
    assert [doubt.line for doubt in CHECKER.check(changed).doubts] == [line]


def test_a_record_that_is_not_covered_is_doubted() -> None:
    """And a name that stands twice, in one line or in two."""
    lines = TEXT.split("\n")
    at = next(at for at, line in enumerate(lines) if "came across" in line or "came up" in line)
    name = lines[at].split(", ")[1]
    doubled = "\n".join(
        [*lines[:at], lines[at].replace(name, f"{name}, {name}", 1), *lines[at + 1 :]]
    )
    again = "\n".join([*lines[: at + 1], *lines[at : at + 1], *lines[at + 1 :]])

    assert CHECKER.check(TEXT.replace("(record 1)", "(record 99)", 1)).doubts
    assert CHECKER.check(doubled).doubts
    assert {doubt.line for doubt in CHECKER.check(again).doubts} == {at + 1, at + 2}


def test_what_stands_below_an_unknown_heading_is_doubted_too() -> None:
    """The heading itself, and its entries."""
    changed = TEXT.replace("## Files touched", "## Files removed")
    at = changed.split("\n").index("## Files removed") + 1

    assert [doubt.line for doubt in CHECKER.check(changed).doubts] == [at, at + 1]


def test_a_to_do_entry_has_the_state_that_it_has() -> None:
    """The state is not in the words of any message."""
    from tests.compaction.conversations import numbered, step

    covered = numbered(
        step("a", "todo", "ok", todos=[{"title": "write docs", "status": "pending"}])
    )
    text = digest(covered, 500, phrases=ENGLISH)

    assert "- write docs (pending) (record 1)" in text
    assert check_digest(text, covered).doubts == ()
    assert check_digest(text.replace("(pending)", "(done)"), covered).doubtful_lines == 1


def test_what_is_no_digest_is_doubted_altogether() -> None:
    """Every line that says something."""
    checked = check_digest("## Task\n\n- Fix it.", COVERED)

    assert (checked.lines, checked.doubtful_lines, checked.score) == (2, 2, 0.0)


def test_another_conversation_is_another() -> None:
    """A digest of one is doubted beside the other."""
    other = [replace(message, content="Something else.", tool_calls=None) for message in COVERED]

    assert check_digest(TEXT, other).score == 0.0
