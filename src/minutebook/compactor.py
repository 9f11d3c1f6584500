"""Compaction of a session, in the order that `docs/architecture.md` gives.

Hooks are asked, the plan is made and checked while nothing else writes, one rewrite commits
it, and then everybody is told. Whatever fails before the rewrite leaves log and context as
they were.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from minutebook.budget import due
from minutebook.compaction.ladder import compact
from minutebook.costing import cache_share
from minutebook.errors import (
    CompactionFailed,
    CompactionVetoed,
    ContextOverflow,
    MinutebookError,
)
from minutebook.events import (
    CompactionBegun,
    CompactionCommitted,
    CompactionEnded,
    StepTaken,
    Verified,
)
from minutebook.hooks import PostCompact, PreCompact
from minutebook.operations import compaction_operation, compaction_request
from minutebook.reports import Compacted, Explanation, Proposal
from minutebook.summaries import Summary, approved, rebased, summarise
from minutebook.tokens.estimate import estimate_message

if TYPE_CHECKING:
    from minutebook.compaction.plan import Request
    from minutebook.companions import Companions
    from minutebook.counting import Counting
    from minutebook.journal import Journal
    from minutebook.messages import Message
    from minutebook.reports import Measures

Gate = Callable[[Summary], Awaitable[None]]
"""Awaited between a summary and its commit: a compaction in the background waits there."""
Told = Literal["applied", "skipped", "failed"]
Outcome = Literal["skipped", "vetoed", "refused", "failed", "cancelled"]


class Order(Struct, frozen=True, kw_only=True):
    """A compaction that was asked for."""

    trigger: str
    focus: str = ""
    target: float | None = None
    """The share of the window that is to be left; None: the policy's."""
    approved: str = ""
    """The summary, in words that a person has approved; empty: it is still to be written."""
    asking: bool = True
    """Whether models are asked for a summary; else the digest writes it."""


class Standing(Struct, frozen=True, kw_only=True):
    """What has become of a compaction in the background."""

    done: Compacted | None = None
    """It was committed just now."""
    preparing: bool = False
    """Its summary is still being written: so long only the limit counts."""
    in_vain: bool = False
    """It was waited for in vain at the limit: now no model is asked again."""


NOTHING = Standing()
"""Without a background."""


