"""Which messages a summary is to cover, and which stay beside it. Pure.

The newest part stays, as far back as its budget reaches; before it stay pins, open calls, and
a person's messages within theirs. All the rest is covered, earlier summaries among it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from minutebook.compaction.keep import Kept, choose_personal, weights
from minutebook.compaction.plan import Draft, Goal, Item
from minutebook.turns import cuts

SUMMARY_TOKENS_MAX = 10_000
"""More than this nobody reads: what a larger room has to spare is for messages."""

SUMMARY_TOKENS_MIN = 500
"""A summary is allowed so much where messages that must stay take all of the room."""

SUMMARY_OF_COVERED_MAX = 0.8
"""A summary takes at most this share of what it stands for."""


class Cover(Struct, frozen=True, kw_only=True):
    """What a summary covers, by position in a draft."""

    stays: frozenset[int]
    start: int
    """Where the unbroken run of kept messages at the end begins."""
    covered: tuple[int, ...]
    """All that doesn't stay, in order."""
    budget: int
    """What the summary may take, in tokens."""


def cover(draft: Draft, goal: Goal, kept: Kept) -> Cover:
    """Choose what a summary that is still to be written covers, and what it may take."""
    sizes = weights(draft, goal, kept)
    left = goal.room - sum(sizes[at] for at in kept.must)
    budget = min(goal.share(goal.policy.summary_share), SUMMARY_TOKENS_MAX)
    # What must stay comes first; even beside too much of it something has to be told.
    budget = min(budget, max(left, SUMMARY_TOKENS_MIN))
    found = cover_for(draft, goal, kept, budget)
    most = _most(draft, found.covered)
    if most < budget:
        # So little needs no such long summary: what it leaves is for messages.
        found = cover_for(draft, goal, kept, most)
        most = min(most, _most(draft, found.covered))
        return Cover(stays=found.stays, start=found.start, covered=found.covered, budget=most)
    return found


def cover_for(
    draft: Draft,
    goal: Goal,
    kept: Kept,
    summary_tokens: int,
    gone: Collection[int] = frozenset(),
) -> Cover:
    """Choose what stays beside a summary of so many tokens.

    What stays grows as the beginning of the newest part moves back, so the earliest one that
    fits is found by halving. Without a share for messages (`keep_share`) only what must stay
    does. Messages in *gone* stay only if they must.
    """
    sizes = weights(draft, goal, kept)
    room = int((goal.room - summary_tokens) * goal.policy.keep_share)
    count = len(draft.items)

    def staying(start: int) -> frozenset[int]:
        tail = frozenset(range(start, count)).difference(gone) | kept.must
        chosen = choose_personal(kept, sizes, goal.share(goal.policy.user_share), tail)
        return kept.whole(tail | chosen) - kept.summaries

    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if sum(sizes[at] for at in staying(middle)) <= room:
            high = middle
        else:
            low = middle + 1
    stays = staying(high)
    covered = tuple(at for at in range(count) if at not in stays)
    return Cover(
        stays=stays, start=_tail_start(stays, count), covered=covered, budget=summary_tokens
    )


def insert(draft: Draft, found: Cover, new: Sequence[Item]) -> list[Item]:
    """Put new messages before the newest part, where they split no exchange."""
    before = [draft.items[at] for at in sorted(found.stays) if at < found.start]
    after = [draft.items[at] for at in sorted(found.stays) if at >= found.start]
    whole = [*before, *after]
    at = max(cut for cut in cuts([item.message for item in whole]) if cut <= len(before))
    return [*whole[:at], *new, *whole[at:]]


def _most(draft: Draft, covered: Sequence[int]) -> int:
    """Give how many tokens a summary of these messages may take at most."""
    return int(sum(draft.items[at].tokens for at in covered) * SUMMARY_OF_COVERED_MAX)


def _tail_start(stays: Collection[int], count: int) -> int:
    """Give where the unbroken run of kept messages at the end begins."""
    start = count
    while start - 1 in stays:
        start -= 1
    return start
