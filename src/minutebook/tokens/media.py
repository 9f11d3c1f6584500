"""What pictures, sounds and films cost: by rule, never by the length of their payload. Pure.

Of a payload at most a few hundred characters are read (of a PDF its two ends), wherever it is
and however long, so the cost of an estimate doesn't grow with it and nothing is decoded or
copied whole.
"""

from __future__ import annotations

from minutebook.messages import AudioPart, ImagePart, VideoPart
from minutebook.tokens.documents import PAGE_TOKENS, pdf_pages
from minutebook.tokens.payloads import (
    bytes_at,
    looks_like_base64,
    number,
    payload_start,
)
from minutebook.tokens.sounds import sound_seconds

PATCH_EDGE_PIXELS = 28
"""Anthropic: a picture costs one token for each square of 28 x 28 pixels begun.

1000 x 1000 pixels are 1296 tokens. Qwen's vision models come to the same 28 pixels (patches
of 14, two by two). OpenAI's tiles (85 + 170 for each 512 pixels square) give 765 there, Gemini's
(258 for each 768 pixels square) 1032, so this is the careful choice.
"""

IMAGE_EDGE_PIXELS_MAX = 1568
"""Anthropic: a larger picture is first made smaller, its longer edge to this."""

IMAGE_TOKENS_MAX = 1568
"""Anthropic: and until it costs no more than this (models before high resolution)."""

IMAGE_TOKENS_MIN = 85
"""OpenAI: what a picture costs at low detail, whatever its size. None is free."""

IMAGE_TOKENS_UNKNOWN = IMAGE_TOKENS_MAX
"""What a picture costs whose size can't be read: an http address, an unknown format.

The most that one can cost: the common case is a screenshot, and those reach it.
"""

AUDIO_TOKENS_PER_SECOND = 32
"""Gemini's price of a second of sound; OpenAI's is 10."""

AUDIO_TOKENS = 60 * AUDIO_TOKENS_PER_SECOND
"""A sound whose length can't be read, taken as one minute."""

VIDEO_TOKENS = 60 * 263
"""A film, taken as one minute at Gemini's 263 tokens a second; its length isn't read."""

PAYLOAD_TOKENS = 3000
"""Any other payload, and a PDF whose pages can't be told: one full page (see `documents`).

A payload of fewer characters than that costs its length.
"""

_SEGMENTS_MAX = 64
"""How many segments of a JPEG are stepped over before its size: EXIF, colours, previews."""


def estimate_media(part: ImagePart | AudioPart | VideoPart) -> int:
    """Give the tokens of one picture, sound or film."""
    if isinstance(part, ImagePart):
        return estimate_image(part.image_url.url)
    return estimate_audio(part.audio_url.url) if isinstance(part, AudioPart) else VIDEO_TOKENS


def estimate_audio(url: str) -> int:
    """Give the tokens of the sound at *url*: by the second, if a data URI tells its length.

    WAV, FLAC, MP3 and raw samples are read. Never raises.
    """
    start = payload_start(url)
    seconds = sound_seconds(url, start) if start else None
    return AUDIO_TOKENS if seconds is None else _audio_tokens(seconds)


def estimate_image(url: str) -> int:
    """Give the tokens of the picture at *url*: by its size, if a data URI tells it.

    PNG, JPEG, GIF and WebP are read. Never raises.
    """
    start = payload_start(url)
    size = image_size(url, start) if start else None
    return IMAGE_TOKENS_UNKNOWN if size is None else _image_tokens(*size)


def estimate_payload(text: str) -> int:
    """Give the tokens of a base64 payload; 0 for text that is none.

    A picture's by its size, a sound's by the second, a PDF's by the page, where these can be
    told; else a constant. A payload is a base64 data URI, or at least `PAYLOAD_LENGTH`
    characters that begin and end as base64 does.
    """
    start = payload_start(text)
    if not start and not looks_like_base64(text):
        return 0
    size = image_size(text, start)
    if size is not None:
        return _image_tokens(*size)
    pages = pdf_pages(text, start)
    if pages is not None:
        return pages * PAGE_TOKENS
    seconds = sound_seconds(text, start)
    if seconds is not None:
        return _audio_tokens(seconds)
    return min(PAYLOAD_TOKENS, len(text))


def image_size(text: str, start: int = 0) -> tuple[int, int] | None:
    """Read width and height in pixels of the base64 picture that begins at *start* of *text*.

    None for what is no PNG, JPEG, GIF or WebP, or is torn before its size.
    """
    head = bytes_at(text, start, 0, 30)
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        size = number(head[16:20]), number(head[20:24])
    elif head.startswith((b"GIF87a", b"GIF89a")):
        size = number(head[7:5:-1]), number(head[9:7:-1])
    elif head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        size = _webp_size(head)
    elif head.startswith(b"\xff\xd8"):
        size = _jpeg_size(text, start)
    else:
        return None
    return size if all(size) else None


def _audio_tokens(seconds: float) -> int:
    """Give the tokens of a sound of that length; none is free."""
    return max(1, round(seconds * AUDIO_TOKENS_PER_SECOND))


def _image_tokens(width: int, height: int) -> int:
    """Give the tokens of a picture of that size, once it is made as small as it will be."""
    longer = max(width, height, IMAGE_EDGE_PIXELS_MAX)
    patches = 1
    for edge in (width, height):
        pixels = max(1, edge * IMAGE_EDGE_PIXELS_MAX // longer)
        patches *= -(-pixels // PATCH_EDGE_PIXELS)
    return min(max(patches, IMAGE_TOKENS_MIN), IMAGE_TOKENS_MAX)


def _webp_size(head: bytes) -> tuple[int, int]:
    """Read the size from the first 30 bytes of a WebP; zeros for a kind that is not known."""
    kind = head[12:16]
    if kind == b"VP8X" and len(head) == 30:
        return 1 + number(head[26:23:-1]), 1 + number(head[29:26:-1])
    if kind == b"VP8 " and len(head) == 30:
        return number(head[27:25:-1]) & 0x3FFF, number(head[29:27:-1]) & 0x3FFF
    if kind == b"VP8L" and len(head) >= 25:
        bits = number(head[24:20:-1])
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return 0, 0


def _jpeg_size(text: str, start: int) -> tuple[int, int]:
    """Step from segment to segment of a JPEG to the frame's; zeros if it isn't reached.

    A segment states its length, so what lies in it, a preview of 60 KB for one, isn't read.
    """
    offset = 2
    for _ in range(_SEGMENTS_MAX):
        segment = bytes_at(text, start, offset, 9)
        if len(segment) < 9 or segment[0] != 0xFF:
            break
        marker = segment[1]
        # SOF0 to SOF15; of that range C4, C8 and CC are tables and no frames.
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            return number(segment[7:9]), number(segment[5:7])
        # A fill byte stands before a marker.
        offset += 1 if marker == 0xFF else 2 + number(segment[2:4])
    return 0, 0
