"""Media cost by rule: by the size in a picture's header, and never by the payload's length."""

import base64
import random
import struct
import zlib
from collections.abc import Callable
from typing import Self, SupportsIndex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.messages import AudioPart, ImagePart, MediaUrl, VideoPart
from minutebook.tokens.media import (
    AUDIO_TOKENS,
    IMAGE_TOKENS_MAX,
    IMAGE_TOKENS_MIN,
    IMAGE_TOKENS_UNKNOWN,
    PAYLOAD_TOKENS,
    VIDEO_TOKENS,
    estimate_image,
    estimate_media,
    estimate_payload,
    image_size,
)
from minutebook.tokens.payloads import PAYLOAD_LENGTH

EDGES = st.integers(1, 16_000)


def png(width: int, height: int, rest: bytes = b"") -> bytes:
    """Write a PNG's signature and header, and whatever follows."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + header
        + struct.pack(">I", zlib.crc32(header))
        + rest
    )


def gif(width: int, height: int) -> bytes:
    """Write a GIF's beginning."""
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0, 0, 0) + bytes(20)


def jpeg(width: int, height: int, *segments: bytes, frame: int = 0xC0) -> bytes:
    """Write a JPEG's beginning: segments of the given contents, then the frame."""
    written = b"\xff\xd8"
    for content in segments:
        written += b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content
    shape = struct.pack(">BHHB", 8, height, width, 3)
    return written + bytes((0xFF, frame)) + struct.pack(">H", 17) + shape + bytes(9)


def webp(kind: bytes, body: bytes) -> bytes:
    """Write a WebP's beginning with one chunk."""
    return b"RIFF" + struct.pack("<I", 100) + b"WEBP" + kind + struct.pack("<I", 50) + body


def webp_lossy(width: int, height: int) -> bytes:
    """Write a lossy WebP's beginning, with the scaling bits set, which are no size."""
    frame = b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", width | 0x4000, height | 0xC000)
    return webp(b"VP8 ", frame + bytes(9))


def webp_lossless(width: int, height: int) -> bytes:
    """Write a lossless WebP's beginning."""
    return webp(
        b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14 | 1 << 28) + bytes(9)
    )


def webp_extended(width: int, height: int) -> bytes:
    """Write an extended WebP's beginning."""
    edges = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return webp(b"VP8X", bytes(4) + edges + bytes(9))


WRITERS = [png, gif, jpeg, webp_lossy, webp_lossless, webp_extended]


def uri(data: bytes, kind: str = "image/png") -> str:
    """Write a data URI."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


class Payload(str):
    """A string that counts how many of its characters were taken out of it."""

    __slots__ = ("taken",)

    taken: int

    def __new__(cls, text: str) -> Self:
        payload = super().__new__(cls, text)
        payload.taken = 0
        return payload

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        piece = super().__getitem__(key)
        self.taken += len(piece)
        return piece


@pytest.mark.parametrize("write", WRITERS)
@given(width=EDGES, height=EDGES)
def test_the_size_is_read_from_every_format(
    write: Callable[[int, int], bytes], width: int, height: int
) -> None:
    """Width and height come out as they were written."""
    data = write(width, height)
    assert image_size(base64.b64encode(data).decode()) == (width, height)
    assert image_size(base64.urlsafe_b64encode(data).decode()) == (width, height)


@given(EDGES, EDGES)
def test_a_picture_is_never_free_and_never_dear(width: int, height: int) -> None:
    """The cost lies between the two bounds, and turning a picture does not change it."""
    tokens = estimate_image(uri(png(width, height)))
    assert IMAGE_TOKENS_MIN <= tokens <= IMAGE_TOKENS_MAX
    assert tokens == estimate_image(uri(png(height, width)))


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [
        (1000, 1000, 1296),
        (640, 640, 529),
        (1, 1, IMAGE_TOKENS_MIN),
        (1920, 1080, IMAGE_TOKENS_MAX),
        (3136, 200, 56 * 4),
    ],
)
def test_known_sizes_cost_what_the_provider_states(width: int, height: int, tokens: int) -> None:
    """One token for each 28 pixels square, once the longer edge is 1568 at most."""
    assert estimate_image(uri(png(width, height))) == tokens


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://example.org/a.png",
        "data:image/png;base64,",
        "data:image/svg+xml,%3Csvg width='10' height='10'/%3E",
        "data:image/png;base64,!!!!",
        "data:image/png;base64," + "é" * 40,
        "data:image/png;base64," + "A===" * 10,
        "data:image/png;base64," + "A" * 300,
        "data:" + "x" * 400 + ";base64," + base64.b64encode(png(10, 10)).decode(),
        uri(png(10, 10)[:18]),
        uri(png(0, 10)),
        uri(webp(b"ANIM", bytes(20))),
        uri(b"RIFFxxxxWEBPVP8 "),
        uri(b"\xff\xd8\xff\xe1\x00"),
        uri(b"\xff\xd8" + bytes(40)),
        uri(b"\xff\xd8" + b"\xff" * 400),
    ],
)
def test_a_picture_of_unknown_size_costs_the_stated_constant(url: str) -> None:
    """An address, another format or a torn header is no error and is not free."""
    assert estimate_image(url) == IMAGE_TOKENS_UNKNOWN


@given(
    st.one_of(
        st.text(),
        st.binary().map(uri),
        st.binary(max_size=60).map(lambda b: uri(jpeg(1, 1)[:2] + b)),
    )
)
def test_no_address_makes_it_raise(url: str) -> None:
    """Whatever stands where a picture's address should be, a bounded cost comes out."""
    assert IMAGE_TOKENS_MIN <= estimate_image(url) <= IMAGE_TOKENS_MAX
    assert 0 <= estimate_payload(url) <= PAYLOAD_TOKENS


