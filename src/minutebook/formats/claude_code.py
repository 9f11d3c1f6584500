"""Claude Code transcripts: `<session>.jsonl`. Pure.

What the model is sent is the active branch from the last compaction on. Left out of it, and
counted: sub-agents' records, other branches, replies that the client wrote itself (errors),
and records that only the client shows. A record marked `isMeta` is hidden from the user but
was sent: in the samples the input of the next call grows by the length of such a record (a
skill's text of 10 313 characters: 2 754 tokens more), so it stays, as an injection.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from minutebook.formats.claude_lines import CHAINED, Head
from minutebook.formats.claude_lines import Record as Line
from minutebook.formats.claude_lines import records as read_lines
from minutebook.formats.claude_messages import Assembly, Slot, cleared
from minutebook.formats.claude_tree import Tree, branches, plant, replies_of
from minutebook.formats.mapping import (
    CLEARED_NOTICE,
    counted,
    moment,
    table,
    with_call_ids,
    with_checkpoints,
)
from minutebook.formats.source import Source
from minutebook.formats.value import Format, LeftOut, Reading, Why, only_one
from minutebook.messages import Message, replace
from minutebook.records import Usage


def detect(source: Source) -> str | None:
    """Give the evidence that the file is a transcript."""
    kinds = [table(value).get("type") for value in source.objects]
    for value, kind in zip(source.objects, kinds, strict=True):
        record = table(value)
        if isinstance(kind, str) and kind in CHAINED and "parentUuid" in record:
            return f"a line of the type {kind} has the key parentUuid"
    if "file-history-snapshot" in kinds or b'"parentUuid":' in source.data:
        for value, kind in zip(source.objects, kinds, strict=True):
            if isinstance(kind, str) and table(value).keys() & {
                "sessionId",
                "leafUuid",
                "snapshot",
            }:
                return f"a line of the type {kind}, and others with the key parentUuid"
    return None


class _Spoken(NamedTuple):
    """A record, the byte of its line, and the byte of the message that it belongs to."""

    record: Message | Usage
    at: int
    first: int


def read(source: Source, index: int) -> Reading:
    """Read a transcript: all its lines' heads, and of those on a branch what they say."""
    only_one(source, index)
    lines, problems = read_lines(source.data)
    tree = plant(lines)
    branch, abandoned, off = _assemble(source.data, tree)
    whole = _spoken([slot for slot in branch.slots if slot.sent])
    sent = _blanked(whole, cleared([tree.nodes[at] for at in tree.path]))
    records, made_up = with_call_ids(item.record for item in sent)
    left_out = _left_out(
        sent=sent,
        whole=whole,
        compacted=_spoken([slot for slot in branch.slots if not slot.sent]),
        abandoned=_spoken(abandoned.slots),
    )
    kinds = [node.head.subtype for node in map(tree.nodes.__getitem__, tree.path)]
    counts = counted(
        (record for record in records if isinstance(record, Message)),
        branches=branches(tree, off),
        abandoned=sum(item.why == "abandoned" for item in left_out),
        sidechain=sum(tree.side[at] and _speaks(node) for at, node in enumerate(tree.nodes)),
        compactions=tree.compactions,
        microcompactions=kinds.count("microcompact_boundary"),
        blanked=sum(item.why == "blanked" for item in left_out),
        duplicates=tree.duplicates,
        made_up_ids=made_up,
        **(branch.counts + abandoned.counts),
    )
    heads = [line.head for line in lines]
    times = [head.timestamp for head in heads if head.timestamp is not None]
    leaf = tree.nodes[tree.path[-1]].head if tree.path else Head()
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints(records),
        left_out=left_out,
        counts=counts,
        problems=tuple(sorted((*problems, *tree.problems), key=attrgetter("byte"))),
        title=_title(heads),
        agent="Claude Code",
        agent_version=leaf.version or "",
        model=next((item.model for item in reversed(records) if isinstance(item, Usage)), "") or "",
        session_id=leaf.session_id or "",
        cwd=leaf.cwd or "",
        started=moment(times[0]) if times else None,
        updated=moment(times[-1]) if times else None,
    )


