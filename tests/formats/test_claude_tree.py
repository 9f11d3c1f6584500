"""The tree of a transcript, against a slow and obvious walk."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from minutebook.formats.claude_lines import records
from minutebook.formats.claude_tree import Tree, branches, plant, replies_of, reply_id
from tests.formats.transcripts import (
    answer,
    boundary,
    dump,
    record,
    said,
    summary,
    typed,
    use,
    words,
)

KINDS = ["user", "assistant", "attachment", "progress", "system"]


def tree_of(*given_records: dict[str, Any]) -> Tree:
    found, _ = records(dump(given_records))
    return plant(found)


def path_of(tree: Tree) -> list[str | None]:
    return [tree.nodes[at].head.uuid for at in tree.path]


@st.composite
def trees(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw records whose parents are any other record, a later one, themselves, or lost."""
    count = draw(st.integers(1, 10))
    names = [*(f"n{number}" for number in range(count)), "lost", None]
    return [
        record(
            draw(st.sampled_from(KINDS)),
            f"n{number}",
            draw(st.sampled_from(names)),
            isSidechain=draw(st.sampled_from([False, False, False, True])),
        )
        for number in range(count)
    ]


@given(trees())
def test_the_path_leads_from_the_newest_record_to_its_root(drawn: list[dict[str, Any]]) -> None:
    """Each node of the path is the parent of the next; circles and lost parents end nothing."""
    main = any(item["type"] in {"user", "assistant"} and not item["isSidechain"] for item in drawn)

    def aside(item: dict[str, Any]) -> bool:
        return main and item["isSidechain"] is True

    leaf = None
    for item in drawn:
        if item["type"] in {"user", "assistant", "attachment"} and not aside(item):
            leaf = item
    expected: list[str] = []
    seen: list[Any] = []
    while leaf is not None and leaf["uuid"] not in seen:
        seen.append(leaf["uuid"])
        if not aside(leaf):
            expected.insert(0, leaf["uuid"])
        parent = leaf["parentUuid"]
        number = drawn.index(leaf)
        before = [item for item in drawn[:number] if aside(item) == aside(leaf)]
        named = [item for item in drawn if item["uuid"] == parent]
        if named:
            leaf = named[0]
        elif parent == "lost" and before:
            leaf = before[-1]
        else:
            leaf = None

    tree = tree_of(*drawn)

    assert path_of(tree) == expected
    everyone = set(range(len(tree.nodes)))
    assert 0 <= branches(tree, everyone - set(tree.path)) <= len(drawn)
    assert replies_of(tree, tree.path) == set(tree.path)


def test_the_newest_leaf_is_active_and_rewinds_are_branches() -> None:
    """Two ways were tried from one reply; the later one counts."""
    tree = tree_of(
        typed("u1", None, "a"),
        said("a1", "u1", "m1", words("b")),
        typed("u2", "a1", "first try"),
        record("progress", "p1", "u2"),
        said("a2", "p1", "m2", words("c")),
        typed("u3", "a1", "second try"),
    )

    assert path_of(tree) == ["u1", "a1", "u3"]
    assert branches(tree, {2, 4}) == 1


def test_a_noted_leaf_counts_until_something_is_written() -> None:
    """After a rewind without a new message the note says where the conversation stands."""
    talk = [typed("u1", None, "a"), said("a1", "u1", "m1", words("b")), typed("u2", "a1", "c")]

    def note(leaf: Any) -> dict[str, Any]:
        return {"type": "last-prompt", "leafUuid": leaf, "sessionId": "s1"}

    assert path_of(tree_of(*talk, note("a1"))) == ["u1", "a1"]
    assert path_of(tree_of(*talk[:2], note("u1"), talk[2])) == ["u1", "a1", "u2"]
    assert path_of(tree_of(*talk, note("gone"), note(None))) == ["u1", "a1", "u2"]


def test_a_lost_parent_is_the_record_before() -> None:
    """It is reported, but for the first record of a head that was cut off."""
    tree = tree_of(typed("u1", "cut", "a"), typed("u2", "lost", "b"))

    assert path_of(tree) == ["u1", "u2"]
    assert [(problem.kind, problem.line) for problem in tree.problems] == [("parent", 2)]


def test_the_path_goes_on_before_a_compaction() -> None:
    """By the logical parent, or else by the record before; the last boundary begins the context."""
    for logical in ("u1", "nowhere", None):
        tree = tree_of(
            typed("u1", None, "a"),
            boundary("b1", logical),
            summary("s1", "b1"),
            typed("u2", "s1", "b"),
        )

        assert path_of(tree) == ["u1", "b1", "s1", "u2"]
        assert (tree.boundary, tree.compactions) == (1, 1)


def test_a_summary_alone_is_a_compaction() -> None:
    """Version 1.0 wrote no boundary; with one, what lies between does not count twice."""
    alone = tree_of(typed("u1", None, "a"), summary("s1", None), typed("u2", "s1", "b"))
    between = tree_of(
        typed("u1", None, "a"),
        boundary("b1", "u1"),
        record("progress", "p1", "b1"),
        summary("s1", "p1"),
    )
    again = tree_of(summary("s1", None), typed("u1", "s1", "a"), summary("s2", None))

    assert path_of(alone) == ["u1", "s1", "u2"]
    assert (alone.boundary, alone.compactions) == (1, 1)
    assert (between.boundary, between.compactions) == (1, 1)
    assert (again.boundary, again.compactions) == (2, 2)


def test_sub_agents_are_aside_but_not_in_their_own_file() -> None:
    """A file of nothing else is that agent's conversation."""
    side = said("x1", "a1", "m9", words("sub"), isSidechain=True)
    mixed = tree_of(typed("u1", None, "a"), side, typed("u2", "u1", "b"))
    own = tree_of(typed("x0", None, "go", isSidechain=True), {**side, "parentUuid": "x0"})

    assert path_of(mixed) == ["u1", "u2"]
    assert mixed.side == (False, True, False)
    assert path_of(own) == ["x0", "x1"]


def test_the_first_of_two_records_with_one_uuid_counts() -> None:
    """A resumed session copies records; a copy is counted and left out."""
    tree = tree_of(typed("u1", None, "a"), typed("u1", None, "b"), typed("u2", "u1", "c"))

    assert path_of(tree) == ["u1", "u2"]
    assert tree.duplicates == 1


def test_the_lines_of_a_reply_belong_together() -> None:
    """Parallel results hang under different lines of one reply, which are all of it."""
    tree = tree_of(
        typed("u1", None, "a"),
        said("a1", "u1", "m1", use("t1")),
        said("a2", "a1", "m1", use("t2")),
        answer("r2", "a2", "t2"),
        answer("r1", "a1", "t1"),
    )

    assert path_of(tree) == ["u1", "a1", "r1"]
    assert replies_of(tree, tree.path) == {0, 1, 2, 4}
    assert [reply_id(node) for node in tree.nodes] == ["", "m1", "m1", "", ""]


def test_nothing_chained_is_no_path() -> None:
    """A file of notes alone has no conversation, and a record without a uuid is no node."""
    tree = tree_of({"type": "summary", "summary": "x", "leafUuid": "u"}, {"type": "user"})

    assert (tree.nodes, tree.path, tree.boundary) == ((), (), 0)