def test_a_jpeg_is_stepped_through_and_not_read() -> None:
    """Behind previews and profiles the frame is still found, progressive or not."""
    preview = bytes(random.Random(1).randbytes(60_000))
    for frame in (0xC0, 0xC2):
        data = jpeg(1000, 500, preview, preview, b"", frame=frame)
        payload = Payload(uri(data, "image/jpeg"))
        assert estimate_image(payload) == 36 * 18
        assert payload.taken < 500


def test_tables_before_a_jpeg_frame_are_no_frame() -> None:
    """A Huffman table's marker lies in the frames' range, and fill bytes come before any."""
    table = b"\xff\xc4" + struct.pack(">H", 20) + bytes(18)
    data = b"\xff\xd8" + table + b"\xff\xff" + jpeg(56, 560)[2:]
    assert image_size(base64.b64encode(data).decode()) == (56, 560)


def test_the_cost_of_an_estimate_does_not_grow_with_the_payload() -> None:
    """C047: of a payload of megabytes a few hundred characters are looked at, wherever it is."""
    data = png(640, 640, random.Random(11).randbytes(1_200_000))
    for text in (uri(data), base64.b64encode(data).decode()):
        payload = Payload(text)
        assert estimate_payload(payload) == 529
        assert payload.taken < 4 * PAYLOAD_LENGTH


def test_more_bytes_for_the_same_pixels_cost_the_same() -> None:
    """C047: a picture's cost depends on its pixels, not on how they are stored."""
    noise = random.Random(11).randbytes(9_000)
    costs = {estimate_image(uri(png(640, 640, rest))) for rest in (b"", noise, noise * 40)}
    assert costs == {529}


def test_sound_and_film_cost_constants() -> None:
    """Their lengths are not read."""
    url = MediaUrl("data:audio/mp3;base64,AAAA")
    assert estimate_media(AudioPart(url)) == AUDIO_TOKENS
    assert estimate_media(VideoPart(url)) == VIDEO_TOKENS
    assert estimate_media(ImagePart(MediaUrl(uri(png(640, 640))))) == 529


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "a" * 600,
        "A" * 600,
        "0" * 600,
        "Words and 3 numbers " * 40,
        base64.b64encode(bytes(range(256))).decode(),
    ],
)
def test_text_is_no_payload(text: str) -> None:
    """Prose, rows of one letter and short base64 are counted as text."""
    assert estimate_payload(text) == 0


def test_a_payload_that_is_no_picture_costs_a_constant() -> None:
    """A document costs the same however long it is, and a short one no more than its length."""
    for size in (4_000, 400_000):
        raw = b"%PDF-1.7" + random.Random(size).randbytes(size)
        assert estimate_payload(base64.b64encode(raw).decode()) == PAYLOAD_TOKENS
        assert estimate_payload(uri(raw, "application/pdf")) == PAYLOAD_TOKENS
    short = uri(b"%PDF-1.7", "application/pdf")
    assert estimate_payload(short) == len(short)
