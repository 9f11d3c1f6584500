"""A message as a page shows it: its pieces, long ones folded, none larger than there is room. Pure.

Nothing here escapes: a template does that with every value that it is given.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from msgspec import Struct

from minutebook.cli.harmless import harmless_line
from minutebook.messages import ImagePart, Message, OtherPart, Part, TextPart, ThinkPart, ToolCall
from minutebook.providers.media import PICTURE_TYPES, MediaPart, data_of, placeholder
from minutebook.turns import origin_of

RESULT_LINES = 8
"""How many lines of a tool's result are shown unfolded."""
TEXT_LINES = 40
THINKING_LINES = 2
ARGUMENT_LINES = 6
FOLDED_CHARACTERS = 2_000
"""How much of a text is shown unfolded, however few lines it has."""
UNFOLDED_CHARACTERS = 120
"""So little more takes no more room than saying that there is more."""
PIECE_CHARACTERS_MAX = 20_000
"""How much of a text a page of many messages has; the message's own page has all of it."""
PAGE_CHARACTERS_MAX = 1_000_000
"""How much text one page has in all."""
PIECES_MAX = 50
"""How many parts and calls of one message a page has."""
EXCERPT_CHARACTERS = 120
FENCE = "```"


class Block(Struct, frozen=True):
    """Text, or code that stood between fences."""

    text: str
    code: bool = False


class Piece(Struct, frozen=True, kw_only=True):
    """A part of a message, or one of its calls."""

    kind: str
    """`text`, `result`, `thinking`, `call`, `picture`, or `other`."""
    title: str = ""
    """Of a call the tool's name; of a picture its type."""
    shown: tuple[Block, ...] = ()
    folded: tuple[Block, ...] = ()
    """What comes when it is unfolded."""
    lines: int = 0
    """How many lines are folded."""
    more: int = 0
    """How many characters are only on the message's own page."""
    picture: int | None = None
    """The number of the part, for the address of a picture."""


class Told(Struct, frozen=True, kw_only=True):
    """One message, ready for a template."""

    seq: int
    role: str
    origin: str
    """Who really wrote it, where that is not what the role says; else empty."""
    at: float | None
    elided: str
    tool: str
    """Of a result: the tool that was called, where that is known."""
    call_id: str
    pieces: tuple[Piece, ...]
    left_out: int = 0
    """How many pieces more it has."""


class Room:
    """How much text a page has room for still."""

    def __init__(self, characters: int = PAGE_CHARACTERS_MAX) -> None:
        """Begin with so much."""
        self.left = characters

    def take(self, text: str, most: int = PIECE_CHARACTERS_MAX) -> str:
        """Give as much of a text as there is room for, and take that room."""
        taken = text[: max(0, min(most, self.left))]
        self.left -= len(taken)
        return taken


def tell(message: Message, room: Room, *, tool: str = "", most: int = PIECE_CHARACTERS_MAX) -> Told:
    """Give a message for a page; *tool* is the one that a result is of."""
    origin = origin_of(message)
    parts, calls = message.parts, message.calls
    pieces = [
        _part(part, number, message.role, room, most)
        for number, part in enumerate(parts[:PIECES_MAX])
    ]
    pieces += [_call(call, room, most) for call in calls[: PIECES_MAX - len(pieces)]]
    return Told(
        seq=message.seq or 0,
        role=excerpt(message.role),
        origin="" if origin in {message.role, "user"} else excerpt(origin),
        at=message.at,
        elided=excerpt(message.elided),
        tool=excerpt(tool),
        call_id=excerpt(message.tool_call_id or ""),
        pieces=tuple(pieces),
        left_out=len(parts) + len(calls) - len(pieces),
    )


def same(stored: Message, sent: Message) -> bool:
    """Tell whether a message is sent as it is stored; ids of calls are not looked at."""
    calls = [[(call.name, call.arguments) for call in one.calls] for one in (stored, sent)]
    return stored.role == sent.role and stored.parts == sent.parts and calls[0] == calls[1]


def excerpt(text: str) -> str:
    """Give how a text begins, on one line."""
    line = harmless_line(text[: 4 * EXCERPT_CHARACTERS])
    return line if len(line) <= EXCERPT_CHARACTERS else f"{line[:EXCERPT_CHARACTERS]}…"


