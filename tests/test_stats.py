"""Figures count each thing once, however many logs of a session it stands in."""

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from minutebook.codec import encode_line
from minutebook.lines import Entry, Run, Scanner
from minutebook.messages import assistant, replace, user
from minutebook.records import (
    Batch,
    Clear,
    Compaction,
    Fork,
    Next,
    Record,
    Revert,
    Rotated,
    Tag,
    Usage,
)
from minutebook.stats import By, Figures, SessionStats
from tests.damage import DAMAGED
from tests.strategies import RECORDS

DAY = 86_400.0


def price(model: str, tokens: int, *, cached: bool = False, output_tokens: int = 0) -> float | None:
    """A dollar a token, ten times less from the cache, of one model alone."""
    return None if model != "known" else tokens * (0.1 if cached else 1.0) + output_tokens


def scanned(log: bytes) -> Iterator[Run | Entry]:
    """Read a log in small pieces."""
    scanner = Scanner()
    for start in range(0, len(log), 150):
        yield from scanner.feed(log[start : start + 150])
    yield from scanner.finish()


def encoded(records: list[Record]) -> bytes:
    """Write records, without batches, whose sums would be wrong."""
    return b"".join(encode_line(record) for record in records if not isinstance(record, Batch))


def counted(*logs: bytes | list[Record], by: By | None = None, others: tuple[str, ...] = ()) -> Any:
    """Count the logs of one session."""
    found = SessionStats(by, others)
    for log in logs:
        found.take(scanned(log if isinstance(log, bytes) else encoded(log)))
    return found


def facts(found: SessionStats) -> dict[str, Any]:
    """Give the figures of a session as JSON values."""
    return found.whole.facts(price)


@given(st.lists(RECORDS, max_size=30), st.integers(0, 30))
def test_a_log_that_begins_as_another_counts_its_beginning_once(
    records: list[Record], cut: int
) -> None:
    """As after a revert: the rotation first, then the live log."""
    assert facts(counted(records[:cut], records)) == facts(counted(records))
    assert facts(counted(records, records[:cut])) == facts(counted(records))


@given(DAMAGED, st.sampled_from([None, "day", "policy", "trigger", "model"]))
def test_any_bytes_can_be_counted(log: bytes, by: By | None) -> None:
    """However they were damaged; the values are of JSON, and no count is negative."""
    found = counted(log, log, by=by)

    assert found.whole.messages >= 0
    for figures in (found.whole, *found.groups.values()):
        assert figures.facts(price)["requests"]["input"] >= 0


@given(st.lists(RECORDS, max_size=30))
def test_days_add_up_to_the_whole(records: list[Record]) -> None:
    """Everything that is counted belongs to one day, what has no time to `unknown`."""
    found = counted(records, by="day")
    added = Figures()
    for figures in found.groups.values():
        added.add(figures)

    assert added.facts(price) == facts(found)


@given(st.lists(st.lists(RECORDS, max_size=10), max_size=4))
def test_sessions_add_up(sessions: list[list[Record]]) -> None:
    """Messages and compactions of all are those of each."""
    found = [counted(records) for records in sessions]
    added = Figures()
    for one in found:
        added.add(one.whole)

    assert added.sessions == len(sessions)
    assert added.messages == sum(one.whole.messages for one in found)
    assert added.by_trigger.total() == sum(one.whole.by_trigger.total() for one in found)


def compacted(**changes: Any) -> list[Record]:
    """Two messages and a report of 100 tokens, then the log behind a compaction of them."""
    values: dict[str, Any] = {
        "id": "c3-1",
        "next": Next(checkpoint=1, seq=3),
        "trigger": "trigger",
        "steps": ("mask", "summarize"),
        "carried": (2,),
        "tokens_before": 100,
        "tokens_after": 40,
        "at": DAY,
    }
    kept = replace(assistant("done"), seq=2, at=1.0)
    return [Compaction(**(values | changes)), kept, Usage(token_count=40, estimated=True)]


BEFORE: list[Record] = [
    replace(user("go"), seq=1, at=0.0),
    replace(assistant("done"), seq=2, at=1.0),
    Usage(token_count=100, input=30, cache_read=60, cache_write=5, output=5, model="known"),
]


