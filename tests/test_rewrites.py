"""What each rewrite keeps, writes and states again; all from bytes, as a store would do it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook import rewrites
from minutebook.codec import encode_line
from minutebook.context import Context, fold
from minutebook.lineage import Found
from minutebook.lines import Entry, scan
from minutebook.messages import Message, assistant, call, replace, tool, user
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
from minutebook.rewrites import Operation
from minutebook.sums import Verifier, span_sum
from minutebook.tokens.estimate import estimate_message
from tests.strategies import RECORDS

ROTATED = Rotated(number=4, bytes=9, hash="crc32:00000000")


@dataclass
class Log:
    """A log's bytes, and what is in them."""

    data: bytes

    @property
    def context(self) -> Context:
        """Fold it."""
        return fold(self.entries)

    @property
    def entries(self) -> list[Entry]:
        """Read it."""
        return scan(self.data)[0]

    @property
    def records(self) -> list[Record]:
        """Give its records alone."""
        return [entry.record for entry in self.entries]

    def read(self, _source: int | None, start: int, end: int) -> bytes:
        """Give some of its bytes."""
        return self.data[start:end]

    def after(self, operation: Operation, live: "Log | None" = None) -> "Log":
        """Do what a store does: keep from this log, which is a rotation if *live* is given."""
        assert (operation.source is None) is (live is None)
        kept = self.data[: operation.keep]
        tail = operation.tail(ROTATED)
        assert operation.tail(ROTATED) == tail
        return Log(b"".join([*operation.head, kept, *tail]))

    def verdicts(self) -> set[str]:
        """Verify its check sums."""
        verifier = Verifier()
        return {span.verdict for span in [*verifier.feed(self.data), *verifier.finish()]}


def written(*records: Record) -> Log:
    """Write records, each checkpoint with the sum of what stands before it."""
    data, span = b"", 0
    for record in records:
        line = encode_line(record)
        if isinstance(record, Checkpoint):
            line = encode_line(replace_sum(record, span_sum(data[span:])))
            span = len(data)
        elif isinstance(record, SystemPrompt) and not data:
            span = len(line)
        data += line
    return Log(data)


def replace_sum(record: Checkpoint, total: str) -> Checkpoint:
    """Give a checkpoint with its sum."""
    return Checkpoint(id=record.id, content=record.content, sum=total)


def said(seq: int, text: str = "", **changes: Any) -> Message:
    """Give a message."""
    return replace(user(text or f"m{seq}"), seq=seq, **changes)


def found(log: Log, checkpoint: int, source: int | None = None) -> Found:
    """Find a checkpoint."""
    context = log.context
    return Found(source=source, mark=context.mark(checkpoint), context=context)


def reverted(live: Log, place: Found, old: Log | None = None, note: Message | None = None) -> Log:
    """Revert, and give the new log."""
    operation = rewrites.revert(
        live.context,
        place,
        notes=[] if note is None else [note],
        reason="revert",
        at=7.0,
        read=(old or live).read,
    )
    return live.after(operation) if old is None else old.after(operation, live)


PINNED = Tag(seq=1, pin=True, tags=("a",))


def test_a_revert_keeps_what_stands_before_the_checkpoint() -> None:
    """Its record names the rotation and carries the free numbers; pins stay."""
    live = written(
        SystemPrompt(content="p"), said(1), Checkpoint(id=0), said(2), PINNED, Checkpoint(id=1)
    )
    place = found(live, 0)

    new = reverted(live, place, note=said(3, "in vain"))

    prompt, first, record, tag, note = new.records
    assert (prompt, first) == (SystemPrompt(content="p"), said(1))
    assert isinstance(record, Revert)
    assert record == Revert(
        content=record.content,
        origin=ROTATED,
        to=0,
        next=Next(checkpoint=2, seq=3),
        lines=3,
        at=7.0,
        sum=record.sum,
    )
    assert (note, tag) == (
        said(3, "in vain"),
        Tag(seq=1, content="marks message 1", pin=True, tags=("a",)),
    )
    assert new.context.next == Next(checkpoint=2, seq=4)
    assert new.verdicts() <= {"good", "unsummed"}


