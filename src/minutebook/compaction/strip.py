"""Leave out old thinking and old media. Pure.

Thinking is the model's scratch paper: providers take a history without it, but for the turn
in progress, whose thinking some of them want back byte for byte. Nothing stands in its place.
A picture, a sound or a film leaves a line that says what was there and where it is.
"""

from __future__ import annotations

from minutebook.compaction.keep import Kept, protect, weights
from minutebook.compaction.phrases import Phrases
from minutebook.compaction.plan import Draft, Goal, Item, shortened
from minutebook.messages import (
    AudioPart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ThinkPart,
    VideoPart,
    as_content,
    replace,
)
from minutebook.turns import is_real_user

NAME = "strip"


def strip(draft: Draft, goal: Goal) -> tuple[Draft, str]:
    """Leave out the thinking of ended turns, then media that are older than the newest part."""
    kept = protect(draft, goal)
    items = list(draft.items)
    thoughts = media = 0
    if goal.policy.drop_thinking:
        for at in _ended(draft, kept):
            lighter = _without_thinking(items[at])
            if lighter is not None:
                items[at] = lighter
                thoughts += 1
    if goal.policy.drop_media:
        total = draft.replaced(items).tokens
        for at in _old(draft, goal, kept):
            if total <= goal.target:
                break
            lighter = _without_media(items[at], goal.phrases)
            if lighter is not None:
                total += lighter.tokens - items[at].tokens
                items[at] = lighter
                media += 1
    if not thoughts and not media:
        return draft, "there is no thinking of an ended turn, and no old picture or sound"
    return draft.replaced(items), (
        f"the thinking of {thoughts} replies and the media of {media} messages were left out"
    )


def _ended(draft: Draft, kept: Kept) -> list[int]:
    """Give the positions of turns that have ended: those before the last person's message."""
    history = draft.messages
    last = max((at for at, message in enumerate(history) if is_real_user(message)), default=0)
    end = min(last, min(kept.fresh, default=last))
    return [at for at in range(end) if at not in kept.guarded]


def _old(draft: Draft, goal: Goal, kept: Kept) -> list[int]:
    """Give the positions before the newest part, the oldest first, without what is guarded."""
    left = goal.policy.verbatim_tokens
    if left is None:
        left = goal.share(goal.policy.verbatim_share)
    sizes = weights(draft, goal, kept)
    start = len(sizes)
    while start and sizes[start - 1] <= left:
        start -= 1
        left -= sizes[start]
    return [at for at in range(start) if at not in kept.fresh | kept.guarded]


def _without_thinking(item: Item) -> Item | None:
    """Give a reply without its thinking; None if it has none, or has nothing else."""
    message = item.message
    if message.role != "assistant":
        return None
    rest = tuple(part for part in message.parts if not isinstance(part, ThinkPart))
    said = bool(message.calls) or any(
        not isinstance(part, TextPart) or part.text.strip() for part in rest
    )
    if len(rest) == len(message.parts) or not said:
        return None
    lighter = _lighter(item, rest)
    return lighter if lighter.tokens < item.tokens else None


def _without_media(item: Item, phrases: Phrases) -> Item | None:
    """Give a message with a line in the place of each medium; None if that saves nothing."""
    message = item.message
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ImagePart | AudioPart | VideoPart):
            record = phrases.record.format(n=message.seq)
            parts.append(TextPart(phrases.media[part_kind(part)].format(record=record)))
        else:
            parts.append(part)
    if parts == list(message.parts):
        return None
    lighter = _lighter(item, tuple(parts))
    return lighter if lighter.tokens < item.tokens else None


def part_kind(part: ImagePart | AudioPart | VideoPart) -> str:
    """Name a medium as `Phrases.media` does."""
    if isinstance(part, ImagePart):
        return "image"
    return "audio" if isinstance(part, AudioPart) else "video"


def _lighter(item: Item, parts: tuple[Part, ...]) -> Item:
    message: Message = item.message
    content = as_content(parts)
    return shortened(item, replace(message, content=content, elided=message.elided or NAME))
