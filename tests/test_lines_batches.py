"""Batches on reading: all lines or none, whatever became of them, and in linear time."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minutebook import lines as module
from minutebook.codec import PAGE_BYTES, checksum, encode_line, frame, paged
from minutebook.lines import Entry, Scanner, flatten, scan
from minutebook.messages import Message, replace, user
from minutebook.records import Batch, Checkpoint, Usage
from minutebook.store.contract import good_end

KIMI = b'{"role":"user","content":"from Kimi CLI"}\n'
KIMI_USAGE = b'{"role":"_usage","token_count":12}\n'


def ours(number: int, text: str = "") -> bytes:
    """Give a line of ours."""
    return encode_line(replace(user(text or f"message {number}"), seq=number))


def read(log: bytes) -> list[bytes]:
    """Give the bytes of each record that is read, with a newline."""
    return [log[entry.start : entry.end] + b"\n" for entry in scan(log)[0]]


def kinds(log: bytes) -> list[str]:
    """Give the kind of each problem."""
    return [problem.kind for problem in scan(log)[1]]


BATCH = frame([ours(2), ours(3), encode_line(Usage(token_count=9, content="9 tokens"))])
BODY = [ours(2), ours(3), encode_line(Usage(token_count=9, content="9 tokens"))]


MARKS = re.compile(rb'"seq":|"content":|\{"role":"_')


def test_a_whole_batch_gives_its_lines() -> None:
    """Its own line is no record, and nothing is reported."""
    log = ours(1) + BATCH + ours(4)
    assert read(log) == [ours(1), *BODY, ours(4)]
    assert kinds(log) == []


@pytest.mark.parametrize("cut", range(1, len(BATCH)))
def test_a_batch_torn_at_any_byte_gives_nothing(cut: int) -> None:
    """One report at most says so, and what may stay before the next append ends before it."""
    log = ours(1) + BATCH[:cut]
    problems = scan(log)[1]
    assert read(log) == [ours(1)]
    assert [problem.kind in {"batch", "torn"} for problem in problems] == [True]
    assert good_end(problems, len(log)) == len(ours(1))


SIZES = st.sampled_from([0, 30, 300, 900, PAGE_BYTES - 90, PAGE_BYTES, 5_000])


@given(st.integers(0, 3 * PAGE_BYTES), st.lists(SIZES, min_size=2, max_size=9), st.data())
def test_a_batch_that_loses_any_of_its_pages_gives_nothing(
    before: int, sizes: list[int], data: st.DataObject
) -> None:
    """Each page is there or zero, those with its first lines too, and the rest may be cut off."""
    lines = [ours(number, "x" * size) for number, size in enumerate(sizes, 2)]
    good = ours(1, "y" * before)
    batch, _ = paged(lines, len(good))
    log = bytearray(good + batch)
    pages = range(len(good) // PAGE_BYTES, (len(log) - 1) // PAGE_BYTES + 1)
    for page in data.draw(st.sets(st.sampled_from(pages), min_size=1)):
        begin, end = max(len(good), page * PAGE_BYTES), min(len(log), (page + 1) * PAGE_BYTES)
        log[begin:end] = bytes(end - begin)
    del log[data.draw(st.integers(len(good), len(log))) :]
    left = bytes(log)

    assert read(left) == [good]
    assert read(left[: good_end(scan(left)[1], len(left))] + ours(99)) == [good, ours(99)]
    assert read(good + batch + ours(99)) == [good, *lines, ours(99)]
    assert kinds(good + batch + ours(99)) == []


def test_a_good_line_behind_a_batch_that_lost_a_page_is_kept() -> None:
    """However much of the batch is lost, it takes nothing from its neighbour."""
    lines = [ours(number, "x" * 1_500) for number in range(2, 9)]
    batch, _ = paged(lines, 0)
    pages = range(0, len(batch), PAGE_BYTES)
    for page in pages:
        end = min(page + PAGE_BYTES, len(batch) - 1)
        left = batch[:page] + bytes(end - page) + batch[end:] + ours(99)
        assert read(left) == [ours(99)], page


@pytest.mark.parametrize("cut", range(1, len(BATCH)))
def test_a_torn_batch_takes_nothing_of_kimi_clis_lines_with_it(cut: int) -> None:
    """Kimi CLI appends behind whatever stands there, on the same line if need be."""
    log = ours(1) + BATCH[:cut] + KIMI + KIMI_USAGE + ours(4)
    assert read(log) == [ours(1), KIMI, KIMI_USAGE, ours(4)]


@given(st.integers(0, len(BATCH) - 1), st.integers(0, 255))
def test_a_batch_with_one_other_byte_is_all_or_nothing(at: int, byte: int) -> None:
    """The hash tells; damage to the header itself leaves single lines or none.

    Where the damage hides that a line is ours, it is taken for another program's.
    """
    header = BATCH.index(b"\n") + 1
    assume(not any(found.start() <= at < found.end() for found in MARKS.finditer(BATCH)))
    log = ours(1) + BATCH[:at] + bytes([byte]) + BATCH[at + 1 :] + ours(4)
    found = read(log)

    assert found[0] == ours(1)
    if at >= header and BATCH[at] != byte:
        assert found in ([ours(1), ours(4)], [ours(1)])
        assert "batch" in kinds(log)
    elif BATCH[at] == byte:
        assert found == [ours(1), *BODY, ours(4)]


def test_a_batch_with_a_wrong_hash_is_set_aside_as_one() -> None:
    """Reported by line, byte and length; the line behind it counts."""
    damaged = BATCH.replace(b"message 3", b"message X")
    log = ours(1) + damaged + ours(4)
    problems = scan(log)[1]
    assert read(log) == [ours(1), ours(4)]
    assert [(problem.kind, problem.line) for problem in problems] == [("batch", 2)]
    assert log[problems[0].byte : problems[0].byte + problems[0].bytes] == damaged
    assert "3" in problems[0].what


def test_a_failed_batch_ends_where_it_said_it_would() -> None:
    """However many lines it claims, it takes none beyond its bytes."""
    body = ours(2) + ours(3)
    header = encode_line(Batch(n=999, bytes=len(body), hash="crc32:00000000"))
    log = header + body + ours(4) + ours(5)
    assert read(log) == [ours(4), ours(5)]
    assert kinds(log) == ["batch"]


def test_a_failed_batch_takes_no_more_lines_than_it_had() -> None:
    """However many bytes it claims."""
    header = encode_line(Batch(n=2, bytes=10_000, hash="crc32:00000000"))
    log = header + ours(2) + ours(3) + ours(4)
    assert read(log) == [ours(4)]


def test_a_record_glued_to_the_last_line_of_a_torn_batch_is_read_alone() -> None:
    """The batch lacks only its last newline: still none of it counts, and the other does."""
    log = frame([ours(2), ours(3)])[:-1] + KIMI
    assert read(log) == [KIMI]
    assert kinds(log) == ["batch"]


@pytest.mark.parametrize("before", [b"\0" * 60, b'{"role":"user","content":"to', KIMI[:-1]])
def test_a_batch_behind_damage_on_its_line_is_still_one(before: bytes) -> None:
    """Whole, it gives all of its lines; not whole, none of them."""
    record = [KIMI] if before == KIMI[:-1] else []
    assert read(before + BATCH + ours(4)) == [*record, *BODY, ours(4)]
    damaged = BATCH.replace(b"message 3", b"message X")
    assert read(before + damaged + ours(4)) == [*record, ours(4)]
    assert read(before + BATCH[:-9]) == record


def test_batches_may_follow_each_other_failed_or_whole() -> None:
    """Each is judged by itself."""
    good, bad = frame([ours(2), ours(3)]), frame([ours(4), ours(5)]).replace(b"e 4", b"e X")
    assert read(bad + good) == [ours(2), ours(3)]
    assert read(good + bad) == [ours(2), ours(3)]
    assert read(bad + bad + good + KIMI) == [ours(2), ours(3), KIMI]
    assert kinds(bad + bad + good) == ["batch", "batch"]


def test_a_batch_line_inside_of_a_batch_opens_nothing() -> None:
    """It lies in bytes that were already found whole."""
    inner = encode_line(Batch(n=5, bytes=5_000, hash="crc32:00000000"))
    log = frame([ours(2), inner, ours(3)]) + ours(4)
    assert read(log) == [ours(2), ours(3), ours(4)]
    assert kinds(log) == []


@pytest.mark.parametrize("size", [-5, 0, 1, 1 << 62])
@pytest.mark.parametrize("n", [-1, 0, 1, 1 << 40])
def test_a_batch_line_of_odd_numbers_takes_no_good_line_of_another(size: int, n: int) -> None:
    """Nothing that it claims is believed without the hash."""
    header = encode_line(Batch(n=n, bytes=size, hash="crc32:00000000"))
    log = ours(1) + header + KIMI + ours(4)
    assert read(log) == [ours(1), KIMI, ours(4)]
    assert kinds(log) == ["batch"]


def test_lines_whose_batch_line_was_dropped_stand_alone() -> None:
    """Kimi CLI drops it when it copies a log."""
    log = BATCH[BATCH.index(b"\n") + 1 :]
    assert read(log) == BODY
    assert kinds(log) == []


@given(
    st.lists(
        st.one_of(
            st.just(frame([ours(2), ours(3)])),
            st.just(frame([ours(2), ours(3)]).replace(b"e 2", b"e X")),
            st.builds(
                lambda n, size: encode_line(Batch(n=n, bytes=size, hash="crc32:00000000")),
                st.integers(0, 4),
                st.integers(0, 300),
            ),
            st.sampled_from(
                [KIMI, KIMI_USAGE, ours(7), b"bad\n", b"\n", b'{"role":"torn', b"\0\0", KIMI[:-1]]
            ),
        ),
        max_size=9,
    ),
    st.data(),
)
def test_entries_are_the_same_however_the_bytes_are_cut(
    pieces: list[bytes], data: st.DataObject
) -> None:
    """Failed, whole and torn batches, fed in one piece, in several, and byte by byte."""
    log = b"".join(pieces)
    expected = scan(log)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=5)))
    for ends in ([*cuts, len(log)], list(range(1, len(log) + 1))):
        scanner, start = Scanner(), 0
        found: list[Entry] = []
        for end in ends:
            found += flatten(scanner.feed(log[start:end]))
            start = end
        found += flatten(scanner.finish())
        assert (found, scanner.problems) == expected


def test_an_unfinished_batch_is_given_once_it_is_whole() -> None:
    """Nothing of it before; with its last byte all of it."""
    scanner = Scanner()
    assert list(flatten(scanner.feed(BATCH[:-1]))) == []
    found = list(flatten(scanner.feed(BATCH[-1:] + ours(4)[:5])))
    assert [BATCH[entry.start : entry.end] + b"\n" for entry in found] == BODY
    assert scanner.offset == len(BATCH)


def summed(log: bytes, monkeypatch: pytest.MonkeyPatch) -> int:
    """Count the bytes over which a check sum is taken while a log is read."""
    total = 0

    def counting(data: bytes, running: int = 0) -> str:
        nonlocal total
        total += len(data)
        return checksum(data, running)

    monkeypatch.setattr(module, "checksum", counting)
    scan(log)
    return total


@pytest.mark.parametrize("size", [2_000, 20_000])
def test_hostile_batch_lines_cost_linear_work(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers that each claim the rest of the file are not summed each to its end."""
    monkeypatch.setattr(module, "WASTE_LIMIT_BYTES", 100_000)
    pieces: list[bytes] = []
    rest = size * 90
    for _ in range(size):
        rest -= 90
        header = encode_line(Batch(n=0, bytes=max(rest, 1), hash="crc32:00000000"))
        pieces.append(header[:-2] + b" " * (90 - len(header)) + b"}\n")
    log = b"".join(pieces)
    assert summed(log, monkeypatch) <= 200_000 + 10 * len(log)


