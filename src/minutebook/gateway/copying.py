"""Our own copy of what passes through: decoded, cut into events, put together. Pure."""

from __future__ import annotations

import zlib
from typing import Any

import msgspec

from minutebook.gateway.frames import Frame, FrameReader, FrameTooLarge
from minutebook.gateway.replies import Assembler, Reply, whole_reply
from minutebook.gateway.wires import Api

DECODED_BYTES_MAX = 256 << 20
_PLAIN = frozenset(("", "identity"))
_WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class Decoder:
    """Takes a content-encoding off, piece by piece."""

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        self._inflate = zlib.decompressobj(_WINDOWS[name]) if name in _WINDOWS else None
        self.is_known = self._inflate is not None or name in _PLAIN
        """False for an encoding that we cannot read; what passes is then not recorded."""

    def feed(self, data: bytes) -> bytes:
        """Give what a piece stands for; nothing of what cannot be read."""
        if not self.is_known:
            return b""
        if self._inflate is None:
            return data
        try:
            plain = self._inflate.decompress(data, DECODED_BYTES_MAX)
        except zlib.error:
            self.is_known = False
            return b""
        self.is_known = not self._inflate.unconsumed_tail
        return plain


class StreamCopy:
    """Our copy of a stream."""

    def __init__(self, api: Api, encoding: str, *, swallows: bool = False) -> None:
        self._decoder = Decoder(encoding)
        self._reader = FrameReader()
        self._assembler = Assembler(api)
        self._swallows = swallows
        self.error: Any = None
        """What the first event says, if it is an error."""
        self.begun = False
        """Whether an event has come."""

    @property
    def is_known(self) -> bool:
        """Whether the copy can be believed."""
        return self._decoder.is_known

    @property
    def is_done(self) -> bool:
        """Whether the last event has come."""
        return self._assembler.done

    def feed(self, data: bytes) -> bytes:
        """Take bytes as they came; give those that go on to the client."""
        if not self._decoder.is_known:
            return data
        try:
            frames = self._reader.feed(self._decoder.feed(data))
        except FrameTooLarge:
            self._decoder.is_known = False
            return data
        for frame in frames:
            if not self.begun:
                self.error = error_in(frame)
                self.begun = True
            self._assembler.feed(frame)
        if not self._swallows:
            return data
        return b"".join(frame.raw for frame in frames if not _is_usage_alone(frame))

    def rest(self) -> bytes:
        """Give what is held back at the end of a stream that does not end with an event."""
        return self._reader.rest if self._swallows else b""

    def reply(self) -> Reply:
        """Give what there is of the reply."""
        return self._assembler.reply() if self.is_known else Reply()


def whole(api: Api, encoding: str, body: bytes) -> Reply:
    """Read a whole reply; an empty one where it cannot be read."""
    decoder = Decoder(encoding)
    return whole_reply(api, decoder.feed(body)) if decoder.is_known else Reply()


def error_of(encoding: str, body: bytes) -> Any:
    """Give what an error's body says, as JSON where it is JSON."""
    plain = Decoder(encoding).feed(body)
    try:
        return msgspec.json.decode(plain)
    except (msgspec.DecodeError, RecursionError):
        return plain.decode("utf-8", "replace")


def error_in(frame: Frame) -> Any:
    """Give the error that an event holds; None if it holds none."""
    try:
        value = msgspec.json.decode(frame.data)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return value if value.get("error") or value.get("type") == "error" else None


def _is_usage_alone(frame: Frame) -> bool:
    if '"usage"' not in frame.data:
        return False
    try:
        value = msgspec.json.decode(frame.data)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("choices") == [] and bool(value.get("usage"))
