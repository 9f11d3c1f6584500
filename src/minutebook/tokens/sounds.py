"""How long a sound in a base64 payload is, by its header. Pure.

Read are WAV, FLAC, MP3, and raw samples whose data URI tells their rate; a few hundred bytes
of each. The rest follows from the payload's length.
"""

from __future__ import annotations

import re
from typing import Final

from minutebook.tokens.payloads import bytes_at, number, size_bytes

BYTES_PER_SECOND_MIN = 500
"""A header that says less is wrong: 4 kbit/s, below what any codec for speech takes."""

_CHUNKS_MAX = 16
"""How many chunks of a WAV are stepped over before its format."""

_RAW: Final = re.compile(
    r"data:audio/(?:pcm|l16|x-pcm|raw)\b[^,]*?;\s*rate=(\d{4,6})\b", re.IGNORECASE
)
_RAW_BYTES = 2
"""A raw sample: 16 bits, one channel (RFC 3551's L16, and what speech APIs take)."""

_MPEG_KBITS: Final = {
    # By version (1, or 2 and 2.5) and layer; the index is the frame header's, from 1.
    (1, 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (1, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (1, 1): (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (2, 3): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (2, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (2, 1): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
}
_MPEG_RATES: Final = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000)}
_MPEG_RATES_LOW: Final = (11_025, 12_000, 8_000)


def sound_seconds(text: str, start: int = 0) -> float | None:
    """Give the length of the sound whose base64 begins at *start* of *text*.

    None for what is none of these, or whose header makes no sense. Never raises.
    """
    size = size_bytes(text, start)
    head = bytes_at(text, start, 0, 64)
    if head.startswith(b"RIFF") and head[8:12] == b"WAVE":
        seconds = _wav_seconds(text, start, size)
    elif head.startswith(b"fLaC"):
        seconds = _flac_seconds(head)
    elif head.startswith(b"ID3") or (head[:1] == b"\xff" and head[1:2] >= b"\xe0"):
        seconds = _mpeg_seconds(text, start, size, head)
    else:
        raw = _RAW.match(text, 0, min(start, 256))
        seconds = size / (_RAW_BYTES * int(raw[1])) if raw else None
    if seconds is None or not 0 < seconds <= size / BYTES_PER_SECOND_MIN:
        return None
    return seconds


def _wav_seconds(text: str, start: int, size: int) -> float | None:
    """Step from chunk to chunk to the format's, which tells the bytes of a second."""
    offset = 12
    for _ in range(_CHUNKS_MAX):
        chunk = bytes_at(text, start, offset, 20)
        if len(chunk) < 20:
            break
        if chunk[:4] == b"fmt ":
            bytes_per_second = number(chunk[19:15:-1])
            return (size - offset) / bytes_per_second if bytes_per_second else None
        # A chunk of an odd length is filled up to an even one.
        length = number(chunk[7:3:-1])
        offset += 8 + length + length % 2
    return None


def _flac_seconds(head: bytes) -> float | None:
    """Read samples and rate from the first block: 20 bits of rate, 8 of form, 36 of samples."""
    packed = number(head[18:26])
    rate, samples = packed >> 44, packed & (1 << 36) - 1
    return samples / rate if rate and samples and len(head) >= 26 else None


def _mpeg_seconds(text: str, start: int, size: int, head: bytes) -> float | None:
    """Read the first frame's header: its bit rate, or the number of frames where it says so."""
    offset = 0
    if head.startswith(b"ID3"):
        # The tag's length has seven bits in a byte.
        offset = 10
        for place, byte in enumerate(head[6:10]):
            offset += (byte & 0x7F) << 7 * (3 - place)
    frame = bytes_at(text, start, offset, 64)
    if len(frame) < 64 or frame[0] != 0xFF or frame[1] < 0xE0:
        return None
    version, layer = frame[1] >> 3 & 3, 4 - (frame[1] >> 1 & 3)
    bits, rates = frame[2] >> 4, frame[2] >> 2 & 3
    if version == 1 or layer == 4 or bits in {0, 15} or rates == 3:
        return None
    for mark in (b"Xing", b"Info"):
        place = frame.find(mark)
        if place > 0 and frame[place + 7] & 1 and place + 12 <= len(frame):
            samples = 1152 if version == 3 else 576
            rate = _MPEG_RATES.get(version, _MPEG_RATES_LOW)[rates]
            return number(frame[place + 8 : place + 12]) * samples / rate
    kbits = _MPEG_KBITS[(1 if version == 3 else 2), layer][bits - 1]
    return (size - offset) / (kbits * 125)
