"""Reading a log: every good record is found, every fault is reported, nothing ever raises."""

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.codec import encode_line
from minutebook.lines import BOM, Entry, Problem, Scanner, flatten, scan
from minutebook.messages import Message, OtherPart, replace, user
from minutebook.records import Batch, Other, Record, Usage
from tests.cases import case
from tests.strategies import RECORDS

GOOD = b'{"role":"user","content":"good"}'
KIMI = b'{"role":"user","content":"from Kimi CLI"}'


def texts(log: bytes) -> list[str]:
    """Give the text of each message that is read."""
    return [entry.record.text for entry in scan(log)[0] if isinstance(entry.record, Message)]


def kinds(log: bytes) -> list[tuple[str, int]]:
    """Give each problem's kind and line."""
    return [(problem.kind, problem.line) for problem in scan(log)[1]]


def said(*words: str) -> bytes:
    """Give a log of messages, one a line."""
    return b"".join(encode_line(Message(role="user", content=word)) for word in words)


# What a line may look like.


def usable(record: Record) -> bool:
    """Leave out what is not read as it was made: numbers that are none, kinds without keys."""
    if isinstance(record, Message):
        return record.seq is None or 0 < record.seq < 1 << 53
    return not isinstance(record, Batch | Other)


@given(st.lists(RECORDS.filter(usable), max_size=6))
def test_what_was_written_is_read(kept: list[Record]) -> None:
    """Every record in order, with the bytes of its line, and no problem."""
    lines = [encode_line(record) for record in kept]
    log = b"".join(lines)
    entries, problems = scan(log)

    assert [entry.record for entry in entries] == kept
    assert [log[entry.start : entry.end] + b"\n" for entry in entries] == lines
    assert problems == []


@pytest.mark.parametrize("text", ["a\u2028b", "a\u2029b", "a\x85b", "a\x0bb\x0cc", "a\rb", "\x1c"])
def test_lines_end_at_the_newline_byte_only(text: str) -> None:
    """Other line ends are legal inside of a string."""
    log = said("before", text, "after")
    assert texts(log) == ["before", text, "after"]
    raw = f'{{"role":"user","content":"{text}"}}\n'.encode()
    if text >= "a\x80":
        assert texts(raw) == [text]
        assert kinds(raw) == []


def test_one_carriage_return_and_a_byte_order_mark_are_no_fault() -> None:
    """What an editor on Windows leaves."""
    log = BOM + GOOD + b"\r\n" + KIMI + b"\r\n"
    assert texts(log) == ["good", "from Kimi CLI"]
    assert kinds(log) == []
    assert scan(log)[0][0].start == 3


def test_a_byte_order_mark_counts_only_at_the_very_start() -> None:
    """Inside of the log it damages its line; the record behind it is still found."""
    log = GOOD + b"\n" + BOM + KIMI + b"\n"
    assert texts(log) == ["good", "from Kimi CLI"]
    assert kinds(log) == [("rescued", 2)]


def test_blank_lines_are_nothing() -> None:
    """Neither records nor faults."""
    log = b"\n" + GOOD + b"\n\n \t\r\n" + KIMI + b"\n\n"
    assert texts(log) == ["good", "from Kimi CLI"]
    assert kinds(log) == []


def test_records_glued_on_one_line_are_all_read() -> None:
    """Reported once for the line; each with its own bytes."""
    log = GOOD + KIMI + b' {"role":"_usage","token_count":4}' + b"\n" + GOOD + b"\n"
    entries, problems = scan(log)
    assert [log[entry.start : entry.end] for entry in entries] == [
        GOOD,
        KIMI,
        b'{"role":"_usage","token_count":4}',
        GOOD,
    ]
    assert isinstance(entries[2].record, Usage)
    assert [(problem.kind, problem.line) for problem in problems] == [("glued", 1)]


def test_glued_records_with_broken_bytes_keep_their_offsets() -> None:
    """Offsets count the bytes on disk, not the characters shown."""
    broken = '{"role":"user","content":"ä\udcff"}'.encode("utf-8", "surrogateescape")
    log = broken + GOOD + b"\n"
    entries, problems = scan(log)
    assert [log[entry.start : entry.end] for entry in entries] == [broken, GOOD]
    assert [problem.kind for problem in problems] == ["mended", "glued"]


