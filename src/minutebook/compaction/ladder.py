"""The ladder: which steps run, in what order, and when a request is refused. Pure.

Each step must make the request smaller, else its result is dropped; the next one runs only
while the target is not reached. A step that has freed enough but not all may be taken again,
a stated number of times. At the end the ledger is written, and the whole is checked. What
comes out is a plan; nothing has happened yet. Equal requests give equal plans.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from minutebook.budget import STEPS, Limits, Policy
from minutebook.compaction.plan import Draft, Goal, Plan, Request, Step, StepReport, begin, finish
from minutebook.errors import ContextOverflow
from minutebook.tokens.estimate import estimate_system

GENTLE = frozenset(("dedupe", "mask", "strip", "summarize"))
"""The steps that a compaction may take of a request that is within its target already:
they lose nothing that isn't told of."""

AGAIN = frozenset(("window",))
"""The steps that may have left out less than they can, and are taken again over the limit."""

PASSES_MAX = 3
"""How often one of these is taken at most."""

PROGRESS_MIN = 0.05
"""A pass that frees less than this share of the request is its step's last."""

SPARE_MAX = 0.1
"""If more than this share of the room was left over, the steps are taken again with more."""

PINS_NAMED_MAX = 10
"""How many pinned records a refusal names."""

Named = tuple[str, Step]
"""A step and its name."""


def ladder() -> tuple[Named, ...]:
    """Give the steps by name, in their order.

    They are imported by the first compaction: their patterns and tables take 20 ms, and most
    programs that open a session never compact it.
    """
    from minutebook.compaction.clip import clip
    from minutebook.compaction.dedupe import dedupe
    from minutebook.compaction.mask import mask
    from minutebook.compaction.strip import strip
    from minutebook.compaction.summarize import summarize
    from minutebook.compaction.window import window

    return tuple(zip(STEPS, (dedupe, mask, strip, summarize, window, clip), strict=True))


def compact(request: Request, limits: Limits, policy: Policy, *, forced: bool = False) -> Plan:
    """Plan how to bring a request to its target.

    The plan's history is smaller than the request's, or unchanged with a reason. A request
    that is within the target is left alone, unless *forced* (a manual call): then it is
    brought to about half of what it takes, as far as the gentle steps can do that.

    Raises:
        ContextOverflow: If it can't be brought to the limit; names what takes the room.
    """
    untouched = begin(request)
    before = untouched.tokens
    begun = begin_descent(request, limits, policy, forced=forced)
    if begun is None:
        if before > limits.limit:
            raise overflow(untouched, limits)
        return finish(untouched, before, (), _idle(before, limits, policy))
    start, goal, named = begun
    way = _way(start, goal, named, before)
    spare = goal.target + goal.ledger - way.draft.tokens
    if 0 < 3 * way.ledger_tokens < goal.ledger and spare > SPARE_MAX * goal.room:
        # The ledger needs less than was kept for it: what it leaves is for messages, if the
        # ledger is not cut short by that.
        again = _way(start, _less_ledger(goal, 3 * way.ledger_tokens), named, before)
        if again.ledger_tokens <= 2 * way.ledger_tokens:
            way = again
    if way.draft.tokens > goal.limit:
        raise overflow(way.draft, limits)
    # A ledger written anew and nothing else is worth a rewrite only at need.
    progress = any(report.tokens_after < report.tokens_before for report in way.steps)
    if way.draft.tokens >= before or (not progress and before <= goal.limit):
        said = "; ".join(f"{report.name}: {report.detail}" for report in way.steps)
        reason = "nothing to compact" + (f" ({said})" if said else "")
        return finish(untouched, before, way.steps, reason)
    from minutebook.compaction.verify import verify

    return structs.replace(
        finish(way.draft, before, way.steps),
        ledger=way.ledger,
        ledger_tokens=way.ledger_tokens,
        checks=verify(request, way.draft.messages, goal.facts),
    )


class _Way(Struct, frozen=True, kw_only=True):
    """What a descent has come to."""

    draft: Draft
    steps: tuple[StepReport, ...]
    ledger: str
    ledger_tokens: int


def _way(start: Draft, goal: Goal, named: Sequence[Named], before: int) -> _Way:
    """Take all steps, the last resorts if need be, and write the ledger.

    The ledgers of earlier compactions are not in *start*, but count in the reports: until the
    new one is written they are there.
    """
    from minutebook.compaction.ledger import with_ledger

    old = before - start.tokens
    steps: list[StepReport] = []
    draft = descend(start, goal, named, steps)
    if draft.tokens > goal.limit:
        draft = _last_resorts(draft, goal, steps)
    reports = tuple(
        structs.replace(
            report,
            tokens_before=report.tokens_before + old,
            tokens_after=report.tokens_after + old,
        )
        for report in steps
    )
    # Where the steps did not reach the target, the ledger is as much smaller, but not smaller
    # than the one before; it never makes the request as large as it was.
    room = min(max(goal.target + goal.ledger - draft.tokens, old), max(goal.ledger, old))
    room = min(room, before - 1 - draft.tokens, goal.limit - draft.tokens)
    noted, detail = with_ledger(draft, goal, room)
    return _Way(
        draft=noted, steps=reports, ledger=detail, ledger_tokens=noted.tokens - draft.tokens
    )


