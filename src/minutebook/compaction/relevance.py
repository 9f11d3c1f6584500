"""How near a text is to what the work is about now, by a caller's embeddings. Pure.

Without embeddings, nearness is the words that a text shares with the focus that somebody has
spoken (`digest.entries.focused`). With them, the focus is that, the last request and the last
reply together, and every line is compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING

from minutebook.turns import is_real_user

if TYPE_CHECKING:
    from minutebook.compaction.plan import Embed, Request

NEARNESS_WEIGHT = 2.0
"""A line that is all about the focus is worth three times as much as one beside it."""

FOCUS_CHARS_MAX = 2_000
"""How much of a request and of a reply the focus is made of."""


class Relevance:
    """Compares lines with the focus; each text is embedded once.

    A caller's function that raises, or gives what are no vectors, has said nothing: then no line
    is nearer than another.
    """

    def __init__(self, focus: str, embed: Embed) -> None:
        """Take the focus as a text, and the caller's function."""
        self._embed = embed
        self._known: dict[str, Sequence[float]] = {}
        self._focus = focus

    def factors(self, texts: Sequence[str]) -> list[float]:
        """Give by what each text's worth is multiplied: from 1 to 1 + `NEARNESS_WEIGHT`."""
        if not texts:
            return []
        try:
            return self._factors(texts)
        except Exception:  # noqa: BLE001 - the caller's code; what it says is a hint
            return [1.0] * len(texts)

    def _factors(self, texts: Sequence[str]) -> list[float]:
        new = [text for text in dict.fromkeys((self._focus, *texts)) if text not in self._known]
        if new:
            self._known.update(zip(new, self._embed(new), strict=True))
        focus = self._known[self._focus]
        return [
            1.0 + NEARNESS_WEIGHT * max(cosine(focus, self._known[text]), 0.0) for text in texts
        ]


def relevance(request: Request) -> Relevance | None:
    """Give what compares lines with a request's focus; None without embeddings."""
    if request.embed is None:
        return None
    spoken = [message.text for message in request.history if is_real_user(message)]
    replies = [message.text for message in request.history if message.role == "assistant"]
    parts = [request.focus, *(texts[-1][:FOCUS_CHARS_MAX] for texts in (spoken, replies) if texts)]
    focus = "\n".join(part for part in parts if part.strip())
    return Relevance(focus, request.embed) if focus else None


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Give the cosine of two vectors; 0 if one of them is nothing."""
    product = sum(a * b for a, b in zip(one, other, strict=True))
    lengths = sqrt(sum(a * a for a in one) * sum(b * b for b in other))
    return product / lengths if lengths else 0.0
