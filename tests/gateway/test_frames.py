import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.gateway import frames
from minutebook.gateway.frames import Frame, FrameReader, FrameTooLarge
from tests.cases import case

ENDS = st.sampled_from(["\n", "\r\n", "\r"])
LINES = st.sampled_from(["data: 北京", "data:x", ": ping", "event: e", "id: 1", "data: {}", "odd"])


def read(pieces: list[bytes]) -> tuple[list[Frame], bytes]:
    reader = FrameReader()
    found = [frame for piece in pieces for frame in reader.feed(piece)]
    return found, reader.rest


@given(st.lists(st.tuples(st.lists(LINES, max_size=3), ENDS), max_size=5), st.integers(1, 9))
def test_events_do_not_depend_on_where_the_bytes_are_cut(
    events: list[tuple[list[str], str]], size: int
) -> None:
    """Any cut gives the same data, and no byte is lost."""
    stream = "".join("".join(f"{line}{end}" for line in [*lines, ""]) for lines, end in events)
    data = stream.encode()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]

    whole, cut = read([data]), read(pieces)

    shown = [(frame.event, frame.data) for frame in whole[0] if frame.data]
    assert [(frame.event, frame.data) for frame in cut[0] if frame.data] == shown
    assert b"".join(frame.raw for frame in cut[0]) + cut[1] == data


@given(st.lists(st.binary(max_size=20), max_size=10))
def test_any_bytes_come_back_in_order(pieces: list[bytes]) -> None:
    """What is no event stream is not lost either."""
    found, rest = read(pieces)

    assert b"".join(frame.raw for frame in found) + rest == b"".join(pieces)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_c102_characters_that_are_cut_are_whole_again(size: int) -> None:
    """C102: no chunking gives U+FFFD, and the events are those of the whole."""
    body = case("C102").raw("body.bin")
    found, _ = read([body[start : start + size] for start in range(0, len(body), size)])

    assert [frame.data for frame in found if frame.data] == [
        frame.data for frame in read([body])[0] if frame.data
    ]
    assert not any("\ufffd" in frame.data for frame in found)


def test_several_data_lines_are_one_text() -> None:
    """As the standard says, with a line break between."""
    assert read([b"event: a\ndata: 1\ndata: 2\n\n"])[0][0].data == "1\n2"


def test_an_event_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded."""
    monkeypatch.setattr(frames, "FRAME_BYTES_MAX", 10)

    with pytest.raises(FrameTooLarge):
        FrameReader().feed(b"data: 12345")
