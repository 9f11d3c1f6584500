"""What a compaction may not take away, and what belongs together. Pure.

Positions are indices into a draft's items. A unit is an assistant message with calls and all
their results: it stays or goes as one, wherever its parts stand. Every other message is a
unit by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from minutebook.compaction.digest.statements import is_rule, is_slight, sentences
from minutebook.compaction.plan import MADE, Draft, Goal
from minutebook.turns import origin_of, pair

PERSONAL = frozenset(("user", "dmail"))
"""Origins whose messages are protected up to a budget: a person's words, and what the model
told itself across a revert."""

CLIPPED_TOKENS_MIN = 120
"""No message is cut to less: the mark alone takes about 20."""

FRESH_SHARE = 0.4
"""Results that the model hasn't seen count for at most this share of the room while older
messages are chosen, since `clip` can shorten them. Else one huge result would push out
everything, and be cut afterwards all the same."""


class Kept(Struct, frozen=True, kw_only=True):
    """What is protected in one draft, by position."""

    units: tuple[int, ...]
    """For each item the position of its unit's head."""
    pinned: frozenset[int]
    protected: frozenset[int]
    """What is protected by its tags and not pinned."""
    fresh: frozenset[int]
    """What the model has not answered yet, with the reply before it, which may be the question;
    and exchanges that are not complete."""
    ends: frozenset[int]
    """The first and the last messages that the policy keeps."""
    injected: frozenset[int]
    """What the program slipped in: it may be clipped even before it is answered."""
    personal: tuple[int, ...]
    """A person's messages, D-Mails, and system messages, oldest first."""
    directives: frozenset[int]
    """Those of a person's messages that say what to do, or not to do, from then on."""
    task: int | None
    """The first of a person's messages that is more than a nod or a command."""
    summaries: frozenset[int]
    """Summaries that are not pinned."""

    @property
    def must(self) -> frozenset[int]:
        """What stays in any case, exchanges whole."""
        return self.whole(self.guarded | self.fresh | self.ends) - self.summaries

    @property
    def guarded(self) -> frozenset[int]:
        """What somebody has marked."""
        return self.pinned | self.protected

    def whole(self, positions: Iterable[int]) -> frozenset[int]:
        """Add to some positions the rest of their exchanges."""
        heads = {self.units[position] for position in positions}
        return frozenset(position for position, head in enumerate(self.units) if head in heads)


def protect(draft: Draft, goal: Goal) -> Kept:
    """Work out what is protected. Linear in the number of messages."""
    items = draft.items
    history = draft.messages
    origins = [origin_of(message) for message in history]
    pairing = pair(history)
    units = list(range(len(items)))
    for (head, _), result in pairing.results.items():
        units[result] = head
    pinned = frozenset(at for at, item in enumerate(items) if draft.pinned(item))
    protected = frozenset(at for at, item in enumerate(items) if draft.guarded(item)) - pinned
    summaries = (
        frozenset(at for at, origin in enumerate(origins) if origin == "summary")
        - pinned
        - protected
    )
    spoken = [
        at
        for at, message in enumerate(history)
        if message.role == "user" and origins[at] in PERSONAL
    ]
    systems = [at for at, message in enumerate(history) if message.role == "system"]
    fresh = _unanswered(draft, origins) | _open(draft, spoken, pairing.open)
    counted = [
        at
        for at, item in enumerate(items)
        if item.message.role in {"user", "assistant"}
        and at not in summaries
        and item.source != MADE
    ]
    policy = goal.policy
    ends = {*counted[: policy.keep_first], *counted[max(len(counted) - policy.keep_last, 0) :]}
    return Kept(
        units=tuple(units),
        pinned=pinned,
        protected=protected,
        fresh=fresh - summaries,
        ends=frozenset(ends),
        injected=frozenset(at for at, origin in enumerate(origins) if origin == "injection"),
        personal=tuple(sorted([*spoken, *systems])),
        directives=frozenset(at for at in spoken if directs(history[at].text)),
        task=next((at for at in spoken if not is_slight(history[at].text)), None),
        summaries=summaries,
    )


def directs(text: str) -> bool:
    """Tell whether a person's text says what to do, or not to do, from then on."""
    return any(map(is_rule, sentences(text)))


def weights(draft: Draft, goal: Goal, kept: Kept) -> list[int]:
    """Give what each message takes once `clip` has shortened what is too large by itself."""
    sizes = [item.tokens for item in draft.items]
    results = [at for at in kept.fresh - kept.pinned if draft.items[at].message.role == "tool"]
    total = sum(sizes[at] for at in results)
    allowed = goal.share(FRESH_SHARE)
    if total > allowed:
        for at in results:
            sizes[at] = sizes[at] * max(allowed, 0) // total
    largest = max(goal.share(goal.policy.user_share), CLIPPED_TOKENS_MIN)
    unanswered = kept.fresh - kept.injected
    for at in {*kept.personal, *kept.ends, *kept.injected} - kept.guarded - unanswered:
        if draft.items[at].message.role not in {"assistant", "tool"}:
            sizes[at] = min(sizes[at], largest)
    return sizes


def choose_personal(
    kept: Kept, sizes: Sequence[int], budget_tokens: int, already: Collection[int]
) -> frozenset[int]:
    """Choose a person's messages that stay: the task, directives, the oldest, then the newest.

    Those in *already* stay anyway and cost nothing here. The task stays whatever it costs;
    another one that is too large is passed over for smaller ones before it.
    """
    chosen = {at for at in kept.personal if at in already}
    left = budget_tokens
    if kept.task is not None and kept.task not in chosen:
        chosen.add(kept.task)
        left -= sizes[kept.task]
    directives = [at for at in reversed(kept.personal) if at in kept.directives]
    for at in (*directives, *kept.personal[:1], *reversed(kept.personal)):
        if at not in chosen and sizes[at] <= left:
            chosen.add(at)
            left -= sizes[at]
    return frozenset(chosen)


def _unanswered(draft: Draft, origins: Sequence[str]) -> frozenset[int]:
    """Give what follows the last assistant message, and the exchange of what stands there."""
    last = max(
        (at for at, item in enumerate(draft.items) if item.message.role == "assistant"),
        default=-1,
    )
    tail = [at for at in range(last + 1, len(draft.items)) if origins[at] != "summary"]
    if last >= 0 and any(
        draft.items[at].message.role == "tool" or origins[at] in PERSONAL for at in tail
    ):
        # "Yes" is no answer without its question, and no result stands without its call.
        tail.append(last)
    return frozenset(tail)


def _open(draft: Draft, spoken: Sequence[int], calls: Iterable[tuple[int, int]]) -> frozenset[int]:
    """Give the messages whose calls still wait for a result.

    A call is given up once a person has written after it and the assistant after that.
    """
    replies = [at for at, item in enumerate(draft.items) if item.message.role == "assistant"]
    last_reply = replies[-1] if replies else -1
    answered = [at for at in spoken if at < last_reply]
    return frozenset(at for at, _ in calls if not answered or at > answered[-1])
