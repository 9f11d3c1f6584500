"""Tool calls are read by their words and arguments, not by a list of products."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.compaction.calls import act_of, command_of, decode, shorten
from minutebook.messages import call
from tests.compaction.conversations import called
from tests.compaction.test_shell import PATCH

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(["path", "command", "todos", "edits", "content", "input", "x"])


@given(
    st.text(max_size=20),
    st.one_of(
        st.none(), st.text(max_size=30), st.dictionaries(KEYS, JSON, max_size=4).map(json.dumps)
    ),
)
def test_any_call_is_read(name: str, arguments: str | None) -> None:
    """Broken arguments, odd values, a missing name: nothing is raised."""
    act = act_of(call("c", name, arguments))

    assert act.kind
    assert len(act.subject) <= 120
    assert "\n" not in act.subject + act.note


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "subject", "uses"),
    [
        ("ReadFile", {"path": "a.py"}, "read", "a.py", [("read", "a.py")]),
        ("read_file", {"file_path": "a.py", "offset": 3}, "read", "a.py", [("read", "a.py")]),
        ("mcp__fs__read", {"paths": ["a.py", "b.py"]}, "read", "a.py b.py",
         [("read", "a.py"), ("read", "b.py")]),
        ("editor", {"command": "view", "path": "a.py"}, "read", "a.py", [("read", "a.py")]),
        ("editor", {"command": "create", "path": "a.py", "file_text": "x"}, "write", "a.py",
         [("write", "a.py")]),
        ("StrReplaceFile", {"path": "a.py", "edit": {"old": "x", "new": "y"}}, "edit", "a.py",
         [("edit", "a.py")]),
        ("WriteFile", {"path": "a.py", "content": "x"}, "write", "a.py", [("write", "a.py")]),
        ("delete_file", {"target_file": "a.py"}, "delete", "a.py", [("delete", "a.py")]),
        ("rename", {"path": "a.py"}, "move", "a.py", [("move", "a.py")]),
        ("Grep", {"pattern": "def x", "path": "src/a.py"}, "search", "def x",
         [("search", "src/a.py")]),
        ("Grep", {"pattern": "def x", "path": "src"}, "search", "def x", []),
        ("list_dir", {"path": "src"}, "search", "src", []),
        ("WebFetch", {"url": "https://e.org"}, "fetch", "https://e.org", []),
        ("Bash", {"command": "cd x && pytest -q"}, "run", "pytest -q", []),
        ("shell", {"command": ["bash", "-lc", "cat a.py"]}, "run", "cat a.py", [("read", "a.py")]),
        ("exec", {"cmd": ["ls", "-l"]}, "run", "ls -l", []),
        ("do_it", {"cmd": "make all"}, "run", "make all", []),
        ("apply_patch", {"input": PATCH}, "edit", "docs/new file.md src/app.py src/main.py old.py",
         [("write", "docs/new file.md"), ("edit", "src/app.py"), ("move", "src/main.py"),
          ("delete", "old.py")]),
        ("patch", {"path": "a.py", "diff": "\n+++ \nx"}, "edit", "a.py", [("edit", "a.py")]),
        ("TodoWrite", {"todos": []}, "todo", "", []),
        ("task_update", {"taskId": "1"}, "todo", "", []),
        ("thing", {"todos": []}, "todo", "", []),
        ("thing", {"file": "a.py"}, "read", "a.py", [("read", "a.py")]),
        ("thing", {"file": "a.py", "content": "x"}, "write", "a.py", [("write", "a.py")]),
        ("thing", {"files": [{"path": "a.py"}, 3, ""]}, "read", "a.py", [("read", "a.py")]),
        ("create_issue", {"title": "It breaks"}, "other", "It breaks", []),
        ("query", {"sql": "select *"}, "other", "select *", []),
        ("think", {"thought": "hm"}, "other", "hm", []),
        ("broken", None, "other", "", []),
    ],
)  # fmt: skip
def test_a_call_is_read(
    name: str,
    arguments: dict[str, Any] | None,
    kind: str,
    subject: str,
    uses: list[tuple[str, str]],
) -> None:
    """Its kind, a few words about it, and the files that it touches."""
    act = act_of(call("c", name, arguments if arguments is None else json.dumps(arguments)))

    assert (act.kind, act.subject, list(act.uses)) == (kind, subject, uses)


def test_broken_arguments_are_taken_as_text() -> None:
    """Half a JSON object still says what was asked."""
    act = act_of(call("c", "read", '{"path": "a.py'))

    assert act.arguments == {}
    assert act.values == act.subject == '{"path": "a.py'
    assert decode("[1]") == {}


@pytest.mark.parametrize(
    ("name", "arguments", "note"),
    [
        ("edit", {"path": "a", "old_string": "one\ntwo", "new_string": "one\nthree_more"},
         "three_more"),
        ("edit", {"path": "a", "edits": [{"oldText": "x", "newText": "new_line = 1"}]},
         "new_line = 1"),
        ("edit", {"path": "a", "edits": []}, ""),
        ("write", {"path": "a", "content": "}\n\n`def run()`:\n"}, "'def run()':"),
        ("apply_patch", {"input": PATCH.replace("+b", "+keep_row(b)")}, "keep_row(b)"),
        ("apply_patch", {"input": PATCH}, ""),
        ("read", {"path": "a", "content": "longer text"}, ""),
    ],
)  # fmt: skip
def test_a_change_is_quoted_by_its_first_new_line(
    name: str, arguments: dict[str, Any], note: str
) -> None:
    """Of a patch the first added one; lines with hardly a letter say nothing."""
    assert act_of(call("c", name, json.dumps(arguments))).note == note


def test_only_values_are_looked_at_for_names() -> None:
    """Nested ones too, each on its line; the names of arguments are the tool's, not the task's."""
    act = act_of(called("c", "tool", outer={"a_key": ["one", 2, None, True]}, other="three"))

    assert act.values == "one\n2\nthree"


def test_values_are_bounded() -> None:
    """A file of a megabyte in the arguments is looked at in its beginning."""
    assert len(act_of(called("c", "write", path="a", content="x" * 10**6)).values) <= 60_010


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (called("1", "read", path="a"), called("2", "read", path="a"), True),
        (called("1", "read", path="a"), called("2", "read", path="a", offset=2), False),
        (called("1", "bash", command="cd x && make"), called("2", "bash", command="make"), True),
        (called("1", "edit", path="a", old="1"), called("2", "edit", path="a", old="2"), True),
        (call("1", "list", ""), call("2", "list", ""), True),
    ],
)
def test_calls_for_the_same_thing_have_the_same_key(first: Any, second: Any, same: object) -> None:
    """So that repeated reads, and errors that were overcome, are found."""
    assert (act_of(first).key == act_of(second).key) is same


def test_a_command_that_runs_is_told_from_one_that_shows() -> None:
    """Only the first one's output says whether it worked."""
    assert act_of(called("c", "bash", command="pytest")).ran
    assert not act_of(called("c", "bash", command="cat a.py")).ran
    assert not act_of(called("c", "read", path="a.py")).ran


def test_a_command_may_be_missing() -> None:
    """Or be of the wrong type."""
    assert command_of({"command": " ", "cmd": 3, "script": "make"}) == "make"
    assert command_of({}) == ""


def test_a_long_text_is_cut_at_its_end() -> None:
    """On one line, within the length asked for."""
    assert shorten("a  b\nc", 10) == "a b c"
    assert shorten("abcdef ghi", 8) == "abcdef…"
