"""A survey of a log says what its context says, and remembers none of its messages."""

import tracemalloc
from collections import Counter
from collections.abc import Iterable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from minutebook.codec import encode_line
from minutebook.context import Context, fold
from minutebook.lines import Entry, Run, Scanner
from minutebook.messages import assistant, replace, user
from minutebook.records import Batch, Record, Tag
from minutebook.survey import Survey, UsedNumbers, last_messages, survey
from minutebook.tokens.breakdown import by_kind
from minutebook.tokens.estimate import estimate_system
from minutebook.turns import origin_of, pair, turns
from tests.damage import DAMAGED
from tests.strategies import RECORDS


def scanned(log: bytes, size: int = 1 << 20) -> Iterator[Run | Entry]:
    """Read a log in pieces."""
    scanner = Scanner()
    for start in range(0, len(log), size):
        yield from scanner.feed(log[start : start + size])
    yield from scanner.finish()


def surveyed(log: bytes) -> Survey:
    """Survey a log that is read in small pieces."""
    return survey(lambda: scanned(log, 150))


def assert_same(found: Survey, context: Context) -> None:
    """Compare every value with that of the context."""
    history = context.history
    times = [message.at for message in history if message.at is not None]
    assert found.system_prompt == context.system_prompt
    assert found.messages == len(history)
    assert found.by_role == Counter(message.role for message in history)
    assert found.turns == len(turns(history))
    assert found.summaries == sum(origin_of(message) == "summary" for message in history)
    assert (found.started, found.updated) == (min(times, default=None), max(times, default=None))
    assert found.token_count == context.token_count
    assert found.token_count_is_exact == context.token_count_is_exact
    assert found.token_count_pending == context.token_count_pending
    assert found.token_count_with_pending == context.token_count_with_pending
    assert found.pins == context.pins
    assert found.kinds() == by_kind(context.system_prompt, (), history, context.pins)
    whole = estimate_system(context.system_prompt) + sum(context.estimates)
    exact = context.token_count_is_exact
    assert found.tokens_used == (context.token_count_with_pending if exact else whole)
    assert [(mark.id, mark.label, mark.at, mark.messages) for mark in found.checkpoints] == [
        (mark.id, mark.label, mark.at, mark.messages) for mark in context.checkpoints
    ]
    assert tuple(found.lineage) == context.lineage
    assert found.unknown_records == context.unknown_records
    seqs = Counter(message.seq for message in history)
    assert found.seqs_used_twice == {seq for seq, count in seqs.items() if count > 1}
    pairing = pair(history)
    opened = [(call.index, call.number) for call in found.unsettled.open()]
    assert opened == list(pairing.open)
    assert sorted(found.unsettled.orphans) == sorted(history[i].seq or 0 for i in pairing.orphans)
    models = [counted.usage.model for counted in context.usages if counted.usage.model]
    assert found.model == (models[-1] if models else "")


@given(st.lists(RECORDS, max_size=30))
def test_it_says_what_the_context_says(records: list[Record]) -> None:
    """Of any records, in any order."""
    log = b"".join(encode_line(record) for record in records if not isinstance(record, Batch))
    assert_same(surveyed(log), fold(scanned(log)))


@given(DAMAGED)
def test_of_a_damaged_log_too(log: bytes) -> None:
    """However it was damaged."""
    assert_same(surveyed(log), fold(scanned(log)))


def test_pins_that_were_set_or_taken_away_later_are_weighed_as_such() -> None:
    """The log is read a second time only where a pin has moved."""
    messages = [replace(user(f"text {seq} " * 9, pin=seq == 2), seq=seq) for seq in (1, 2, 3)]
    lines = [encode_line(message) for message in messages]
    set_later = [encode_line(Tag(seq=1, pin=True)), encode_line(Tag(seq=2, pin=False))]
    reads = 0

    def replay(log: bytes) -> Iterable[Run | Entry]:
        nonlocal reads
        reads += 1
        return scanned(log)

    for log, times in ((b"".join(lines), 1), (b"".join(lines + set_later), 3)):
        found = survey(lambda log=log: replay(log))  # type: ignore[misc]
        assert_same(found, fold(scanned(log)))
        assert reads == times


@given(st.lists(st.integers(1, 25), max_size=40))
def test_used_numbers_are_known(numbers: list[int]) -> None:
    """Each is new once, and few ranges hold them all."""
    used, known = UsedNumbers(), set[int]()
    for number in numbers:
        assert used.add(number) == (number not in known)
        known.add(number)
    assert {number for number in range(30) if number in used} == known
    runs = [number for number in known if number + 1 not in known]
    assert len(used._starts) == len(used._ends) == len(runs)


@given(st.lists(RECORDS, max_size=30), st.integers(1, 8))
def test_the_last_messages_are_those_of_the_context(records: list[Record], count: int) -> None:
    """With their numbers and pins, and the checkpoints among and behind them."""
    log = b"".join(encode_line(record) for record in records if not isinstance(record, Batch))
    context = fold(scanned(log))
    before = max(len(context.history) - count, 0)

    found = last_messages(scanned(log, 150), count)

    assert found.messages == context.history[before:]
    assert (found.before, found.system_prompt) == (before, context.system_prompt)
    seqs = {message.seq for message in found.messages}
    assert found.pins == seqs & context.pins
    assert found.tags == {seq: tags for seq, tags in context.tags.items() if seq in seqs}
    assert [(mark.id, mark.messages) for mark in found.checkpoints] == [
        (mark.id, mark.messages) for mark in context.checkpoints if mark.messages >= before
    ]


def test_times_are_the_first_and_the_last_whatever_the_order() -> None:
    """A clock may be wrong, and a message may have no time."""
    times = [5.0, None, 2.0, 9.0, 3.0]
    log = b"".join(encode_line(replace(user("x"), seq=n, at=at)) for n, at in enumerate(times, 1))
    assert_same(surveyed(log), fold(scanned(log)))
    assert (surveyed(log).started, surveyed(log).updated) == (2.0, 9.0)


def test_it_remembers_no_message() -> None:
    """Ten times as many messages take no more memory."""

    def lines(count: int) -> Iterator[bytes]:
        for seq in range(1, count + 1):
            message = (user if seq % 2 else assistant)(f"{seq} " + "words and more words " * 50)
            yield encode_line(replace(message, seq=seq))

    def replay(count: int) -> Iterator[Run | Entry]:
        scanner = Scanner()
        for line in lines(count):
            yield from scanner.feed(line)

    def peak(count: int) -> int:
        tracemalloc.start()
        found = survey(lambda: replay(count))
        assert found.messages == count
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(10)
    assert peak(3_000) < peak(300) + 20_000
