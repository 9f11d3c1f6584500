"""Spans of the log keep their check sums, and a change is found where it is."""

import asyncio
import tempfile
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import structs

from minutebook.codec import encode_line, frame
from minutebook.context import fold
from minutebook.lines import Scanner
from minutebook.messages import replace, user
from minutebook.records import Checkpoint, Clear, Record, SystemPrompt
from minutebook.sums import Span, SpanSum, Verifier, resummed, span_sum, summed_record, with_sum
from tests.playing import FileHome, Home, MemoryHome, Player
from tests.strategies import RECORDS, STORIES, Do

KIMI = b'{"role": "user", "content": "from elsewhere"}\n'
PROMPT = encode_line(SystemPrompt(content="Be brief."))


def verify(log: bytes, *cuts: int) -> list[Span]:
    """Walk a log in pieces."""
    verifier = Verifier()
    ends = sorted({*(cut % (len(log) + 1) for cut in cuts), len(log)})
    starts = [0, *ends]
    found: list[Span] = []
    for start, end in zip(starts, ends, strict=False):
        found += verifier.feed(log[start:end])
    return [*found, *verifier.finish()]


def verdicts(log: bytes) -> list[str]:
    """Give the verdict on each span."""
    return [span.verdict for span in verify(log)]


def message(seq: int, text: str = "hello") -> bytes:
    """Write a message's line."""
    return encode_line(replace(user(text), seq=seq))


def mark(number: int, span: bytes) -> bytes:
    """Write a checkpoint's line with the sum of a span."""
    return encode_line(Checkpoint(id=number, content="checkpoint", sum=span_sum(span)))


def written_log() -> bytes:
    """Write a log of a prompt, single lines and batches, and three checkpoints."""
    log, span, seq = PROMPT, b"", 1
    for number in range(3):
        line = mark(number, span)
        said = message(seq) + frame([message(seq + 1, "a"), message(seq + 2, "ü\u2028")])
        log, span, seq = log + line + said, line + said, seq + 3
    return log


LOG = written_log()


class Playing(Player):
    """A player that only plays: what a session must be is another test's to say."""

    def check(self) -> None:
        """Compare nothing."""

    check_all = check


async def logs_of(home: Home, story: list[Do]) -> list[bytes]:
    """Play a story, and give the live log and every rotation as they are then."""
    await Playing(home).play(story)
    async with home.open() as session:
        numbers = [None, *(rotation.number for rotation in session.rotations())]
        return [b"".join(session.store.pieces(number)) for number in numbers]


def assert_good(log: bytes) -> None:
    """Each span with a sum is good, what follows the last is whole, and all bytes are covered."""
    spans = verify(log)
    assert all(span.verdict == ("good" if span.summed else "unsummed") for span in spans)
    assert sum(span.bytes for span in spans) in {len(log), len(log) - log.find(b"\n") - 1}
    for before, after in pairwise(spans):
        assert after.byte == before.byte + before.bytes
        assert after.line == before.line + log[before.byte : after.byte].count(b"\n")


@settings(max_examples=150)
@given(STORIES)
def test_every_operation_leaves_good_spans(story: list[Do]) -> None:
    """Whatever a session does, in memory: every span of every log of it is good."""
    for log in asyncio.run(logs_of(MemoryHome(), story)):
        assert_good(log)


@settings(max_examples=25)
@given(STORIES)
def test_every_operation_leaves_good_spans_on_files(story: list[Do]) -> None:
    """The same in a folder."""
    with tempfile.TemporaryDirectory() as folder:
        for log in asyncio.run(logs_of(FileHome(Path(folder) / "s"), story)):
            assert_good(log)


@given(st.lists(st.integers(0, 4_000), max_size=6))
def test_the_pieces_do_not_matter(cuts: list[int]) -> None:
    """The spans are the same however the bytes are cut into pieces."""
    assert verify(LOG, *cuts) == verify(LOG)


@given(st.lists(RECORDS, max_size=12))
def test_the_open_span_is_the_one_that_the_context_will_sum(records: list[Record]) -> None:
    """Behind any records, a checkpoint with the sum of the context's open span is good."""
    log = b"".join(map(encode_line, records))
    scanner = Scanner()
    context = fold([*scanner.feed(log), *scanner.finish()])
    assume(b'"_batch"' not in log)

    spans = verify(log + mark(9, log[context.span_start :]))

    assert [span.verdict for span in spans if span.summed and span.bytes][-1:] in (["good"], [])
    assert spans[-1].byte == len(log)


