"""The two drawings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.budget import Limits
from minutebook.lines import Entry
from minutebook.messages import user
from minutebook.records import Compaction, Record, Usage
from minutebook.tokens.breakdown import KINDS
from minutebook.viewer.charts import HEIGHT, POINTS_MAX, WIDTH, bar, curve
from minutebook.viewer.logs import Index, index

COUNTS = st.integers(0, 300_000)
BOUNDS = st.one_of(
    st.none(),
    st.just(Limits(window=100_000, reserve=8_192, trigger=85_000, target=50_000, limit=91_808)),
)


def log(*records: Record) -> Index:
    return index(Entry(record, at, at + 1) for at, record in enumerate(records))


@given(
    kinds=st.fixed_dictionaries(dict.fromkeys(KINDS, COUNTS)),
    exact=st.one_of(st.none(), COUNTS),
    pending=COUNTS,
    bounds=BOUNDS,
)
def test_the_bar_is_filled_to_its_end(
    kinds: dict[str, int], exact: int | None, pending: int, bounds: Limits | None
) -> None:
    """Its pieces follow each other without a gap, and nothing lies outside of it."""
    estimated = sum(kinds.values())
    used = estimated if exact is None else exact + pending
    tokens = {
        "with_pending": used,
        "window": None if bounds is None else bounds.window,
        "pending": None if exact is None else pending,
    }

    found = bar(tokens, kinds, bounds)

    at = 0.0
    for segment in found.segments:
        assert segment.x == pytest.approx(at, abs=0.1)
        at = segment.x + segment.width
    assert at <= WIDTH + 0.1
    if found.segments and (estimated or bounds):
        assert at == pytest.approx(WIDTH, abs=0.2) or used == 0 or not estimated
    assert sum(segment.share for segment in found.segments) <= 1.001
    for place in (found.trigger, found.target):
        assert place is None or 0 <= place <= WIDTH
    if found.pending is not None:
        assert found.pending.x + found.pending.width <= WIDTH + 0.1


def test_the_numbers_are_those_that_inspect_gives() -> None:
    """A provider's count scales the pieces, not the numbers."""
    tokens = {"with_pending": 300, "window": 1_000, "pending": 50}
    bounds = Limits(window=1_000, reserve=100, trigger=800, target=500, limit=900)

    found = bar(tokens, {"user": 100, "assistant": 50, "media": 0}, bounds)

    assert [(one.kind, one.tokens, one.width) for one in found.segments] == [
        ("user", 100, 200),
        ("assistant", 50, 100),
        ("free", 600, 600),
        ("reserve", 100, 100),
    ]
    assert found.pending is not None
    assert (found.pending.x, found.pending.width) == (250, 50)
    assert (found.trigger, found.target) == (800, 500)


@given(
    sizes=st.lists(st.integers(1, 200_000), max_size=1_500),
    bounds=BOUNDS,
)
def test_every_size_has_its_height(sizes: list[int], bounds: Limits | None) -> None:
    """Inside of the drawing; of too many neighbours the largest stands for them."""
    records: list[Record] = []
    for size in sizes:
        records += [user("x"), Usage(token_count=size)]

    found = curve([log(*records)], 10, bounds)

    assert len(found.points) <= POINTS_MAX
    assert all(0 <= point.y <= HEIGHT for point in found.points)
    assert all(0 <= point.x < point.until <= WIDTH for point in found.points)
    if len(sizes) > 1:
        assert found.counted
        assert found.steps == len(sizes)
        assert max(point.tokens for point in found.points) == max(sizes)
        assert found.most == max(sizes)


def test_an_older_log_comes_first_and_nothing_twice() -> None:
    """What a rewrite carried over was counted in the log before it."""
    old = log(user("a"), Usage(token_count=100), user("b"), Usage(token_count=900))
    compaction = Compaction(id="c", tokens_before=900, tokens_after=200)
    new = log(
        user("a"),
        Usage(token_count=100),
        compaction,
        Usage(token_count=200),
        user("c"),
        Usage(token_count=300),
    )

    found = curve([old, new], 300, None)

    assert [point.tokens for point in found.points] == [100, 900, 200, 300]
    assert [(drop.kind, drop.x, drop.tokens_after) for drop in found.drops] == [
        ("compaction", WIDTH / 2, 200)
    ]
    assert found.lines == ()


def test_without_counts_the_length_stands_for_the_size() -> None:
    """Up to what is used now."""
    found = curve([log(user("a"), user("b"))], 50, None)

    assert not found.counted
    assert [point.tokens for point in found.points] == [25, 50]
    assert curve([log()], 0, None).points == ()
