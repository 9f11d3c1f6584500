"""Ask for a summary: the task, the requests that it becomes, and how it is divided. Pure.

A task that is larger than its summariser's window is divided where topics change (`parts`),
never inside an exchange; each message is in exactly one part. What comes back for the parts
is put together again in rounds (`merges`) until one text is left. An earlier summary is
brought up to date in the one request of an undivided task; of a divided one it is the first
of the pieces that are merged. Nothing here calls anybody: see `models.chain`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from minutebook.compaction import instructions
from minutebook.compaction.language import language_of
from minutebook.compaction.material import (
    CUT_TOKENS_MIN,
    RESULT_TOKENS_MAX,
    Entry,
    clipped,
    entries,
    fenced,
    shorten,
)
from minutebook.compaction.phrases import ALL, ENGLISH, Phrases
from minutebook.compaction.topics import divide
from minutebook.errors import ConfigError
from minutebook.messages import Message, replace, user
from minutebook.tokens.estimate import MESSAGE_OVERHEAD_TOKENS, estimate_message, estimate_text
from minutebook.turns import origin_of

MATERIAL_TOKENS_MIN = 512
"""A summariser whose window leaves less than this for material is of no use."""

OUTPUT_SHARE_MAX = 0.25
"""A reply is allowed at most this share of the window at first; the material has the rest."""

OUTPUT_TOKENS_MIN = 1_024
"""A reply is allowed at least so much where the window has it: models that think before they
write spend as much on that."""

OUTPUT_OF_BUDGET = 2
"""How many times the budget a reply is allowed: who is a little too long is not cut off."""

MERGED_AT_ONCE = 6
"""So many pieces of their full budget fit into one request for merging."""

PART_TOKENS_MIN = 200
"""The budget of a part's summary is not less."""


class SummaryTask(Struct, frozen=True, kw_only=True):
    """What a summary is to be written of. `task_of` makes one."""

    messages: tuple[Message, ...] = ()
    """What is to be covered, in order, each with its `seq`; empty when pieces are merged."""
    budget_tokens: int
    """What the summary may take."""
    previous: str = ""
    """The summary so far, which the new one replaces too."""
    pieces: tuple[Piece, ...] = ()
    """Summaries of consecutive parts that are to become one."""
    focus: str = ""
    """What outranks everything else; empty for nothing in particular."""
    language: str = ""
    """What the user's language seems to be, by its English name; empty if it isn't clear."""
    phrases: Phrases = ENGLISH
    """Whose headings the summary has."""
    further: tuple[str, ...] = ()
    """The caller's own instructions, beside ours."""
    prompt: str = ""
    """An instruction in the place of ours; the closing stays."""
    result_tokens_max: int | None = RESULT_TOKENS_MAX
    """Longer results and arguments are shown by head and tail; None shows them whole."""
    part: int = 1
    """Which part of a larger task this is, from 1."""
    parts: int = 1

    @property
    def replaces_tokens(self) -> int:
        """The estimate of all that the summary stands for: it must be smaller than this."""
        return (
            sum(map(estimate_message, self.messages))
            + estimate_text(self.previous)
            + sum(estimate_text(piece.text) for piece in self.pieces)
        )

    @property
    def source(self) -> list[Message]:
        """All that the summary is to tell of: messages, the summary so far, and pieces."""
        told = [self.previous, *(piece.text for piece in self.pieces)]
        return [
            *(replace(user(text), origin="summary") for text in told if text),
            *self.messages,
        ]

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last record that are covered; zeros if nothing is."""
        seqs = [message.seq or 0 for message in self.messages]
        seqs += [seq for piece in self.pieces for seq in (piece.first, piece.last)]
        known = [seq for seq in seqs if seq]
        return (min(known), max(known)) if known else (0, 0)


class Piece(Struct, frozen=True, kw_only=True):
    """A summary of a part, on its way to be merged."""

    text: str
    first: int
    """The first record that it covers; 0 if that isn't known."""
    last: int
    count: int
    """How many messages it covers."""


