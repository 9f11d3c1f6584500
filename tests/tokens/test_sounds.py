"""The length of a sound, by its header."""

import struct
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.messages import AudioPart, MediaUrl
from minutebook.tokens.media import (
    AUDIO_TOKENS,
    AUDIO_TOKENS_PER_SECOND,
    estimate_media,
    estimate_payload,
)
from minutebook.tokens.sounds import sound_seconds


def seconds(data: bytes) -> float | None:
    """Read the length of a sound from its base64."""
    return sound_seconds(b64encode(data).decode())


def wav(rate: int, length: float, *, before: bytes = b"") -> bytes:
    """Write a WAV of 16 bits and one channel, with a chunk before its format if given."""
    samples = bytes(round(2 * rate * length))
    form = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, rate, 2 * rate, 2, 16)
    rest = before + form + b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", len(rest) + 4) + b"WAVE" + rest


def mp3(header: bytes, size: int, rest: bytes = b"") -> bytes:
    """Write an MP3's first frame and fill it up to a size."""
    return (header + rest).ljust(size, b"\x00")


@given(st.binary(max_size=400))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    """What is read is a length that the size allows, or none."""
    for head in (b"", b"RIFF\0\0\0\0WAVE", b"fLaC", b"ID3", b"\xff\xfb"):
        found = seconds(head + data)
        assert found is None or 0 < found <= len(head + data)


@given(st.sampled_from([8_000, 16_000, 24_000, 48_000]), st.floats(0.5, 3))
def test_a_wav_is_as_long_as_its_samples(rate: int, length: float) -> None:
    """At any rate; a chunk before the format is stepped over, an odd one filled up."""
    plain = seconds(wav(rate, length))
    assert plain == pytest.approx(length, abs=0.02)
    note = b"JUNK" + struct.pack("<I", 27) + bytes(28)
    assert seconds(wav(rate, length, before=note)) == pytest.approx(length, abs=0.02)


def test_a_wav_without_a_sensible_format_tells_nothing() -> None:
    """No format, no rate, a rate that no sound has."""
    assert seconds(b"RIFF\0\0\0\0WAVE" + b"data" + bytes(200)) is None
    assert seconds(b"RIFF\0\0\0\0WAVE" + b"data" + bytes(4)) is None
    assert seconds(wav(0, 0) + bytes(900)) is None
    assert seconds(wav(1, 1) + bytes(900)) is None


def test_a_flac_says_its_samples() -> None:
    """44 100 a second, 441 000 in all."""
    packed = (44_100 << 44) | (1 << 41) | (15 << 36) | 441_000
    data = b"fLaC\0\0\0\x22" + bytes(10) + packed.to_bytes(8, "big") + bytes(6_000)
    assert seconds(data) == 10
    assert seconds(data[:25]) is None
    silent = b"fLaC\0\0\0\x22" + bytes(10) + (44_100 << 44).to_bytes(8, "big") + bytes(600)
    assert seconds(silent) is None


def test_an_mp3_is_as_long_as_its_bits_at_its_rate() -> None:
    """128 kbit/s are 16 000 bytes a second; a tag before the sound is passed over."""
    assert seconds(mp3(b"\xff\xfb\x90\x00", 160_000)) == pytest.approx(10, abs=0.01)
    tag = b"ID3\x04\0\0\0\0\x02\x00" + bytes(256)
    assert seconds(tag + mp3(b"\xff\xfb\x90\x00", 160_000)) == pytest.approx(10, abs=0.01)
    # MPEG 2, layer 3, 64 kbit/s.
    assert seconds(mp3(b"\xff\xf3\x80\x00", 80_000)) == pytest.approx(10, abs=0.01)


@pytest.mark.parametrize(("mark", "place"), [(b"Xing", 36), (b"Info", 21)])
def test_an_mp3_of_changing_rate_says_its_frames(mark: bytes, place: int) -> None:
    """1 000 frames of 1 152 samples at 44 100 a second."""
    frame = b"\xff\xfb\x90\x00".ljust(place, b"\0") + mark + struct.pack(">II", 1, 1_000)
    assert seconds(mp3(frame, 400_000)) == pytest.approx(1_000 * 1_152 / 44_100)
    without = b"\xff\xfb\x90\x00".ljust(place, b"\0") + mark + struct.pack(">II", 2, 1_000)
    assert seconds(mp3(without, 160_000)) == pytest.approx(10, abs=0.01)


def test_an_old_mp3_has_fewer_samples_a_frame() -> None:
    """MPEG 2.5: 576 at 11 025 a second."""
    frame = b"\xff\xe3\x80\x00".ljust(21, b"\0") + b"Xing" + struct.pack(">II", 1, 100)
    assert seconds(mp3(frame, 80_000)) == pytest.approx(100 * 576 / 11_025)


@pytest.mark.parametrize(
    "header", [b"\xff\xfb\xf0\x00", b"\xff\xfb\x00\x00", b"\xff\xfb\x9c\x00", b"\xff\xeb\x90\x00"]
)
def test_a_frame_of_no_known_form_tells_nothing(header: bytes) -> None:
    """A free or forbidden bit rate, a forbidden sample rate, a version that isn't one."""
    assert seconds(mp3(header, 9_000)) is None


def test_a_tag_without_a_sound_tells_nothing() -> None:
    """Nor does a frame that is cut off, or a layer that isn't one."""
    assert seconds(b"ID3\x04\0\0\0\0\x02\x00" + bytes(400)) is None
    assert seconds(b"\xff\xfb\x90\x00") is None
    assert seconds(mp3(b"\xff\xf9\x90\x00", 9_000)) is None


def test_raw_samples_are_counted_by_the_rate_in_their_address() -> None:
    """As speech APIs take them: 16 bits, one channel."""
    payload = b64encode(bytes(96_000)).decode()
    for kind in ("audio/pcm;rate=24000", "audio/L16;codec=pcm;rate=24000"):
        url = f"data:{kind};base64,{payload}"
        assert sound_seconds(url, url.index(",") + 1) == pytest.approx(2, abs=0.01)
    other = f"data:audio/ogg;base64,{payload}"
    assert sound_seconds(other, other.index(",") + 1) is None


def test_a_sound_costs_by_the_second() -> None:
    """In a part, and inside of one of an unknown kind; one that can't be read costs a minute."""
    payload = b64encode(wav(16_000, 3)).decode()
    part = AudioPart(MediaUrl(f"data:audio/wav;base64,{payload}"))
    assert estimate_media(part) == 3 * AUDIO_TOKENS_PER_SECOND
    assert estimate_payload(payload) == 3 * AUDIO_TOKENS_PER_SECOND
    assert estimate_media(AudioPart(MediaUrl("https://example.org/a.wav"))) == AUDIO_TOKENS
    odd = f"data:audio/ogg;base64,{payload[400:]}"
    assert estimate_media(AudioPart(MediaUrl(odd))) == AUDIO_TOKENS
