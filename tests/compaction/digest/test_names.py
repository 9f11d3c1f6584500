"""References are what an agent must write exactly: paths, identifiers, numbers, links."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.digest.names import (
    NAME_CHARS_MAX,
    bounded,
    kind_of,
    most_named,
    names_in,
    ordinary_words,
    reference,
    told_in,
)


@given(st.text(max_size=300))
def test_every_name_stands_in_the_text(text: str) -> None:
    """Each once, in order, and each is of a kind."""
    names = names_in(text)

    assert len(set(names)) == len(names)
    for name in names:
        assert name in text
        assert kind_of(name)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("src/app.py", "path"),
        ("/etc/hosts", "path"),
        ("~/.config/x", "path"),
        ("../lib/a", "path"),
        ("README.md", "path"),
        ("tests/unit", "path"),
        ("pi-mono/agent2", "path"),
        ("my_dir/thing", "path"),
        ("parse_line", "identifier"),
        ("parseLine", "identifier"),
        ("HTTPServer", "identifier"),
        ("MAX_TOKENS", "identifier"),
        ("app.config.load", "identifier"),
        ("std::vec", "identifier"),
        ("user-message-selector", "identifier"),
        ("utf8", "identifier"),
        ("$HOME", "identifier"),
        ("https://example.org/a?b=1", "url"),
        ("a1b2c3d", "id"),
        ("0a1b2c3d", "id"),
        ("9d1f3c2e-aaaa-bbbb-cccc-0123456789ab", "id"),
        ("ENT-1234", "id"),
        ("v2.1.0", "number"),
        ("200_000", "number"),
        ("512", "number"),
        ("120ms", "number"),
        ("42", ""),
        ("v1", ""),
        ("word", ""),
        ("well-known", ""),
        ("and/or", ""),
        ("input/output/error", ""),
        ("3/4", ""),
        ("a//b", ""),
        ("50%/60%", ""),
        ("/x", ""),
        ("a.b", ""),
        ("deadbeef", ""),
        ("facade0", "id"),
        ("Xy", ""),
        ("9th", ""),
        (".py", "path"),
    ],
)
def test_names_are_told_from_words(name: str, kind: str) -> None:
    """By what prose doesn't have."""
    assert kind_of(name) == kind


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("See src/app.py, then (parse_line).", ["src/app.py", "parse_line"]),
        ("at https://example.org/x.", ["https://example.org/x"]),
        (r'{"a": "one\nsecond_line"}', ["second_line"]),
        ("x" * 200 + "_y", []),
        ("https://e.org/" + "x" * 200, ["https://e.org/" + "x" * 200]),
        ("parse_line parse_line", ["parse_line"]),
        ("src/app.py:12:def src/app.py-13- src/app.py:9", ["src/app.py"]),
        ("a. b", []),
    ],
)
def test_signs_around_a_name_do_not_belong_to_it(text: str, names: list[str]) -> None:
    """Nor do escapes before it; a run that is too long is data."""
    assert names_in(text) == names


def test_a_long_run_is_no_name() -> None:
    """Whatever signs it has."""
    assert reference("a_" * NAME_CHARS_MAX) == ""


def test_a_long_text_is_read_at_its_ends() -> None:
    """Two parts head, one part tail."""
    text = bounded("a" * 100 + "b" * 100 + "c" * 100, 90)

    assert text == "a" * 60 + "\n" + "c" * 30
    assert bounded("abc", 90) == "abc"


def test_what_is_named_most_comes_first() -> None:
    """Numbers and what is known already are left out."""
    text = "one_name two_name two_name 512 512 512 a/known.py a/known.py a/known.py"

    assert most_named(text, 5, without="cat a/known.py") == ["two_name", "one_name"]
    assert most_named(text, 1) == ["a/known.py"]
    assert most_named(text, 0) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see src/very/long… and src/app.py", ["src/app.py"]),
        ("s.repoPath and r.ok", ["s.repoPath"]),
    ],
)
def test_half_a_name_is_none(text: str, names: list[str]) -> None:
    """What an ellipsis follows was cut off; a one-letter head takes a longer tail."""
    assert names_in(text) == names


def test_a_long_text_is_not_cut_inside_of_a_word() -> None:
    """Half a name would be another name."""
    text = bounded("first_name " * 10 + "x" * 50 + " last_name" * 10, 90)

    assert set(names_in(text)) == {"first_name", "last_name"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("In the parser we met parse_line and src/app.py", 6),
        ("parse_line, src/app.py, 512", 0),
        ("a I x", 0),
        ("在解析器里用到过 parse_line 和 src/app.py", 4),
    ],
)
def test_ordinary_words_stand_in_no_reference(line: str, words: int) -> None:
    """Of two letters at least; two wide characters are one."""
    assert ordinary_words(line) == words


def test_only_lines_with_enough_words_tell_of_their_references() -> None:
    """Four at least, and no fewer than references."""
    told = "In the parser we met old_name"
    bare = "parse_line, max_rows, row_text"
    many = f"In the parser we met {', '.join(f'name_{at}' for at in range(9))}"

    assert told_in(f"{told}\n{bare}\n{many}") == {"old_name"}