def _assemble(data: bytes, tree: Tree) -> tuple[Assembly, Assembly, set[int]]:
    """Put together the active branch, and the other branches with the nodes they are made of."""
    path = set(tree.path)
    chosen = replies_of(tree, path)
    branch = Assembly(data, tree, path=path, sent=set(tree.path[tree.boundary :]))
    for at in sorted(chosen):
        branch.feed(at)
    off = [
        at
        for at, node in enumerate(tree.nodes)
        if at not in chosen and not tree.side[at] and _speaks(node)
    ]
    wanted = branch.unanswered()
    lent = {at for at in off if wanted and branch.lend(at, wanted)}
    rest = {at for at in off if at not in lent}
    abandoned = Assembly(data, tree, path=rest, sent=set())
    for at in sorted(rest):
        abandoned.feed(at)
    return branch, abandoned, rest


def _speaks(node: Line) -> bool:
    """Tell whether a record is one of the conversation's own."""
    return node.head.type in {"user", "assistant"}


def _spoken(slots: Sequence[Slot]) -> list[_Spoken]:
    """Give the records of slots, in order."""
    return [_Spoken(record, at, slot.first) for slot in slots for at, record in slot.records()]


def _blanked(whole: Sequence[_Spoken], cleared_by: dict[str, int]) -> list[_Spoken]:
    """Shorten the results that a later microcompaction names, as they would be sent."""
    sent = []
    for item in whole:
        record = item.record
        if (
            isinstance(record, Message)
            and record.role == "tool"
            and item.at < cleared_by.get(record.tool_call_id or "", -1)
        ):
            record = replace(record, content=CLEARED_NOTICE, elided="mask")
        sent.append(item._replace(record=record))
    return sent


def _left_out(
    *,
    sent: Sequence[_Spoken],
    whole: Sequence[_Spoken],
    compacted: Sequence[_Spoken],
    abandoned: Sequence[_Spoken],
) -> tuple[LeftOut, ...]:
    """Give what is not sent, in the order of writing, each in front of what was written next."""
    left_out: list[LeftOut] = []
    messages = [item for item in sent if isinstance(item.record, Message)]
    firsts = [item.first for item in messages]
    others: list[tuple[_Spoken, Why]] = [(item, "compacted") for item in compacted]
    others += [(item, "abandoned") for item in abandoned]
    for item, why in sorted(others, key=lambda other: other[0].first):
        if isinstance(item.record, Message):
            before = bisect_right(firsts, item.first)
            left_out.append(LeftOut(message=item.record, before=before, why=why))
    originals = [item.record for item in whole if isinstance(item.record, Message)]
    for index, (original, item) in enumerate(zip(originals, messages, strict=True)):
        if item.record is not original:
            left_out.append(LeftOut(message=original, before=index, why="blanked"))
    return tuple(left_out)


def _title(heads: Sequence[Head]) -> str:
    """Give the title: the user's own, else one made by a model, else the last summary.

    A summary often belongs to another session; it counts only if its leaf is in this file.
    """
    here = {head.uuid for head in heads if head.uuid}
    own = [head.custom_title for head in heads if head.custom_title]
    made = [head.ai_title for head in heads if head.ai_title]
    summaries = [
        head.summary
        for head in heads
        if head.type == "summary" and head.summary and head.leaf_uuid in here
    ]
    return next((titles[-1] for titles in (own, made, summaries) if titles), "")


FORMAT = Format(
    name="claude-code",
    description="Claude Code: a session's transcript, <session>.jsonl",
    looks_for="lines with the keys type and parentUuid (Claude Code)",
    detect=detect,
    read=read,
)
