"""The messages of a page: stored beside sent."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minutebook
from minutebook.messages import Message, assistant, call, replace, tool, user
from minutebook.providers.view import make_view
from minutebook.viewer import conversation as module
from minutebook.viewer.conversation import (
    FOUND_MAX,
    PAGE_MESSAGES,
    Found,
    Row,
    first_of_page,
    rows,
    search,
)
from minutebook.viewer.library import Library, Open
from minutebook.viewer.places import Places
from tests.cli.support import make_session
from tests.strategies import exchanges
from tests.viewer.sessions import make_lived, write_log


def opened(path: Path) -> Iterator[Open]:
    with Library().open(Places(path).all()[0]) as found:
        yield found


def page(path: Path, first: int = 0) -> list[Row]:
    (found,) = [rows(one, one.live, first, live=True) for one in opened(path)]
    return found


@settings(max_examples=40)
@given(talk=st.lists(exchanges(), min_size=1, max_size=4))
def test_what_is_sent_is_what_the_view_sends(
    talk: list[list[Message]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Message by message, as far as the page reaches."""
    messages = [replace(one, seq=at) for at, one in enumerate(chain(*talk), 1)]
    sent = {one.seq for one in make_view(None, messages).messages}

    found = page(write_log(tmp_path_factory.mktemp("s") / "s", *messages))

    assert [row.stored.seq for row in found] == [one.seq for one in messages]
    assert {row.stored.seq for row in found if row.state != "unsent"} == sent & set(
        range(1, len(messages) + 1)
    )


def test_a_shortened_message_stands_beside_its_original(tmp_path: Path) -> None:
    """The stub is sent, the original is stored in the rotation."""
    folder = make_session(tmp_path / "s", turns=14)
    with minutebook.open_sync(folder, retention=None, durability="process") as session:
        session.compact(target=0.5)
        elided = {one.seq: one for one in session.context.history if one.elided}
        originals = {one.seq: one for one in session.history(full=True)}

    found = {row.stored.seq: row for row in page(folder)}

    assert elided
    for seq, stub in elided.items():
        row = found[seq or 0]
        assert row.state == "shortened"
        assert row.original_in == 1
        assert row.sent is not None
        assert originals[seq].text.startswith(row.stored.pieces[0].shown[0].text)
        assert stub.text.startswith(row.sent.pieces[0].shown[0].text)


def test_a_shortened_message_whose_original_is_gone_stands_alone(tmp_path: Path) -> None:
    """What there is, is shown."""
    stub = replace(tool("c", "masked"), seq=2, elided="mask")
    asked = replace(assistant(tool_calls=[call("c", "run")]), seq=1)

    found = page(write_log(tmp_path / "s", asked, stub))

    assert [row.state for row in found] == ["same", "same"]
    assert found[1].stored.elided == "mask"
    assert found[1].stored.tool == "run"


def test_a_summary_says_what_it_covers(tmp_path: Path) -> None:
    """As many messages as the library itself expands it to."""
    folder = make_lived(tmp_path / "s")
    with minutebook.open_sync(folder, mode="r") as session:
        summary = next(one for one in session.context.history if one.origin == "summary")
        covered = session.expand(summary.seq)

    found = {row.stored.seq: row for row in page(folder) if row.covered is not None}
    row = found[summary.seq]

    assert row.covered is not None
    assert row.covered.count == len(covered)
    assert (row.covered.first, row.covered.last) == (covered[0].seq, covered[-1].seq)
    assert [line.seq for line in row.covered.lines] == [
        one.seq for one in covered[: module.COVERED_SHOWN]
    ]


def test_pins_and_checkpoints_stand_where_they_are(tmp_path: Path) -> None:
    """A checkpoint before the message that came after it."""
    folder = make_session(tmp_path / "s", turns=2)
    with minutebook.open_sync(folder, durability="process") as session:
        session.pin(2)

    found = page(folder)

    assert [row.stored.seq for row in found if row.pinned] == [2]
    assert {row.stored.seq: [mark.id for mark in row.checkpoints] for row in found
            if row.checkpoints} == {1: [0], 5: [1]}  # fmt: skip


def test_an_orphan_is_not_sent_and_an_open_call_is_marked(tmp_path: Path) -> None:
    """Both are told at their place."""
    talk = [user("a"), tool("gone", "x"), assistant(tool_calls=[call("c", "run")]), user("b")]

    found = page(write_log(tmp_path / "s", *talk))

    assert [row.state for row in found] == ["same", "unsent", "same", "same"]
    assert [row.marked for row in found] == [False, False, True, False]


def test_a_result_far_from_its_call_is_not_taken_for_an_orphan(tmp_path: Path) -> None:
    """The whole log knows that something asked for it."""
    many = module.AROUND + PAGE_MESSAGES
    calls = [call(f"c{number}", "run") for number in range(many)]
    talk = [assistant(tool_calls=calls), *(tool(one.id, "x") for one in calls)]

    found = page(write_log(tmp_path / "s", *talk), PAGE_MESSAGES)

    assert {row.state for row in found} == {"same"}


def test_a_page_of_too_many_bytes_shows_only_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is sent is not worked out then."""
    monkeypatch.setattr(module, "AROUND_BYTES_MAX", 10)

    found = page(write_log(tmp_path / "s", user("a"), tool("gone", "x")))

    assert [row.state for row in found] == ["same", "same"]


@given(position=st.integers(-5, 1_000))
def test_a_position_is_on_one_page(position: int) -> None:
    """That begins at a multiple of its length."""
    first = first_of_page(position)

    assert first % PAGE_MESSAGES == 0
    assert first <= max(position, 0) < first + PAGE_MESSAGES


def test_a_search_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Each hit once, in order, whatever the case of its letters."""
    talk = [replace(user("NEEDLE" if at % 2 else "hay"), seq=at) for at in range(1, 500)]
    (one,) = [
        (search(found.live, "needle", 0), found.live, found)
        for found in opened(write_log(tmp_path / "s", *talk))
    ]
    assert len(one[0].lines) == FOUND_MAX
    assert one[0].following is not None

    seqs: list[int] = []
    start: int | None = 0
    with Library().open(Places(tmp_path / "s").all()[0]) as found:
        while start is not None:
            hits = search(found.live, "needle", start)
            seqs += [line.seq for line in hits.lines]
            start = hits.following
    assert seqs == list(range(1, 500, 2))


def test_a_search_of_a_long_log_stops_on_its_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says from where to go on, also if nothing was found so far."""
    monkeypatch.setattr(module, "SEARCHED_BYTES_MAX", 1_000)
    talk = [user("hay " * 100) for _ in range(10)]
    with Library().open(Places(write_log(tmp_path / "s", *talk)).all()[0]) as found:
        assert search(found.live, "needle", 0) == Found(lines=(), following=3)
        assert search(found.live, "needle", 9) == Found(lines=(), following=None)


def test_a_hit_is_shown_with_what_stands_before_it(tmp_path: Path) -> None:
    """Also in thinking and in calls."""
    talk = [
        assistant("x", thinking="a needle here"),
        assistant(tool_calls=[call("c", "run", '{"q": "needle"}')]),
        user("long " * 100 + "needle at the end"),
    ]
    with Library().open(Places(write_log(tmp_path / "s", *talk)).all()[0]) as found:
        lines = search(found.live, "needle", 0).lines

    assert [line.seq for line in lines] == [1, 2, 3]
    assert all("needle" in line.excerpt for line in lines)