class Capacity(Struct, frozen=True, kw_only=True):
    """What a summariser takes."""

    window_tokens: int
    """Request and reply together; the caller has taken off what its estimate may be wrong by."""
    output_tokens_max: int
    """The longest reply."""


class SummaryRequest(Struct, frozen=True, kw_only=True):
    """One request to a summariser: a system text and one user's message, no tools."""

    system: str
    user: str
    output_tokens_max: int
    """Where the reply is cut off."""
    tokens: int
    """Our estimate of the request, the reply not counted."""
    task: SummaryTask
    own_text: str
    """All of the request that is instruction and not material."""


def task_of(
    covered: Sequence[Message],
    budget_tokens: int,
    *,
    focus: str = "",
    phrases: Phrases = ENGLISH,
    language: str | None = None,
    further: Sequence[str] = (),
    prompt: str = "",
) -> SummaryTask:
    """Make the task for the messages that a compaction covers, earlier summaries among them.

    *language* is that of the whole conversation; None guesses it from *covered*.
    """
    summaries = [message for message in covered if origin_of(message) == "summary"]
    return SummaryTask(
        messages=tuple(message for message in covered if origin_of(message) != "summary"),
        previous="\n\n".join(_inner(message.text) for message in summaries).strip(),
        budget_tokens=budget_tokens,
        focus=focus,
        language=language_of(covered) if language is None else language,
        phrases=phrases,
        further=tuple(further),
        prompt=prompt,
    )


def request_for(
    task: SummaryTask, capacity: Capacity, *, output_tokens_max: int | None = None
) -> SummaryRequest:
    """Give the request for a task that `parts` or `merges` has given for this capacity.

    What is too large even so (one message, one exchange, one piece) is clipped, so that
    request and reply never exceed the window. *output_tokens_max* allows the reply more or
    less than the rule does.

    Raises:
        ConfigError: If the window has no room for material.
    """
    output = _output_tokens(task, capacity) if output_tokens_max is None else output_tokens_max
    output = max(1, min(output, capacity.output_tokens_max))
    system, opening, closing = _own_texts(task, output)
    room = _room(capacity, output, system, opening, closing)
    while True:
        user = "\n\n".join((opening, *_material(task, room), closing))
        tokens = estimate_text(system) + estimate_text(user) + 2 * MESSAGE_OVERHEAD_TOKENS
        excess = tokens + output - capacity.window_tokens
        if excess <= 0:
            break
        # Counted apart, the pieces came to a little less than as a whole.
        room -= excess
        if room < CUT_TOKENS_MIN:
            raise ConfigError("summarizer window", f"too small for {len(task.pieces)} pieces")
    return SummaryRequest(
        system=system,
        user=user,
        output_tokens_max=output,
        tokens=tokens,
        task=task,
        own_text=f"{system}\n\n{opening}\n\n{closing}",
    )


def parts(task: SummaryTask, capacity: Capacity) -> list[SummaryTask]:
    """Divide a task into what fits the capacity: itself, if it does.

    Cuts lie where topics change and split no exchange; every message is in exactly one part,
    in order. Once it is divided, the earlier summary is in no part: it is merged with theirs.

    Raises:
        ConfigError: If the window has no room for material.
    """
    if task.pieces:
        return [task]
    room = _material_room(task, capacity)
    shown = entries(task.messages, result_tokens_max=task.result_tokens_max)
    sizes = [entry.tokens + 1 for entry in shown]
    if sum(sizes) + estimate_text(task.previous) <= room:
        return [task]
    each = structs.replace(task, previous="", budget_tokens=_part_budget(task, room), parts=2)
    # An exchange that is too large by itself is clipped: it counts as just the room.
    room = _material_room(each, capacity)
    spans = divide(task.messages, sizes, room)
    if len(spans) == 1 and not task.previous:
        return [task]
    return [
        structs.replace(each, messages=task.messages[start:end], part=number, parts=len(spans))
        for number, (start, end) in enumerate(spans, 1)
    ]