def test_a_revert_may_set_a_new_checkpoint_before_its_notes() -> None:
    """In the same lines, with the sum of what stands between, so no crash comes between them."""
    live = written(said(1), Checkpoint(id=0), said(2), PINNED, Checkpoint(id=1), said(3))
    operation = rewrites.revert(
        live.context,
        found(live, 0),
        notes=[said(4, "go on")],
        reason="dmail",
        at=7.0,
        read=live.read,
        mark_anew=True,
    )

    new = live.after(operation)

    _first, record, _tag, mark, note = new.records
    assert isinstance(record, Revert)
    assert record.lines == 4
    assert isinstance(mark, Checkpoint)
    assert (mark.id, note) == (2, said(4, "go on"))
    assert new.context.next == Next(checkpoint=3, seq=5)
    assert new.context.pins == {1}
    assert new.verdicts() <= {"good", "unsummed"}
    again = new.after(
        rewrites.revert(new.context, found(new, 2), reason="revert", at=8.0, read=new.read)
    )
    assert [m.text for m in again.context.history] == ["m1"]
    assert again.verdicts() <= {"good", "unsummed"}


def test_a_revert_within_the_log_tells_where_to_cut() -> None:
    """One into a rotation has to be folded anew."""
    live = written(Checkpoint(id=0))
    for source, cut in ((None, 0), (3, None)):
        operation = rewrites.revert(
            live.context,
            found(live, 0, source),
            notes=(),
            reason="dmail",
            at=1.0,
            read=live.read,
        )
        assert (operation.cut, operation.source, operation.keep) == (cut, source, 0)


def test_a_clear_leaves_the_prompt() -> None:
    """And the free numbers; pins go with their messages."""
    live = written(SystemPrompt(content="a"), said(5), PINNED, SystemPrompt(content="b"))

    new = live.after(rewrites.clear(live.context, at=7.0))

    assert new.records[0] == SystemPrompt(content="b")
    assert isinstance(new.records[1], Clear)
    assert (new.context.history, new.context.pins) == ((), frozenset())
    assert new.context.next == Next(checkpoint=0, seq=6)
    assert new.verdicts() <= {"good", "unsummed"}
    assert written(said(1)).after(rewrites.clear(Context(), at=7.0)).context.system_prompt is None


def restored(live: Log, old: Log, since: Sequence[bytes] = (), reason: str = "restore") -> Log:
    """Restore a log that was left, and give the new one."""
    operation = rewrites.restore(
        live.context,
        old.context,
        number=2,
        keep=len(old.data),
        reason=reason,
        at=7.0,
        read=old.read,
        since=since,
    )
    return old.after(operation, live)


def test_a_restored_log_comes_whole() -> None:
    """Pins and tags are those of now where the message is there now."""
    old = written(said(1), said(2), Tag(seq=2, tags=("old",)), Checkpoint(id=0))
    live = written(said(2), Tag(seq=2, pin=True), said(3), Revert(next=Next(9, 9)))

    new = restored(live, old)

    record = new.records[len(old.records)]
    assert isinstance(record, Revert)
    assert (record.reason, record.source, record.origin) == ("restore", 2, ROTATED)
    assert [message.seq for message in new.context.history] == [1, 2]
    assert (new.context.pins, new.context.tags) == ({2}, {})
    assert new.context.next == Next(checkpoint=9, seq=9)
    assert new.verdicts() <= {"good", "unsummed"}


def test_lines_that_came_since_are_laid_behind_with_new_sums() -> None:
    """An undone compaction: the older log, what was appended since, and the record."""
    old = written(said(1), Checkpoint(id=0))
    since = written(said(4), Checkpoint(id=2), said(5), Checkpoint(id=3))
    lines = [line + b"\n" for line in since.data.splitlines()]

    new = restored(since, old, lines, "undo")

    assert [message.seq for message in new.context.history] == [1, 4, 5]
    assert [mark.id for mark in new.context.checkpoints] == [0, 2, 3]
    assert isinstance(new.records[-1], Revert)
    assert new.verdicts() <= {"good", "unsummed"}


