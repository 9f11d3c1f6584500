"""The errors that minutebook raises, each with its facts and its own sentence.

Three blames: the caller (`InvalidMessage`, `CheckpointNotFound`, `ConfigError`,
`ContextOverflow`, `CompactionVetoed`), the stored bytes (`FormatError`), and the
world around (`SessionLocked`, `LogChanged`, `StoreError`, `CompactionFailed`).
Handlers read attributes, never the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class MinutebookError(Exception):
    """Root of every error that minutebook raises on purpose."""


class StoreError(MinutebookError):
    """The file system (or another store) refused, or what it holds cannot be used."""

    def __init__(self, what: str, *, path: str = "", remedy: str = "") -> None:
        """Say *what* went wrong, at which *path*, and what the reader may do."""
        self.what = what
        self.path = path
        self.remedy = remedy
        where = f"{path}: " if path else ""
        then = f"; {remedy}" if remedy else ""
        super().__init__(f"{where}{what}{then}")


class SessionLocked(StoreError):
    """Another writer holds the session."""

    def __init__(self, path: str, *, pid: int | None = None, host: str = "") -> None:
        """Name the session and, where the lock file says so, its holder."""
        self.pid = pid
        self.host = host
        holder = f"process {pid} on {host or 'this host'}" if pid else "another process"
        super().__init__(
            f"session is open for writing in {holder}",
            path=path,
            remedy='close it there, wait with lock_timeout, or open with mode="r"',
        )


class LogChanged(StoreError):
    """The log on disk is no longer the one that this session has read."""

    def __init__(self, what: str, *, path: str = "", written: bool = False) -> None:
        """Say *what* differs; *written* tells whether our own lines are in the log."""
        self.written = written
        ours = "our lines are in the log" if written else "nothing of ours was written"
        super().__init__(
            f"log was changed by another program ({what}), {ours}",
            path=path,
            remedy="call refresh() to read on, or open the session again",
        )


class CheckpointNotFound(MinutebookError):
    """No log of the lineage holds a checkpoint of that id."""

    def __init__(self, checkpoint: object, known: Sequence[int] = ()) -> None:
        """Name the id asked for and the ids that the live log holds."""
        self.checkpoint = checkpoint
        self.known = tuple(known)
        there = f"the live log has {_ranges(self.known)}" if self.known else "the live log has none"
        super().__init__(
            f"no checkpoint {checkpoint!r}: {there}; list them with session.context.checkpoints"
        )


class InvalidMessage(MinutebookError):
    """A message that may not be written: a wrong role, a missing call id, a wrong type."""

    def __init__(self, what: str) -> None:
        """Say what is wrong with the message."""
        self.what = what
        super().__init__(what)


class ContextOverflow(MinutebookError):
    """The request cannot be made to fit the window. Nothing was changed."""

    def __init__(
        self, *, tokens: int, limit: int, parts: Mapping[str, int], hint: str = ""
    ) -> None:
        """Give the size that was reached, the limit, and what takes the room (tokens by kind)."""
        self.tokens = tokens
        self.limit = limit
        self.parts = dict(parts)
        largest = sorted(self.parts.items(), key=lambda item: -item[1])
        taken = ", ".join(f"{name} {count}" for name, count in largest if count)
        then = hint or "raise the window, pin less, or shorten what is named first"
        super().__init__(f"{tokens} tokens do not fit into {limit} ({taken}); {then}")


class CompactionFailed(MinutebookError):
    """A compaction could not be done. Context and log are as before."""

    def __init__(self, reason: str) -> None:
        """Say why."""
        self.reason = reason
        super().__init__(f"compaction failed: {reason}; nothing was changed")


class CompactionVetoed(MinutebookError):
    """A hook refused the compaction. Context and log are as before."""

    def __init__(self, reason: str, *, hook: str = "") -> None:
        """Say why, and which hook it was."""
        self.reason = reason
        self.hook = hook
        by = f" by {hook}" if hook else ""
        super().__init__(f"compaction vetoed{by}: {reason}; nothing was changed")


class FormatError(MinutebookError):
    """Stored bytes are not of the format asked for, or of none that is known."""

    def __init__(
        self, what: str, *, path: str = "", line: int | None = None, byte: int | None = None
    ) -> None:
        """Say what is wrong and where: *line* counts from 1, *byte* from 0."""
        self.what = what
        self.path = path
        self.line = line
        self.byte = byte
        where = ":".join(str(part) for part in (path or None, line) if part is not None)
        at = f" (byte {byte})" if byte is not None else ""
        super().__init__(f"{where}: {what}{at}" if where else f"{what}{at}")


class ConfigError(MinutebookError):
    """A setting is missing or makes no sense; the message names the setting."""

    def __init__(self, setting: str, what: str) -> None:
        """Name the setting and say what is wrong with it."""
        self.setting = setting
        self.what = what
        super().__init__(f"{setting}: {what}")


def _ranges(ids: Sequence[int]) -> str:
    """Write sorted ids as ranges: 0-4, 7."""
    spans: list[list[int]] = []
    for number in sorted(set(ids)):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