def test_any_flipped_byte_is_found_where_it_is() -> None:
    """A change of any byte behind the prompt makes the span that holds it damaged, and no other.

    But for a record that carries a sum: that stands in one span and ends the one before it.
    """
    spans = verify(LOG)
    summed = [span for span in spans if span.summed]
    for position in range(len(PROMPT), spans[-1].byte):
        damaged = bytearray(LOG)
        damaged[position] ^= 1
        holder = max(index for index, span in enumerate(summed) if span.byte <= position)

        bad = [span for span in verify(bytes(damaged)) if span.verdict == "damaged"]

        in_carrier = position <= LOG.index(b"\n", summed[holder].byte)
        before = summed[holder - 1] if in_carrier and holder else summed[holder]
        assert bad[0] in {replaced(summed[holder], bad[0]), replaced(before, bad[0])}
        assert len(bad) <= 2


def replaced(span: Span, like: Span) -> Span:
    """Give a span as it is judged when it is damaged, its length aside."""
    return structs.replace(span, verdict="damaged", bytes=like.bytes, summed=like.summed)


@given(st.integers(len(PROMPT), len(LOG) - 1), st.integers(0, 255), st.integers(1, 40))
def test_bytes_written_over_are_found(position: int, value: int, count: int) -> None:
    """Written over, cut out or zeroed: a summed span that held the bytes is not good any more."""
    end = [span for span in verify(LOG) if not span.summed][-1].byte
    count = min(count, end - position)
    assume(count > 0)
    over = LOG[:position] + bytes([value]) * count + LOG[position + count :]
    assume(over != LOG)

    for damaged in (over, LOG[:position] + LOG[position + count :]):
        bad = [span for span in verify(damaged) if span.verdict in {"damaged", "changed"}]
        assert bad
        assert bad[0].byte <= position


def test_lines_of_another_program_among_ours_are_a_change_and_no_damage() -> None:
    """Appended where a sum was taken without them, they are told apart from damage."""
    said = message(1)
    alone = PROMPT + mark(0, b"") + said + KIMI + mark(1, mark(0, b"") + said)
    assert verdicts(alone)[-2] == "changed"
    assert verdicts(PROMPT + mark(0, b"") + said + KIMI + mark(1, mark(0, b"") + said + KIMI)) == [
        "good",
        "good",
        "unsummed",
    ]
    torn = PROMPT + mark(0, b"") + said + KIMI[:-9] + b"\n" + mark(1, mark(0, b"") + said)
    assert verdicts(torn)[1] == "damaged"


def test_what_another_program_appended_is_a_change_until_we_sum_it() -> None:
    """Behind our last sum too; its log alone, or one that we went on with, is just unsummed."""
    start = PROMPT + mark(0, b"")
    assert verdicts(start + message(1) + KIMI) == ["good", "changed"]
    assert verdicts(start + message(1) + KIMI + b'{"role": "_checkpoint", "id": 1}\n' + KIMI) == [
        "good",
        "changed",
        "unsummed",
    ]
    assert verdicts(KIMI + KIMI) == ["unsummed"]
    assert verdicts(KIMI + message(2)) == ["unsummed"]


def test_batch_lines_that_another_program_left_out_are_no_damage() -> None:
    """Kimi CLI drops them when it copies a log; then the lines stand alone."""
    dropped = b"".join(
        line + b"\n" for line in LOG.splitlines() if not line.startswith(b'{"role":"_batch"')
    )
    assert dropped.count(b"\n") == LOG.count(b"\n") - 3

    assert_good(LOG)
    assert_good(dropped)


