"""Where everything stands in the two drawings: the window, and the tokens over the steps. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from minutebook.budget import Limits
from minutebook.cli.findings import reason_of
from minutebook.viewer.logs import Index

WIDTH = 1_000
"""How wide both drawings are, in their own units."""
HEIGHT = 220
POINTS_MAX = 500
"""Of more steps than this neighbours share a point: that of the larger."""
HEADROOM = 1.05
"""The drawing reaches so much higher than its highest line."""


class Segment(Struct, frozen=True, kw_only=True):
    """A piece of the bar."""

    kind: str
    """One of the kinds of tokens, or `pending`, `reserve`, `free`."""
    tokens: int
    share: float
    """Of the whole bar, from 0 to 1."""
    x: float
    width: float


class Bar(Struct, frozen=True, kw_only=True):
    """The window, and what fills it."""

    segments: tuple[Segment, ...]
    used: int
    whole: int
    """What the bar stands for: the window, or what is used where that is not known or less."""
    pending: Segment | None = None
    """What of the used part is an estimate still; lies over its end."""
    trigger: float | None = None
    """Where a compaction is due."""
    target: float | None = None
    """Where a compaction aims."""


class Point(Struct, frozen=True):
    """The size of one request."""

    x: float
    """Where its step begins."""
    until: float
    """Where the next one does."""
    y: float
    tokens: int


class Drop(Struct, frozen=True, kw_only=True):
    """A rewrite of the log: where it stands, and what it was."""

    kind: str
    x: float
    tokens_before: int | None
    tokens_after: int | None


class Line(Struct, frozen=True, kw_only=True):
    """A height that means something."""

    kind: str
    """`window`, `trigger`, or `target`."""
    y: float
    tokens: int


class Curve(Struct, frozen=True, kw_only=True):
    """The tokens over the steps."""

    points: tuple[Point, ...]
    path: str
    """The `points` of a polyline: each size holds until the next."""
    drops: tuple[Drop, ...]
    lines: tuple[Line, ...]
    most: int
    """The largest request."""
    steps: int
    counted: bool
    """Whether a provider counted the sizes; else they are estimated by length."""


def bar(tokens: Mapping[str, int | None], by_kind: Mapping[str, int], bounds: Limits | None) -> Bar:
    """Lay out the bar; *tokens* and *by_kind* are what `inspect` reports.

    The kinds are estimates: where a provider has counted they are scaled to what it says.
    """
    used = tokens["with_pending"] or 0
    window = tokens["window"] or 0
    reserve = bounds.reserve if bounds is not None else 0
    whole = max(window, used, 1)
    estimated = max(sum(by_kind.values()), 1)
    scale = used / estimated
    parts = [(kind, count, count * scale) for kind, count in by_kind.items() if count]
    free = window - used
    if free > 0:
        kept = min(reserve, free)
        parts += [("free", free - kept, free - kept), ("reserve", kept, kept)]
    segments, at = [], 0.0
    for kind, count, room in parts:
        if count:
            segments.append(_segment(kind, count, at, room, whole))
            at += room
    pending = tokens["pending"] or 0
    return Bar(
        segments=tuple(segments),
        used=used,
        whole=whole,
        pending=_segment("pending", pending, max(used - pending, 0), pending, whole)
        if pending
        else None,
        trigger=_x(bounds.trigger, whole) if bounds is not None else None,
        target=_x(bounds.target, whole) if bounds is not None else None,
    )


def curve(logs: Sequence[Index], used: int, bounds: Limits | None) -> Curve:
    """Draw the sizes of all requests, from the oldest log to the live one, which stands last.

    Of a log that was made from another only what came after the rewrite counts: the rest is in
    the older one. Without counts of a provider the live log's sizes go by its length, up to
    what is *used*.
    """
    sizes: list[int] = []
    drops: list[tuple[int, Drop]] = []
    for made in logs:
        last = made.rewritten[-1] if made.rewritten else None
        if last is not None:
            record = last.record
            drop = Drop(
                kind=reason_of(record),
                x=0.0,
                tokens_before=getattr(record, "tokens_before", None),
                tokens_after=getattr(record, "tokens_after", None),
            )
            drops.append((len(sizes), drop))
        after = -1 if last is None else last.order
        sizes += [counted.tokens for counted in made.counted if counted.order > after]
    counted = len(sizes) > 1
    if not counted:
        sizes, drops = _by_length(logs[-1], used), []
    top = max([*sizes, *([bounds.window] if bounds is not None else []), 1]) * HEADROOM
    points = tuple(_points(sizes, top))
    steps = max(len(sizes), 1)
    return Curve(
        points=points,
        path=" ".join(f"{p.x},{p.y} {p.until},{p.y}" for p in points),
        drops=tuple(
            Drop(
                kind=drop.kind,
                x=round(WIDTH * at / steps, 1),
                tokens_before=drop.tokens_before,
                tokens_after=drop.tokens_after,
            )
            for at, drop in drops
        ),
        lines=tuple(_lines(bounds, top)),
        most=max(sizes, default=0),
        steps=len(sizes),
        counted=counted,
    )


def _lines(bounds: Limits | None, top: float) -> Iterable[Line]:
    if bounds is not None:
        for kind in ("window", "trigger", "target"):
            tokens = getattr(bounds, kind)
            yield Line(kind=kind, y=_y(tokens, top), tokens=tokens)


def _by_length(made: Index, used: int) -> list[int]:
    """Give sizes by how long the log was after each message."""
    ends = made.ends
    total = sum(end - start for start, end in zip(made.starts, ends, strict=True)) or 1
    sizes, at = [], 0
    for start, end in zip(made.starts, ends, strict=True):
        at += end - start
        sizes.append(used * at // total)
    return sizes


def _points(sizes: Sequence[int], top: float) -> Iterable[Point]:
    """Place the points; where there are too many, the largest of some neighbours stands."""
    count = len(sizes)
    each = -(-count // POINTS_MAX) or 1
    for first in range(0, count, each):
        stop = min(first + each, count)
        tokens = max(sizes[first:stop])
        x, until = round(WIDTH * first / count, 1), round(WIDTH * stop / count, 1)
        yield Point(x, until, _y(tokens, top), tokens)


def _segment(kind: str, tokens: int, at: float, room: float, whole: int) -> Segment:
    return Segment(
        kind=kind,
        tokens=tokens,
        share=room / whole,
        x=_x(at, whole),
        width=_x(room, whole),
    )


def _x(tokens: float, whole: int) -> float:
    return round(WIDTH * min(tokens, whole) / whole, 2)


def _y(tokens: float, top: float) -> float:
    return round(HEIGHT - HEIGHT * tokens / top, 1)
