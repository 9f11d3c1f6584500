"""The fold: every prefix, every cut and every part gives what replay gives."""

import sys
from collections.abc import Sequence
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minutebook.context
from minutebook.codec import SEQ_LIMIT, encode_line, frame
from minutebook.context import Context, fold
from minutebook.errors import CheckpointNotFound
from minutebook.lines import Entry, Run, Scanner, scan
from minutebook.messages import Message, assistant, replace, user
from minutebook.records import (
    Batch,
    Checkpoint,
    Clear,
    Compaction,
    Fork,
    Next,
    Other,
    Record,
    Revert,
    Rotated,
    SystemPrompt,
    Tag,
    Usage,
)
from minutebook.tokens.estimate import estimate_message
from tests.playing import values
from tests.strategies import RECORDS

LOGS = st.lists(RECORDS, max_size=25)
FEW = st.lists(RECORDS, max_size=4)


def entries(records: Sequence[Record], position: int = 0) -> list[Entry]:
    """Give records the places that they have in a log."""
    found = []
    for number, record in enumerate(records):
        found.append(Entry(record, position, position + 10 + number))
        position += 11 + number
    return found


def folded(records: Sequence[Record]) -> Context:
    """Fold records anew."""
    return fold(entries(records))


def runs(found: Sequence[Entry], size: int) -> list[Run | Entry]:
    """Put so many records together each time, as a scanner does."""
    together: list[Run | Entry] = []
    for first in range(0, len(found), size):
        part = found[first : first + size]
        starts = [entry.start for entry in part]
        together.append(Run([entry.record for entry in part], [*starts, part[-1].end + 1]))
    return together


@given(LOGS, FEW, st.data())
def test_a_cut_gives_what_replaying_the_prefix_gives(
    records: list[Record], more: list[Record], data: st.DataObject
) -> None:
    """After a cut everything is as if the checkpoint and what follows had never been read."""
    context = folded(records)
    ids = [mark.id for mark in context.checkpoints]
    if not ids:
        return
    chosen = data.draw(st.sampled_from(ids))
    place = max(
        index
        for index, record in enumerate(records)
        if isinstance(record, Checkpoint) and record.id == chosen
    )
    found = entries(records)
    assert context.token_count_with_pending >= 0
    assert len(context.estimates) == len(context.history)

    mark = context.cut(chosen)

    assert (mark.id, mark.offset) == (chosen, found[place].start)
    assert values(context) == values(folded(records[:place]))
    later = entries(more, mark.offset)
    assert values(fold(later, context)) == values(fold([*found[:place], *later]))


@given(LOGS, FEW)
def test_values_handed_out_stay_as_they_were(records: list[Record], more: list[Record]) -> None:
    """What a caller got before is not changed by what is read or cut later."""
    context = folded(records)
    before = values(context)
    copies = {name: repr(value) for name, value in before.items()}

    fold(entries(more), context)
    if context.checkpoints:
        context.cut(context.checkpoints[0].id)
    values(context)

    assert {name: repr(value) for name, value in before.items()} == copies


@given(LOGS, st.integers(1, 9))
def test_a_run_of_records_is_as_good_as_each(records: list[Record], size: int) -> None:
    """Taking many records at once gives what taking one by one gives."""
    found = entries(records)

    assert values(fold(runs(found, size))) == values(fold(found))


@given(LOGS, st.integers(0, 25))
def test_folding_in_two_parts_gives_the_same(records: list[Record], part: int) -> None:
    """Where the reading is interrupted makes no difference, also when values were asked for."""
    found = entries(records)
    context = fold(found[:part])
    values(context)

    assert values(fold(found[part:], context)) == values(fold(found))


@given(LOGS)
def test_a_log_written_and_read_gives_the_same(records: list[Record]) -> None:
    """Records that went through their lines fold to the same context."""
    written = [record for record in records if not isinstance(record, Other | Batch)]
    data = b"".join(map(encode_line, written))

    found, problems = scan(data)

    assert not problems
    places = zip(written, found, strict=True)
    expected = fold(Entry(record, entry.start, entry.end) for record, entry in places)
    assert values(fold(found)) == values(expected)


