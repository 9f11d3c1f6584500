"""The tree of a Claude Code transcript: which lines are on the active branch. Pure.

Each record names its parent. Several children of one record are a rewind, a retry or an edit;
or merely the results of parallel calls, each of which hangs under its own line of the reply.
So the walk from the leaf to the root gives the branch, and the lines of one reply and the
results of its calls belong to it wherever they hang.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from minutebook.formats.claude_lines import CHAINED, Record
from minutebook.formats.source import at_line
from minutebook.lines import Problem

_SPEAKING = frozenset({"user", "assistant", "attachment"})
"""The kinds of records that can be the last of a branch."""


class Tree(Struct, frozen=True, kw_only=True):
    """The chained records of a transcript, and where each hangs. Indices are into `nodes`."""

    nodes: tuple[Record, ...]
    """Every chained record once, in file order; sidechains too."""
    parents: tuple[int, ...]
    """The index of each node's parent, -1 for none."""
    side: tuple[bool, ...]
    """Whether a node belongs to a sub-agent, in a file that also holds the main conversation."""
    path: tuple[int, ...]
    """The active branch from the root to the leaf, across the boundaries of compactions."""
    boundary: int
    """Where in `path` the last compaction's boundary stands, 0 if there was none."""
    compactions: int
    """How many compactions the active branch went through."""
    duplicates: int
    """How many records repeat the `uuid` of an earlier one; the first one counts."""
    problems: tuple[Problem, ...]


def plant(records: Sequence[Record]) -> Tree:
    """Work out the tree. Time and memory are linear in the number of records."""
    nodes: list[Record] = []
    by_uuid: dict[str, int] = {}
    duplicates = 0
    for record in records:
        head = record.head
        if head.uuid is None or head.type not in CHAINED:
            continue
        if head.uuid in by_uuid:
            duplicates += 1
            continue
        by_uuid[head.uuid] = len(nodes)
        nodes.append(record)
    side = _sides(nodes)
    problems: list[Problem] = []
    parents = _parents(nodes, by_uuid, side, problems)
    path = _walk(_leaf(records, nodes, by_uuid, side), parents, side)
    starts = _contexts(nodes, path)
    return Tree(
        nodes=tuple(nodes),
        parents=tuple(parents),
        side=side,
        path=path,
        boundary=starts[-1] if starts else 0,
        compactions=len(starts),
        duplicates=duplicates,
        problems=tuple(problems),
    )


def _sides(nodes: Sequence[Record]) -> tuple[bool, ...]:
    """Tell which nodes are a sub-agent's; none is in a sub-agent's own file."""
    side = tuple(node.head.is_sidechain is True for node in nodes)
    main = any(
        not aside and node.head.type in {"user", "assistant"}
        for node, aside in zip(nodes, side, strict=True)
    )
    return side if main else (False,) * len(nodes)


def _parents(
    nodes: Sequence[Record],
    by_uuid: dict[str, int],
    side: Sequence[bool],
    problems: list[Problem],
) -> list[int]:
    """Find each node's parent.

    A parent that is not in the file is replaced by the record before, of the same side: such
    gaps are lost lines, and what follows them goes on with the conversation. The same holds
    before a compaction, whose logical parent often names nothing in the file.
    """
    parents: list[int] = []
    before = {True: -1, False: -1}
    for index, node in enumerate(nodes):
        head, previous = node.head, before[side[index]]
        parent = by_uuid.get(head.parent_uuid or "", -1)
        if parent < 0 and _is_boundary(node):
            parent = by_uuid.get(head.logical_parent_uuid or "", previous)
        elif parent < 0 and head.parent_uuid:
            parent = previous
            # The first record of a cut-off head has lost its parent as a matter of course.
            if previous >= 0:
                what = "the parent of this record is not in the file; taken as the record before"
                problems.append(at_line(node.line, "parent", what))
        elif parent < 0 and head.is_compact_summary:
            parent = previous
        parents.append(parent)
        before[side[index]] = index
    return parents


def _is_boundary(node: Record) -> bool:
    return node.head.subtype == "compact_boundary" and node.head.type == "system"


def _contexts(nodes: Sequence[Record], path: Sequence[int]) -> list[int]:
    """Give the places of the path at which what is sent began anew.

    That is at each boundary, and at each summary without one, as version 1.0 wrote it.
    """
    starts: list[int] = []
    fresh = False
    for at, index in enumerate(path):
        head = nodes[index].head
        if _is_boundary(nodes[index]) or (head.is_compact_summary is True and not fresh):
            starts.append(at)
            fresh = True
        elif head.type in {"user", "assistant"}:
            fresh = False
    return starts


def _leaf(
    records: Sequence[Record],
    nodes: Sequence[Record],
    by_uuid: dict[str, int],
    side: Sequence[bool],
) -> int:
    """Find the last record of the active branch, -1 if there is none.

    The newest one in the file, unless the client noted later that it stands elsewhere: a
    `last-prompt` record names the leaf of its time, and goes out of date with the next message.
    """
    leaf, newest = -1, -1
    for index, node in enumerate(nodes):
        if node.head.type in _SPEAKING and not side[index]:
            leaf, newest = index, node.start
    noted = -1
    for record in records:
        if record.head.type == "last-prompt" and record.start > newest:
            noted = by_uuid.get(record.head.leaf_uuid or "", noted)
    return noted if noted >= 0 and not side[noted] else leaf


def _walk(leaf: int, parents: Sequence[int], side: Sequence[bool]) -> tuple[int, ...]:
    """Walk from a leaf to its root. A circle of parents ends where it would close."""
    path: list[int] = []
    seen: set[int] = set()
    while leaf >= 0 and leaf not in seen:
        seen.add(leaf)
        if not side[leaf]:
            path.append(leaf)
        leaf = parents[leaf]
    return tuple(reversed(path))


def replies_of(tree: Tree, indices: Iterable[int]) -> set[int]:
    """Add to nodes every other line of the same replies: one API message is several lines."""
    lines_of: dict[str, list[int]] = {}
    for index, node in enumerate(tree.nodes):
        identity = reply_id(node)
        if identity and not tree.side[index]:
            lines_of.setdefault(identity, []).append(index)
    chosen = set(indices)
    for identity in {reply_id(tree.nodes[index]) for index in chosen}:
        chosen.update(lines_of.get(identity, ()))
    return chosen


def reply_id(node: Record) -> str:
    """Give the id of the API message that a line is a piece of; empty if it is of none."""
    message = node.head.message
    return message.id or "" if node.head.type == "assistant" and message is not None else ""


def branches(tree: Tree, abandoned: set[int]) -> int:
    """Count the branches that nodes off the active one make: the nodes that begin one."""
    anchors: list[int] = []
    for index, parent in enumerate(tree.parents):
        # A parent that comes later in the file is none that a client wrote.
        known = -1 if parent >= index else parent
        if known >= 0 and tree.nodes[known].head.type not in {"user", "assistant"}:
            known = anchors[known]
        anchors.append(known)
    return sum(anchors[index] not in abandoned for index in abandoned)
