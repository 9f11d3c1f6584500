"""Each key of a TOML text is found in its line, whatever stands around it."""

import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.config.places import Path, line_of, places

TEXT = '''\
# preset = "not this one"
preset = "kimi"   # target_ratio = 0.5

[model]
name = "a # b"
window = 200_000

[compaction]
steps = [
    "mask",  # ] = [
    "window",
]
target_ratio=0.5
"quoted key" = 1
'literal' = 2

[summary]
prompt = """
[hooks]
command = "this is text"
\\""" and so is this
"""
instructions = [\'\'\'
name = 1
\'\'\', "two"]

[[hooks]]
command = "a"

[[hooks]]
command = \'echo "[tags]"\'
matcher = "b"
[hooks.more]
deep.er = 1

[profiles.fast]
threshold_percent = 70
[profiles."very slow"]
threshold_percent = -1

[background]
inline = { a = 1, b = { c = [1, { d = 2 }] }, "e.f" = "}" }
at = 1979-05-27 07:32:00
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("preset",), 2),
        (("model",), 4),
        (("model", "name"), 5),
        (("model", "window"), 6),
        (("compaction", "steps"), 9),
        (("compaction", "steps", 0), 10),
        (("compaction", "steps", 1), 11),
        (("compaction", "target_ratio"), 13),
        (("compaction", "quoted key"), 14),
        (("compaction", "literal"), 15),
        (("summary", "prompt"), 18),
        (("summary", "instructions"), 23),
        (("summary", "instructions", 1), 25),
        (("hooks",), 27),
        (("hooks", 0, "command"), 28),
        (("hooks", 1), 30),
        (("hooks", 1, "command"), 31),
        (("hooks", 1, "matcher"), 32),
        (("hooks", 1, "more", "deep", "er"), 34),
        (("profiles", "fast", "threshold_percent"), 37),
        (("profiles", "very slow", "threshold_percent"), 39),
        (("background", "inline", "b", "c", 1, "d"), 42),
        (("background", "inline", "e.f"), 42),
        (("background", "at"), 43),
    ],
)
def test_a_key_is_found_in_its_line(path: Path, line: int) -> None:
    """Not in a comment, not in a string, and in the right element of an array."""
    tomllib.loads(TEXT)

    assert places(TEXT)[path] == line


def keys_of(value: Any, path: Path = ()) -> set[Path]:
    """Give the path of everything in a value."""
    if isinstance(value, dict):
        return {path}.union(*(keys_of(inner, (*path, key)) for key, inner in value.items()))
    if isinstance(value, list):
        return {path}.union(*(keys_of(inner, (*path, at)) for at, inner in enumerate(value)))
    return {path}


def test_every_key_has_a_place_and_nothing_else_has() -> None:
    """The places are exactly what the TOML reader finds."""
    assert set(places(TEXT)) == keys_of(tomllib.loads(TEXT)) - {()}


NAMES = st.sampled_from(["a", "b", '"c d"', "'e.f'", '"\\u00e9\\""'])
SCALARS = st.sampled_from(
    ["1", "-1.5e3", "true", '"x = [1]"', "'#'", '"""\n[a]\n"""', "'''\nb = 1'''", "07:32:00.5"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(inner, max_size=3).map(lambda items: "[\n" + ",\n# x = [\n".join(items) + "\n]")
        | st.lists(st.tuples(NAMES, inner), max_size=2, unique_by=lambda pair: pair[0]).map(
            lambda items: "{" + ", ".join(f"{key} = {value}" for key, value in items) + "}"
        )
    ),
    max_leaves=6,
)
STATEMENTS = st.lists(
    st.tuples(NAMES, VALUES).map(" = ".join)
    | st.tuples(NAMES, NAMES, VALUES).map(lambda t: f"{t[0]}.{t[1]} = {t[2]}")
    | NAMES.map(lambda name: f"[t.{name}]")
    | NAMES.map(lambda name: f"[[u.{name}]]")
    | st.sampled_from(["", "# [x]", "  "]),
    max_size=8,
)


@given(STATEMENTS)
def test_generated_texts_have_their_places(statements: list[str]) -> None:
    """Whatever of TOML is written, every key of it has a line, in which its name stands."""
    text = "\n".join(statements)
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        places(text)
        return

    found = places(text)

    assert set(found) == keys_of(value) - {()}
    lines = text.split("\n")
    for path, line in found.items():
        name = path[-1]
        if isinstance(name, str) and name.isascii():
            assert re.search(re.escape(name.strip('"')), lines[line - 1]), (path, line)


@given(st.text(alphabet="a[]{}=,.\"'#\n\\ 1"))
def test_any_text_is_walked_to_its_end(text: str) -> None:
    """Nothing raises and nothing loops, whether it is TOML or not."""
    assert all(1 <= line <= text.count("\n") + 1 for line in places(text).values())


def test_deep_nesting_is_given_up() -> None:
    """The TOML reader refuses such a text by itself, sooner or later."""
    assert places("a = " + "[" * 100_000)[("a",)] == 1
    assert places("a = " + "{b=" * 100_000)[("a",)] == 1


def test_a_value_without_a_place_has_that_of_what_is_around_it() -> None:
    """A missing key is told of where its table begins."""
    found = places("[model]\nname = 'a'\n")

    assert line_of(found, ("model", "window")) == 1
    assert line_of(found, ("model", "name", 0)) == 2
    assert line_of(found, ("hooks",)) is None