def blocks(text: str) -> Iterator[Block]:
    """Take a text apart at its fences; all blocks together are the text, fences included."""
    waiting: list[str] = []
    code = False
    for line in text.splitlines(keepends=True) if FENCE in text else [text]:
        fence = line.lstrip(" ").startswith(FENCE)
        if fence and not code:
            if waiting:
                yield Block("".join(waiting))
            waiting, code = [line], True
        elif fence:
            yield Block("".join([*waiting, line]), code=True)
            waiting, code = [], False
        else:
            waiting.append(line)
    if waiting:
        yield Block("".join(waiting), code=code)


def fold(found: Sequence[Block], lines: int) -> tuple[tuple[Block, ...], tuple[Block, ...], int]:
    """Divide a text into what is shown and what is folded; tells how many lines are folded."""
    shown: list[Block] = []
    folded: list[Block] = []
    room, left = FOLDED_CHARACTERS, lines
    for block in found:
        head = _head(block.text, left, room)
        if head:
            shown.append(Block(head, code=block.code))
        if len(head) < len(block.text):
            folded.append(Block(block.text[len(head) :], code=block.code))
            left = room = 0
        left -= head.count("\n")
        room -= len(head)
    if sum(len(block.text) for block in folded) <= UNFOLDED_CHARACTERS:
        return (*shown, *folded), (), 0
    return tuple(shown), tuple(folded), sum(_lines(block.text) for block in folded)


def picture_of(part: Part) -> tuple[str, str] | None:
    """Give type and base64 of a picture that the log itself holds; None for any other part.

    A drawing that could hold a script is none.
    """
    if not isinstance(part, ImagePart):
        return None
    data = data_of(part.image_url.url)
    if data is None or data.media_type not in PICTURE_TYPES:
        return None
    return data.media_type, data.base64


def readable(arguments: str) -> str:
    """Give a call's arguments in lines, if they are JSON; else as they are."""
    if len(arguments) > PIECE_CHARACTERS_MAX:
        return arguments
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return arguments


def _part(part: Part, number: int, role: str, room: Room, most: int) -> Piece:
    match part:
        case TextPart(text=text) if role == "tool":
            return _piece("result", (Block(text, code=True),), RESULT_LINES, room, most)
        case TextPart(text=text):
            return _piece("text", tuple(blocks(text[:most])), TEXT_LINES, room, most, whole=text)
        case ThinkPart(think=text):
            return _piece("thinking", (Block(text),), THINKING_LINES, room, most)
        case OtherPart(data=data):
            return Piece(kind="other", title=excerpt(f"[{data.get('type')!r}]"))
        case _:
            return _medium(part, number)


def _medium(part: MediaPart, number: int) -> Piece:
    found = picture_of(part)
    if found is None:
        return Piece(kind="other", title=excerpt(placeholder(part)))
    return Piece(kind="picture", title=found[0], picture=number)


def _call(call: ToolCall, room: Room, most: int) -> Piece:
    text = readable(call.arguments)
    piece = _piece("call", (Block(text, code=True),), ARGUMENT_LINES, room, most)
    return Piece(
        kind="call",
        title=excerpt(call.name),
        shown=piece.shown,
        folded=piece.folded,
        lines=piece.lines,
        more=piece.more,
    )


def _piece(
    kind: str,
    found: Sequence[Block],
    lines: int,
    room: Room,
    most: int,
    *,
    whole: str | None = None,
) -> Piece:
    """Fold a text, and cut it where the page has no more room."""
    length = len(whole) if whole is not None else sum(len(block.text) for block in found)
    left, kept = most, []
    for block in found:
        text = room.take(block.text, left)
        left -= len(text)
        if text:
            kept.append(Block(text, code=block.code))
    shown, folded, count = fold(kept, lines)
    more = length - sum(len(block.text) for block in kept)
    return Piece(kind=kind, shown=shown, folded=folded, lines=count, more=more)


def _head(text: str, lines: int, characters: int) -> str:
    """Give the first lines of a text, and no more than so many characters."""
    if lines <= 0 or characters <= 0:
        return ""
    at = -1
    for _ in range(lines):
        at = text.find("\n", at + 1)
        if at < 0:
            at = len(text)
            break
    if at < characters:
        return text[: at + 1]
    # At the end of a line, where one ends there.
    end = text.rfind("\n", 0, characters)
    return text[: end + 1 if end >= 0 else characters]


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))
