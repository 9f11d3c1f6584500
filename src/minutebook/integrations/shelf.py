"""The sessions below one folder, for a program that asks by name: plain values and texts.

Each call opens the session that it needs and closes it again, so an agent that writes a session
is in nobody's way for longer than that. Names are paths below the root and never leave it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import minutebook
from minutebook.errors import StoreError
from minutebook.store.listing import Listed, list_sessions
from minutebook.store.names import LOG
from minutebook.tools.originals import whole_text
from minutebook.tools.recall import RECORDS_MAX, Recall
from minutebook.tools.search import search, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractAsyncContextManager

    from minutebook.messages import Message
    from minutebook.records import Rotated
    from minutebook.session import Session

LOCK_SECONDS = 2.0
"""How long a change waits for the session's writer."""
LISTED_MAX = 200
"""How many sessions a list holds at most."""
SEARCHED_MAX = 50
"""How many sessions a search without a name looks through, the last written first."""
FOUND_MAX = 5
"""How many sessions such a search tells of."""
FOUND_TOKENS = 800
"""How much it tells of each."""


class Shelf:
    """The sessions at and below a folder."""

    def __init__(self, root: Path, *, window: int | None = None) -> None:
        """Take the folder, and the window that holds for all sessions, if it is said.

        Raises:
            StoreError: If there is no such folder.
        """
        self._root = root.resolve()
        self._window = window
        if not self._root.is_dir():
            raise StoreError(
                "no such folder", path=str(root), remedy="name one that holds sessions"
            )

    def sessions(self, query: str = "", *, limit: int = LISTED_MAX) -> list[dict[str, Any]]:
        """List sessions, the last written first; with a query those whose title or path has it."""
        wanted = query.casefold()
        found = [
            listed
            for listed in self._listed()
            if wanted in listed.title.casefold() or wanted in listed.path.casefold()
        ]
        return [
            {
                "session": listed.path,
                "title": listed.title,
                "agent": listed.agent,
                "modified": listed.modified,
                "messages": listed.messages,
                "tokens": listed.tokens,
                "rotations": listed.rotations,
                "problem": listed.problem,
            }
            for listed in found[: max(0, min(limit, LISTED_MAX))]
        ]

    async def search(self, query: str, session: str | None = None) -> str:
        """Look for words in everything ever written, of one session or of the newest ones.

        Raises:
            StoreError: If the session is not there or cannot be read.
        """
        if session is not None:
            async with self._reading(session) as opened:
                return _recall(opened.history(full=True), {"query": query})
        words = words_of(query)
        told: list[str] = []
        for listed in self._listed()[:SEARCHED_MAX]:
            if listed.problem or len(told) == FOUND_MAX:
                continue
            async with self._reading(listed.path) as opened:
                history = opened.history(full=True, partial=True)
            if search([whole_text(message) for message in history], words):
                text = _recall(history, {"query": query}, tokens_max=FOUND_TOKENS)
                told.append(f"Session {listed.path} ({listed.title}):\n\n{text}")
        return "\n\n".join(told) or "Nothing was found."

    async def read(self, session: str, records: Sequence[int], from_character: int = 0) -> str:
        """Give records word for word, as far as there is room in one answer.

        Raises:
            StoreError: If the session is not there or cannot be read.
        """
        async with self._reading(session) as opened:
            asked = {"records": list(records), "from_character": from_character}
            return _recall(opened.history(full=True), asked)

    async def expand(self, session: str, record: int) -> str:
        """Give the originals that a summary or notice stands for.

        Raises:
            InvalidMessage: If no compaction wrote that record.
            StoreError: If the session or the rotation is not there.
        """
        async with self._reading(session) as opened:
            numbers = [m.seq for m in opened.expand(record) if m.seq is not None]
            shown = numbers[:RECORDS_MAX]
            head = f"Record {record} stands for {len(numbers)} records"
            if not numbers:
                return f"{head}."
            text = _recall(opened.history(full=True), {"records": shown})
            return f"{head}, {numbers[0]} to {numbers[-1]}.\n\n{text}"

    async def status(self, session: str) -> dict[str, Any]:
        """Say how large the context is, what it holds, and what one can go back to.

        Raises:
            StoreError: If the session is not there or cannot be read.
        """
        async with self._reading(session) as opened:
            size, context = opened.size(), opened.context
            window = opened.settings.known_window()
            return {
                "session": session,
                "tokens": size.tokens,
                "tokens_source": size.source,
                "window": window,
                "share": None if window is None else round(size.tokens / window, 4),
                "by_kind": opened.usage(),
                "messages": len(context.history),
                "checkpoints": [
                    {"id": mark.id, "label": mark.label or ""} for mark in context.checkpoints
                ],
                "rotations": len(opened.rotations()),
                "problems": [problem.what for problem in opened.problems],
            }

    async def checkpoint(self, session: str, label: str | None = None) -> dict[str, Any]:
        """Set a mark that `revert` can go back to.

        Raises:
            SessionLocked: If another program writes the session.
            StoreError: If it is not there or cannot be written.
        """
        async with self._writing(session) as opened:
            return {"session": session, "checkpoint": await opened.checkpoint(label)}

    async def revert(self, session: str, to: int, note: str | None = None) -> dict[str, Any]:
        """Go back to just before a checkpoint; the log before stays as a rotation.

        Raises:
            CheckpointNotFound: If there is no such checkpoint.
            SessionLocked: If another program writes the session.
            StoreError: If it is not there or cannot be written.
        """
        async with self._writing(session) as opened:
            rotation = await opened.revert(to, note=note)
            return {
                "session": session,
                "reverted_to": to,
                "rotation": _number(rotation),
                "messages": len(opened.context.history),
            }

    async def compact(
        self, session: str, focus: str = "", target: float | None = None
    ) -> dict[str, Any]:
        """Make the context smaller; the log before stays as a rotation.

        Raises:
            ConfigError: If the window is not known, or *target* is no share of it.
            ContextOverflow: If it cannot be made to fit.
            SessionLocked: If another program writes the session.
            StoreError: If it is not there or cannot be written.
        """
        if target is not None and not (math.isfinite(target) and 0 < target < 1):
            raise minutebook.ConfigError("target", f"{target} is no share between 0 and 1")
        async with self._writing(session) as opened:
            done = await opened.compact(focus, target=target)
            return {
                "session": session,
                "changed": done.changed,
                "tokens_before": done.tokens_before,
                "tokens_after": done.tokens_after,
                "rotation": _number(done.rotation),
            }

    def _listed(self) -> list[Listed]:
        return list_sessions(str(self._root), cached=False)

    def _folder(self, session: str) -> Path:
        """Give a session's folder.

        Raises:
            StoreError: If the name leads out of the root.
        """
        folder = (self._root / session).resolve() if "\0" not in session else self._root.parent
        if not folder.is_relative_to(self._root):
            raise StoreError(
                "is not below the folder that is served", path=session, remedy="list the sessions"
            )
        return folder

    def _reading(self, session: str) -> AbstractAsyncContextManager[Session]:
        folder = self._folder(session)
        return minutebook.open(folder, mode="r", create=False, window=self._window)

    def _writing(self, session: str) -> AbstractAsyncContextManager[Session]:
        folder = self._folder(session)
        if not (folder / LOG).is_file():
            # Opening to write would leave a lock file in a folder that is none of ours.
            raise StoreError("no such session", path=session, remedy="list the sessions")
        return minutebook.open(folder, create=False, window=self._window, lock_timeout=LOCK_SECONDS)


def _recall(history: Sequence[Message], asked: dict[str, Any], **options: int) -> str:
    return Recall(lambda: history, **options).handle(asked)


def _number(rotation: Rotated | None) -> int | None:
    return None if rotation is None else rotation.number