@given(LOGS)
def test_pending_is_the_sum_of_each_message(records: list[Record]) -> None:
    """However often it is asked for in between, no rounding creeps in."""
    context, asked = Context(), folded(records)
    for entry in entries(records):
        context.apply(entry.record, entry.start, entry.end)
        assert context.token_count_pending >= 0

    start = context.usages[-1].messages if context.usages else 0
    expected = sum(estimate_message(message) for message in context.history[start:])
    assert context.token_count_pending == asked.token_count_pending == expected
    assert context.token_count_with_pending == context.token_count + expected
    assert context.estimates == tuple(estimate_message(message) for message in context.history)


@given(LOGS)
def test_free_numbers_are_above_all_that_were_used(records: list[Record]) -> None:
    """Neither a message's number nor a checkpoint's id is given twice."""
    context = Context()
    for entry in entries(records):
        before = context.next
        context.apply(entry.record, entry.start, entry.end)
        assert context.next_seq >= before.seq
        assert context.next_checkpoint_id >= before.checkpoint

    assert all(0 < (message.seq or 0) < context.next_seq for message in context.history)
    assert all(mark.id < context.next_checkpoint_id for mark in context.checkpoints)
    for record in context.lineage:
        if record.next is not None:
            assert context.next_checkpoint_id >= record.next.checkpoint
            assert context.next_seq >= record.next.seq


class Steps:
    """Counts the calls that a piece of code makes, as a measure of its work without a clock."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, _frame: object, event: str, _argument: object) -> None:
        self.count += event in {"call", "c_call"}


class Walked(list[Any]):
    """A list that counts how many of its items are read or copied."""

    count = 0  # type: ignore[assignment]  # it hides a method that nobody calls here

    def __iter__(self) -> Any:
        for index in range(len(self)):
            type(self).count += 1
            yield super().__getitem__(index)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        type(self).count += len(found) if isinstance(index, slice) else 1
        return found


def test_folding_takes_time_in_proportion_to_the_records() -> None:
    """Twice the records are twice the calls, and each message is looked at a few times only."""

    def work(count: int) -> int:
        context = Context()
        Walked.count = 0
        context._messages = Walked()
        with Steps() as steps:
            for number in range(count):
                context.apply(user("hello"), number * 20, number * 20 + 19)
                assert context.token_count_with_pending > 0
                if number % 10 == 0:
                    context.apply(Checkpoint(id=number // 10), number * 20, number * 20 + 5)
                if number % 3 == 0:
                    context.apply(Usage(token_count=number + 1))
        return steps.count + Walked.count

    few, many = work(1_000), work(4_000)

    assert many <= 4.2 * few


def test_a_hundred_thousand_records_are_folded() -> None:
    """A long log opens with a handful of calls for each record."""
    count = 100_000
    found = [Entry(user("hello"), number * 20, number * 20 + 19) for number in range(count)]
    with Steps() as steps:
        context = fold(found)

    assert steps.count <= 12 * count
    assert (len(context.history), context.next_seq) == (count, count + 1)


def test_each_message_is_estimated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking for the pending count after each append costs the new message, not the history.

    Whoever asks for all estimates afterwards gets the same ones.
    """
    estimated: list[Message] = []

    def estimate(message: Message) -> int:
        estimated.append(message)
        return 7

    monkeypatch.setattr(minutebook.context, "estimate_message", estimate)
    context = Context()
    for _ in range(50):
        context.apply(user("x"))
        assert context.token_count_pending
    assert len(estimated) == 50

    assert context.estimates
    context.apply(user("y"))
    assert len(context.estimates) == 51
    assert len(estimated) == 51


