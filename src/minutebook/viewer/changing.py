"""What may be changed where the viewer was started to: by the session's own methods, one each.

A session is held only while it is changed. What an agent holds stays as it is.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from minutebook.cli.opening import check_session, is_session
from minutebook.config.values import Config
from minutebook.errors import CompactionFailed
from minutebook.reports import Proposal
from minutebook.store.names import LOCK, folder_of
from minutebook.sync import open_sync

LOCKS = Path("/proc/locks")
"""Where Linux says who holds which lock; elsewhere nobody knows before one tries."""
PREVIEWS_MAX = 8
ID_BYTES = 8


class Holder(Struct, frozen=True, kw_only=True):
    """The program that has a session open for writing."""

    pid: int | None
    host: str


class Preview(Struct, frozen=True, kw_only=True):
    """A compaction that was proposed and not yet done."""

    id: str
    path: Path
    focus: str
    target: float | None
    proposal: Proposal


class Changes:
    """Changes sessions, and remembers the previews of compactions that were shown last."""

    def __init__(self, config: Config) -> None:
        """Take the configuration by which sessions are compacted."""
        self._config = config
        self._previews: OrderedDict[str, Preview] = OrderedDict()

    def revert(self, path: Path, to: int, note: str) -> int:
        """Go back to a checkpoint; give the rotation that has the log before.

        Raises:
            CheckpointNotFound: If no log of the session has it.
            SessionLocked: If another program writes the session.
        """
        with self._writing(path) as session:
            return int(session.revert(to, note=note or None).number)

    def undo(self, path: Path, *, force: bool) -> int:
        """Take the last rewrite back; give the rotation that has the log before.

        Raises:
            NothingToUndo: If there is nothing to undo, or only with *force*.
            SessionLocked: If another program writes the session.
        """
        with self._writing(path) as session:
            return int(session.undo(force=force).number)

    def pin(self, path: Path, seq: int, *, pinned: bool) -> None:
        """Pin a message, or unpin it.

        Raises:
            InvalidMessage: If the context holds no message of that number.
            SessionLocked: If another program writes the session.
        """
        with self._writing(path) as session:
            session.pin(seq, pinned=pinned)

    def propose(self, path: Path, focus: str, target: float | None) -> Preview:
        """Work out what a compaction would do, and change nothing.

        Raises:
            ConfigError: If the window is not known.
            ContextOverflow: If it cannot be made to fit.
        """
        with _opened(path, mode="r", config=self._config) as session:
            proposal = session.compact(focus, target=target, dry_run=True)
        name = secrets.token_hex(ID_BYTES)
        found = Preview(id=name, path=path, focus=focus, target=target, proposal=proposal)
        self._previews[name] = found
        while len(self._previews) > PREVIEWS_MAX:
            self._previews.popitem(last=False)
        return found

    def apply(self, path: Path, name: str) -> int | None:
        """Do what was shown, if it is still what would be done.

        Gives the rotation that has the log before; None if there was nothing to do.

        Raises:
            CompactionFailed: If the session has moved on since, or the preview is not known.
            SessionLocked: If another program writes the session.
        """
        shown = self._previews.pop(name, None)
        if shown is None or shown.path != path:
            raise CompactionFailed("this preview is not known any more; look at a new one")
        with self._writing(path) as session:
            again = session.compact(shown.focus, target=shown.target, dry_run=True)
            old = shown.proposal
            if (again.history, again.pins, again.plan) != (old.history, old.pins, old.plan):
                raise CompactionFailed("the session has moved on since it was proposed")
            rotation = session.apply(again).rotation
        return None if rotation is None else int(rotation.number)

    @contextmanager
    def _writing(self, path: Path) -> Iterator[Any]:
        with _opened(path, mode="w", config=self._config) as session:
            yield session


def holder_of(path: Path, *, locks: Path = LOCKS) -> Holder | None:
    """Say who has a session open for writing; None if nobody has, or it cannot be told."""
    if not is_session(path):
        return None
    try:
        status = Path(folder_of(path), LOCK).stat()
        lines = locks.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for line in lines:
        words = line.split()
        if "FLOCK" in words and "->" not in words and device in words:
            pid = words[words.index(device) - 1]
            known = pid.isdigit() and int(pid) > 0
            return Holder(pid=int(pid) if known else None, host=socket.gethostname())
    return None


@contextmanager
def _opened(path: Path, **options: Any) -> Iterator[Any]:
    check_session(path)
    with open_sync(folder_of(path), create=False, **options) as session:
        yield session
