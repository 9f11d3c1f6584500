"""The messages of one page of a log: what is stored beside what is sent, each in its place."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from minutebook.messages import Message
from minutebook.providers.view import make_view
from minutebook.records import Compaction
from minutebook.survey import Marked
from minutebook.tools.originals import callers, whole_text
from minutebook.turns import pair
from minutebook.viewer.library import Open
from minutebook.viewer.logs import Index, Log, compactions
from minutebook.viewer.telling import Room, Told, excerpt, same, tell

PAGE_MESSAGES = 100
AROUND = 40
"""So many messages before and behind a page are looked at for what is sent: an exchange of more
than these is taken as sent as it is stored."""
AROUND_BYTES_MAX = 8 << 20
"""Of a page of more than this the sent form is not worked out."""
COVERED_SHOWN = 20
ID_CHARACTERS_MAX = 200
"""A compaction with a longer id has no page: ours are short, and an address has an end."""
FOUND_MAX = 100
"""How many messages one page of a search lists."""
SEARCHED_BYTES_MAX = 64 << 20
"""How much of a log one page of a search looks through: about half a second."""
LEAD_CHARACTERS = 60


class Line(Struct, frozen=True, kw_only=True):
    """A message in one line, with where to find it."""

    seq: int
    role: str
    excerpt: str


class Covered(Struct, frozen=True, kw_only=True):
    """What a summary or a notice stands for."""

    compaction: str
    """The compaction's id; empty if it has no page."""
    count: int
    first: int
    last: int
    lines: tuple[Line, ...]
    """The first of them."""
    score: float | None = None
    """What the check of the compaction came to, if one was made."""


class Row(Struct, frozen=True, kw_only=True):
    """One message of the page."""

    stored: Told
    """What was written: of a shortened message the original, if it is there."""
    sent: Told | None = None
    """What is sent in its place, where that is something else."""
    state: str = "same"
    """`same`, `changed`, `shortened`, `unsent`; `kept` where nothing of the log is sent."""
    marked: bool = False
    """Whether a marked result is sent behind it for a call that nothing answers."""
    pinned: bool = False
    original_in: int | None = None
    """The rotation that has the original."""
    covered: Covered | None = None
    checkpoints: tuple[Marked, ...] = ()
    """Those that stand before it."""


class Found(Struct, frozen=True, kw_only=True):
    """What a search came to."""

    lines: tuple[Line, ...]
    following: int | None
    """The position from which to look on; None at the end."""


def first_of_page(position: int) -> int:
    """Give where the page begins that has a position."""
    return max(0, position) // PAGE_MESSAGES * PAGE_MESSAGES


def rows(opened: Open, log: Log, first: int, *, live: bool) -> list[Row]:
    """Give the messages of a page that begins at position *first*.

    Only of the *live* log anything is sent.

    Raises:
        StoreError: If the log or a rotation has gone meanwhile.
    """
    made = log.index
    stop = min(made.count, first + PAGE_MESSAGES)
    room = Room()
    sent = _Sent(opened, log, first, stop) if live else None
    marks = _marks(made, first, stop)
    tools = _tools(log, first, stop)
    pins = opened.surveyed.survey.pins
    found = []
    for position, message in zip(range(first, stop), log.read(range(first, stop)), strict=True):
        seq = message.seq or 0
        found.append(
            structs.replace(
                _row(opened, message, tools.get(position, ""), sent, room),
                marked=sent is not None and seq in sent.marked,
                pinned=seq in pins,
                covered=covered(opened, made, seq),
                checkpoints=tuple(marks.get(position, ())),
            )
        )
    return found


def covered(opened: Open, made: Index, seq: int) -> Covered | None:
    """Say what a message stands for that a compaction wrote; None for any other message."""
    for record in compactions(made):
        if seq in record.made and record.parent is not None:
            parent = opened.log(record.parent.number)
            if parent is None:
                return None
            return _covered(record, made, parent)
    return None


def replaced(record: Compaction, after: Index, before: Index) -> list[int]:
    """Give the positions of the messages that a compaction did not carry over whole."""
    whole = set(record.carried).difference(after.elided)
    return [at for at, seq in enumerate(before.seqs) if seq not in whole]


def address_of(record: Compaction) -> str:
    """Give the id by which a compaction has a page; empty if it has none."""
    return record.id if len(record.id) <= ID_CHARACTERS_MAX else ""


