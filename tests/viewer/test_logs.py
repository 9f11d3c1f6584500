"""One log, read a part at a time, against the whole of it read at once."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.context import Context, fold
from minutebook.lines import Entry, flatten, scan
from minutebook.messages import Message, replace, user
from minutebook.viewer import logs as module
from minutebook.viewer.logs import (
    HeldLog,
    StoredLog,
    compactions,
    index,
    largest,
    passing,
)
from tests.wild import WILD


class Bytes:
    """As much of a store as a log needs."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.read = 0

    def pieces(
        self, _source: int | None = None, *, start: int = 0, end: int | None = None
    ) -> Iterator[bytes]:
        piece = self.data[start:end]
        self.read += len(piece)
        yield piece


def folded(data: bytes) -> Context:
    """Read a log as a session does."""
    context = Context()
    fold(scan(data)[0], context)
    return context


@given(data=WILD, start=st.integers(0, 40), count=st.integers(0, 40))
def test_a_part_is_as_it_is_in_the_whole(data: bytes, start: int, count: int) -> None:
    """Of any bytes: each message with its number, wherever the reading begins."""
    whole = folded(data)
    log = StoredLog(Bytes(data), None, index(scan(data)[0]))  # type: ignore[arg-type]
    stop = min(log.index.count, start + count)

    assert log.index.count == len(whole.history)
    assert tuple(log.index.seqs) == tuple(message.seq for message in whole.history)
    assert list(log.read(range(start, stop))) == list(whole.history[start:stop])
    assert [step.record for step in log.index.rewritten] == list(whole.lineage)


@given(data=WILD)
def test_a_number_leads_to_its_first_message(data: bytes) -> None:
    """Whether the numbers count up or not."""
    made = index(scan(data)[0])
    seqs = list(made.seqs)

    for seq in {*seqs, 0, -1, max(seqs, default=0) + 1}:
        assert made.position(seq) == (seqs.index(seq) if seq in seqs else None)


def log_of(messages: Sequence[Message]) -> tuple[Bytes, StoredLog]:
    """Put messages into a log."""
    from minutebook.codec import encode_line

    data = b"".join(map(encode_line, messages))
    store = Bytes(data)
    return store, StoredLog(store, None, index(scan(data)[0]))  # type: ignore[arg-type]


def test_a_page_reads_no_more_than_it_shows() -> None:
    """However long the log is."""
    store, log = log_of([replace(user("x" * 1_000), seq=at + 1) for at in range(5_000)])

    assert len(list(log.read(range(4_000, 4_100)))) == 100
    assert store.read < 120_000


def test_long_lines_are_read_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of them is never in memory as a whole."""
    monkeypatch.setattr(module, "GROUP_BYTES_MAX", 100)
    store, log = log_of([user("x" * 200) for _ in range(3)])
    reading = log.read(range(3))

    next(reading)

    assert store.read < 300
    assert len(list(reading)) == 2


def test_lines_far_apart_are_read_one_by_one() -> None:
    """What stands between them stays where it is."""
    long = user("y" * (2 * module.GAP_BYTES_MAX))
    store, log = log_of([user("a"), long, user("b")])

    assert [message.text for message in log.read([0, 2])] == ["a", "b"]
    assert store.read < 1_000


def test_the_largest_are_found_in_passing() -> None:
    """By the length of their lines, then in the order of their tokens."""
    _, log = log_of([user("word " * (at % 40 + 1)) for at in range(200)])

    found = largest(log, lambda text: text[:9])

    assert len(found) == module.LARGEST
    assert [one.tokens for one in found] == sorted((one.tokens for one in found), reverse=True)
    assert {one.excerpt for one in found} == {"word word"}
    assert {(one.seq - 1) % 40 for one in found} <= set(range(36, 40))


def test_what_is_in_memory_looks_the_same() -> None:
    """As the messages of another agent's file are."""
    messages = [user("a"), user("b")]
    made = index(Entry(message, 0, 1) for message in messages)
    log = HeldLog(messages, made)

    assert [(message.seq, message.text) for message in passing(log)] == [(1, "a"), (2, "b")]
    assert compactions(made) == []


async def test_a_store_has_what_a_log_needs(tmp_path: Path) -> None:
    """The real one."""
    from minutebook.opening import open_session

    async with open_session(tmp_path / "s", durability="process", window=4_000) as session:
        await session.append(user("a"), user("b"))
        await session.checkpoint("here")
        await session.append(user("c"), usage=9)
        made = index(session.store.replay())
        log = StoredLog(session.store, None, made)

        assert [message.text for message in passing(log, 1)] == ["b", "c"]
        assert [(mark.label, mark.messages) for mark in made.checkpoints] == [("here", 2)]
        assert [(counted.messages, counted.tokens) for counted in made.counted] == [(3, 9)]


def test_flatten_and_runs_give_the_same_index() -> None:
    """Records in a run have their places from where each begins."""
    data = b'{"role":"user","content":"a"}\n{"role":"user","content":"b"}\n'
    from minutebook.lines import Scanner

    scanner = Scanner()
    runs = [*scanner.feed(data), *scanner.finish()]

    assert index(runs).ends == index(flatten(runs)).ends