BAD = [
    b"no JSON at all",
    b"[1,2,3]",
    b'"text"',
    b"null",
    b"17",
    b"{}",
    b'{"content":"no role"}',
    b'{"role":3}',
    b'{"role":"user","content":"torn',
    b"\0" * 40,
    b'{"role":"user","content":"a\0b"}',
    b'{"role":"user","content":"a","later":"\0"}',
    b'{"role":"user","content":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    b'{"role":"user","content":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}",
    b"[" * 200_000,
    b'{"role":' * 3_000,
    b"\xff\xfe\xfd",
    b'{"role":"user","at":' + b"9" * 5_000 + b"}",
]


@pytest.mark.parametrize("line", BAD, ids=lambda line: line[:16].decode("latin-1"))
def test_a_bad_line_is_reported_and_takes_no_neighbour_with_it(line: bytes) -> None:
    """Skipped, counted, with its line and its bytes."""
    log = GOOD + b"\n" + line + b"\n" + KIMI + b"\n"
    entries, problems = scan(log)
    assert len(entries) == 2
    assert texts(log) == ["good", "from Kimi CLI"]
    assert [(bad.kind, bad.line, bad.byte, bad.bytes) for bad in problems] == [
        ("bad", 2, len(GOOD) + 1, len(line))
    ]


MENDED = [
    (b'{"role":"user","content":"\\ud83d alone"}', "\ufffd alone"),
    (b'{"role":"user","content":"\\udcb2\\udc8f"}', "\ufffd\ufffd"),
    (b'{"role":"user","content":"\\ud83d\\ude80 \\ud83d"}', "\U0001f680 \ufffd"),
    (b'{"role":"user","content":"broken \xff\xfe"}', "broken \ufffd\ufffd"),
    (b'{"role":"user","content":"half \xf0\x9f\x9a"}', "half \ufffd\ufffd\ufffd"),
    (b'{"role":"user","content":"tab\there"}', "tab\there"),
    (b'{"role":"user","content":"bell\x07"}', "bell\x07"),
    (b'{"role":"user","content":"n","later":NaN}', "n"),
    (b'{"role":"user","content":"n","at":Infinity}', "n"),
    (b'{"role":"user","content":"n","at":1e999}', "n"),
    (b'{"role":"user","content":"k","\\udc88":1}', "k"),
]


@pytest.mark.parametrize(("line", "text"), MENDED, ids=lambda value: repr(value)[10:50])
def test_a_line_that_only_strict_readers_refuse_is_mended(line: bytes, text: str) -> None:
    """It is read and reported; its bytes are named as they are, and others are untouched."""
    log = GOOD + b"\n" + line + b"\n" + KIMI + b"\n"
    entries, problems = scan(log)
    assert texts(log) == ["good", text, "from Kimi CLI"]
    assert log[entries[1].start : entries[1].end] == line
    assert [(problem.kind, problem.line) for problem in problems] == [("mended", 2)]


def test_unknown_roles_parts_and_keys_are_no_fault() -> None:
    """C073.1, .2: they are read as far as they are known, and kept."""
    log = (
        b'{"role":"oracle","content":"a","later":{"x":[1]}}\n'
        b'{"role":"user","content":[{"type":"hologram","payload":"z"},{"type":"text","text":"b"}]}\n'
        b'{"role":"_telemetry","content":"c"}\n'
        b'{"content":"role last","later":1,"role":"user"}\n'
        b'{"content":"special","token_count":7,"role":"_usage"}\n'
        b'{"role":"User","content":"shouted"}\n'
        b'{"role":"","content":"nobody"}\n'
    )
    entries, problems = scan(log)
    records = [entry.record for entry in entries]
    assert problems == []
    assert [record.role for record in records if isinstance(record, Message)] == [
        "oracle",
        "user",
        "user",
        "User",
        "",
    ]
    assert isinstance(records[1], Message)
    assert records[1].parts[0] == OtherPart({"type": "hologram", "payload": "z"})
    assert records[2] == Other(role="_telemetry")
    assert records[4] == Usage(token_count=7, content="special")


def test_c073_a_log_of_a_newer_version_is_read() -> None:
    """C073.1, .2, .4: what is unknown is kept by its bytes, what is missing has its default."""
    log = case("C073").log()
    entries, problems = scan(log)
    assert problems == []
    assert texts(log) == ["line 1", "line 2", "known"]
    assert b'"future_field":{"keep":"me"}' in log[entries[-1].start : entries[-1].end]
    assert [entry.record for entry in entries if isinstance(entry.record, Other)] == [
        Other(role="_session"),
        Other(role="_telemetry/ping"),
    ]


