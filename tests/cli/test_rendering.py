"""Columns that fit the terminal, numbers for people, JSON for programs."""

import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from minutebook.cli.rendering import (
    BAR_CELLS,
    WIDTH_MIN,
    Page,
    PipeConsole,
    byte_size,
    command,
    emit_json,
    moment,
    number,
    percent,
    plural,
    ranges,
    to_json,
    working,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)


def page(width: int | None = None) -> Page:
    """Make a page on a terminal of that width, or in a pipe."""
    terminal = width is not None
    return Page(
        Console(
            file=io.StringIO(),
            force_terminal=terminal,
            width=width,
            color_system=None,
            highlight=False,
            markup=False,
            emoji=False,
        )
    )


def lines(of: Page) -> list[str]:
    """Give what was printed."""
    file = of.console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue().splitlines()


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT, ANY_TEXT), max_size=4), st.integers(1, 120))
def test_no_line_is_wider_than_the_terminal(rows: list[tuple[str, str, str]], width: int) -> None:
    """Whatever the cells hold, rows are wrapped, and text too."""
    of = page(width)
    of.rows(rows, right=(1,))
    for row in rows:
        of.line(row[0], indent=2)
        of.heading(row[1], row[2])
        of.block(row[2], indent=2, lead="│ ")

    assert all(cell_len(line) <= max(width, WIDTH_MIN) for line in lines(of))


@given(ANY_TEXT)
def test_json_means_the_same_and_steers_nothing(text: str) -> None:
    """A program reads what was stored; a terminal gets no control."""
    shown = to_json({"text": text})

    assert json.loads(shown) == {"text": text}
    assert not {char for char in shown if char != "\n" and ord(char) < 32}
    shown.encode("utf-8")
    assert to_json({"text": text}, ascii_only=True).isascii()


def test_numbers_that_json_has_not_are_null() -> None:
    """NaN and infinity, wherever they stand."""
    facts = {"at": float("nan"), "all": [1.5, float("inf"), "NaN"]}

    assert json.loads(to_json(facts)) == {"at": None, "all": [1.5, None, "NaN"]}


def test_in_a_pipe_lines_are_as_long_as_they_are() -> None:
    """Nothing is wrapped, and nothing stands behind the last word."""
    of = page()
    of.rows([("a", "1", "word " * 50), ("bbb", "22", "short")], right=(1,))

    assert lines(of) == ["  a     1  " + ("word " * 50).strip(), "  bbb  22  short"]


def test_the_last_column_is_wrapped_inside_itself() -> None:
    """What goes on below begins where the column does."""
    of = page(40)
    of.rows([("one", "a word and another word and one more word")])

    assert lines(of) == [
        "  one  a word and another word and one",
        "       more word",
    ]


def test_a_column_without_room_goes_on_further_left() -> None:
    """Where the columns before take more than half, the rest stands under them."""
    of = page(40)
    of.rows([("a first column that is wide", "and the last one")])

    assert lines(of) == [
        "  a first column that is wide  and the",
        "      last one",
    ]


def test_wide_characters_keep_columns_straight() -> None:
    """A Chinese character takes two cells."""
    of = page()
    of.rows([("汉字", "x"), ("ab", "y")])

    assert lines(of) == ["  汉字  x", "  ab    y"]


def test_pairs_without_a_value_are_left_out() -> None:
    """A report shows what there is."""
    of = page()
    of.pairs([("one", "1"), ("none", "")])

    assert lines(of) == ["  one  1"]


def test_a_bar_fills_with_the_share() -> None:
    """It never gets longer than a full one, and has signs for every terminal."""
    assert page().bar(1, 2) == "█" * (BAR_CELLS // 2)
    assert page().bar(5, 2) == "█" * BAR_CELLS
    ascii_file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert Page(Console(file=ascii_file)).bar(2, 2) == "#" * BAR_CELLS


def test_numbers_for_people() -> None:
    """Thousands apart, nouns in their number, sizes, shares, ranges."""
    assert number(48213) == "48,213"
    assert [plural(1, "turn"), plural(2, "turn"), plural(2, "copy", "copies")] == [
        "1 turn",
        "2 turns",
        "2 copies",
    ]
    sizes = [0, 999, 1_000, 9_950, 99_960, 999_600, 1_234_567, 99_000_000_000]
    assert [byte_size(size) for size in sizes] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "9.9 kB",
        "100.0 kB",
        "1.0 MB",
        "1.2 MB",
        "99.0 GB",
    ]
    assert percent(1, 3) == "33.3 %"
    assert percent(1, None) == percent(1, 0) == ""
    assert ranges([3, 1, 2, 7, 7]) == "1-3, 7"
    assert ranges([]) == ""


def test_times_are_shown_to_the_minute() -> None:
    """In the local zone; a time that is none is left out."""
    assert len(moment(1_760_000_000.5)) == len("2025-10-09 08:53")
    assert moment(None) == moment(1e30) == moment(float("nan")) == ""


def test_a_command_can_be_pasted() -> None:
    """Words that a shell would split are quoted."""
    assert command("undo", "my session", 3) == "minutebook undo 'my session' 3"


def test_json_on_a_stream_without_unicode(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There every other character is escaped, so that it can be written at all."""
    emit_json({"text": "汉"})
    assert "汉" in capsys.readouterr().out

    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", stream)
    emit_json({"text": "汉"})
    stream.flush()
    assert b"\\u6c49" in stream.buffer.getvalue()


def test_progress_is_for_terminals_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a pipe nothing is printed; on a terminal the words, on the error stream."""
    with working("reading") as say:
        say("reading on")
    assert capsys.readouterr() == ("", "")

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with working("reading \x1b[31m") as say:
        say("reading on")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "reading" in shown.err
    assert "\x1b[31m" not in shown.err


def test_a_closed_pipe_is_an_error_for_one_place() -> None:
    """The console does not end the program by itself."""

    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        PipeConsole(file=Closed()).print("x")
