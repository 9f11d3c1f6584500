"""Cut the middle out of single messages that are too large by themselves. Pure.

Head and tail stay, the cut is marked with the number of characters left out and the record
that holds the whole. Only text is cut: calls, media and thinking stay. Large messages are
cut to one common size, so a batch of results is bounded as a batch. A cut never falls
inside what is read as one character.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from minutebook.compaction.keep import CLIPPED_TOKENS_MIN, protect
from minutebook.compaction.phrases import ALL, Phrases
from minutebook.compaction.plan import MADE, Draft, Goal, Item, shortened
from minutebook.messages import Message, Part, TextPart, replace
from minutebook.tokens.estimate import estimate_text

NAME = "clip"

HEAD_SHARE = 0.6
"""Of what stays, so much is head: it tells what the text is, the tail how it ended."""

LINE_SLACK = 0.1
"""A cut moves by up to this share of its part to stand between two lines."""

PART_CHARS_MIN = 400
"""A shorter part of a message of several parts is left whole: it is a mark or a remark."""

TRIES = 5
"""How often a cut is made again, each time smaller, until the text is small enough."""

_JOINERS = frozenset("\u200d\ufe0e\ufe0f")


def clip(draft: Draft, goal: Goal) -> tuple[Draft, str]:
    """Cut results to reach the target, and what people and the model wrote as far as needed.

    A person's answered message is cut for the target only down to the share of the room
    that all of them have. For the limit go, in this order, replies, summaries, what
    people wrote, the unanswered too, and what tags protect.
    """
    kept = protect(draft, goal)
    may_cut = [
        at for at, item in enumerate(draft.items) if item.source != MADE and at not in kept.guarded
    ]
    protected = sorted(kept.protected)
    results = [at for at in may_cut if draft.items[at].message.role == "tool"]
    others = [at for at in may_cut if draft.items[at].message.role != "tool"]
    replies = [at for at in others if draft.items[at].message.role == "assistant"]
    written = [at for at in others if at not in replies and at not in kept.summaries]
    settled = [at for at in written if at not in kept.fresh or at in kept.injected]
    told = [at for at in others if at in kept.summaries]
    items = list(draft.items)
    share = max(goal.share(goal.policy.user_share), CLIPPED_TOKENS_MIN)
    for positions, wanted, floor in (
        (results, goal.target, CLIPPED_TOKENS_MIN),
        (settled, goal.target, share),
        (replies, goal.limit, CLIPPED_TOKENS_MIN),
        (told, goal.limit, CLIPPED_TOKENS_MIN),
        (written, goal.limit, CLIPPED_TOKENS_MIN),
        (protected, goal.limit, CLIPPED_TOKENS_MIN),
    ):
        excess = draft.replaced(items).tokens - wanted
        if excess > 0:
            _cut_all(items, positions, excess, floor, goal.phrases)
    count = sum(new is not old for new, old in zip(items, draft.items, strict=True))
    if not count:
        return draft, "no single message is too large"
    return draft.replaced(items), f"the middle of {count} large messages was cut out"


def _cut_all(
    items: list[Item], positions: Sequence[int], excess: int, floor: int, phrases: Phrases
) -> None:
    """Cut the largest of some messages to one size, so that *excess* tokens go if they can."""
    sizes = {at: estimate_text(items[at].message.text) for at in positions}
    size = max(_common_size(list(sizes.values()), sum(sizes.values()) - excess), floor)
    for at, tokens in sizes.items():
        if tokens > size:
            cut = shortened(items[at], clipped(items[at].message, size, phrases))
            if cut.tokens < items[at].tokens:
                items[at] = cut


def _common_size(sizes: Sequence[int], wanted: int) -> int:
    """Give the size to which the largest are cut so that all together take *wanted*."""
    left = wanted
    ascending = sorted(sizes)
    for index, size in enumerate(ascending):
        share = left // (len(ascending) - index)
        if size > share:
            return max(share, 0)
        left -= size
    return max(ascending, default=0)


def clipped(message: Message, tokens_max: int, phrases: Phrases) -> Message:
    """Give a copy of *message* whose text takes at most *tokens_max* tokens, marked as cut.

    Of several text parts each keeps its share, short ones the whole. Where not even the mark
    and the short parts fit, the copy is as small as it gets.
    """
    copy = message
    share = 1.0
    tokens = estimate_text(message.text)
    for _ in range(TRIES):
        if tokens <= tokens_max:
            break
        # Characters of one text cost unequally, so the first cut may leave too much.
        share *= 0.97 * tokens_max / tokens
        copy = replace(message, content=_clip_content(message, share, phrases), elided=NAME)
        tokens = estimate_text(copy.text)
    return copy


def _clip_content(message: Message, share: float, phrases: Phrases) -> str | tuple[Part, ...]:
    if isinstance(message.content, str):
        return _clip_text(message, message.content, share, phrases)
    return tuple(
        TextPart(_clip_text(message, part.text, share, phrases))
        if isinstance(part, TextPart) and len(part.text) > PART_CHARS_MIN
        else part
        for part in message.parts
    )


def _clip_text(message: Message, text: str, share: float, phrases: Phrases) -> str:
    """Keep that share of a text, the mark included where there is room for it."""
    record = phrases.record.format(n=message.seq)
    mark = phrases.clipped.format(chars=len(text), record=record)
    keep = max(int(len(text) * share) - len(mark) - 2, 0)
    head_chars = int(keep * HEAD_SHARE)
    head = text[: _between_lines(text, head_chars, backward=True)].rstrip()
    tail_start = _between_lines(text, len(text) - (keep - head_chars), backward=False)
    tail = text[max(tail_start, len(head)) :].lstrip()
    left_out = len(text) - len(head) - len(tail)
    if message.elided == NAME:
        # The text is a copy already: what its own mark counts is left out still.
        left_out += _left_out_before(text[len(head) : len(text) - len(tail)])
    mark = phrases.clipped.format(chars=left_out, record=record)
    return "\n".join(piece for piece in (head, mark, tail) if piece)


def _between_lines(text: str, at: int, *, backward: bool) -> int:
    """Move a cut to the end of a line near by, else off the inside of a character."""
    at = min(max(at, 0), len(text))
    slack = int((at if backward else len(text) - at) * LINE_SLACK)
    if backward:
        line = text.rfind("\n", at - slack, at)
        return line if line > 0 else _whole(text, at, -1)
    line = text.find("\n", at, at + slack)
    return line + 1 if line >= 0 else _whole(text, at, 1)


def _whole(text: str, at: int, step: int) -> int:
    """Move a cut by *step* until it stands between what is read as two characters."""
    while 0 < at < len(text) and _joined(text[at - 1], text[at]):
        at += step
    return at


def _joined(before: str, after: str) -> bool:
    """Tell whether two code points are read as one character, or may be."""
    return (
        unicodedata.combining(after) != 0
        or unicodedata.category(after) in {"Mn", "Mc", "Me", "Cs"}
        or after in _JOINERS
        or before == "\u200d"
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")
        or (before == "\r" and after == "\n")
    )


def _left_out_before(removed: str) -> int:
    """Count what an earlier cut left out, whose mark is cut out now."""
    total = 0
    for phrases in ALL:
        pattern = re.escape(phrases.clipped).replace(r"\{chars\}", r"(\d+)")
        pattern = pattern.replace(
            r"\{record\}", re.escape(phrases.record).replace(r"\{n\}", r"\d+")
        )
        total += sum(map(int, re.findall(pattern, removed)))
    return total
