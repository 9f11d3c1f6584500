"""The session: the one place where log, context and compaction meet.

It says in what order things happen, never how: `journal` keeps log and context in step,
`counting` knows the sizes, `compactor` compacts, `operations` work out the rewrites.
"""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, Any, Literal, overload

from minutebook import operations, rewrites
from minutebook.compactor import NOTHING, Compactor, Order
from minutebook.companions import Companions
from minutebook.counting import Counting
from minutebook.drafts import numbered
from minutebook.errors import CompactionFailed
from minutebook.journal import Journal
from minutebook.preparing import Preparing
from minutebook.providers.overflow import classify
from minutebook.records import Tag
from minutebook.recovery import bring_back, holds_whole
from minutebook.retired import load_number
from minutebook.tools.dmail import Mailbox, letter
from minutebook.writable import Writable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from minutebook.lineage import Found
    from minutebook.messages import Message
    from minutebook.providers.view import View
    from minutebook.records import Rotated
    from minutebook.reports import Compacted, Explanation, Proposal, Settings
    from minutebook.rewrites import Operation
    from minutebook.store.collecting import Retention
    from minutebook.store.contract import Store

    Clock = Callable[[], float]

NO_COMPANIONS = Companions()
OVERFLOW_SHARE = 0.95
"""What is believed of a request's size as the window, where the error does not name it."""


