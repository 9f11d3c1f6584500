"""The values of the contract: receipts, and what of a log may stay."""

import pytest

from minutebook.errors import StoreError
from minutebook.lines import Problem, scan
from minutebook.messages import user
from minutebook.records import Clear, Compaction, Fork, Revert, Rotated
from minutebook.store.contract import (
    Landed,
    RewriteUnsynced,
    Span,
    good_end,
    named_number,
)


async def test_a_landed_receipt_is_done_and_gives_its_span() -> None:
    """It can be asked and awaited like a future, more than once."""
    receipt = Landed(Span(3, 9))
    assert receipt.done()
    assert receipt.result() == Span(3, 9)
    assert [await receipt, await receipt] == [Span(3, 9)] * 2


def test_an_unsynced_rewrite_is_a_store_error_that_knows_its_rotation() -> None:
    """The caller has to go on with the new log."""
    error = RewriteUnsynced(Rotated(3), "i/o error", path="/p")
    assert isinstance(error, StoreError)
    assert error.rotation.number == 3
    assert "/p: rewritten, but not yet safe" in str(error)


def problem(kind: str, byte: int, size: int) -> Problem:
    """Give a problem where nothing but its place matters."""
    return Problem(line=1, byte=byte, bytes=size, kind=kind, what="")


@pytest.mark.parametrize(
    ("problems", "end"),
    [
        ([], 100),
        ([problem("torn", 90, 10)], 90),
        ([problem("batch", 70, 20), problem("torn", 90, 10)], 70),
        ([problem("batch", 70, 30)], 70),
        ([problem("batch", 60, 30)], 100),
        ([problem("bad", 90, 10)], 100),
        ([problem("torn", 90, 10), problem("mended", 20, 5)], 90),
    ],
)
def test_only_a_torn_end_is_cut_off(problems: list[Problem], end: int) -> None:
    """Torn lines and failed batches at the end; damage further up stays where it is."""
    assert good_end(problems, 100) == end


def test_what_may_stay_is_read_without_its_torn_end() -> None:
    """Cut there, the log has the same records and no fault at its end."""
    log = b'{"role":"user","content":"a"}\n{"role":"us'
    entries, problems = scan(log)
    end = good_end(problems, len(log))
    assert scan(log[:end]) == (entries, [])


@pytest.mark.parametrize(
    ("record", "number"),
    [
        (Compaction(id="k", parent=Rotated(4)), 4),
        (Compaction(id="k"), 0),
        (Revert(origin=Rotated(2)), 2),
        (Revert(origin=Rotated(2), source=5), 5),
        (Revert(), 0),
        (Clear(origin=Rotated(3)), 3),
        (Clear(), 0),
        (Fork(source="s"), 0),
        (user("a"), 0),
    ],
)
def test_lineage_records_keep_rotation_numbers_taken(record: object, number: int) -> None:
    """The highest that a record names; none is 0."""
    assert named_number(record) == number
