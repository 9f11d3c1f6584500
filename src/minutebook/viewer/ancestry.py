"""How the logs of a session came from each other, and what a compaction made of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minutebook.cli.findings import reason_of
from minutebook.context import Counted
from minutebook.costing import Costs, cache_share, costs_of, priced
from minutebook.models.prices import price_of
from minutebook.records import Clear, Compaction, Lineage, Revert
from minutebook.tokens.breakdown import by_kind
from minutebook.tokens.estimate import estimate_message
from minutebook.viewer import conversation
from minutebook.viewer.library import Open
from minutebook.viewer.logs import Index, Log, passing

CHECKPOINTS_SHOWN = 50


def logs_of(opened: Open, facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the logs from the live one back, each with its checkpoints and what it came from.

    Those that the live one did not come from, as it was reverted or undone, are `aside`.
    """
    about = {rotation["number"]: rotation for rotation in facts["rotations"]}
    found = []
    for number in (None, *sorted(about, reverse=True)):
        log = opened.log(number)
        steps = [] if log is None else [step.record for step in log.index.rewritten]
        marks = [] if log is None else log.index.checkpoints
        last = steps[-1] if steps else None
        found.append(
            {
                "number": number,
                "name": "now" if number is None else str(number),
                "aside": False,
                "rotation": about.get(number) if number is not None else None,
                "messages": None if log is None else log.index.count,
                "missing": log is None,
                "checkpoints": marks[-CHECKPOINTS_SHOWN:][::-1],
                "checkpoints_count": len(marks),
                "last": last,
                "kind": "" if last is None else reason_of(last),
                "compaction": conversation.address_of(last) if isinstance(last, Compaction) else "",
                "parent": None if last is None else parent_of(last),
            }
        )
    line, at = set(), found[0]["parent"]
    parents = {one["number"]: one["parent"] for one in found}
    while at is not None and at not in line:
        line.add(at)
        at = parents.get(at)
    for one in found[1:]:
        one["aside"] = one["number"] not in line
    return found


def parent_of(record: Lineage) -> int | None:
    """Give the rotation whose messages a log began with, or a summary of them."""
    match record:
        case Compaction(parent=rotated):
            return None if rotated is None else rotated.number
        case Revert(source=int(source)):
            return source
        case Revert(origin=rotated) | Clear(origin=rotated):
            return None if rotated is None else rotated.number
        case _:
            return None


def costs(record: Compaction, before: Index | None, model: str) -> Costs | None:
    """Say what a compaction cost and saves; None where it does not tell its sizes."""
    if record.tokens_before is None or record.tokens_after is None:
        return None
    counted = [] if before is None else before.counted
    found = costs_of(
        record.tokens_before,
        record.tokens_after,
        spent=record.usage,
        share=cache_share(Counted(one.usage, one.messages) for one in counted),
    )
    return priced(found, model, record.model or model, price_of) if model else found


def positions(made: Index, seqs: Sequence[int]) -> list[int]:
    """Give where the messages of some numbers stand in a log, ascending."""
    found = (made.position(seq) for seq in seqs)
    return sorted(position for position in found if position is not None)


def left_by(record: Compaction, made: Index) -> list[int]:
    """Give the positions of the messages that a compaction left in its log."""
    return positions(made, (*record.carried, *record.made))


def kinds(log: Log, where: Sequence[int]) -> dict[str, int]:
    """Give the estimate of some messages by kind."""
    total: dict[str, int] = {}
    for message in log.read(where):
        for kind, tokens in by_kind(None, (), (message,)).items():
            total[kind] = total.get(kind, 0) + tokens
    return {kind: tokens for kind, tokens in total.items() if tokens}


def items(record: Compaction, parent: Log, log: Log, first: int) -> list[dict[str, Any]]:
    """Say what became of each message of a page of the log before a compaction."""
    stop = min(parent.index.count, first + conversation.PAGE_MESSAGES)
    carried = set(record.carried)
    copies = positions(log.index, [seq for seq in parent.index.seqs[first:stop] if seq in carried])
    after = {message.seq: message for message in log.read(copies)}
    found = []
    for message in passing(parent, first, stop):
        copy = after.get(message.seq)
        before = estimate_message(message)
        fate = "left_out"
        if copy is not None:
            fate = "shortened" if copy.elided and copy.elided != message.elided else "kept"
        found.append(
            {
                "line": conversation.line_of(message),
                "fate": fate,
                "step": copy.elided if copy is not None else "",
                "before": before,
                "after": 0 if copy is None else estimate_message(copy),
            }
        )
    return found