def test_the_first_prompt_stands_before_all() -> None:
    """Everything else is kept as it is."""
    live = written(said(1), Checkpoint(id=0), said(2))

    new = live.after(rewrites.first_prompt("p", len(live.data)))

    assert new.data == encode_line(SystemPrompt(content="p")) + live.data
    assert new.verdicts() <= {"good", "unsummed"}


def test_since_lines_leave_out_the_compaction_and_the_usage() -> None:
    """And `_batch` lines, since single lines are laid anew; messages get their numbers."""
    compaction = Compaction(id="c", lines=3, next=Next(3, 7))
    start = encode_line(SystemPrompt(content="p"))
    own = written(compaction, Checkpoint(id=3), said(2)).data
    batch = encode_line(Batch(n=2, bytes=1, hash=""))
    kimi = b'{"role": "user", "content": "x",  "extra": [1]}\n{"role":"_later"}\n'
    data = start + own + encode_line(Usage(token_count=9)) + batch + kimi
    context = fold(scan(data)[0])

    entries = [entry for entry in scan(data)[0] if entry.start >= len(start)]
    lines = rewrites.since_lines(entries, data[len(start) :], context, len(start))

    assert lines == [
        b'{"role": "user", "content": "x",  "extra": [1],"seq":7}\n',
        b'{"role":"_later"}\n',
    ]


@pytest.mark.parametrize("entries", [[], [Entry(user("x"), 0, 9)]])
def test_since_lines_of_no_compaction_are_what_follows(entries: list[Entry]) -> None:
    """The record itself is never among them."""
    assert rewrites.since_lines(entries, b"", Context(), 0) == []


def compacted(live: Log, items: Sequence[Message], fixed: int = 10) -> Log:
    """Compact, and give the new log."""
    operation = rewrites.compaction(
        live.context if not items else _context_of(live, items),
        items,
        record=Compaction(id="c", trigger="manual", focus="tests"),
        fixed=fixed,
        read=live.read,
        at=7.0,
    )
    return live.after(operation)


def _context_of(live: Log, items: Sequence[Message]) -> Context:
    """Give a context that holds the very objects that are to be carried."""
    context = live.context
    own = {message.seq: message for message in items if message.seq and not message.elided}
    context._messages = [own.get(message.seq or 0, message) for message in context.history]
    context._history = None
    return context


def test_a_compaction_carries_lines_as_they_are() -> None:
    """Kept bytes stay, new messages get new numbers, shortened ones keep theirs."""
    kimi = b'{"role": "user",  "content": "kept", "partial": true}\n'
    first = encode_line(SystemPrompt(content="p")) + encode_line(said(1))
    live = Log(first + encode_line(said(2)) + kimi)
    history = live.context.history
    short = replace(history[1], content="cut", elided="mask")
    summary = replace(user("S"), origin="summary")

    new = compacted(live, [summary, short, history[2]])

    prompt, record, mark, made, shortened, kept, usage = new.records
    assert prompt == SystemPrompt(content="p")
    assert isinstance(record, Compaction)
    assert (record.parent, record.next, record.at) == (ROTATED, Next(checkpoint=0, seq=5), 7.0)
    assert (record.carried, record.made, record.lines) == ((2, 3), (4,), 6)
    assert isinstance(mark, Checkpoint)
    assert mark.id == 0
    assert made == replace(summary, seq=4, at=7.0)
    assert shortened == short
    assert isinstance(kept, Message)
    assert kept.seq == 3
    assert b'{"role": "user",  "content": "kept", "partial": true,"seq":3}\n' in new.data
    tokens = 10 + sum(map(estimate_message, new.context.history))
    assert isinstance(usage, Usage)
    assert (usage.token_count, usage.estimated, record.tokens_after) == (tokens, True, tokens)
    assert new.context.token_count == tokens
    assert new.context.next == Next(checkpoint=1, seq=5)
    assert new.verdicts() <= {"good", "unsummed"}


