"""What is printed of stored text cannot steer the terminal."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from minutebook.cli.harmless import harmless, harmless_line

ANY_TEXT = st.text(st.characters(exclude_categories=()))
OVERRIDES = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@given(ANY_TEXT)
def test_nothing_that_steers_is_left(text: str) -> None:
    """No control but tab and line feed, no override and no lone surrogate comes out."""
    shown = harmless(text)

    controls = {char for char in shown if unicodedata.category(char) in {"Cc", "Cs"}}
    assert controls <= {"\t", "\n"}
    assert not set(shown) & {*OVERRIDES, "\u2028", "\u2029"}
    shown.encode("utf-8")


@given(ANY_TEXT)
def test_doing_it_twice_changes_nothing_more(text: str) -> None:
    """What came out is harmless as it stands."""
    assert harmless(harmless(text)) == harmless(text)


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs"))))
def test_plain_text_stays_as_it_is(text: str) -> None:
    """Letters of every script, digits, signs and spaces are not touched."""
    assert harmless(text) == text


@given(ANY_TEXT)
def test_a_line_is_one_line(text: str) -> None:
    """The one-line form has neither line breaks nor tabs."""
    assert not set(harmless_line(text)) & {"\n", "\t", "\r"}
    assert len(harmless_line(text).splitlines()) <= 1


def test_what_is_hidden_becomes_visible() -> None:
    """An escape shows as its picture, what has none by its name."""
    assert harmless("\x1b[31mred\x1b[0m") == "␛[31mred␛[0m"
    assert harmless("a\x00b\x7fc") == "a␀b␡c"
    assert harmless("\u202egnp.exe\u2069") == "‹U+202E›gnp.exe‹U+2069›"
    assert harmless("\x9b2J") == "‹U+009B›2J"
    assert harmless("half \ud83d") == "half ‹U+D83D›"
    assert harmless("\U000e0041") == "‹U+E0041›"


def test_line_ends_stay_readable() -> None:
    """Carriage return with line feed is a line end; alone it would write over the line."""
    assert harmless("one\r\ntwo\n\tthree") == "one\ntwo\n\tthree"
    assert harmless("100%\rdone") == "100%␍done"
    assert harmless_line("\n a\n\n\tb ") == "a b"
