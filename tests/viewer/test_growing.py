"""A log that is read on: what is known of it is what reading it whole would give."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.lines import scan
from minutebook.survey import survey
from minutebook.viewer.growing import COMPARED_BYTES, Growing
from minutebook.viewer.logs import index
from tests.wild import WILD

LINE = b'{"role":"user","content":"%d"}\n'


class Bytes:
    """As much of a store as is needed; counts what is read of it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.read = 0

    @property
    def size(self) -> int:
        return len(self.data)

    def pieces(
        self, _source: int | None = None, *, start: int = 0, end: int | None = None
    ) -> Iterator[bytes]:
        piece = self.data[start : len(self.data) if end is None else end]
        self.read += len(piece)
        yield piece


def known(growing: Growing) -> tuple[Any, ...]:
    """Give all that a page is made of."""
    made, found = growing.index, growing.survey
    return (
        list(made.seqs),
        list(made.starts),
        list(made.ends),
        made.counted,
        made.checkpoints,
        made.rewritten,
        made.elided,
        made.longest,
        found.messages,
        found.by_role,
        found.kinds(),
        found.pins,
        found.token_count_with_pending,
        found.lineage,
        sorted(found.unsettled.orphans),
        [problem.what for problem in growing.problems],
    )


@given(data=WILD, cuts=st.lists(st.integers(0, 400), max_size=5))
def test_reading_on_is_reading_it_whole(data: bytes, cuts: list[int]) -> None:
    """Of any bytes, wherever they were cut while they grew."""
    store = Bytes(b"")
    growing = Growing(store, (1, 0))  # type: ignore[arg-type]
    for state, cut in enumerate([*sorted(cuts), len(data)], 1):
        store.data = data[:cut]
        growing.read_on(store, (1, state))  # type: ignore[arg-type]
        entries, problems = scan(store.data)
        expected = survey(lambda found=entries: found)  # type: ignore[misc]

        assert known(growing)[:8] == known_index(entries)
        assert known(growing)[8:13] == (
            expected.messages,
            expected.by_role,
            expected.kinds(),
            expected.pins,
            expected.token_count_with_pending,
        )
        assert len(growing.problems) == len(problems)


def known_index(entries: Any) -> tuple[Any, ...]:
    made = index(entries)
    return (
        list(made.seqs),
        list(made.starts),
        list(made.ends),
        made.counted,
        made.checkpoints,
        made.rewritten,
        made.elided,
        made.longest,
    )


def test_only_what_is_new_is_read() -> None:
    """And nothing if nothing is."""
    store = Bytes(b"".join(LINE % at for at in range(5_000)))
    growing = Growing(store, (1, 0))  # type: ignore[arg-type]
    store.read = 0

    growing.read_on(store, (1, 0))  # type: ignore[arg-type]
    assert store.read == 0
    store.data += LINE % 5_000
    growing.read_on(store, (1, 1))  # type: ignore[arg-type]
    assert store.read <= 2 * COMPARED_BYTES + len(LINE % 5_000)
    assert growing.index.count == 5_001


@pytest.mark.parametrize(
    ("data", "stamp"),
    [
        (LINE % 7 + LINE % 8 + LINE % 9, (2, 1)),
        (LINE % 7, (1, 1)),
        (LINE % 7 + LINE % 8 + LINE % 9, (1, 1)),
        (LINE % 3 + LINE % 4, (1, 1)),
    ],
    ids=["another file", "shorter", "longer and other", "as long and other"],
)
def test_a_log_that_did_more_than_grow_is_read_anew(data: bytes, stamp: tuple[int, ...]) -> None:
    """Nothing of the one before is left."""
    store = Bytes(LINE % 1 + LINE % 2)
    growing = Growing(store, (1, 0))  # type: ignore[arg-type]

    store.data = data
    growing.read_on(store, stamp)  # type: ignore[arg-type]

    assert growing.index.count == data.count(b"\n")
    assert list(growing.index.ends) == list(index(scan(data)[0]).ends)


def test_a_torn_end_is_read_again() -> None:
    """It may have been finished, or cut off."""
    store = Bytes(LINE % 1 + b'{"role":"user","con')
    growing = Growing(store, (1, 0))  # type: ignore[arg-type]
    assert [problem.kind for problem in growing.problems] == ["torn"]

    store.data += b'tent":"2"}\n'
    growing.read_on(store, (1, 1))  # type: ignore[arg-type]

    assert growing.problems == ()
    assert growing.index.count == 2


def test_a_pin_that_is_moved_later_counts() -> None:
    """The kinds of older messages change then, so all of them are read."""
    store = Bytes(LINE % 1 + LINE % 2)
    growing = Growing(store, (1, 0))  # type: ignore[arg-type]

    store.data += b'{"role":"_tag","seq":1,"content":"pin","pin":true}\n'
    growing.read_on(store, (1, 1))  # type: ignore[arg-type]

    assert growing.survey.pins == {1}
    assert growing.survey.kinds()["pinned"] > 0