def test_good_batches_behind_hostile_ones_still_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit grows with what was read, so that honest damage never uses it up."""
    monkeypatch.setattr(module, "WASTE_LIMIT_BYTES", 0)
    bad = frame([ours(4), ours(5)]).replace(b"e 4", b"e X")
    good = frame([ours(2), ours(3)])
    log = ours(1) * 3 + bad * 5 + good
    assert read(log)[-2:] == [ours(2), ours(3)]


def test_reading_a_hostile_batch_in_pieces_copies_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a batch is waited for, what has come is kept in pieces and joined once."""
    header = encode_line(Batch(n=9, bytes=1 << 40, hash="crc32:00000000"))
    scanner = Scanner()
    joined = 0
    take = scanner._take

    def counting() -> bytes:
        nonlocal joined
        whole = take()
        joined += len(whole)
        return whole

    monkeypatch.setattr(scanner, "_take", counting)
    piece = ours(1) * 20
    list(scanner.feed(header))
    for _ in range(200):
        assert list(scanner.feed(piece)) == []
    found = list(flatten(scanner.finish()))
    assert joined <= len(header) * 2 + 200 * len(piece)
    assert len(found) == 200 * 20 - 9


def test_a_checkpoint_and_other_kinds_are_read_behind_a_batch() -> None:
    """Messages, special records and batches in any order."""
    mark = encode_line(Checkpoint(id=0, content="c"))
    log = mark + BATCH + mark + ours(4) + BATCH
    entries = scan(log)[0]
    assert len(entries) == 9
    assert [type(entry.record) for entry in entries[:3]] == [Checkpoint, Message, Message]