class Session(Writable):
    """One conversation: its log, its context, and what is sent of it.

    Belongs to the event loop, thread and process that opened it. Every method may be
    cancelled at any await; what was begun on disk is finished first, so the session stays
    whole. Make it with `minutebook.open`.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        companions: Companions = NO_COMPANIONS,
        clock: Clock = time.time,
    ) -> None:
        """Take a store whose log has not been read yet; `replay` reads it."""
        journal = Journal(store)
        super().__init__(journal, Counting(journal, settings), companions, clock)
        self._compactor = Compactor(journal, self._counting, companions, clock=clock)
        self._preparing = Preparing(journal, self._counting, self._compactor, companions)
        self.mailbox = Mailbox(self._find, lambda: self.context)
        """What handles the tool `send_dmail`; `deliver` sends what waits in it."""

    async def pin(self, seq: int, *, pinned: bool = True) -> None:
        """Pin a message, so that it survives every compaction word for word; or unpin it.

        One that a compaction has already summarised, shortened or left out comes back from its
        rotation, with its exchange and at its place, by one rewrite.

        Raises:
            InvalidMessage: If there is no message of that number, or a revert or a clear has
                left it behind.
        """
        await self._journal.ready()
        if not pinned or holds_whole(self.context, seq):
            await self._tag(Tag(seq=seq, content=f"marks message {seq}", pin=pinned))
            self._preparing.look()
            return
        await self._journal.rewrite(
            lambda: bring_back(self.context, self.store, seq, self._counting, at=self._clock())
        )
        self._settled = frozenset()
        self._preparing.look()

    async def revert(self, to: int, *, note: str | None = None) -> Rotated:
        """Go back to just before checkpoint *to*, which is dropped with all after it.

        A checkpoint that a clear or a compaction left behind is found in its rotation. *note*
        is told to the model. Gives the rotation that the log before has become.

        Raises:
            CheckpointNotFound: If no log of the session holds it; nothing is changed.
        """
        told = None if note is None else operations.noticed(note)
        return await self._revert(to, told, "revert")

    async def undo(self, *, force: bool = False) -> Rotated:
        """Take the last revert, clear, restore or compaction back; twice goes further back.

        Of a compaction the older log comes back with everything appended since. Of the others,
        messages that came after are left behind (in a rotation), and only if *force* is given.

        Raises:
            NothingToUndo: If there is nothing to undo, or only with *force*.
            StoreError: If the rotation is missing or not the one that was left.
        """
        return await self._rewrite(
            lambda: operations.undo_operation(
                self.context, self.store, force=force, at=self._clock()
            )
        )

    async def restore(self, number: int) -> Rotated:
        """Bring a rotation back whole; what the log was becomes a rotation.

        Raises:
            StoreError: If there is no such rotation.
        """

        def build() -> Operation:
            target, size = load_number(self.store, number)
            return rewrites.restore(
                self.context,
                target,
                number=number,
                keep=size,
                reason="restore",
                at=self._clock(),
                read=operations.reading(self.store),
            )

        return await self._rewrite(build)

    async def clear(self) -> Rotated:
        """Leave every message behind, in a rotation; the system prompt stays."""

        def build() -> Operation:
            return rewrites.clear(self.context, notes=self._notes(), at=self._clock())

        return await self._rewrite(build)

    @overload
    async def compact(
        self, focus: str = "", *, target: float | None = None, dry_run: Literal[False] = False
    ) -> Compacted: ...

    @overload
    async def compact(
        self, focus: str = "", *, target: float | None = None, dry_run: Literal[True]
    ) -> Proposal: ...

    async def compact(
        self, focus: str = "", *, target: float | None = None, dry_run: bool = False
    ) -> Compacted | Proposal:
        """Make the context smaller now, by the policy's ladder; one rewrite.

        *focus* is what the summary should look at first; *target* is the share of the window
        that is to be left, in place of the policy's. *dry_run* changes nothing and gives what
        `propose` does.

        Raises:
            ConfigError: If the window is not known.
            CompactionVetoed: If a hook says no.
            ContextOverflow: If it cannot be made to fit; nothing is changed.
        """
        if dry_run:
            return await self.propose(focus, target=target)
        return await self._compacted(Order(trigger="manual", focus=focus, target=target))

    async def condense(self, text: str) -> Compacted:
        """Make a text that a person has approved the summary of all that need not stay.

        Word for word, whatever its checks say; pins, exchanges that are not over and what the
        user wrote last stay beside it, with a ledger of names that it leaves out. See
        `tools.condense`, whose proposals this commits.

        Raises:
            CompactionFailed: If it is blank, or not smaller than what it would replace.
            CompactionVetoed: If a hook says no.
            ConfigError: If the window is not known.
            ContextOverflow: If it cannot be made to fit. Whatever is raised, nothing is changed.
        """
        if not text.strip():
            raise CompactionFailed("a blank text is no summary")
        return await self._compacted(Order(trigger="condense", approved=text.strip()))

    async def propose(self, focus: str = "", *, target: float | None = None) -> Proposal:
        """Plan what `compact` would do, and change nothing. `apply` commits it.

        Raises:
            ConfigError: If the window is not known.
            ContextOverflow: If it cannot be made to fit.
        """
        return await self._compactor.propose(Order(trigger="manual", focus=focus, target=target))

    async def apply(self, proposal: Proposal) -> Compacted:
        """Commit a proposal.

        Raises:
            CompactionFailed: If the session has moved on since; nothing is changed.
            CompactionVetoed: If a hook says no.
        """
        done = await self._compactor.apply(proposal)
        self._forget_marked(done)
        return done

    async def fit(
        self,
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_output: int | None = None,
        *,
        background: bool | None = None,
    ) -> View:
        """Compact if it is due, then give what is to be sent. Call it before each model call.

        Injection providers are asked for their text first; `explain` says afterwards what was
        done and why. With *background* a model's summary is prepared while the agent works, and
        committed by a later `fit`; the limit alone is waited for (see `preparing`). None: as
        the configuration says.

        Raises:
            ConfigError: If the window is not known.
            CompactionVetoed: If a hook says no, and the request may not be sent as it is.
            ContextOverflow: If it cannot be made to fit; nothing is changed.
        """
        self._journal.check()
        settings = self.settings
        if tools is not None:
            settings = settings.but(tools=tuple(tools))
        if max_output is not None:
            settings = settings.but(max_output=max_output)
        self._counting.settings = settings
        injected = list(self._companions.injected(self.context))
        if injected:
            await self.append(*injected)
        standing = NOTHING
        if settings.background_fraction is not None if background is None else background:
            standing = await self._preparing.advance()
        self._forget_marked(await self._compactor.make_room(standing))
        return self.view()

    async def overflowed(self, error: object) -> bool:
        """Take a provider's error as the truth about the window; tell whether it was overflow.

        Of an overflow the believed window is lowered, for good, and the context is made
        smaller than what was refused; call `fit` again and send what it gives. Any other
        error changes nothing.

        Raises:
            ContextOverflow: If it cannot be made to fit; nothing is changed.
        """
        fault = classify(error)
        if fault.kind != "context_overflow":
            return False
        size = fault.input_tokens or self.used
        window = fault.window_tokens or int(OVERFLOW_SHARE * size)
        known = self.settings.known_window()
        if known is None or window < known:
            self._counting.settings = self.settings.but(learned_window=window)
            operations.remember_window(self.store, window)
        await self._compacted(Order(trigger="overflow"))
        return True

    def explain(self) -> Explanation | None:
        """Say why the last `fit` did what it did, with the numbers; None before the first."""
        return self._compactor.explanation

    async def deliver(self) -> bool:
        """Deliver the waiting D-Mail, if there is one: revert, checkpoint, message; one rewrite.

        Call it once the tools of a step have run and their results are appended. Where it
        fails nothing is changed, and the message goes on waiting.

        Raises:
            StoreError: If it could not be written.
        """
        self._journal.check()
        pending = self.mailbox.due()
        if pending is None:
            return False
        await self._revert(pending.checkpoint, letter(pending), "dmail", mark_anew=True)
        return True

    async def fork(self, destination: str | os.PathLike[str], *, at: int | None = None) -> None:
        """Make a new session in a new folder, a copy of this one up to checkpoint *at*.

        Rotations are linked, or copied where they cannot be.

        Raises:
            CheckpointNotFound: If no log of the session holds that checkpoint.
            StoreError: If the folder exists or cannot be written.
        """

        async def work() -> None:
            operations.fork_session(
                self.store,
                self.context,
                os.fspath(destination),
                at=at,
                size=self._journal.good_size,
                at_time=self._clock(),
            )

        await self._journal.alone(work)

    async def collect(self, retention: Retention) -> int:
        """Compress and remove rotations as *retention* says; give the bytes freed.

        Raises:
            StoreError: If something failed; every rotation is then still readable.
        """

        async def work() -> int:
            return self.store.collect(
                operations.needed_rotations(self.store, self.context),
                retention,
                now=self._clock(),
                seconds=math.inf,
            )

        return await self._journal.alone(work)

    async def close(self) -> None:
        """Wait for what is under way, then give up descriptors and the lock. Idempotent.

        A summary that is being prepared is given up.

        Rotations are tidied up before, for as long as the retention allows.
        """
        retention = self.settings.retention
        tidy = None
        if retention is not None:
            tidy = operations.tidying(self.store, self.context, retention, now=self._clock())
        await self._preparing.close()
        await self._journal.close(tidy)

    # What follows is called by the methods above only.

    def _find(self, checkpoint: int) -> Found:
        return operations.find(self.store, self.context, checkpoint)

    def _notes(self, *messages: Message | None) -> list[Message]:
        """Give what a rewrite tells the model: notes, and the tasks that still run."""
        told = [item for item in (*messages, self._companions.snapshot()) if item is not None]
        return numbered(told, self.context.next_seq, self._clock())

    async def _revert(
        self, to: int, message: Message | None, reason: str, *, mark_anew: bool = False
    ) -> Rotated:
        def build() -> Operation:
            marker = None
            if mark_anew and self._shows_checkpoints:
                marker = operations.checkpoint_marker(self.context.next_checkpoint_id)
            return rewrites.revert(
                self.context,
                self._find(to),
                notes=self._notes(marker, message),
                reason=reason,
                at=self._clock(),
                read=operations.reading(self.store),
                mark_anew=mark_anew,
            )

        return await self._rewrite(build)

    async def _rewrite(self, build: Callable[[], Operation]) -> Rotated:
        rotated = await self._journal.rewrite(build)
        self._settled = frozenset()
        self.mailbox.drop()
        self._preparing.look()
        return rotated

    async def _compacted(self, order: Order) -> Compacted:
        done = await self._compactor.compact(order)
        self._forget_marked(done)
        return done

    def _forget_marked(self, done: Compacted | None) -> None:
        """What was sent as a marked result may be replaced after a compaction."""
        if done is not None and done.changed:
            self._settled = frozenset()