def test_only_what_follows_the_last_usage_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """On restore the messages that a provider has counted cost no estimate."""
    estimated: list[str] = []

    def estimate(message: Message) -> int:
        estimated.append(message.text)
        return 1

    monkeypatch.setattr(minutebook.context, "estimate_message", estimate)
    context = folded([user("a"), user("b"), Usage(token_count=90), user("c")])

    assert context.token_count_with_pending == 91
    assert estimated == ["c"]


@pytest.mark.parametrize(
    ("records", "count", "exact", "pending"),
    [
        ([], 0, False, 0),
        ([user("a")], 0, False, 1),
        ([user("a"), Usage(token_count=50)], 50, True, 0),
        ([user("a"), Usage(token_count=50), user("b")], 50, True, 1),
        ([Usage(token_count=0)], 0, True, 0),
        ([user("a"), Usage(token_count=0)], 0, False, 1),
        ([user("a"), Usage(token_count=-4)], 0, False, 1),
        ([user("a"), Usage(token_count=1 << 60)], 0, False, 1),
        ([user("a"), Usage(token_count=50, input=-1)], 0, False, 1),
        ([user("a"), Usage(token_count=50, cache_read=10**400)], 0, False, 1),
        ([user("a"), Usage(token_count=50), user("b"), Usage(token_count=0)], 50, True, 1),
        ([user("a"), Usage(token_count=60, estimated=True)], 60, False, 0),
        ([user("a"), Usage(token_count=60, estimated=True), Usage(token_count=9)], 9, True, 0),
    ],
)
def test_usage_is_believed_where_it_can_be_true(
    records: list[Record],
    count: int,
    exact: bool,
    pending: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last believable usage counts; what a history cannot take, or no count is, does not."""
    monkeypatch.setattr(minutebook.context, "estimate_message", lambda _: 1)
    context = folded(records)

    assert context.token_count == count
    assert context.token_count_is_exact is exact
    assert context.token_count_pending == pending


@pytest.mark.parametrize("lineage", [Revert, Clear])
def test_checkpoint_ids_go_on_after_a_rewrite(lineage: type[Revert | Clear]) -> None:
    """The record of a rewrite carries the free numbers over, the larger of both counts."""
    context = folded([lineage(next=Next(checkpoint=7, seq=40)), Checkpoint(id=2), user("a")])

    assert context.next == Next(checkpoint=7, seq=41)
    context.apply(Checkpoint(id=9))
    assert context.next_checkpoint_id == 10


def test_kimi_logs_are_numbered_by_position() -> None:
    """Messages without `seq` get one more than the record before, the first of them 1."""
    context = folded(
        [
            SystemPrompt(content="p"),
            Message("user", "a"),
            Checkpoint(id=0),
            Message("assistant", "b"),
            Usage(token_count=4),
            Message("user", "c"),
        ]
    )

    assert [message.seq for message in context.history] == [1, 2, 3]


def test_a_line_without_number_comes_after_the_numbers_carried_over() -> None:
    """Kimi CLI going on in a log of ours takes up where our rewrite says."""
    context = folded(
        [
            Compaction(id="c", next=Next(checkpoint=3, seq=12), carried=(4, 5), made=(11,)),
            Checkpoint(id=3),
            replace(user("summary"), seq=11),
            replace(user("kept"), seq=4),
            replace(assistant("kept"), seq=5),
            Message("user", "from Kimi CLI"),
        ]
    )

    assert [message.seq for message in context.history] == [11, 4, 5, 12]
    assert context.next == Next(checkpoint=4, seq=13)


def test_a_number_that_was_used_is_another_message() -> None:
    """Both of two messages with one number stay."""
    context = folded([replace(user("a"), seq=3), replace(user("b"), seq=3), user("c")])

    assert [(message.seq, message.text) for message in context.history] == [
        (3, "a"),
        (3, "b"),
        (4, "c"),
    ]


@pytest.mark.parametrize("seq", [0, -1, SEQ_LIMIT, 1 << 70])
def test_a_number_of_no_use_is_replaced(seq: int) -> None:
    """A `seq` that cannot be ours counts as none."""
    assert folded([user("a"), replace(user("b"), seq=seq)]).history[1].seq == 2


def test_the_last_prompt_wins_and_a_cut_goes_back_to_the_one_before() -> None:
    """The system prompt in force is that of the time."""
    context = folded([SystemPrompt(content="a"), Checkpoint(id=0), SystemPrompt(content="b")])
    assert context.system_prompt == "b"

    context.cut(0)

    assert context.system_prompt == "a"


def test_of_an_id_that_occurs_twice_the_newest_counts() -> None:
    """A checkpoint id may occur twice in a log of Kimi CLI's."""
    context = folded([Checkpoint(id=1), user("a"), Checkpoint(id=1), user("b")])

    assert context.mark(1).messages == 1


def test_an_unknown_checkpoint_changes_nothing() -> None:
    """A cut at an id that is not there raises and leaves the context as it was."""
    context = folded([user("a"), Checkpoint(id=1), user("b")])
    before = values(context)

    with pytest.raises(CheckpointNotFound) as raised:
        context.cut(4)

    assert raised.value.known == (1,)
    assert values(context) == before


def test_a_checkpoint_inside_a_batch_is_none() -> None:
    """Reverting to it would keep half of the batch; it is counted as a record not known here."""
    batch = frame([encode_line(Checkpoint(id=0)), encode_line(user("b"))])
    last = encode_line(Checkpoint(id=1))
    scanner = Scanner()
    (run,) = scanner.feed(encode_line(user("a")) + batch + last + last)
    assert isinstance(run, Run)
    places = zip(run.records, run.starts, run.starts[1:], strict=False)
    each = [Entry(record, start, behind - 1) for record, start, behind in places]

    for context in (fold([run]), fold(each)):
        assert [(mark.id, mark.messages) for mark in context.checkpoints] == [(1, 2), (1, 2)]
        assert context.unknown_records == 1
        offset = context.cut(1).offset
        context.cut(1)
        context.apply(Checkpoint(id=1), offset - len(last))
        assert [mark.id for mark in context.checkpoints] == [1]


def test_pins_and_tags_are_those_of_messages_that_are_there() -> None:
    """The last word counts; marks of messages that the history does not hold are not shown."""
    context = folded(
        [
            replace(user("a"), pin=True),
            user("b"),
            Tag(seq=2, pin=True, tags=("x",)),
            Tag(seq=2, tags=("y",)),
            Tag(seq=9, pin=True),
        ]
    )
    assert (context.pins, context.tags) == ({1, 2}, {2: ("y",)})

    context.apply(Tag(seq=1, pin=False))
    context.apply(Tag(seq=2, tags=()))

    assert (context.pins, context.tags) == ({2}, {})


def test_lineage_and_unknown_records_are_kept_count_of() -> None:
    """Rewrites are remembered with their place; records of later versions are counted."""
    clear = Clear(origin=Rotated(1))
    context = folded([Other("_later"), clear, Fork(source="s"), Other("_later")])

    assert context.lineage == (clear, Fork(source="s"))
    assert [(step.start, step.end) for step in context.steps] == [(11, 22), (23, 35)]
    assert context.unknown_records == 2


def test_the_open_span_begins_at_the_last_record_with_a_sum() -> None:
    """And behind a leading prompt, since a log may get its first prompt later."""
    prompt, message = SystemPrompt(content="p"), user("a")
    assert folded([]).span_start == 0
    assert folded([message, prompt]).span_start == 0
    assert folded([prompt, message]).span_start == 11
    assert folded([prompt, prompt, message]).span_start == 11
    assert folded([prompt, message, Checkpoint(id=0), message]).span_start == 23
    assert folded([prompt, Clear(), Fork(source="s"), message]).span_start == 11