class Compactor:
    """Plans and commits the compactions of one session."""

    def __init__(
        self,
        journal: Journal,
        counting: Counting,
        companions: Companions,
        *,
        clock: Callable[[], float],
    ) -> None:
        """Take what is compacted, what knows the sizes, and who is told."""
        self.explanation: Explanation | None = None
        """Why the last `make_room` did what it did."""
        self._journal = journal
        self._counting = counting
        self._companions = companions
        self._clock = clock
        self._session_id = Path(journal.store.path).parent.name or journal.store.path

    async def make_room(self, standing: Standing = NOTHING) -> Compacted | None:
        """Compact if it is due; note what was done and why. None if nothing had to be done.

        *standing* is what the background has come to.

        Raises:
            ConfigError: If the window is not known.
            CompactionVetoed: If a hook says no, and the request may not be sent as it is.
            ContextOverflow: If it may not be sent and cannot be made to fit.
        """
        bounds = self._counting.limits()
        size = self._counting.sure_size(bounds)
        reason, done = due(bounds, size.tokens), standing.done
        if reason == "limit" or (reason is not None and not standing.preparing):
            order = Order(trigger=reason, asking=not standing.in_vain)
            done = await self._unless_vetoed(order) or done
        if reason == "limit" and done is not None and not done.changed:
            raise ContextOverflow(
                tokens=size.tokens,
                limit=bounds.limit,
                parts=self._counting.by_kind(),
                hint=done.plan.reason,
            )
        self.explanation = Explanation(
            tokens=size.tokens,
            spread=size.spread,
            source=size.source,
            limits=bounds,
            window_source=self._counting.settings.window_and_source()[1],
            due=reason,
            compacted=done,
            preparing=standing.preparing,
            sent_tokens=size.tokens if done is None else done.tokens_after,
        )
        return done

    async def _unless_vetoed(self, order: Order) -> Compacted | None:
        """Compact; a veto stands where the request may be sent all the same."""
        try:
            return await self.compact(order)
        except CompactionVetoed:
            if order.trigger == "limit":
                raise
            return None

    async def compact(self, order: Order, *, gate: Gate | None = None) -> Compacted:
        """Do what was ordered; see `Session.compact` for what is raised.

        With a *gate* it is committed only with a model's summary, and only if the history
        still begins with what that was written for.
        """

        async def prepare(instructions: str) -> Summary | None:
            measures = self._counting.measure(order.target)
            request = self._request(order, measures)
            if order.approved:
                return approved(request, order.approved)
            if not order.asking:
                return None
            summary = await summarise(request, measures, self._companions, instructions)
            if gate is not None:
                await gate(_needed(summary))
            return summary

        async def work(summary: Summary | None) -> Compacted:
            context = self._journal.context
            if gate is not None and (summary is None or rebased(summary, context) is None):
                raise CompactionFailed("the session has moved on since its summary was begun")
            proposal = self._propose(order, summary)
            if order.approved and not proposal.holds(order.approved):
                why = proposal.plan.reason or proposal.plan.steps[-1].detail
                raise CompactionFailed(f"the summary was approved, but {why}")
            return await self._commit(proposal)

        return await self._watched(order, prepare, work)

    async def propose(self, order: Order) -> Proposal:
        """Plan what was ordered and change nothing; hooks are not asked."""

        async def work() -> Proposal:
            return self._propose(order)

        return await self._journal.alone(work)

    async def apply(self, proposal: Proposal) -> Compacted:
        """Commit a proposal, if the session is as it was when it was made.

        Raises:
            CompactionFailed: If the session has moved on.
        """
        order = Order(trigger=proposal.trigger, focus=proposal.focus)

        async def prepare(_instructions: str) -> None:
            return None

        async def work(_summary: Summary | None) -> Compacted:
            request = self._request(order, proposal.measures)
            same = request.protected == proposal.protected
            if not (same and proposal.still_fits(self._journal.context)):
                raise CompactionFailed("the session has moved on since it was proposed")
            return await self._commit(proposal)

        return await self._watched(order, prepare, work)

    def _request(self, order: Order, measures: Measures) -> Request:
        return compaction_request(
            self._journal.context,
            fixed=measures.fixed,
            focus=order.focus,
            tagging=self._companions.tagging,
            embed=self._companions.embed,
        )

    def _propose(self, order: Order, summary: Summary | None = None) -> Proposal:
        """Plan a compaction of the context as it now is.

        A *summary* that was written before is used for the history of that moment; messages
        that have come since are kept behind it.
        """
        context, measures = self._journal.context, self._counting.measure(order.target)
        based = None if summary is None else rebased(summary, context)
        request = self._request(order, measures)
        later: tuple[Message, ...] = ()
        if based and request.protected - {item.seq for item in based[1]} == based[0].protected:
            request, later = based
        policy = measures.policy
        if order.approved:
            # What is told in it need not be made smaller before.
            policy = structs.replace(policy, steps=("summarize",))
        plan = compact(request, measures.estimated, policy, forced=True)
        if later and plan.changed:
            more = sum(map(estimate_message, later))
            plan = structs.replace(
                plan,
                history=(*plan.history, *later),
                tokens_before=plan.tokens_before + more,
                tokens_after=plan.tokens_after + more,
            )
        return Proposal(
            plan=plan,
            trigger=order.trigger,
            focus=order.focus,
            history=context.history,
            pins=context.pins,
            measures=measures,
            protected=self._request(order, measures).protected,
            model=None if summary is None else summary.model or None,
            usage=None if summary is None else summary.usage,
        )

    async def _commit(self, proposal: Proposal) -> Compacted:
        """Rewrite the log as proposed; only while nobody else writes."""
        plan, measures = proposal.plan, proposal.measures
        for step in plan.steps:
            self._companions.emit(
                StepTaken(
                    name=step.name,
                    tokens_before=step.tokens_before,
                    tokens_after=step.tokens_after,
                    detail=step.detail,
                )
            )
        if plan.checks is not None:
            self._companions.emit(Verified(score=plan.checks.score, parts=plan.checks.parts))
        rotation, share = None, cache_share(self._journal.context.usages)
        if plan.changed:
            snapshot = self._companions.snapshot()
            operation = compaction_operation(
                self._journal.context,
                self._journal.store,
                proposal,
                more=() if snapshot is None else (snapshot,),
                at=self._clock(),
            )
            rotation = await self._journal.commit(operation)
        after = self._counting.measure()
        return Compacted(
            plan=plan,
            limits=measures.limits,
            before=measures.by_kind,
            after=after.by_kind,
            tokens_before=measures.tokens,
            tokens_after=after.tokens,
            rotation=rotation,
            model=proposal.model,
            spent=proposal.usage,
            cache_share=share,
        )

    async def _watched(
        self,
        order: Order,
        prepare: Callable[[str], Awaitable[Summary | None]],
        work: Callable[[Summary | None], Awaitable[Compacted]],
    ) -> Compacted:
        """Ask the hooks, prepare, do the work alone, and tell everybody what became of it."""
        before = self._counting.measure(order.target)
        self._companions.emit(
            CompactionBegun(
                trigger=order.trigger,
                tokens_before=before.tokens,
                target=before.limits.target,
                focus=order.focus,
            )
        )
        outcome: Outcome = "cancelled"
        reason = "cancelled"
        done: Compacted | None = None
        try:
            summary = await prepare(await self._ask(order, before.tokens))
            done = await self._journal.alone(lambda: work(summary))
        except CompactionVetoed as error:
            outcome, reason = "vetoed", error.reason
            raise
        except ContextOverflow as error:
            outcome, reason = "refused", str(error)
            raise
        except MinutebookError as error:
            outcome, reason = "failed", str(error)
            raise
        finally:
            if done is None:
                await self._tell_ended(order, before.tokens, outcome, reason)
        await self._tell_done(order, done)
        return done

    async def _ask(self, order: Order, tokens: int) -> str:
        """Ask the hooks; give the instructions that they add."""
        details = PreCompact(
            session=self._session_id,
            trigger=order.trigger,
            focus=order.focus,
            tokens_before=tokens,
        )
        return await self._companions.hooks.ask(details, self._companions.listeners)

    async def _tell_done(self, order: Order, done: Compacted) -> None:
        """Tell of a compaction that was committed, or had nothing to do."""
        companions, plan, rotation = self._companions, done.plan, done.rotation
        if rotation is None:
            ended = CompactionEnded(trigger=order.trigger, outcome="skipped", reason=plan.reason)
            companions.emit(ended)
            await self._post(order, done.tokens_before, done.tokens_after, "skipped")
            return
        companions.tell_compacted()
        companions.emit(
            CompactionCommitted(
                trigger=order.trigger,
                tokens_before=done.tokens_before,
                tokens_after=done.tokens_after,
                steps=tuple(step.name for step in plan.steps),
                rotation=rotation.number,
            )
        )
        await self._post(order, done.tokens_before, done.tokens_after, "applied")

    async def _tell_ended(self, order: Order, tokens: int, outcome: Outcome, reason: str) -> None:
        """Tell of a compaction that came to nothing."""
        ended = CompactionEnded(trigger=order.trigger, outcome=outcome, reason=reason)
        self._companions.emit(ended)
        if outcome != "cancelled":
            told: Told = "skipped" if outcome == "vetoed" else "failed"
            await self._post(order, tokens, tokens, told)

    async def _post(self, order: Order, before: int, after: int, outcome: Told) -> None:
        await self._companions.hooks.tell(
            PostCompact(
                session=self._session_id,
                trigger=order.trigger,
                focus=order.focus,
                tokens_before=before,
                tokens_after=after,
                outcome=outcome,
            ),
            self._companions.listeners,
        )


def _needed(summary: Summary | None) -> Summary:
    """Give a summary that a compaction in the background can wait with.

    Raises:
        CompactionFailed: If there is none.
    """
    if summary is None:
        raise CompactionFailed("no summary is needed: other steps make room enough")
    if summary.written is None:
        raise CompactionFailed(summary.detail)
    return summary
