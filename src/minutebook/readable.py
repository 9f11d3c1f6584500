"""What can be read of a session: context, history, sizes, and what would be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minutebook.following import follow
from minutebook.providers.view import make_view, marked
from minutebook.retired import expanded, full_messages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from minutebook.context import Context
    from minutebook.counting import Counting
    from minutebook.journal import Journal
    from minutebook.lines import Problem
    from minutebook.messages import Message
    from minutebook.providers.view import View
    from minutebook.records import Record
    from minutebook.reports import Settings
    from minutebook.store.contract import Rotation, Store
    from minutebook.tokens.calibration import Size


class Readable:
    """The reading half of a session; `session.Session` adds what writes."""

    def __init__(self, journal: Journal, counting: Counting) -> None:
        """Take what keeps log and context in step, and what knows the sizes."""
        self._journal = journal
        self._counting = counting
        self._settled: frozenset[tuple[int, str]] = frozenset()

    @property
    def context(self) -> Context:
        """The fold of the log. A new object after every rewrite but a revert."""
        return self._journal.context

    @property
    def settings(self) -> Settings:
        """Window, model, tools and policy."""
        return self._counting.settings

    @property
    def store(self) -> Store:
        """The store below."""
        return self._journal.store

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was wrong with the stored bytes when they were last read."""
        return tuple(self.store.problems)

    def replay(self) -> None:
        """Fold the whole log anew. Called on opening."""
        self._journal.replay()

    def refresh(self) -> None:
        """Read on after `LogChanged`: take the log as it now is on disk."""
        self._journal.refresh()
        self._settled = frozenset()

    def follow(self) -> AsyncIterator[Record]:
        """Give each record that another process appends, once it is whole; for ever.

        For a session that is open for reading. After a rewrite its own record and the
        messages that are new are given.
        """
        self._journal.check()
        return follow(self.store)

    def view(self) -> View:
        """Give what is sent to the model: valid for its provider, stable between compactions."""
        self._journal.check()
        view = make_view(self.context.system_prompt, self.context.history, settled=self._settled)
        self._settled |= marked(view)
        return view

    @property
    def used(self) -> int:
        """The size of the next request in tokens, as well as it is known."""
        return self.size().tokens

    def size(self) -> Size:
        """Give the size of the next request: tokens, spread, and how it is known."""
        self._journal.check()
        return self._counting.size()

    def usage(self) -> dict[str, int]:
        """Give the estimate of the whole request by kind, in tokens."""
        self._journal.check()
        return self._counting.by_kind()

    def history(self, *, full: bool = False, partial: bool = False) -> tuple[Message, ...]:
        """Give the messages of the context; with *full*, of every log of the session, once each.

        Full history is in order of `seq`, the original in place of its shortened copy; its
        messages that the context no longer holds have `active` False. *partial* allows that a
        rotation is missing.

        Raises:
            StoreError: If a rotation that the lineage names is missing, unless *partial*.
        """
        self._journal.check()
        if not full:
            return self.context.history
        return full_messages(self.store, self.context, partial=partial)

    def expand(self, seq: int) -> tuple[Message, ...]:
        """Give the originals that the summary or notice of that number stands for, in order.

        Raises:
            InvalidMessage: If no compaction wrote a message of that number.
            StoreError: If the rotation that holds them is missing or was changed.
        """
        self._journal.check()
        return expanded(self.store, self.context, seq)

    def rotations(self) -> list[Rotation]:
        """List the retired logs, oldest first."""
        self._journal.check()
        return self.store.rotations()
