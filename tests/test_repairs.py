"""A log laid anew has every record that it had, and nothing that is wrong with it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.codec import encode_line, frame
from minutebook.context import Context, fold
from minutebook.lines import Scanner, scan
from minutebook.messages import assistant, call, replace, tool, user
from minutebook.records import Batch, Checkpoint, Record
from minutebook.repairs import NO_RESULT, Diagnosis, Relayer, diagnose
from minutebook.sums import Verifier, span_sum
from minutebook.turns import pair
from tests.damage import DAMAGED
from tests.strategies import RECORDS


def examined(log: bytes) -> Diagnosis:
    """Say what is wrong with a log."""
    entries, problems = scan(log)
    return diagnose(entries, problems, [log[:100], log[100:]] if len(log) > 100 else [log])


def laid(log: bytes, diagnosis: Diagnosis) -> tuple[bytes, Relayer]:
    """Lay a log anew."""
    relayer = Relayer(diagnosis, following=diagnosis.following, at=5.0)
    entries, _problems = scan(log)
    lines = relayer.lines(entries, lambda start, end: log[start:end])
    return b"".join(lines), relayer


def folded(log: bytes) -> Context:
    """Fold a log."""
    scanner = Scanner()
    return fold([*scanner.feed(log), *scanner.finish()])


def assert_mended(log: bytes) -> None:
    """Lay a log anew, and hold what must be true of it against what it was."""
    diagnosis = examined(log)
    new, relayer = laid(log, diagnosis)
    before, after = folded(log), folded(new)

    again = examined(new)
    assert not again.needed, again.actions()
    assert {problem.kind for problem in again.problems} <= {"mended"}
    verifier = Verifier()
    spans = [*verifier.feed(new), *verifier.finish()]
    assert {span.verdict for span in spans} <= {"good", "unsummed", "changed"}
    assert all(span.verdict == "good" for span in spans if span.summed)
    made = [message for message in after.history if message.seq >= before.next_seq]  # type: ignore[operator]
    assert [message for message in after.history if message not in made] == list(before.history)
    assert len(made) == len(diagnosis.settled) == len(pair(before.history).open)
    assert {message.text for message in made} <= {NO_RESULT}
    assert relayer.following.seq == before.next_seq + len(made)
    assert after.system_prompt == before.system_prompt
    assert [mark.id for mark in after.checkpoints] == [mark.id for mark in before.checkpoints]
    assert after.tagged() == before.tagged()
    assert after.token_count == before.token_count
    assert after.unknown_records == before.unknown_records - diagnosis.broken_heads


@settings(max_examples=400)
@given(DAMAGED)
def test_a_damaged_log_is_mended_at_once_and_for_good(log: bytes) -> None:
    """However it was damaged: same records, no problem, good sums, nothing open, nothing more."""
    assert_mended(log)


@given(st.lists(RECORDS, max_size=12), st.booleans())
def test_a_log_of_any_records_is_mended(records: list[Record], cut: bool) -> None:
    """Numbers that repeat, jump or are of no use, calls that repeat: the same."""
    log = b"".join(encode_line(record) for record in records if not isinstance(record, Batch))
    assert_mended(log[:-1] if cut else log)


def test_a_good_log_needs_nothing() -> None:
    """Blank lines, carriage returns and a byte-order mark are no faults."""
    good = encode_line(replace(user("hello"), seq=1))
    for log in (b"", good, b"\xef\xbb\xbf" + good + b"\n\r\n" + good[:-1] + b"\r\n"):
        diagnosis = examined(log)
        assert not diagnosis.needed
        assert diagnosis.actions() == []


def test_it_says_what_it_does() -> None:
    """One sentence for each thing: set aside, split, ended, settled, summed anew."""
    broken = assistant("", tool_calls=[call("", "Shell"), call("c1", "")])
    lines = [encode_line(replace(user("hi"), seq=1)), encode_line(replace(broken, seq=2))]
    mark = encode_line(Checkpoint(id=0, content="c", sum=span_sum(b"other\n")))
    log = b"no record\n" + lines[0][:-1] + lines[1] + mark + lines[0][:-1]

    found = examined(log).actions()

    assert found == [
        "line 1 (byte 0): 9 bytes are no record; set aside in context.bad.jsonl",
        "line 2 (byte 10): 2 records stand on one line; given a line each",
        "the last record got its newline",
        "call (without id) of Shell got a marked result",
        "call c1 of a tool got a marked result",
        "new check sums for 1 span",
    ]
    torn = examined(log + b"\n{").actions()
    assert torn[2].startswith("line 5 (byte")
    assert torn[2].endswith(
        "last line is torn: 1 bytes without their end; set aside in context.bad.jsonl"
    )
    assert "the last record got its newline" not in torn


def test_a_marked_result_stands_behind_its_exchange() -> None:
    """Behind the results that are there, before what the user said next."""
    messages = [
        assistant("", tool_calls=[call("a", "Shell"), call("b", "ReadFile")]),
        tool("b", "two"),
        user("go on"),
    ]
    log = frame([encode_line(replace(m, seq=n)) for n, m in enumerate(messages, 1)])

    new, _ = laid(log, examined(log))

    history = folded(new).history
    assert [message.role for message in history] == ["assistant", "tool", "tool", "user"]
    made = history[2]
    assert (made.tool_call_id, made.seq, made.origin, made.at) == ("a", 4, "notice", 5.0)
    assert b"_batch" not in new


def test_bytes_that_are_not_understood_are_kept() -> None:
    """Unknown keys, parts and records survive byte for byte; only a number is spliced in."""
    old = b'{"role": "user", "content": "x", "later": {"b": [1,  2]}}'
    entry = b'{"role":"_later","content":"y","keep":  1}'
    mark = b'{"role":"_checkpoint","id":0,"content":"c","sum":"b2:00","later":1}'

    new, _ = laid(b"\n".join([old, entry, mark, b"bad"]), examined(b"\n".join([old, entry, mark])))

    first = old[:-1] + b',"seq":1}\n'
    total = span_sum(first + entry + b"\n").encode()
    assert new == first + entry + b"\n" + mark.replace(b"b2:00", total) + b"\n"


def test_a_batch_line_where_none_may_stand_claims_nothing() -> None:
    """Inside of a batch, or glued to a record: left out, for on its own it would count lines."""
    line = encode_line(replace(user("in"), seq=1))
    inner = encode_line(Batch(n=2, bytes=9_999, hash="crc32:0", content="batch of 2"))
    nested, glued = frame([inner, line]) + b"bad\n" + line, line[:-1] + inner + line
    assert laid(nested, examined(nested))[0] == line + line
    assert laid(glued, examined(glued))[0] in {line, line + line}


def test_a_batch_line_that_cannot_be_read_is_left_out() -> None:
    """Its lines stand alone then, and are not lost."""
    lines = [encode_line(replace(user("a"), seq=seq)) for seq in (1, 2)]
    log = frame(lines).replace(b'"n":2,', b"")

    diagnosis = examined(log)

    assert diagnosis.actions() == ["left out 1 batch line that cannot be read"]
    assert laid(log, diagnosis)[0] == b"".join(lines)


def test_mended_text_is_no_reason_to_repair() -> None:
    """It can be read, and its bytes are sacred; with another fault it stays as it is too."""
    line = b'{"role":"user","content":"half \\ud83d","seq":1}\n'

    assert not examined(line).needed
    assert laid(line + b"bad\n", examined(line + b"bad\n"))[0] == line
    assert len(examined(line + b"bad\n").actions()) == 1
