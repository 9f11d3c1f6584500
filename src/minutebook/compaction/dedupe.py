"""Set repeated readings of one file aside: the newest stays. Pure.

Also outputs of the tool that brings earlier messages back: they are copies by nature.
"""

from __future__ import annotations

from collections.abc import Iterator

from minutebook.compaction.calls import RECALL_TOOL, Act
from minutebook.compaction.keep import Kept, protect
from minutebook.compaction.plan import Draft, Goal, Item
from minutebook.compaction.stubs import NAME, acts_of, may_go, stub_of, with_stubs


def dedupe(draft: Draft, goal: Goal) -> tuple[Draft, str]:
    """Replace outputs that a newer one repeats by stubs that name the newer one.

    Nothing is lost by it, so all go, whatever the target is.
    """
    kept = protect(draft, goal)
    acts = acts_of(draft)
    stubs: dict[int, Item] = {}
    for at, newer in _repeats(draft, goal, kept, acts):
        stub = stub_of(draft.items[at], acts[at], goal.phrases, newer)
        if stub is not None:
            stubs[at] = stub
    if not stubs:
        return draft, "no output is repeated by a newer one"
    return with_stubs(draft, stubs), f"{len(stubs)} outputs that are there twice were set aside"


def _repeats(
    draft: Draft, goal: Goal, kept: Kept, acts: dict[int, Act]
) -> Iterator[tuple[int, int]]:
    """Give (position, the newer record) of outputs that a later call asked for again.

    For what was brought back from earlier, the newer record is 0: the copy has no newer one.
    """
    newest: dict[str, int] = {}
    for at in sorted(acts, reverse=True):
        act = acts[at]
        if act.tool in goal.policy.exclude_tools:
            continue
        if act.tool == RECALL_TOOL and may_go(draft, at, kept):
            yield at, 0
        if act.kind != "read":
            continue
        newer = newest.get(act.key)
        if newer is None:
            if draft.items[at].message.elided != NAME:
                newest[act.key] = at
        elif may_go(draft, at, kept):
            yield at, draft.items[newer].message.seq or 0
