"""What stands in a source: names whole or by their pieces, and every statement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.digest.names import names_in
from minutebook.compaction.source import STATEMENT_CHARS_MAX, STATEMENTS_MAX, Source
from minutebook.messages import assistant, user
from tests.compaction.conversations import called, histories
from tests.compaction.summaries import COVERED


@given(histories())
def test_every_name_of_a_source_is_known(history: tuple[object, ...]) -> None:
    """Texts, and values and names of arguments."""
    source = Source(history)  # type: ignore[arg-type]  # messages
    for name in names_in(source.text):
        assert source.knows(name)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("src/rows/parser.py", True),
        ("rows/parser.py", True),
        ("parser.py", True),
        ("src/rows/test_rows.py", True),  # a known folder, a known file
        ("src/rows/parse.py", False),
        ("src/row/parser.py", False),
        ("lib/rows/parser.py", False),
        ("keep_row", True),
        ("keep_rows", False),
        ("eep_row", False),
        ("parse_line.keep_row", True),  # both stand by themselves
        ("parse_line.keep_rov", False),
        ("parser.p", False),
        ("R1-R2", True),
        ("R1-R3", False),
        ("MAX_ROWS", True),
        ("deadbeef1", False),
        ("8080", True),
    ],
)
def test_a_name_is_known_whole_or_by_its_pieces(name: str, known: bool) -> None:
    """A piece that stands nowhere gives it away."""
    assert Source(COVERED).knows(name) is known


def test_statements_are_sentences_and_lines() -> None:
    """Line breaks that JSON has escaped are line breaks."""
    source = Source([user("One. Two!\nThree"), assistant("One. 四。五"), user(r"a\nb")])

    assert source.statements == ("One.", "Two!", "Three", "One.", "四。", "五", "a", "b")


def test_long_statements_and_long_sources_are_bounded() -> None:
    """Of a line its beginning is read, of many statements the newest are."""
    many = "\n".join(f"statement {at}" for at in range(STATEMENTS_MAX + 5))
    source = Source([user("x" * 10_000), user(many)])

    assert len(source.statements) == STATEMENTS_MAX
    assert source.statements[-1] == f"statement {STATEMENTS_MAX + 4}"
    assert len(Source([user("x" * 10_000)]).statements[0]) == STATEMENT_CHARS_MAX


def test_arguments_count_whole_and_broken_ones_as_text() -> None:
    """Nested values too; thinking doesn't count."""
    from minutebook.messages import call

    nested = called("a", "edit", edits=[{"path": "a/b.py", "count": 3, "none": None}])
    source = Source([assistant("", tool_calls=[nested, call("b", "run", "{broken_json")])])

    assert {"a/b.py", "edits", "broken_json"} <= source.runs
    assert "3" in source.pieces
    assert "secret_thought" not in Source([assistant("x", thinking="secret_thought")]).text


@given(st.text(max_size=200), st.text(min_size=1, max_size=20))
def test_any_text_can_be_asked_for(text: str, name: str) -> None:
    """Whatever the characters are."""
    assert Source([user(text)]).knows(name) in {True, False}
