import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.gateway.tracks import (
    Line,
    Mark,
    Position,
    Track,
    Tracks,
    common_depth,
    decide,
)

LINKS = st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), max_size=4)
LINES = st.builds(
    Line,
    session=st.sampled_from(["s", "t"]),
    cut=st.none() | st.integers(0, 3),
    mark_cut=st.none() | st.integers(0, 3),
    add=LINKS.map(lambda links: tuple(Position(link, 1) for link in links)),
    marks=st.lists(st.builds(Mark, st.integers(0, 4), st.integers(0, 4)), max_size=2).map(tuple),
    response=st.sampled_from(["", "r"]),
)


@given(st.lists(LINES, max_size=8), LINKS)
def test_the_longest_known_history_is_found(lines: list[Line], links: list[bytes]) -> None:
    """As a walk over all tracks finds it; and lines read back give the same tracks."""
    tracks = Tracks()
    for line in lines:
        tracks.apply(msgspec.json.decode(msgspec.json.encode(line), type=Line))
    held = {link for track in tracks.all.values() for link in (one.link for one in track.positions)}

    found, depth = tracks.longest(links)

    assert depth == max((n for n, link in enumerate(links, 1) if link in held), default=0)
    assert bool(found) == bool(depth)
    for track in tracks.all.values():
        assert track.opaque == 0
        assert track.mark_before(0) is None or track.mark_before(0) in track.marks


@given(st.text("ab", max_size=6), st.text("ab", max_size=6))
def test_the_common_depth(one: str, other: str) -> None:
    """Links are chained, so that equal ones are all before the first that differs."""
    track = Track("s")
    track.positions = [Position(one[:n].encode(), n) for n in range(1, len(one) + 1)]
    links = [other[:n].encode() for n in range(1, len(other) + 1)]

    common = sum(
        1 for n, link in enumerate(links) if n < len(one) and one[: n + 1].encode() == link
    )

    assert common_depth(track, links) == common


@pytest.mark.parametrize(
    ("depth", "wanted", "partial", "busy", "named", "action"),
    [
        (3, 5, False, False, False, "go on"),
        (2, 2, False, False, False, "revert"),
        (2, 4, False, False, False, "fork"),
        (2, 4, True, False, False, "revert"),
        (0, 4, False, False, False, "new"),
        (3, 5, False, True, False, "fork"),
        (0, 5, False, True, False, "new"),
        (2, 4, False, False, True, "revert"),
        (0, 4, False, True, True, "revert"),
    ],
)
def test_the_written_rule(
    depth: int, wanted: int, partial: bool, busy: bool, named: bool, action: str
) -> None:
    """What becomes of a history that goes on, was cut, or has changed."""
    track = Track("s")
    track.positions = [Position(b"x", 1), Position(b"y", 2), Position(b"z", 3, partial=partial)]

    assert decide(track, depth, wanted, busy=busy, named=named) == action


def test_a_response_stands_for_a_history() -> None:
    """The link that it ends with is found again."""
    tracks = Tracks()
    tracks.apply(Line(session="s", add=(Position(b"a", 1), Position(b"b", 2)), response="r"))

    found = tracks.holder(tracks.responses["r"])

    assert found is not None
    assert (found[0].session, found[1]) == ("s", 2)
    assert tracks.holder(b"none") is None