def _less_ledger(goal: Goal, ledger_tokens: int) -> Goal:
    """Give the goal with a smaller ledger and the more room."""
    more = goal.ledger - ledger_tokens
    return structs.replace(
        goal, target=goal.target + more, room=goal.room + more, ledger=ledger_tokens
    )


def begin_descent(
    request: Request, limits: Limits, policy: Policy, *, forced: bool
) -> tuple[Draft, Goal, tuple[Named, ...]] | None:
    """Give what a compaction begins with: draft, goal, and the steps that it may take.

    None if there is nothing to do: the request is within the target and nobody forces it, or
    the policy has no steps.
    """
    draft = begin(request)
    within = draft.tokens <= limits.target
    if not policy.steps or (within and not forced):
        return None
    from minutebook.compaction.digest.gather import gather
    from minutebook.compaction.ledger import ledger_room, without_ledgers
    from minutebook.compaction.phrases import phrases_for
    from minutebook.compaction.relevance import relevance

    target = limits.target
    if within:
        target = request.fixed + (draft.tokens - request.fixed) // 2
    facts = gather(request.history)
    reserve = ledger_room(facts, target - request.fixed, policy.ledger_share)
    goal = Goal(
        policy=policy,
        phrases=phrases_for(request.history),
        target=target - reserve,
        limit=limits.limit,
        room=target - reserve - request.fixed,
        ledger=reserve,
        facts=facts,
        relevance=relevance(request),
    )
    named = tuple(
        (name, step)
        for name, step in ladder()
        if name in policy.steps and (not within or name in GENTLE)
    )
    return without_ledgers(draft), goal, named


def descend(draft: Draft, goal: Goal, named: Sequence[Named], steps: list[StepReport]) -> Draft:
    """Take the steps in their order until the target is reached; report each in *steps*."""
    for name, step in named:
        if draft.tokens <= goal.target:
            break
        draft = _climb(name, step, draft, goal, steps)
        for _ in range(1, PASSES_MAX):
            report = steps[-1]
            freed = report.tokens_before - report.tokens_after
            little = freed < PROGRESS_MIN * report.tokens_before
            if name not in AGAIN or draft.tokens <= goal.limit or little:
                break
            draft = _climb(name, step, draft, goal, steps)
    return draft


def overflow(draft: Draft, limits: Limits) -> ContextOverflow:
    """Make the refusal of a draft: what takes the room, the pins by name if they do."""
    request = draft.request
    system = min(estimate_system(request.system_prompt), request.fixed)
    pinned = [item for item in draft.items if draft.pinned(item)]
    pinned_tokens = sum(item.tokens for item in pinned)
    others = draft.tokens - request.fixed - pinned_tokens
    parts = {
        "system prompt": system,
        "tools": request.fixed - system,
        "pinned messages": pinned_tokens,
        "other messages": others,
    }
    hint = ""
    if pinned_tokens > others:
        largest = sorted(pinned, key=lambda item: -item.tokens)[:PINS_NAMED_MAX]
        named = ", ".join(f"{item.message.seq} ({item.tokens})" for item in largest)
        more = f" and {len(pinned) - len(largest)} more" if len(pinned) > len(largest) else ""
        hint = f"unpin some of the records {named}{more}, or use a larger window"
    elif request.fixed > others + pinned_tokens:
        hint = "compaction cannot help: shorten the system prompt or the tools"
    return ContextOverflow(tokens=draft.tokens, limit=limits.limit, parts=parts, hint=hint)


def _idle(tokens: int, limits: Limits, policy: Policy) -> str:
    """Say why nothing is to be done."""
    if not policy.steps:
        return "compaction is off"
    return f"{tokens} tokens are within the target of {limits.target}"


def _last_resorts(draft: Draft, goal: Goal, steps: list[StepReport]) -> Draft:
    """Do what is left to do before a request is refused, whatever the policy keeps or allows."""
    from minutebook.compaction.clip import clip
    from minutebook.compaction.window import last_resort

    draft = _climb("window", last_resort, draft, _hard(goal), steps)
    return draft if draft.tokens <= goal.limit else _climb("clip", clip, draft, _hard(goal), steps)


def _climb(name: str, step: Step, draft: Draft, goal: Goal, steps: list[StepReport]) -> Draft:
    """Take one step, report it, and give its result if that is smaller."""
    result, detail = step(draft, goal)
    if result is not draft and result.tokens >= draft.tokens:
        detail = f"dropped, since its result is not smaller ({result.tokens} tokens): {detail}"
        result = draft
    steps.append(
        StepReport(
            name=name,
            tokens_before=draft.tokens,
            tokens_after=result.tokens,
            detail=detail,
        )
    )
    return result


def _hard(goal: Goal) -> Goal:
    """Give the goal of the last resorts: the limit itself, just enough."""
    room = goal.limit - (goal.target - goal.room)
    return structs.replace(goal, target=goal.limit, room=room)