def test_a_compaction_states_marks_again() -> None:
    """What the lines themselves do not say of pins and tags."""
    live = written(
        said(1, pin=True),
        said(2, pin=True),
        said(3),
        said(4),
        Tag(seq=2, pin=False),
        Tag(seq=3, pin=True, tags=("x",)),
        Tag(seq=4, pin=True),
    )
    context = live.context

    new = compacted(live, context.history[:3])

    assert (new.context.pins, new.context.tags) == ({1, 3}, {3: ("x",)})
    tags = [record.seq for record in new.records if isinstance(record, Tag)]
    assert tags == [2, 3]


def test_a_number_that_is_spoiled_in_its_line_is_written_behind() -> None:
    """The last of two equal keys counts for every reader."""
    live = Log(b'{"role":"user","content":"a","seq":-4}\n')

    new = compacted(live, live.context.history)

    assert b'{"role":"user","content":"a","seq":-4,"seq":1}\n' in new.data
    assert new.context.history == live.context.history


def test_marks_of_a_message_that_comes_back_are_those_it_had_at_last() -> None:
    """The context does not hold it, so the end of the log that it comes from decides."""
    old = written(said(1), said(2), Checkpoint(id=0), PINNED, Tag(seq=2, pin=True))
    live = written(Clear(), said(2), Tag(seq=2, tags=("now",)))

    new = reverted(live, found(old, 0, source=2), old)

    assert (new.context.pins, new.context.tags) == ({1}, {1: ("a",), 2: ("now",)})


def test_a_fork_goes_on_with_the_numbers() -> None:
    """It says where it comes from, and states marks again that are not kept."""
    live = written(said(1), Checkpoint(id=0), said(2), PINNED)

    whole = rewrites.fork(live.context, None, source="s", at=7.0)
    part = rewrites.fork(live.context, found(live, 0), source="s", at=7.0)

    following = Next(checkpoint=1, seq=3)
    fork = Fork(source="s", content="forked from s", next=following, at=7.0)
    assert Log(whole).records == [fork]
    assert Log(part).records == [
        Fork(source="s", content="forked from s", checkpoint=0, next=following, at=7.0),
        Tag(seq=1, content="marks message 1", pin=True, tags=("a",)),
    ]


STORED = RECORDS.filter(lambda record: not isinstance(record, Other | Batch))


@given(st.lists(STORED, max_size=16), st.data())
def test_no_rewrite_gives_a_number_twice_or_loses_a_mark(
    records: list[Record], data: st.DataObject
) -> None:
    """Whatever the log, the free numbers never fall, and kept messages stay marked."""
    live = written(*records)
    context = live.context
    ids = sorted({mark.id for mark in context.checkpoints})
    indices = range(len(context.history))
    kept = data.draw(st.sets(st.sampled_from(indices)) if indices else st.just(set()))
    new = [
        live.after(rewrites.clear(context, at=1.0)),
        restored(live, live),
        compacted_from(live, sorted(kept)),
    ]
    if ids:
        new.append(reverted(live, found(live, data.draw(st.sampled_from(ids)))))

    for log in new:
        assert log.context.next_seq >= context.next_seq
        assert log.context.next_checkpoint_id >= context.next_checkpoint_id
        there = {message.seq for message in log.context.history}
        assert log.context.pins == context.pins & there
        assert log.context.tags == {seq: tags for seq, tags in context.tags.items() if seq in there}


def compacted_from(live: Log, kept: Sequence[int]) -> Log:
    """Compact to some of the messages, carried by their bytes."""
    context = live.context
    operation = rewrites.compaction(
        context,
        [context.history[index] for index in kept],
        record=Compaction(id="c"),
        fixed=0,
        read=live.read,
        at=1.0,
    )
    return live.after(operation)


def test_an_exchange_is_carried_with_its_calls() -> None:
    """What has calls and results is written as it was."""
    live = written(
        replace(assistant("x", tool_calls=[call("c", "f", None)]), seq=1),
        replace(tool("c", "r", error=True), seq=2),
    )

    new = compacted_from(live, [0, 1])

    assert new.context.history == live.context.history
    assert live.data in new.data
