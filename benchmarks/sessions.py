"""Recorded sessions of other agents as histories: every message of the branch, each with its seq.

What stands here is what an agent that never compacted would have in its context: summaries by
the agent itself are left out, results that it sends shortened are whole, and nothing but
messages counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from minutebook.errors import MinutebookError
from minutebook.formats.reading import read
from minutebook.messages import Message, replace
from minutebook.tokens.estimate import estimate_message
from minutebook.turns import origin_of

FILE_BYTES_MIN = 60_000
"""A smaller file holds no session that is long enough to be measured."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """One recorded conversation."""

    name: str
    """Agent and file, short enough for a table."""
    messages: tuple[Message, ...]
    """Each with its `seq`, from 1."""
    sizes: tuple[int, ...]
    """The estimate of each message, in tokens."""

    @property
    def tokens(self) -> int:
        """All messages together."""
        return sum(self.sizes)


def sessions(paths: Iterable[Path], *, tokens_min: int = 0) -> list[Session]:
    """Read all sessions in files and folders that have so many tokens, in order of their paths."""
    found = [session(name, branch) for name, branch in read_all(paths)]
    return [one for one in found if one.tokens >= tokens_min]


def read_all(paths: Iterable[Path]) -> Iterator[tuple[str, tuple[Message, ...]]]:
    """Give the name and the branch of every session in files and folders, summaries included."""
    for path in paths:
        for file in sorted(path.rglob("*.json*")) if path.is_dir() else [path]:
            if file.stat().st_size < FILE_BYTES_MIN:
                continue
            try:
                reading = read(file)
            except MinutebookError:
                continue
            yield f"{reading.format} {file.stem}", reading.branch


def session(name: str, messages: Iterable[Message]) -> Session:
    """Number the messages and count them; summaries by the agent itself are left out."""
    kept = [message for message in messages if origin_of(message) != "summary"]
    numbered = tuple(
        replace(message, seq=seq, active=True, elided="") for seq, message in enumerate(kept, 1)
    )
    return Session(name=name, messages=numbered, sizes=tuple(map(estimate_message, numbered)))
