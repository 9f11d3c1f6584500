"""The values of a compaction: what is asked, what stands so far, what comes out. Pure.

A step never changes a message in place and never changes the order of messages that stay.
Sizes are counted once per message and kept beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from minutebook.budget import Policy
from minutebook.messages import Message
from minutebook.tokens.estimate import estimate_message

if TYPE_CHECKING:
    # Slow to import (see `ladder`), and only named here.
    from minutebook.compaction.digest.facts import Facts
    from minutebook.compaction.phrases import Phrases
    from minutebook.compaction.relevance import Relevance
    from minutebook.compaction.verify import Checks

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Gives a vector for each text; all of one length."""

MADE = -1
"""The `source` of a message that the compaction wrote itself."""


class Written(Struct, frozen=True, kw_only=True):
    """A summary from outside: a model wrote it, or a person approved it."""

    text: str
    covers: frozenset[int]
    """The `seq` of every message that it stands for; see `asking.summary_task`."""
    approved: bool = False
    """A person approved these very words: they are used whatever their checks say."""


class Request(Struct, frozen=True, kw_only=True):
    """What is to be made smaller."""

    history: tuple[Message, ...]
    """The whole history, oldest first; every message has its `seq`."""
    pins: frozenset[int] = frozenset()
    """The `seq` of the messages that stay word for word."""
    fixed: int = 0
    """The tokens of system prompt and tool schemas, which no step can lessen."""
    system_prompt: str = ""
    focus: str = ""
    """What the caller wants the summary to look at first; empty for nothing in particular."""
    protected: frozenset[int] = frozenset()
    """The `seq` of messages whose tags protect them: they stay like pins, but may be clipped
    where the alternative is a refusal."""
    summary: Written | None = None
    """Takes the place of the digest for what it covers."""
    embed: Embed | None = None
    """Tells how near texts are to each other; without it, the words that they share do. It is
    asked for the lines of the digest and of the ledger, each text once in a compaction."""


class StepReport(Struct, frozen=True, kw_only=True):
    """What one step of the ladder came to."""

    name: str
    tokens_before: int
    """The whole request, system prompt and tools included."""
    tokens_after: int
    """Equal to `tokens_before` when the step's result was not used."""
    detail: str
    """One sentence: what was done, or why nothing was."""


class Plan(Struct, frozen=True, kw_only=True):
    """What a compaction proposes. Nothing has happened yet."""

    history: tuple[Message, ...]
    """The new history. Kept messages as they were; shortened copies with the same `seq` and
    `elided` set; new messages (origin `summary` or `notice`) without a `seq`."""
    steps: tuple[StepReport, ...]
    tokens_before: int
    """Estimate of the whole request, system prompt and tools included."""
    tokens_after: int
    left_out: tuple[int, ...] = ()
    """The `seq` of the messages that are no longer there, ascending."""
    shortened: tuple[int, ...] = ()
    """The `seq` of the messages that this compaction shortened, ascending."""
    ledger: str = ""
    """One sentence on the ledger that was written beside the summary; empty for none."""
    ledger_tokens: int = 0
    """What it takes. It is no step: the last step's size is without it."""
    reason: str = ""
    """Why nothing was changed; empty if something was."""
    checks: Checks | None = None
    """What the new history was checked for; None if nothing was changed."""

    @property
    def changed(self) -> bool:
        """Whether there is anything to commit."""
        return not self.reason


class Item(Struct, frozen=True, gc=False):
    """One message of a draft."""

    message: Message
    source: int
    """Its index in the request's history; `MADE` for a message of ours."""
    tokens: int


class Goal(Struct, frozen=True, kw_only=True):
    """What the steps of one compaction have to reach, in tokens."""

    policy: Policy
    phrases: Phrases
    target: int
    """The size aimed at, fixed part included."""
    limit: int
    """The size that may not be exceeded."""
    room: int
    """What the messages may take: the target less the fixed part."""
    ledger: int = 0
    """What the ledger may take, beside the room."""
    relevance: Relevance | None = None
    """How near lines are to the focus by the caller's embeddings; None without them."""
    facts: Facts | None = None
    """What is known of the whole history, for the ledger; None for no ledger."""

    def share(self, ratio: float) -> int:
        """Give that share of the room, in whole tokens."""
        return int(self.room * ratio)


class Draft(Struct, frozen=True, kw_only=True):
    """A history on its way down the ladder."""

    request: Request
    items: tuple[Item, ...]
    tokens: int
    """The whole request, fixed part included."""

    def replaced(self, items: Sequence[Item]) -> Draft:
        """Give the draft with other messages."""
        total = self.request.fixed + sum(item.tokens for item in items)
        return Draft(request=self.request, items=tuple(items), tokens=total)

    def original(self, item: Item) -> Message:
        """Give the message as it was before this compaction."""
        return item.message if item.source == MADE else self.request.history[item.source]

    def pinned(self, item: Item) -> bool:
        """Tell whether the message has to stay word for word."""
        return item.message.seq in self.request.pins and item.source != MADE

    def guarded(self, item: Item) -> bool:
        """Tell whether the message is pinned, or protected by its tags."""
        return self.pinned(item) or (
            item.message.seq in self.request.protected and item.source != MADE
        )

    @property
    def messages(self) -> list[Message]:
        """The history as it stands."""
        return [item.message for item in self.items]


Step = Callable[[Draft, Goal], tuple[Draft, str]]
"""A step gives its result and one sentence about it; the same draft if it can do nothing."""


def begin(request: Request) -> Draft:
    """Give the draft that a compaction begins with: the history as it is."""
    items = tuple(
        Item(message, index, estimate_message(message))
        for index, message in enumerate(request.history)
    )
    total = request.fixed + sum(item.tokens for item in items)
    return Draft(request=request, items=items, tokens=total)


def made(message: Message) -> Item:
    """Give the item of a message that the compaction wrote."""
    return Item(message, MADE, estimate_message(message))


def shortened(item: Item, message: Message) -> Item:
    """Give the item with a shorter copy of its message."""
    return Item(message, item.source, estimate_message(message))


def finish(
    draft: Draft,
    before: int,
    steps: Sequence[StepReport],
    reason: str = "",
) -> Plan:
    """Give the plan that a draft amounts to; *before* is what the request took at first."""
    history = draft.request.history
    there = {item.source for item in draft.items}
    left_out = [message.seq or 0 for index, message in enumerate(history) if index not in there]
    shorter = [
        item.message.seq or 0
        for item in draft.items
        if item.source != MADE and item.message is not history[item.source]
    ]
    return Plan(
        history=tuple(item.message for item in draft.items),
        steps=tuple(steps),
        tokens_before=before,
        tokens_after=draft.tokens,
        left_out=tuple(sorted(left_out)),
        shortened=tuple(sorted(shorter)),
        reason=reason,
    )
