"""Set old tool outputs aside: each becomes a stub that says what it was and where it is.

The oldest go first, until the target is reached. What the model hasn't seen yet, pins, the
newest part, and the outputs of excluded tools stay as they are. Pure.
"""

from __future__ import annotations

from minutebook.compaction.calls import Act
from minutebook.compaction.keep import Kept, protect, weights
from minutebook.compaction.plan import Draft, Goal, Item
from minutebook.compaction.stubs import NAME, acts_of, may_go, stub_of, with_stubs

__all__ = ["NAME", "mask"]


def mask(draft: Draft, goal: Goal) -> tuple[Draft, str]:
    """Replace outputs by stubs until the target is reached or none is left.

    Where the last stub freed more than was needed, the newest of the others come back as
    far as they fit: no more is set aside than has to be. If all of them together free less
    than the policy's least gain, and the target is not reached, none is.
    """
    kept = protect(draft, goal)
    acts = acts_of(draft)
    stubs: dict[int, Item] = {}
    total = draft.tokens
    old: list[int] = []
    for at in _old(draft, goal, kept, acts):
        if total <= goal.target:
            break
        stub = stub_of(draft.items[at], acts[at], goal.phrases)
        if stub is not None:
            stubs[at] = stub
            old.append(at)
            total += stub.tokens - draft.items[at].tokens
    for at in reversed(old[:-1]):
        more = draft.items[at].tokens - stubs[at].tokens
        if total + more <= goal.target:
            total += more
            del stubs[at]
    if not stubs:
        return draft, "no tool output is old and large enough to be set aside"
    freed = draft.tokens - total
    if total > goal.target and freed < draft.tokens * goal.policy.mask_gain_min:
        return draft, f"setting old tool outputs aside would free only {freed} tokens"
    return with_stubs(draft, stubs), f"{len(stubs)} old tool outputs were set aside"


def _old(draft: Draft, goal: Goal, kept: Kept, acts: dict[int, Act]) -> list[int]:
    """Give the outputs before the newest part, the oldest first.

    The newest part is what fits its share of the room; an output that doesn't fit it is
    large, and counts as old even if little follows it.
    """
    left = goal.policy.verbatim_tokens
    if left is None:
        left = goal.share(goal.policy.verbatim_share)
    excluded = goal.policy.exclude_tools
    sizes = weights(draft, goal, kept)
    old = []
    for at in range(len(draft.items) - 1, -1, -1):
        large = sizes[at] > left and at in acts and acts[at].tool not in excluded
        if large and may_go(draft, at, kept):
            old.append(at)
        else:
            left -= sizes[at]
    return old[::-1]
