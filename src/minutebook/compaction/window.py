"""Leave out the oldest exchanges, with a notice of what and how many. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from minutebook.compaction.keep import Kept, choose_personal, protect, weights
from minutebook.compaction.plan import MADE, Draft, Goal, Item, made
from minutebook.messages import Message
from minutebook.turns import cuts


def window(draft: Draft, goal: Goal) -> tuple[Draft, str]:
    """Leave out the oldest exchanges until the target is reached, or half of what may go.

    Half is the step of the `kilo` policy; it is taken again while the limit is exceeded.
    """
    kept = protect(draft, goal)
    sizes = weights(draft, goal, kept)
    budget = goal.share(goal.policy.user_share)
    stays = kept.must | choose_personal(kept, sizes, budget, kept.must)
    return _leave_out(draft, goal, kept, stays, sizes)


def last_resort(draft: Draft, goal: Goal) -> tuple[Draft, str]:
    """Leave out all that is not marked, unanswered, the task or the summary, up to the limit.

    What a policy keeps of the beginning and the end is a wish: this runs when granting it
    would mean to refuse.
    """
    kept = protect(draft, goal)
    sizes = [item.tokens for item in draft.items]
    task = frozenset(() if kept.task is None else (kept.task,))
    stays = kept.whole(kept.guarded | kept.fresh | task)
    return _leave_out(draft, goal, kept, stays, sizes)


def _leave_out(
    draft: Draft, goal: Goal, kept: Kept, stays: Collection[int], sizes: Sequence[int]
) -> tuple[Draft, str]:
    """Leave out units that may go, the oldest first."""
    whole = kept.whole(stays)
    may_go: dict[int, list[int]] = {}
    for at, head in enumerate(kept.units):
        if at not in whole and at not in kept.summaries and draft.items[at].source != MADE:
            may_go.setdefault(head, []).append(at)
    total = draft.request.fixed + sum(sizes)
    gone: set[int] = set()
    movable = sum(len(members) for members in may_go.values())
    for members in may_go.values():
        if _enough(goal, total, len(gone), movable):
            break
        gone.update(members)
        total -= sum(sizes[at] for at in members)
    if not gone:
        return draft, "there is nothing that may be left out"
    notice = _notice(draft, goal, sorted(gone))
    items = [item for at, item in enumerate(draft.items) if at not in gone]
    first = min(gone)
    legal = cuts([item.message for item in items])
    place = max(cut for cut in legal if cut <= first)
    return (
        draft.replaced([*items[:place], notice, *items[place:]]),
        f"{len(gone)} of the oldest messages were left out",
    )


def _enough(goal: Goal, total: int, gone: int, movable: int) -> bool:
    """Tell whether enough was left out."""
    if goal.policy.window_step == "half":
        return 2 * gone >= movable and total <= goal.limit
    return total <= goal.target


def _notice(draft: Draft, goal: Goal, gone: Sequence[int]) -> Item:
    """Say what is left out: how many of each role, and which records."""
    phrases = goal.phrases
    counts: dict[str, int] = {}
    for at in gone:
        role = draft.items[at].message.role
        name = role if role in phrases.roles else "other"
        counts[name] = counts.get(name, 0) + 1
    records = [draft.items[at].message.seq or 0 for at in gone]
    text = phrases.left_out.format(
        count=len(gone),
        first=min(records),
        last=max(records),
        roles=phrases.comma.join(phrases.roles[name].format(n=n) for name, n in counts.items()),
    )
    return made(Message(role="user", content=text, origin="notice"))
