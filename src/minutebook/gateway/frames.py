"""Server-sent events out of bytes that are cut anywhere. Pure; the bytes stay as they came."""

from __future__ import annotations

import re

from msgspec import Struct

# A "\r" that the next bytes make a "\r\n" ends the event all the same: what is left is blank.
_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_LINE = re.compile(rb"\r\n|\n|\r")

FRAME_BYTES_MAX = 64 << 20
"""An event that is larger is given up: the bytes go on, our copy ends."""


class Frame(Struct, frozen=True):
    """One event: its bytes with the blank line behind it, its name, its data."""

    raw: bytes
    event: str
    data: str


class FrameTooLarge(ValueError):
    """An event does not end."""


class FrameReader:
    """Takes bytes as they arrive and gives the events that are whole."""

    def __init__(self) -> None:
        self._rest = b""
        self._looked = 0

    @property
    def rest(self) -> bytes:
        """What has arrived of an event that is not whole."""
        return self._rest

    def feed(self, data: bytes) -> list[Frame]:
        """Give the events that *data* completes.

        Raises:
            FrameTooLarge: If an event is larger than `FRAME_BYTES_MAX`.
        """
        buffer = self._rest + data if self._rest else data
        frames, start = [], 0
        look = max(self._looked - 3, 0)
        while (end := _END.search(buffer, look)) is not None:
            raw = buffer[start : end.end()]
            frames.append(_frame(raw))
            start = look = end.end()
        self._rest = buffer[start:]
        self._looked = len(self._rest)
        if len(self._rest) > FRAME_BYTES_MAX:
            raise FrameTooLarge
        return frames


def _frame(raw: bytes) -> Frame:
    event, data = "", []
    for line in _LINE.split(raw):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"event":
            event = value.decode("utf-8", "replace")
    return Frame(raw=raw, event=event, data=b"\n".join(data).decode("utf-8", "replace"))