# The end of the log, and what stands behind damage.


@given(st.integers(0, 400))
def test_each_prefix_of_a_log_is_read_as_far_as_it_goes(cut: int) -> None:
    """Whole records before the cut, and one report of the torn end."""
    log = said("one", "two \u2028", "three")
    prefix = log[:cut]
    whole = [line for line in log.split(b"\n")[:-1] if prefix.find(line) >= 0]
    rest = prefix[len(b"".join(line + b"\n" for line in whole)) :]
    entries, problems = scan(prefix)

    assert [prefix[entry.start : entry.end] for entry in entries] == whole
    assert [problem.kind for problem in problems] == (["torn"] if rest else [])


def test_a_whole_last_line_without_its_newline_is_a_record() -> None:
    """It merely lacks its newline; nothing is reported."""
    assert texts(said("one") + GOOD) == ["one", "good"]
    assert kinds(said("one") + GOOD) == []


@pytest.mark.parametrize(
    "torn",
    [
        b'{"role":"user","content":"and then',
        b'{"role":"user","conte',
        b'{"role":"assistant","content":"she said {\\"role\\":\\"user\\"',
        b"\0" * 300,
        b'half a line",\0\0\0\0',
        b'{"role":"_usage","token_count":1',
        b'{"role":"user","content":"a\0b"}',
    ],
    ids=lambda torn: repr(torn)[:40],
)
@pytest.mark.parametrize("record", [GOOD, b'{"role": "user", "content": "good"}'])
def test_a_whole_record_behind_a_torn_start_is_rescued(torn: bytes, record: bytes) -> None:
    """Kimi CLI glues its next record to a torn line, and lost blocks leave NULs before one."""
    log = said("one") + torn + record + b"\n" + KIMI + b"\n"
    entries, problems = scan(log)
    assert texts(log) == ["one", "good", "from Kimi CLI"]
    assert log[entries[1].start : entries[1].end] == record
    assert [(problem.kind, problem.line) for problem in problems] == [("rescued", 2)]


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_whole_record_before_lost_blocks_is_rescued(end: bytes) -> None:
    """It lacked its newline, and of what was to come next only zeros are left."""
    log = said("one") + GOOD + b"\0" * 50 + end
    assert texts(log) == ["one", "good"]
    (problem,) = scan(log)[1]
    assert (problem.kind, problem.line, problem.bytes) == ("rescued", 2, 50)


def test_of_several_starts_the_first_that_reads_to_the_end_counts() -> None:
    """A message that quotes a record inside of a part is not cut down to the quotation."""
    inner = b'{"role":"user","content":"quoted"}'
    outer = b'{"role":"assistant","content":[{"type":"x","said":' + inner + b"}]}"
    log = b'{"role":"torn' + outer + b"\n"
    (entry,) = scan(log)[0]
    assert log[entry.start : entry.end] == outer


def test_several_records_behind_a_torn_start_give_the_last() -> None:
    """Only one that reads to the end of the line is sure to be whole."""
    assert texts(b'{"role":"torn' + GOOD + KIMI + b"\n") == ["from Kimi CLI"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("log_mid.jsonl", ("bad", 4, 512)),
        ("log_glued.jsonl", ("rescued", 4, 300)),
        ("log_tail.jsonl", ("torn", 8, 1206)),
    ],
)
def test_c063_nul_bytes_cost_no_message(name: str, problem: tuple[str, int, int]) -> None:
    """C063.1, .3: all six messages are read, and the hole is reported by line and bytes."""
    log = case("C063").log(name)
    found = scan(log)[1]
    assert texts(log) == [f"line {number}" for number in range(1, 7)]
    assert [(bad.kind, bad.line, bad.bytes) for bad in found] == [problem]


def test_c067_a_byte_order_mark_and_crlf_are_no_damage() -> None:
    """C067.1, .3: four messages, no report; an escaped carriage return stays in its text."""
    log = case("C067").log()
    assert log.startswith(BOM)
    assert texts(log) == [f"line {number}" for number in range(1, 5)]
    assert kinds(log) == []
    mixed = log + said("a\rb") + GOOD + b"\r\n"
    assert texts(mixed)[-2:] == ["a\rb", "good"]
    assert kinds(mixed) == []