@pytest.mark.parametrize(
    ("tail", "verdict"),
    [
        (b'{"role":"user","content":"to', "damaged"),
        (b'{"role":"user","content":"torn\n', "damaged"),
        (frame([message(1), message(2)])[:-1], "damaged"),
        (frame([message(1), message(2)]), "unsummed"),
        (message(1)[:-1], "unsummed"),
        (b"\n", "unsummed"),
        (b"\x00" * 40 + b"\n", "damaged"),
        (KIMI.replace(b"from", b"\\ud83d"), "unsummed"),
        (KIMI.replace(b"\n", b"\r\n"), "unsummed"),
        (b'{"role":"_batch","n":1,"bytes":0,"hash":"x","content":"batch of 1"}\n', "damaged"),
        (b'{"role":"_batch","n":"x"}\n', "damaged"),
    ],
)
def test_what_no_sum_covers_is_damaged_if_it_cannot_be_read(tail: bytes, verdict: str) -> None:
    """Torn, zeroed, half a batch; mended text and a carriage return are no damage."""
    assert verdicts(tail) == [verdict]
    assert verdicts(PROMPT + mark(0, b"") + tail)[0] == "good"
    if not tail.startswith(KIMI[:16]):
        assert verdicts(PROMPT + mark(0, b"") + tail)[1] == verdict


def test_a_batch_that_was_not_whole_when_it_was_summed_is_damaged() -> None:
    """Its lines do not count, whatever the sum says; one across the span's end too."""
    for batch in (
        frame([message(1, "a"), message(2, "b")]).replace(b'"n":2', b'"n":3'),
        frame([message(1, "a"), message(2, "b")]).replace(b'"crc32:', b'"crc32:0')[:-1] + b"\n",
        frame([message(1, "a"), message(2, "b")])[:-40] + b"\n",
    ):
        assert verdicts(batch + mark(0, batch)) == ["damaged", "unsummed"]


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\n", b"\n\n\n", b"\r\n"])
def test_the_leading_prompt_is_left_out_of_the_first_span(before: bytes) -> None:
    """Whatever stands before it, and in whatever order its keys are."""
    for prompt in (PROMPT, b'{"content": "Be brief.", "role": "_system_prompt"}\n'):
        log = before + prompt + message(1)
        scanner = Scanner()
        start = fold([*scanner.feed(log), *scanner.finish()]).span_start
        assert start == len(before) + len(prompt)
        spans = [span for span in verify(log + mark(0, log[start:])) if span.bytes]
        assert [span.verdict for span in spans[-2:]] == ["good", "unsummed"]


def test_a_record_with_a_sum_is_known_whatever_the_order_of_its_keys() -> None:
    """Another program's writer may put `role` last; a message that speaks of one is none."""
    line = b'{"id": 4, "role": "_checkpoint"}'
    assert summed_record(line) == Checkpoint(id=4)
    assert summed_record(line + line) is None
    assert summed_record(message(1, 'a "_checkpoint" in words')) is None
    assert summed_record(b'{"role":"_checkpoint","id":"four"}') is None
    assert summed_record(b'{"role":"_usage","token_count":4}') is None
    assert verdicts(KIMI + line + b"\n" + message(2) + mark(5, line + b"\n" + message(2))) == [
        "unsummed",
        "good",
        "unsummed",
    ]


def test_a_new_sum_changes_nothing_else_of_a_line() -> None:
    """Keys that are not known here survive; a record without a sum is written anew."""
    line = b'{"role":"_clear","content":"x","sum":"b2:00","later":[1, 2]}\n'
    record = summed_record(line)
    assert record is not None

    assert with_sum(line, record, "b2:11") == line.replace(b"00", b"11")
    bare = Clear(content="x")
    assert with_sum(encode_line(bare), bare, "b2:11") == encode_line(
        Clear(content="x", sum="b2:11")
    )


def test_sums_of_moved_lines_are_made_anew() -> None:
    """Lines that follow other bytes now get the sums that fit, those without a sum none."""
    lines = [message(1), mark(0, b"old"), message(2), encode_line(Checkpoint(id=1, content="c"))]

    found, open_span = resummed([*lines, message(3)], message(9))

    assert found == [message(1), mark(0, message(9) + message(1)), *lines[2:], message(3)]
    assert open_span == lines[3] + message(3)
    assert_good(message(9) + b"".join(found))


def test_a_sum_takes_lines_with_or_without_their_newline() -> None:
    """Piece by piece or at once, and a copy goes on by itself."""
    lines = [message(1), message(2), message(3)]
    whole, bare = SpanSum(), SpanSum()
    for line, upto in zip(lines, accumulate(lines), strict=True):
        whole.add(line)
        bare.add(line[:-1])
        assert whole.text() == bare.text() == span_sum(upto)
    other = whole.copy()
    other.add(KIMI)
    assert whole.text() == span_sum(b"".join(lines))
    assert other.text() == span_sum(b"".join([*lines, KIMI]))