def search(log: Log, words: str, start: int) -> Found:
    """Look for words as they are written, without regard to case, from a position on."""
    wanted = words.casefold()
    lines: list[Line] = []
    made = log.index
    left = SEARCHED_BYTES_MAX
    for position, message in enumerate(log.read(range(start, made.count)), start):
        if len(lines) == FOUND_MAX or left < 0:
            return Found(lines=tuple(lines), following=position)
        left -= made.ends[position] - made.starts[position]
        text = f"{message.thinking}\n{whole_text(message)}"
        at = text.casefold().find(wanted)
        if at >= 0:
            begin = max(0, at - LEAD_CHARACTERS)
            lines.append(line_of(message, ("…" if begin else "") + text[begin:]))
    return Found(lines=tuple(lines), following=None)


def line_of(message: Message, text: str | None = None) -> Line:
    """Give a message in one line."""
    shown = excerpt(whole_text(message) or message.thinking if text is None else text)
    return Line(seq=message.seq or 0, role=excerpt(message.role), excerpt=shown)


class _Sent:
    """What is sent of a page's messages, worked out from them and those around them."""

    def __init__(self, opened: Open, log: Log, first: int, stop: int) -> None:
        made = log.index
        around = range(max(0, first - AROUND), min(made.count, stop + AROUND))
        size = sum(made.ends[at] - made.starts[at] for at in around)
        self.is_known = size <= AROUND_BYTES_MAX
        self._orphans = set(opened.surveyed.survey.unsettled.orphans)
        self._by_seq: dict[int, Message] = {}
        self.marked: frozenset[int] = frozenset()
        if self.is_known:
            view = make_view(None, list(log.read(around)))
            for message in view.messages:
                self._by_seq.setdefault(message.seq or 0, message)
            open_calls = {call.seq for call in opened.surveyed.survey.unsettled.open()}
            self.marked = frozenset(seq for seq, _call in view.marked if seq in open_calls)

    def of(self, message: Message) -> tuple[str, Message | None]:
        """Give how a message is sent, and as what if that is something else."""
        found = self._by_seq.get(message.seq or 0)
        if found is None:
            far = message.role == "tool" and message.seq not in self._orphans
            return ("same" if far or not self.is_known else "unsent"), None
        return ("same", None) if same(message, found) else ("changed", found)


def _row(opened: Open, message: Message, tool: str, sent: _Sent | None, room: Room) -> Row:
    """Put what is stored beside what is sent."""
    seq = message.seq or 0
    if sent is None:
        return Row(stored=tell(message, room, tool=tool), state="kept")
    state, other = sent.of(message)
    if message.elided:
        found = opened.find(seq)
        if found is not None and seq not in found[1].index.elided:
            number, log, position = found
            (original,) = log.read([position])
            return Row(
                stored=tell(original, room, tool=tool),
                sent=tell(other or message, room, tool=tool),
                state="shortened" if state != "unsent" else "unsent",
                original_in=number,
            )
    return Row(
        stored=tell(message, room, tool=tool),
        sent=None if other is None else tell(other, room, tool=tool),
        state=state,
    )


def _covered(record: Compaction, made: Index, parent: Log) -> Covered:
    gone = replaced(record, made, parent.index)
    seqs = parent.index.seqs
    return Covered(
        compaction=address_of(record),
        count=len(gone),
        first=seqs[gone[0]] if gone else 0,
        last=seqs[gone[-1]] if gone else 0,
        lines=tuple(line_of(message) for message in parent.read(gone[:COVERED_SHOWN])),
        score=_score(record),
    )


def _score(record: Compaction) -> float | None:
    found = (record.checks or {}).get("score")
    return float(found) if isinstance(found, int | float) else None


def _marks(made: Index, first: int, stop: int) -> dict[int, list[Marked]]:
    """Give the checkpoints of a page by the position of the message that they stand before."""
    found: dict[int, list[Marked]] = {}
    for mark in made.checkpoints:
        if first <= mark.messages < stop:
            found.setdefault(mark.messages, []).append(mark)
    return found


def _tools(log: Log, first: int, stop: int) -> dict[int, str]:
    """Give the tool of each result of a page, by position."""
    begin = max(0, first - AROUND)
    messages: Sequence[Message] = [_bare(message) for message in log.read(range(begin, stop))]
    names = callers(messages, pair(messages))
    return {at + begin: name for at, name in names.items()}


def _bare(message: Message) -> Message:
    """Give as much of a message as tells which call a result answers."""
    return Message(
        role=message.role,
        content="",
        tool_calls=message.tool_calls,
        tool_call_id=message.tool_call_id,
        origin=message.origin,
    )
