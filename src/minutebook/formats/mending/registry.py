"""Which formats can be mended, and how."""

from __future__ import annotations

from collections.abc import Callable

from minutebook.formats.mending import claude_code, codex
from minutebook.formats.mending.rows import Mended, joined, split

Mender = Callable[[bytes], Mended]


def of_lines(data: bytes) -> Mended:
    """Mend only the lines of a file: glued ones are split, torn ones set aside."""
    rows, actions, aside = split(data)
    whole = joined(rows) if actions else data
    return Mended(data=whole, actions=tuple(actions), aside=aside)


MENDERS: dict[str, Mender] = {
    "claude-code": claude_code.mend,
    "codex": codex.mend,
    "pi": of_lines,
    "kimi-code": of_lines,
}
"""By the format's name. Of the last two the lines alone."""