def merges(
    task: SummaryTask, pieces: Sequence[Piece], capacity: Capacity
) -> list[SummaryTask | Piece]:
    """Group the pieces of a divided task for one round of merging, in order.

    Each group of two or more is a task; a piece that is left over goes on as it is. At least
    two fit into every group (clipped if need be), so there are fewer after each round. The
    last round's one task has the whole budget.

    Raises:
        ConfigError: If the window has no room for material.
    """
    whole = structs.replace(task, messages=(), previous="", pieces=tuple(pieces))
    room = _material_room(whole, capacity)
    if len(pieces) == 2 or sum(map(_piece_tokens, pieces)) <= room:
        return [whole]
    groups: list[list[Piece]] = []
    filled = 0
    for piece in pieces:
        tokens = min(_piece_tokens(piece), room // 2)
        if not groups or (filled + tokens > room and len(groups[-1]) > 1):
            groups.append([])
            filled = 0
        groups[-1].append(piece)
        filled += tokens
    budget = _part_budget(task, room) if len(groups) > 1 else task.budget_tokens
    return [
        structs.replace(whole, pieces=tuple(group), budget_tokens=budget)
        if len(group) > 1
        else group[0]
        for group in groups
    ]


def piece_of(task: SummaryTask, text: str) -> Piece:
    """Give the piece that *text* is, written for *task*."""
    first, last = task.span
    count = len(task.messages) + sum(piece.count for piece in task.pieces)
    return Piece(text=text, first=first, last=last, count=count)


def earlier_piece(task: SummaryTask) -> Piece | None:
    """Give the earlier summary of a task as the piece before all others; None without one."""
    if not task.previous:
        return None
    first = task.span[0]
    return Piece(text=task.previous, first=0, last=max(0, first - 1), count=1)


def with_lead(text: str, phrases: Phrases, *, first: int, last: int, count: int) -> str:
    """Put before a model's summary the line by which it is known and read back later.

    Only before one that has our headings: by the line the digest knows that it may read the
    text by its patterns; without it, it carries every line.
    """
    if not has_headings(text, phrases):
        return text
    lead = phrases.lead.format(first=first, last=last, count=count)
    return f"{lead}\n\n{text}"


def has_headings(text: str, phrases: Phrases) -> bool:
    """Tell whether one of our headings stands in a text, as a line of its own."""
    headings = {f"## {heading}" for heading in phrases.headings.values()}
    return any(line.rstrip() in headings for line in text.split("\n"))


def _inner(text: str) -> str:
    """Give a summary without the line that our program put before it."""
    for phrases in ALL:
        lead, _, rest = text.partition("\n")
        head = phrases.lead.partition("{")[0]
        if lead.startswith(head) and rest.strip():
            return rest.strip()
    return text.strip()


def _own_texts(task: SummaryTask, output_tokens: int) -> tuple[str, str, str]:
    """Give the system text, the opening and the closing."""
    merging = bool(task.pieces)
    if task.prompt:
        system = instructions.with_further(task.prompt, task.further)
    else:
        system = instructions.instruction(
            task.phrases,
            updating=bool(task.previous),
            merging=merging,
            further=task.further,
        )
    opening = instructions.opening(part=task.part, parts=task.parts, merging=merging)
    closing = instructions.closing(
        language=task.language,
        # Who is allowed less than the budget is asked for less, not cut off.
        budget_tokens=min(task.budget_tokens, output_tokens * 3 // 4),
        focus=task.focus,
    )
    return system, opening, closing


def _material(task: SummaryTask, room: int) -> list[str]:
    """Give the fenced material in at most *room* tokens."""
    if task.pieces:
        texts = [piece.text for piece in task.pieces]
        names = [_piece_name(piece) for piece in task.pieces]
    else:
        texts, names = [], []
        if task.previous:
            # The record comes first in room: what it leaves, but a quarter at least, is for
            # what was told already.
            texts, names = [task.previous], ["earlier minutes"]
        shown = entries(task.messages, result_tokens_max=task.result_tokens_max)
        texts.append(_joined(shown, _left(task, shown, room)))
        names.append(_record_name(task))
    shown_texts = _fitted(texts, room - len(texts) * _fence_tokens())
    return [fenced(text, name) for text, name in zip(shown_texts, names, strict=True)]


def _left(task: SummaryTask, shown: Sequence[Entry], room: int) -> int:
    """Give what the record may take beside the earlier summary."""
    room -= 2 * _fence_tokens()
    wanted = sum(entry.tokens + 1 for entry in shown)
    previous = min(estimate_text(task.previous), max(room - wanted, room // 4))
    return room - previous


def _joined(shown: Sequence[Entry], room: int) -> str:
    """Join the entries that show something, the largest clipped to a common size if need be."""
    told = [entry for entry in shown if entry.text]
    level = _level([entry.tokens + 1 for entry in told], room)
    if level is not None:
        told = [clipped(entry, max(level - 1, CUT_TOKENS_MIN)) for entry in told]
    return shorten("\n\n".join(entry.text for entry in told), room)


def _fitted(texts: Sequence[str], room: int) -> list[str]:
    """Shorten the largest texts to a common size, so that all fit the room."""
    level = _level([estimate_text(text) for text in texts], room)
    return list(texts) if level is None else [shorten(text, level) for text in texts]


def _level(sizes: Sequence[int], room: int) -> int | None:
    """Give the size to which larger ones are cut so that all fit; None if they do already."""
    if sum(sizes) <= room:
        return None
    left, count = room, len(sizes)
    for size in sorted(sizes):
        if size * count > left:
            break
        left -= size
        count -= 1
    return max(left // max(count, 1), 0)


def _part_budget(task: SummaryTask, room: int) -> int:
    """Give the budget of a part's summary: so that several fit a request for merging."""
    return max(min(task.budget_tokens, room // MERGED_AT_ONCE), PART_TOKENS_MIN)


def _output_tokens(task: SummaryTask, capacity: Capacity) -> int:
    """Give what the reply is allowed at first."""
    wanted = max(task.budget_tokens * OUTPUT_OF_BUDGET, OUTPUT_TOKENS_MIN)
    share = int(capacity.window_tokens * OUTPUT_SHARE_MAX)
    return min(wanted, share, capacity.output_tokens_max)


def _material_room(task: SummaryTask, capacity: Capacity) -> int:
    """Give what the material of one request may take."""
    output = _output_tokens(task, capacity)
    # The fences of pieces count with the pieces.
    fences = 0 if task.pieces else 2 * _fence_tokens()
    return _room(capacity, output, *_own_texts(task, output)) - fences


def _room(capacity: Capacity, output: int, *own_texts: str) -> int:
    own = sum(estimate_text(text) + 2 for text in own_texts) + 2 * MESSAGE_OVERHEAD_TOKENS
    room = capacity.window_tokens - output - own
    if room < MATERIAL_TOKENS_MIN:
        raise ConfigError(
            "summarizer window",
            f"{capacity.window_tokens} tokens leave {room} for material, beside {own} of"
            f" instruction and {output} for the reply; {MATERIAL_TOKENS_MIN} are needed",
        )
    return room


def _fence_tokens() -> int:
    """Give what two lines around material take at most."""
    return 2 * estimate_text("===== record 1234567 to 1234567 89abcdef begins =====\n\n")


def _piece_tokens(piece: Piece) -> int:
    return estimate_text(piece.text) + _fence_tokens()


def _piece_name(piece: Piece) -> str:
    return f"minutes {piece.first} to {piece.last}" if piece.first else "earlier minutes"


def _record_name(task: SummaryTask) -> str:
    first, last = task.span
    return f"record {first} to {last}" if first else "record"
