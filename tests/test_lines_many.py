"""Very many bad lines, and batches on the slow path: told in little room, and told at all."""

import pytest

from minutebook.codec import encode_line, frame
from minutebook.context import fold
from minutebook.lines import BOM, PROBLEMS_SINGLE, Entry, Scanner, flatten, scan
from minutebook.messages import user
from minutebook.records import Batch, Checkpoint, Clear

GOOD = encode_line(user("good"))


@pytest.mark.parametrize("piece", [7, 4_096, 1 << 20])
def test_bad_lines_in_a_row_become_one_problem_where_there_are_very_many(piece: int) -> None:
    """Every bad byte is still in a problem's span, and no good line is."""
    bad = b"{}\nno\n" * PROBLEMS_SINGLE
    data = bad + GOOD + b"{}\n" * 3 + GOOD + b"{}\n"
    scanner = Scanner()
    parts = [data[start : start + piece] for start in range(0, len(data), piece)]
    found = [item for part in parts for item in scanner.feed(part)]
    entries = list(flatten([*found, *scanner.finish()]))

    assert [entry.record for entry in entries] == [user("good")] * 2
    assert len(scanner.problems) == PROBLEMS_SINGLE + 2
    left = bytearray(data)
    for problem in scanner.problems:
        left[problem.byte : problem.byte + problem.bytes] = b"\n" * problem.bytes
    assert bytes(left).replace(b"\n", b"") == (GOOD * 2).replace(b"\n", b"")
    many, few, one = scanner.problems[-3:]
    assert many.what == f"{PROBLEMS_SINGLE + 1} lines in a row are no records"
    assert (many.line, few.line, one.line) == (PROBLEMS_SINGLE, 2_002, 2_006)
    assert few.what == "3 lines in a row are no records"


def test_few_bad_lines_are_told_one_by_one() -> None:
    """Each with its line."""
    problems = scan(b"{}\nno\n" + GOOD + b"{}\n")[1]

    assert [problem.line for problem in problems] == [1, 2, 4]


def test_a_batch_that_is_read_carefully_is_given_too() -> None:
    """Behind a byte-order mark as elsewhere, so that what stands inside of it is known."""
    lines = [encode_line(Clear(content="x")), encode_line(Checkpoint(id=0, content="x"))]
    data = BOM + frame(lines) + encode_line(Checkpoint(id=1, content="x"))
    scanner = Scanner()
    found = [*scanner.feed(data), *scanner.finish()]

    heads = [item for item in found if isinstance(item, Entry) and isinstance(item.record, Batch)]
    assert [data[head.start : head.start + 16] for head in heads] == [b'{"role":"_batch"']
    assert not any(isinstance(entry.record, Batch) for entry in flatten(found))
    assert [mark.id for mark in fold(found).checkpoints] == [1]
