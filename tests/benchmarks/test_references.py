"""The measure's own rules: what a reference is, and when it is remembered."""

import pytest

from benchmarks.references import (
    error_lines,
    is_memory,
    ordinary_words,
    recall,
    references,
    said,
    wanted,
)
from minutebook.messages import Message, assistant, call, replace, tool, user


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/app.py, and parse_line()", {"src/app.py", "parse_line"}),
        ("camelCase, Foo.bar, a::b and $HOME_DIR", {"camelCase", "Foo.bar", "a::b", "$HOME_DIR"}),
        ("port 8080, v2.1, 512MB, 12 rows, 80%", {"8080", "v2.1", "512MB", "80%"}),
        ("at https://example.org/x?y=1.", {"https://example.org/x?y=1"}),
        ("and/or e.g. i.e. plain words", set()),
        ("commit a1b2c3d and deadbeef", {"a1b2c3d"}),
        (r"one\ntwo_three", {"two_three"}),
        ("src/app.py:12:3", {"src/app.py"}),
    ],
)
def test_references_are_what_has_to_be_written_exactly(text: str, found: set[str]) -> None:
    """Paths, identifiers, numbers that stand for something, links, hashes."""
    assert references(text) == found


def test_names_of_arguments_do_not_count() -> None:
    """Their values do, however deep they lie."""
    arguments = '{"some_key": {"x_y": ["a_b", 3, null]}}'
    message = assistant("", tool_calls=[call("a", "edit", arguments)])

    assert references(said(message)) == {"a_b"}
    assert references(said(assistant("", tool_calls=[call("a", "x", "{broken_json")]))) == {
        "broken_json"
    }


def test_wanted_is_what_the_agent_itself_uses_again() -> None:
    """Not what a tool or a person says later, and errors word for word."""
    error = "ValueError: the row of line 12 is bad"
    past = [user("see a_b and c_d"), tool("x", f"e_f\n{error}")]
    future = [assistant("a_b"), user("c_d"), tool("y", "e_f"), assistant(f"It said {error}.")]

    assert wanted(past, future) == {"a_b", error, "ValueError"}
    assert error_lines("x\nfatal: no such branch here\nfatal: x") == {"fatal: no such branch here"}


def test_a_line_of_ours_needs_words() -> None:
    """At least four, and no fewer than references."""
    assert is_memory("In the parser we met a_b", {"a_b"})
    assert not is_memory("we met a_b there", {"a_b"})
    assert not is_memory("In the parser we met a_b", {f"a_{at}" for at in range(9)})
    assert ordinary_words("在解析器里用到过 parse_line") == 4


def test_recall_counts_originals_and_sentences() -> None:
    """A bare list of names is no memory; a clipped copy is its own words, a stub is not."""
    past = [
        replace(user("a_b"), seq=1),
        replace(tool("x", "c_d"), seq=2),
        replace(tool("y", "e_f"), seq=3),
    ]
    names = {"a_b", "c_d", "e_f", "g_h"}
    bare = Message(role="user", content="g_h", origin="summary")
    told = Message(role="user", content="In the work so far came g_h", origin="summary")
    stub = replace(past[1], content="[c_d]", elided="mask")
    cut = replace(past[2], content="e_f [… 3 characters]", elided="clip")

    assert recall(names, past, past) == 0.75
    assert recall(names, [past[0], stub, cut, bare], past) == 0.5
    assert recall(names, [past[0], told], past) == 0.5
    assert recall(set(), [], past) == 1.0