def test_a_compaction_is_counted_with_what_it_saved() -> None:
    """The message that it carries over is the one that was counted before."""
    found = facts(counted(BEFORE, compacted()))

    assert found["messages"] == 2
    assert found["requests"] == {
        "count": 1,
        "input": 30,
        "cache_read": 60,
        "cache_write": 5,
        "output": 5,
        "cache_share": 0.6316,
        "cost_usd": 46.0,
        "unpriced": 0,
    }
    assert found["compactions"] == {
        "count": 1,
        "by_trigger": {"trigger": 1},
        "by_step": {"mask": 1, "summarize": 1},
        "by_model": {"digest": 1},
        "tokens_before": 100,
        "tokens_after": 40,
        "tokens_saved": 60,
        "ratio": 0.4,
        "spent_input": 0,
        "spent_output": 0,
        "cost_usd": None,
    }


def test_the_compactors_own_calls_are_counted_and_priced_apart() -> None:
    """By the model that wrote; calls that no summary came of count as in vain."""
    used = {"input": 50, "output": 7}
    written = facts(counted(compacted(model="known", usage=used)))
    in_vain = facts(counted(compacted(usage=used)))

    assert written["compactions"]["spent_input"] == 50
    assert written["compactions"]["spent_output"] == 7
    assert written["compactions"]["cost_usd"] == 57.0
    assert written["failures"]["summaries_in_vain"] == 0
    assert in_vain["failures"]["summaries_in_vain"] == 1
    assert in_vain["compactions"]["cost_usd"] is None


def test_a_report_without_parts_is_all_input_and_one_without_a_model_has_no_price() -> None:
    """As older logs have them, and Kimi CLI's."""
    found = facts(counted([user("go"), Usage(token_count=10)]))

    assert found["requests"]["input"] == 10
    assert found["requests"]["cost_usd"] is None
    assert found["requests"]["unpriced"] == 1


def test_equal_reports_at_different_places_are_two() -> None:
    """They follow different messages."""
    usage = Usage(token_count=10)

    found = facts(counted([user("a"), usage, user("b"), usage]))

    assert found["requests"]["count"] == 2


def test_groups_say_which() -> None:
    """By trigger and by what a policy did, compactions alone; by model, replies and summaries."""
    logs = (BEFORE, compacted(model="writer"))

    assert set(counted(*logs, by="trigger").groups) == {"trigger"}
    assert set(counted(*logs, by="policy").groups) == {"mask + summarize"}
    assert set(counted(*logs, by="model").groups) == {"known", "writer"}
    assert set(counted(*logs, by="day").groups) == {"1970-01-01", "1970-01-02"}
    assert set(counted([user("a")], by="day").groups) == {"unknown"}
    assert set(counted([replace(user("a"), at=1e300)], by="day").groups) == {"unknown"}
    assert set(counted(compacted(steps=("mask",)), by="model").groups) == {"none"}


def test_what_went_wrong_and_what_was_taken_back_is_counted() -> None:
    """Overflows, replies that broke off, and every kind of rewrite."""
    found = facts(
        counted(
            [
                *compacted(trigger="overflow"),
                Tag(seq=2, tags=("partial",)),
                Revert(origin=Rotated(number=1), to=0, at=1.0),
                Revert(origin=Rotated(number=2), reason="undo", at=2.0),
                Clear(origin=Rotated(number=3), at=3.0),
                Clear(),
            ]
        )
    )

    assert found["failures"]["overflows"] == 1
    assert found["failures"]["partial_replies"] == 1
    assert found["rewrites"]["by_kind"] == {"revert": 1, "undo": 1, "clear": 2}


def test_what_a_fork_has_from_a_counted_source_is_counted_there() -> None:
    """And here, if nobody counts the source."""
    fork = Fork(source="other", next=Next(checkpoint=1, seq=3), at=2.0)
    logs: list[list[Record]] = [BEFORE, [*BEFORE, fork, user("new")], compacted()]

    alone, beside = counted(*logs), counted(*logs, others=("other",))

    assert facts(alone)["messages"] == 3
    assert facts(beside)["messages"] == 1
    assert facts(beside)["requests"]["count"] == 0
    assert facts(beside)["compactions"]["count"] == 1
    assert facts(beside)["rewrites"]["by_kind"] == {"fork": 1}


def test_problems_are_counted_as_they_are_told() -> None:
    """They belong to the session; no day has them."""
    found = counted(BEFORE, by="day")
    found.note_problems(3)

    assert facts(found)["problems"] == 3
