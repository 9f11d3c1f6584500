"""Which sessions there are, and how far the client's history is known in each. Pure.

A track is a session's line of positions: for each message of the client's history, its link in
the chain and its `seq` in the log. The log may be compacted; the track stays. Every change is a
`Line`, and applying the lines again gives the same tracks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

Action = Literal["new", "go on", "revert", "fork"]


class Position(Struct, frozen=True, array_like=True):
    """One message of the client's history."""

    link: bytes
    seq: int
    opaque: bool = False
    partial: bool = False


class Mark(Struct, frozen=True, array_like=True):
    """A checkpoint, and how many messages stand before it."""

    checkpoint: int
    depth: int


class Line(Struct, frozen=True, omit_defaults=True):
    """One change of a track, as the index stores it."""

    session: str
    cut: int | None = None
    """Drop the positions from here on, and the marks behind."""
    mark_cut: int | None = None
    """Drop the marks from this checkpoint on."""
    add: tuple[Position, ...] = ()
    marks: tuple[Mark, ...] = ()
    response: str = ""
    """The response that the positions now end with."""


class Track:
    """What is known of one session."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.positions: list[Position] = []
        self.marks: list[Mark] = []
        self.opaque = 0
        """How many positions are of a kind that may not be rewritten."""

    @property
    def depth(self) -> int:
        """How many messages of the client's are known."""
        return len(self.positions)

    @property
    def is_partial(self) -> bool:
        """Whether the last is a reply that broke off."""
        return bool(self.positions) and self.positions[-1].partial

    def mark_before(self, depth: int) -> Mark | None:
        """Give the newest checkpoint with at most so many messages before it."""
        found = [mark for mark in self.marks if mark.depth <= depth]
        return max(found, key=lambda mark: (mark.depth, mark.checkpoint), default=None)


class Tracks:
    """All tracks, found by their links."""

    def __init__(self) -> None:
        self.all: dict[str, Track] = {}
        self.responses: dict[str, bytes] = {}
        """A response's id to the link that it is the end of."""
        self._holders: dict[bytes, dict[str, int]] = {}

    def apply(self, line: Line) -> None:
        """Take one change."""
        track = self.all.setdefault(line.session, Track(line.session))
        if line.cut is not None:
            for position in track.positions[line.cut :]:
                self._drop(track, position)
            del track.positions[line.cut :]
            track.marks = [mark for mark in track.marks if mark.depth <= line.cut]
        if line.mark_cut is not None:
            track.marks = [mark for mark in track.marks if mark.checkpoint < line.mark_cut]
        for position in line.add:
            track.positions.append(position)
            self._holders.setdefault(position.link, {})[track.session] = track.depth
            track.opaque += position.opaque
        track.marks += line.marks
        if line.response and track.positions:
            self.responses[line.response] = track.positions[-1].link

    def longest(self, links: Sequence[bytes]) -> tuple[list[Track], int]:
        """Give the tracks that know most of a history, and how many of its messages."""
        for depth in range(len(links), 0, -1):
            holders = self._holders.get(links[depth - 1])
            if holders:
                return [self.all[session] for session in holders], depth
        return [], 0

    def holder(self, link: bytes) -> tuple[Track, int] | None:
        """Give a track that holds a link, and at which depth."""
        for session, depth in self._holders.get(link, {}).items():
            return self.all[session], depth
        return None

    def _drop(self, track: Track, position: Position) -> None:
        holders = self._holders.get(position.link, {})
        holders.pop(track.session, None)
        if not holders:
            self._holders.pop(position.link, None)
        track.opaque -= position.opaque


def common_depth(track: Track, links: Sequence[bytes]) -> int:
    """Give how many messages of a history a track knows."""
    low, high = 0, min(track.depth, len(links))
    while low < high:
        middle = (low + high + 1) // 2
        if track.positions[middle - 1].link == links[middle - 1]:
            low = middle
        else:
            high = middle - 1
    return low


def decide(track: Track, depth: int, wanted: int, *, busy: bool, named: bool) -> Action:
    """Say how a request goes on with a track that knows *depth* of its *wanted* messages.

    A history that goes on from the end goes on. One that was cut (or is asked again) reverts; so
    does any change where the client named the session, and where only a reply that broke off
    is in the way. One that changed is a fork: the other branch may still be in use. While a
    request of the session is under way, another one is a fork; a named session's wait.
    """
    if busy and not named:
        return "fork" if depth else "new"
    if depth == track.depth:
        return "go on"
    if named or depth == wanted or (track.is_partial and depth == track.depth - 1):
        return "revert"
    return "fork" if depth else "new"
