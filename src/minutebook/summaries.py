"""Having a model write the summary of a compaction, before the compaction itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, structs

from minutebook.compaction.plan import Written
from minutebook.events import SummaryAttempted

if TYPE_CHECKING:
    from collections.abc import Callable

    from minutebook.compaction.doubts import Checker
    from minutebook.compaction.plan import Request
    from minutebook.compaction.task import SummaryTask
    from minutebook.companions import Companions
    from minutebook.context import Context
    from minutebook.messages import Message
    from minutebook.models.chain import Attempt
    from minutebook.reports import Measures


class Summary(Struct, frozen=True, kw_only=True):
    """What came of asking the models."""

    request: Request
    """What it was asked for: the history of that moment."""
    written: Written | None
    """None if no model wrote anything that is a summary: the digest takes its place."""
    model: str = ""
    detail: str = ""
    """One sentence for the report."""
    usage: dict[str, int] | None = None
    """What all calls used, those that failed among them."""


def begins(history: tuple[Message, ...], pins: frozenset[int], context: Context) -> bool:
    """Tell whether a context's history begins with these very messages, pinned as they were."""
    now = context.history
    if len(history) > len(now) or any(
        one is not other for one, other in zip(history, now, strict=False)
    ):
        return False
    return context.pins == pins or context.pins & {message.seq for message in history} == pins


def rebased(summary: Summary, context: Context) -> tuple[Request, tuple[Message, ...]] | None:
    """Give the request with its summary, and the messages that have come since.

    None if there is no summary, or the history that it was written for is not the beginning
    of the present one any more, or other messages are pinned now.
    """
    request = summary.request
    if summary.written is None or not begins(request.history, request.pins, context):
        return None
    later = context.history[len(request.history) :]
    return structs.replace(request, summary=summary.written), later


def approved(request: Request, text: str) -> Summary:
    """Give the summary that a person has approved: it stands for all that need not stay."""
    covers = frozenset(message.seq or 0 for message in request.history)
    return Summary(request=request, written=Written(text=text, covers=covers, approved=True))


def judging(score_min: float) -> Callable[[SummaryTask, str], str]:
    """Give what judges a model's texts by the score of their checks, each against its source.

    A source is read once, however often a text about it is tried.
    """
    known: list[tuple[SummaryTask, Checker]] = []

    def judge(task: SummaryTask, text: str) -> str:
        if not score_min:
            return ""
        # Its patterns take some milliseconds to load, and few policies have a bar.
        from minutebook.compaction.doubts import Checker

        checker = next((found for seen, found in known if seen is task), None)
        if checker is None:
            checker = Checker(task.source)
            known.append((task, checker))
        score = checker.check(text).score
        return "" if score >= score_min else f"it scores {score:.2f}, of {score_min:.2f} at least"

    return judge


async def summarise(
    request: Request, measures: Measures, companions: Companions, instructions: str
) -> Summary | None:
    """Ask the session's models for the summary that a compaction of *request* needs.

    None if there are no models or no summary is needed. Each call is an event. Nothing but
    cancellation is raised.
    """
    if not companions.summarizers:
        return None
    # Imported by the first compaction that asks a model: most programs never do.
    from minutebook.compaction.asking import summary_task
    from minutebook.compaction.digest.write import digest
    from minutebook.models.chain import write_summary

    asked = summary_task(request, measures.estimated, measures.policy, forced=True)
    if asked is None:
        return None
    further = tuple(filter(None, (*companions.instructions, instructions)))
    task = structs.replace(asked.task, further=further, prompt=companions.prompt)

    def told(attempt: Attempt) -> None:
        companions.emit(
            SummaryAttempted(
                model=attempt.model,
                outcome=attempt.kind or attempt.outcome,
                reason=attempt.reason,
                tokens=attempt.spent.tokens,
            )
        )

    written = await write_summary(
        task,
        companions.summarizers,
        judge=judging(measures.policy.score_min),
        digest=lambda messages, budget: digest(
            messages, budget, phrases=task.phrases, focus=task.focus
        ),
        on_attempt=told,
        retries=companions.retries,
    )
    text = None if written.text is None else Written(text=written.text, covers=asked.covers)
    return Summary(
        request=request,
        written=text,
        model=written.model,
        detail=written.detail,
        usage=written.spent.record(),
    )
