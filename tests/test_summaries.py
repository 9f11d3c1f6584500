"""A summary that was written before is used only where it still fits."""

from __future__ import annotations

from msgspec import structs

from minutebook.compaction.plan import Request, Written
from minutebook.compaction.task import Piece, SummaryTask
from minutebook.context import Context
from minutebook.messages import replace, user
from minutebook.records import Tag
from minutebook.summaries import Summary, judging, rebased

WRITTEN = Written(text="all that was said", covers=frozenset({1}))


def grown(count: int) -> Context:
    """Give a context with so many messages."""
    context = Context()
    for seq in range(1, count + 1):
        context.apply(replace(user(f"message {seq}"), seq=seq))
    return context


def summary_of(context: Context, written: Written | None = WRITTEN) -> Summary:
    """Give a summary of all that a context holds."""
    request = Request(history=context.history, pins=context.pins)
    return Summary(request=request, written=written)


def test_messages_that_came_since_are_told_apart() -> None:
    """The request is the one of that moment, with its summary; what came since is beside it."""
    context = grown(3)
    summary = summary_of(context)
    context.apply(replace(user("since"), seq=4))

    found = rebased(summary, context)

    assert found is not None
    request, later = found
    assert request == structs.replace(summary.request, summary=WRITTEN)
    assert [message.text for message in later] == ["since"]


def test_another_history_or_other_pins_drop_it() -> None:
    """After a rewrite, a cut or a new pin nothing of it is used."""
    context = grown(3)
    summary = summary_of(context)

    assert rebased(summary, grown(3)) is None
    assert rebased(summary, grown(2)) is None
    assert rebased(summary_of(context, None), context) is None
    context.apply(Tag(seq=1, pin=True))
    assert rebased(summary, context) is None


def test_a_text_is_judged_by_its_score() -> None:
    """Against messages, the summary so far and pieces; without a bar everything passes."""
    task = SummaryTask(
        messages=(replace(user("src/lexer.py fails with E42 at line 7"), seq=1),),
        budget_tokens=100,
        previous="The port is 5433.",
        pieces=(Piece(text="db/schema.sql was read.", first=2, last=3, count=2),),
    )
    true = "- src/lexer.py fails with E42\n- db/schema.sql was read\n- the port is 5433"
    judge = judging(0.9)

    assert judge(task, true) == ""
    assert "scores 0.00, of 0.90" in judge(task, "- src/parser.py fails with E43")
    assert judging(0.0)(task, "- src/parser.py fails with E43") == ""
