import gzip
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.gateway import copying
from minutebook.gateway.copying import Decoder, StreamCopy, error_of, whole
from minutebook.testing import wire
from minutebook.testing.scripted import Answer
from tests.cases import case

ANSWER = Answer(text="北京今天多云 🌥 fin")
STREAM = "".join(
    wire.openai_events(ANSWER, model="m", input_tokens=1, number=1, with_usage=True)
).encode()


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@given(st.integers(1, 50), st.sampled_from(["", "gzip", "deflate", "identity"]))
def test_the_bytes_pass_as_they_came_and_the_copy_is_read(size: int, encoding: str) -> None:
    """However they are cut, and whatever they are packed in."""
    packed = {"gzip": gzip.compress(STREAM), "deflate": zlib.compress(STREAM)}
    data = packed.get(encoding, STREAM)
    copy = StreamCopy("chat", encoding)

    out = b"".join(copy.feed(piece) for piece in pieces(data, size))

    assert out == data
    assert copy.is_done
    assert copy.reply().messages[0].text == ANSWER.text


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_c102_the_text_is_whole_for_each_chunking(size: int, end: bytes) -> None:
    """C102: client output equals the upstream's bytes; the stored text has no U+FFFD."""
    body = case("C102").raw("body.bin").replace(b"\n", end)
    body = b": comment" + end * 2 + b"event: odd" + end + b"data: 1" + end * 2 + body
    copy = StreamCopy("chat", "")

    assert b"".join(copy.feed(piece) for piece in pieces(body, size)) == body
    assert copy.reply().messages[0].text == "北京今天多云 🌥 fin"


@given(st.integers(1, 50))
def test_only_the_usage_that_we_asked_for_is_swallowed(size: int) -> None:
    """Every other byte goes on."""
    copy = StreamCopy("chat", "", swallows=True)
    expected = b"".join(
        event + b"\n\n" for event in STREAM.split(b"\n\n")[:-1] if b'"choices": []' not in event
    )

    out = b"".join(copy.feed(piece) for piece in pieces(STREAM + b"data", size)) + copy.rest()

    assert out == expected + b"data"
    assert copy.reply().usage


def test_c102_an_encoding_that_is_not_known_is_no_garbage() -> None:
    """C102: nothing is recorded of what cannot be read; it still passes."""
    for copy in (StreamCopy("chat", "br"), StreamCopy("chat", "gzip")):
        assert copy.feed(b"\xff\xfe data") == b"\xff\xfe data"
        assert not copy.is_known
        assert not copy.reply().messages
    assert not whole("chat", "zstd", b"{}").messages


def test_a_stream_that_is_too_large_for_an_event_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is not recorded."""
    monkeypatch.setattr("minutebook.gateway.frames.FRAME_BYTES_MAX", 4)
    copy = StreamCopy("chat", "")

    assert copy.feed(b"data: 1") == b"data: 1"
    assert not copy.is_known


def test_a_bomb_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What grows beyond the limit is not decoded on."""
    monkeypatch.setattr(copying, "DECODED_BYTES_MAX", 100)
    decoder = Decoder("gzip")

    assert len(decoder.feed(gzip.compress(bytes(10_000)))) == 100
    assert not decoder.is_known


def test_an_error_in_the_first_event_is_seen() -> None:
    """Of both providers."""
    for anthropic in (True, False):
        body = wire.anthropic_error(400, "x") if anthropic else wire.openai_error(400, "x")
        copy = StreamCopy("messages" if anthropic else "chat", "")
        copy.feed(wire.error_event(body, anthropic=anthropic).encode())

        assert copy.error == body
    assert error_of("", json.dumps({"a": 1}).encode()) == {"a": 1}
    assert error_of("", b"no json") == "no json"