# However the bytes come.


def fed(log: bytes, cuts: list[int]) -> tuple[list[Entry], list[Problem]]:
    """Read a log in pieces."""
    scanner = Scanner()
    found: list[Entry] = []
    for start, end in zip([0, *cuts], [*cuts, len(log)], strict=True):
        found += flatten(scanner.feed(log[start:end]))
    found += flatten(scanner.finish())
    return found, scanner.problems


WILD = st.lists(
    st.one_of(
        RECORDS.map(encode_line),
        st.lists(RECORDS.map(encode_line), min_size=2, max_size=3).map(b"".join),
        st.sampled_from([*BAD[:9], *(line for line, _ in MENDED), BOM, b"\0\0", b"", b"\r", KIMI]),
        st.binary(max_size=12),
    ),
    max_size=7,
)


@given(WILD, st.sampled_from([b"\n", b""]), st.data())
def test_entries_are_the_same_however_the_bytes_are_cut(
    pieces: list[bytes], joint: bytes, data: st.DataObject
) -> None:
    """Whole, byte by byte, or cut anywhere."""
    log = joint.join(pieces)
    expected = scan(log)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=6)))

    assert fed(log, cuts) == expected
    assert fed(log, list(range(1, len(log)))) == expected


def test_a_scanner_may_begin_inside_of_a_log() -> None:
    """Offsets and lines go on from where it was told to begin."""
    log = said("one", "two")
    start = log.index(b"\n") + 1
    scanner = Scanner(offset=start, line=1)
    entries = [*flatten(scanner.feed(log[start:] + b"x\n")), *flatten(scanner.finish())]
    assert [(entry.start, entry.end) for entry in entries] == [(start, len(log) - 1)]
    assert [(bad.line, bad.byte) for bad in scanner.problems] == [(3, len(log))]
    assert scanner.offset == len(log) + 2


@given(st.binary(max_size=300))
def test_random_bytes_never_raise(log: bytes) -> None:
    """Property 7 of the design, on bytes without any shape."""
    entries, problems = scan(log)
    assert all(0 <= entry.start < entry.end <= len(log) for entry in entries)
    assert all(problem.byte + problem.bytes <= len(log) for problem in problems)


@given(WILD.map(b"\n".join), st.data())
def test_mutated_logs_never_raise(log: bytes, data: st.DataObject) -> None:
    """Property 7 of the design, on logs in which bytes were changed, lost and doubled."""
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(log)))
        span = data.draw(st.integers(0, 8))
        log = log[:at] + data.draw(st.binary(max_size=4)) + log[at + span :]
    entries, problems = scan(log)
    good = sum(entry.end - entry.start for entry in entries)
    assert good <= len(log)
    assert [problem.line for problem in problems] == sorted(problem.line for problem in problems)


def test_memory_is_in_proportion_to_the_piece_not_to_the_log() -> None:
    """A log of thousands of messages is read a piece at a time."""
    piece = said(*(f"message {number} " + "x" * 200 for number in range(200)))
    scanner = Scanner()
    tracemalloc.start()
    try:
        for _ in range(50):
            for _found in scanner.feed(piece):
                pass
        list(scanner.finish())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * len(piece)


@pytest.mark.parametrize(
    "log",
    [
        random.Random(1).randbytes(400_000),
        b"\0" * 400_000,
        b"[" * 400_000,
        b'{"role":' * 50_000,
        b'{"role":"user","content":"' + b"\xff" * 400_000,
        b"\n" * 40_000,
    ],
    ids=["random", "zero", "deep", "roles", "broken", "blank"],
)
def test_memory_is_in_proportion_to_a_hostile_log(log: bytes) -> None:
    """Property 7 of the design: a few times the file's size, whatever is in it."""
    tracemalloc.start()
    try:
        scan(log)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * len(log)


def test_seq_and_at_that_no_reader_can_hold_are_left_out() -> None:
    """Numbers beyond what JSON readers keep exactly are none of ours."""
    for value in ("18446744073709551616", "-1", "true", "1e400", '"7"'):
        line = f'{{"role":"user","content":[{{"type":"later"}}],"seq":{value}}}\n'.encode()
        (entry,) = scan(line)[0]
        assert isinstance(entry.record, Message)
        assert entry.record.seq is None
    assert replace(user("a"), seq=1).seq == 1
