"""Put one structured summary in the place of older exchanges. Pure.

A summary from outside (a model's, or one that a person approved) stands for what it covers;
the rest of what has to go is told by the built-in digest, from the messages as they were
before this compaction. A summary that exists is always covered by a new one, which carries
its facts on.
"""

from __future__ import annotations

from collections.abc import Sequence

from minutebook.compaction.calls import values_of
from minutebook.compaction.covering import SUMMARY_OF_COVERED_MAX, Cover, cover, cover_for, insert
from minutebook.compaction.digest.names import names_in
from minutebook.compaction.digest.parse import has_lead, is_ledger
from minutebook.compaction.digest.write import digest
from minutebook.compaction.keep import Kept, protect
from minutebook.compaction.plan import Draft, Goal, Item, Written, made
from minutebook.messages import Message

SLACK_MAX = 0.15
"""A digest that leaves more of its budget than this gives it to messages."""

REST_TOKENS_MIN = 200
"""For what a summary from outside doesn't cover, the digest takes this much at least."""


def summarize(draft: Draft, goal: Goal) -> tuple[Draft, str]:
    """Replace what is older than the newest part by one summary."""
    kept = protect(draft, goal)
    written = draft.request.summary
    if written is not None:
        refused = _refused(draft, goal, written)
        if not refused:
            return _with_written(draft, goal, kept, written)
        result, detail = _with_digest(draft, goal, kept)
        return result, f"{refused}; {detail}"
    return _with_digest(draft, goal, kept)


def _with_digest(draft: Draft, goal: Goal, kept: Kept) -> tuple[Draft, str]:
    """Let the digest tell all that has to go."""
    found = cover(draft, goal, kept)
    if all(at in kept.summaries for at in found.covered):
        return draft, "there is nothing older than what is kept"
    summary = _digested(draft, goal, kept, found.covered, found.stays, found.budget)
    if summary is None:
        return draft, f"a summary does not fit into {found.budget} tokens"
    if summary.tokens < found.budget * (1 - SLACK_MAX):
        # What it left over is for messages; those are then not to be told of any more.
        more = cover_for(draft, goal, kept, summary.tokens)
        if not all(at in kept.summaries for at in more.covered):
            again = _digested(draft, goal, kept, more.covered, more.stays, summary.tokens)
            if again is not None:
                found, summary = more, again
    return _replaced(draft, goal, kept, found, [summary])


def _with_written(draft: Draft, goal: Goal, kept: Kept, written: Written) -> tuple[Draft, str]:
    """Use a summary from outside, and the digest for what it doesn't cover.

    The newest of what it covers may stay where there is room. What a person has approved takes
    the place of all that it covers, unless that must stay or is a person's message within
    their budget.
    """
    at_hand = frozenset(
        at for at, item in enumerate(draft.items) if item.message.seq in written.covers
    )
    gone = frozenset[int]()
    if written.approved:
        # An exchange of which a part must stay, or is not covered, stays whole.
        outside = frozenset(range(len(draft.items))) - at_hand
        gone = at_hand - kept.whole(outside - kept.summaries) - kept.must
    own = _told(draft, goal, sorted(at_hand), written.text)
    found = cover_for(draft, goal, kept, own.tokens, gone)
    rest = [at for at in found.covered if at not in at_hand]
    if not rest:
        return _replaced(draft, goal, kept, found, [own])
    left = min(goal.share(goal.policy.summary_share) - own.tokens, _size(draft, rest))
    budget = max(int(left * SUMMARY_OF_COVERED_MAX), REST_TOKENS_MIN)
    found = cover_for(draft, goal, kept, own.tokens + budget, gone)
    rest = [at for at in found.covered if at not in at_hand]
    first = min(at_hand, default=len(draft.items))
    new = [own]
    for part in ([at for at in rest if at < first], [at for at in rest if at >= first]):
        if part:
            share = budget * _size(draft, part) // max(_size(draft, rest), 1)
            told = _digested(draft, goal, kept, part, found.stays, max(share, REST_TOKENS_MIN))
            if told is None:
                return draft, f"a summary of the rest does not fit into {share} tokens"
            new.insert(0 if part[0] < first else len(new), told)
    return _replaced(draft, goal, kept, found, new)


def _refused(draft: Draft, goal: Goal, written: Written) -> str:
    """Say why a summary from outside is not used; empty if it is."""
    if not written.text.strip():
        return "the summary that was given is empty"
    if written.approved or not goal.policy.score_min:
        return ""
    from minutebook.compaction.doubts import check_summary

    checked = check_summary(written.text, draft.request.history)
    if checked.score >= goal.policy.score_min:
        return ""
    return (
        f"the summary that was given scores {checked.score:.2f}, of {goal.policy.score_min:.2f}"
        " at least, and is not used"
    )


def _told(draft: Draft, goal: Goal, covered: Sequence[int], text: str) -> Item:
    """Make the message of a summary from outside, with the line by which it is known."""
    from minutebook.compaction.task import with_lead

    seqs = [draft.items[at].message.seq or 0 for at in covered] or [0]
    if not has_lead(text):
        text = with_lead(
            text, goal.phrases, first=min(seqs), last=max(seqs), count=max(len(covered), 1)
        )
    return made(Message(role="user", content=text, origin="summary"))


def _digested(
    draft: Draft,
    goal: Goal,
    kept: Kept,
    covered: Sequence[int],
    stays: frozenset[int],
    budget_tokens: int,
) -> Item | None:
    """Write the digest of some messages; None if it doesn't fit."""
    task = None
    if kept.task is not None and kept.task in stays:
        task = draft.items[kept.task].message
    ledgers = [message for message in draft.request.history if is_ledger(message)]
    text = digest(
        [*ledgers, *(draft.original(draft.items[at]) for at in covered)],
        budget_tokens,
        phrases=goal.phrases,
        focus=draft.request.focus,
        visible=_visible(draft, stays),
        task=task,
        relevance=goal.relevance,
    )
    return made(Message(role="user", content=text, origin="summary")) if text else None


def _replaced(
    draft: Draft, goal: Goal, kept: Kept, found: Cover, new: Sequence[Item]
) -> tuple[Draft, str]:
    """Give the draft with summaries in the place of what they cover."""
    notices = []
    left_out = [at for at in kept.personal if at not in found.stays]
    if left_out:
        notices.append(_notice(draft, goal, left_out))
    result = draft.replaced(insert(draft, found, [*notices, *new]))
    tokens = sum(item.tokens for item in new)
    return result, (
        f"{len(found.covered)} messages became a summary of {tokens} tokens;"
        f" {len(found.stays)} are kept"
    )


def _size(draft: Draft, positions: Sequence[int]) -> int:
    return sum(draft.items[at].tokens for at in positions)


def _visible(draft: Draft, stays: frozenset[int]) -> frozenset[str]:
    """Give the names that stand in what is kept."""
    names: set[str] = set()
    for at in stays:
        message = draft.items[at].message
        names.update(names_in(message.text))
        for call in message.calls:
            names.update(names_in(values_of(call)))
    return frozenset(names)


def _notice(draft: Draft, goal: Goal, left_out: Sequence[int]) -> Item:
    """Name a person's messages that only the summary tells of."""
    records = [draft.items[at].message.seq for at in (left_out[0], left_out[-1])]
    text = goal.phrases.users_left_out.format(
        count=len(left_out), first=records[0], last=records[1]
    )
    return made(Message(role="user", content=text, origin="notice"))
