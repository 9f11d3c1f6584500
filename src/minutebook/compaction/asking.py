"""What a model is to be asked to summarise, before the compaction that will use it. Pure.

`summary_task` goes down the ladder as far as the step `summarize` and says what would be told
there. The answer comes back as `Request.summary`; the compaction that is then planned uses it
for what it covers. Messages may have been added in between: they are not covered, and stay or
are told by the digest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from minutebook.compaction.calls import RECALL_TOOL
from minutebook.compaction.ladder import begin_descent, descend
from minutebook.messages import Message, replace
from minutebook.turns import origin_of, pair

if TYPE_CHECKING:
    from minutebook.budget import Limits, Policy
    from minutebook.compaction.plan import Request
    from minutebook.compaction.task import SummaryTask


class Asked(Struct, frozen=True, kw_only=True):
    """What to ask a model for, and what its answer will stand for."""

    task: SummaryTask
    """The messages to cover, the summary so far, the budget; see `task.SummaryTask`."""
    covers: frozenset[int]
    """The `seq` of all messages that the answer stands for: `Written.covers`."""


def summary_task(
    request: Request, limits: Limits, policy: Policy, *, forced: bool = False
) -> Asked | None:
    """Say what a model would have to summarise for this compaction.

    None if it needs no summary: the request is within its target, the steps before reach it,
    the policy has no summaries, or there is nothing but an earlier summary to tell.

    Copies that `recall_history` brought back are not shown to the model: what they say was
    said before. The ledger isn't either, since no model is to retell it.
    """
    begun = begin_descent(request, limits, policy, forced=forced)
    if begun is None or "summarize" not in policy.steps:
        return None
    draft, goal, steps = begun
    before = [step for step in steps if step[0] != "summarize"][: _index(steps)]
    draft = descend(draft, goal, before, [])
    if draft.tokens <= goal.target:
        return None
    from minutebook.compaction.covering import cover
    from minutebook.compaction.keep import protect
    from minutebook.compaction.language import language_of
    from minutebook.compaction.task import task_of

    kept = protect(draft, goal)
    found = cover(draft, goal, kept)
    covered = [draft.original(draft.items[at]) for at in found.covered]
    shown = without_recalled(covered)
    if all(origin_of(message) == "summary" for message in shown):
        return None
    task = task_of(
        shown,
        found.budget,
        focus=request.focus,
        phrases=goal.phrases,
        language=language_of(request.history),
    )
    return Asked(task=task, covers=frozenset(message.seq or 0 for message in covered))


def without_recalled(messages: Sequence[Message]) -> list[Message]:
    """Leave out the calls of `recall_history` and what they brought back."""
    results = pair(messages).results
    gone = {
        result
        for (head, number), result in results.items()
        if messages[head].calls[number].name == RECALL_TOOL
    }
    kept: list[Message] = []
    for at, message in enumerate(messages):
        calls = [call for call in message.calls if call.name != RECALL_TOOL]
        if at in gone or (message.calls and not calls and not message.text.strip()):
            continue
        lessened = len(calls) < len(message.calls)
        kept.append(replace(message, tool_calls=tuple(calls) or None) if lessened else message)
    return kept


def _index(steps: Sequence[tuple[str, object]]) -> int:
    """Give how many steps come before the summary."""
    return next((at for at, (name, _) in enumerate(steps) if name == "summarize"), len(steps))
