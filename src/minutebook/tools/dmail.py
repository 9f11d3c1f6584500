"""`send_dmail`: a model's message to itself at an earlier checkpoint.

The tool only notes the message. Once the tools of the step have run, the session goes back to
the checkpoint and writes the message there. One message waits at a time. It dies with its
turn, with a clear, revert, undo or restore, and with a compaction after which its checkpoint
cannot be found; a checkpoint that a compaction has left behind is found in its rotation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from minutebook.errors import CheckpointNotFound
from minutebook.messages import Message, replace, user
from minutebook.records import Clear, Compaction, Fork
from minutebook.tools.offer import (
    BadArguments,
    Offer,
    number_argument,
    read_arguments,
    text_argument,
)
from minutebook.turns import is_real_user, origin_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from minutebook.context import Context
    from minutebook.lineage import Found
    from minutebook.records import Lineage

KNOWN_MAX = 20
"""How many checkpoints an answer names."""

OFFER = Offer(
    name="send_dmail",
    description=(
        "Send a message to yourself at an earlier checkpoint. The conversation goes back to "
        "that checkpoint, everything since is taken out of your memory, and the message is "
        "all you will know of it; files and other things that you changed stay as they are. "
        "Use it to drop long output that turned out to be useless, or a way that led nowhere: "
        "say what you found out, what you have done, and what to do next. Checkpoints are "
        "shown in the conversation as CHECKPOINT n."
    ),
    parameters={
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": "What you need to know there."},
            "checkpoint_id": {
                "type": "integer",
                "minimum": 0,
                "description": "The number of the checkpoint to go back to.",
            },
        },
        "required": ["message", "checkpoint_id"],
        "additionalProperties": False,
    },
)

SENT = (
    "The message is noted. If you read this, it has not been delivered: the conversation was "
    "not taken back, and all that you remember is still valid."
)
"""The tool's answer. It is only read where no revert follows."""

LEAD = (
    "This is a message that you sent to yourself from later on. What happened after this point "
    "is not in your memory any more, though what you did to files and other things is done. "
    "The user does not know about it; do not mention it, go on from here:"
)


class Pending(Struct, frozen=True, kw_only=True):
    """A message that waits for its delivery."""

    message: str
    checkpoint: int
    sent_at: int
    """The number that was free when it was sent: a person's message from there on ends its turn."""
    rewrite: Lineage | None
    """The rewrite that the log had come from when it was sent."""


class Mailbox:
    """The one D-Mail of a session that may be waiting."""

    def __init__(self, find: Callable[[int], Found], context: Callable[[], Context]) -> None:
        """Take what finds a checkpoint in the lineage, and what gives the context.

        *find* raises `CheckpointNotFound` as `lineage.find_checkpoint` does.
        """
        self._find = find
        self._context = context
        self._pending: Pending | None = None

    @property
    def pending(self) -> Pending | None:
        """The message that waits; None if there is none, or if it has died.

        It dies when a person writes the next message, and with every rewrite of the log but a
        compaction.
        """
        if self._pending is not None and not _lives(self._pending, self._context()):
            self._pending = None
        return self._pending

    def handle(self, arguments: str | Mapping[str, Any] | None) -> str:
        """Answer a call of the tool; the text is for the model, whatever happened."""
        try:
            given = read_arguments(arguments)
            message = text_argument(given, "message")
            checkpoint = number_argument(given, "checkpoint_id")
            self._check(checkpoint)
        except BadArguments as error:
            return f"Not sent. {error}"
        if self.pending is not None:
            return "Not sent. Another message is waiting already; only one can be sent at a time."
        context = self._context()
        self._pending = Pending(
            message=message,
            checkpoint=checkpoint,
            sent_at=context.next_seq,
            rewrite=_last_rewrite(context),
        )
        return SENT

    def due(self) -> Pending | None:
        """Give the message that can be delivered now; it waits until `drop`.

        One whose checkpoint cannot be gone back to any more is dropped; then None.
        """
        waiting = self.pending
        if waiting is None:
            return None
        try:
            self._check(waiting.checkpoint)
        except BadArguments:
            self._pending = None
            return None
        return waiting

    def drop(self) -> None:
        """Forget the waiting message."""
        self._pending = None

    def _check(self, checkpoint: int) -> None:
        """Refuse a checkpoint that is not in the past, or that would take the task away."""
        context = self._context()
        try:
            found = self._find(checkpoint)
        except CheckpointNotFound as error:
            raise _unknown(checkpoint, context) from error
        if found.source is not None and was_left_for_good(context, checkpoint):
            raise _unknown(checkpoint, context)
        if not keeps_task(context, found):
            raise BadArguments(
                f"Checkpoint {checkpoint} stands before the user's task, or before the summary "
                "that tells of it; choose a later one."
            )


def letter(pending: Pending) -> Message:
    """Make the message that is delivered."""
    return replace(user(f"<system>{LEAD}</system>\n\n{pending.message}"), origin="dmail")


def was_left_for_good(context: Context, checkpoint: int) -> bool:
    """Tell whether a checkpoint that is not in the live log is in no past of it.

    It was left behind by a clear, or lies in a branch that a revert has undone. What a
    compaction left behind is the past still.
    """
    for record in context.lineage:
        if isinstance(record, Compaction | Fork) or record.next is None:
            continue
        first = 0 if isinstance(record, Clear) else record.to
        if first is not None and first <= checkpoint < record.next.checkpoint:
            return True
    return False


def keeps_task(context: Context, found: Found) -> bool:
    """Tell whether going back to a checkpoint leaves the user's task, or a summary of it.

    In the live log a summary before the checkpoint stands for all that came before; in a log
    that was left the task itself, the first message of a person that is still sent, has to
    be there.
    """
    kept = found.context.history[: found.mark.messages]
    summarised = any(map(_is_summary, kept))
    if summarised and found.source is None:
        return True
    task = next(filter(is_real_user, context.history), None)
    if task is None:
        told = any(map(_is_summary, context.history))
        return not told or summarised or any(map(is_real_user, kept))
    return any(message.seq == task.seq and is_real_user(message) for message in kept)


def _is_summary(message: Message) -> bool:
    return origin_of(message) == "summary"


def _lives(pending: Pending, context: Context) -> bool:
    """Tell whether the turn of a message goes on, in the log that it was sent in."""
    rewrite = _last_rewrite(context)
    if rewrite != pending.rewrite and not isinstance(rewrite, Compaction):
        return False
    for message in reversed(context.history):
        if (message.seq or 0) < pending.sent_at:
            # A compaction puts what it made before what is newer, so there may be more.
            continue
        if is_real_user(message):
            return False
    return True


def _last_rewrite(context: Context) -> Lineage | None:
    """Give the newest rewrite that the log has come from; a fork is none."""
    records = [record for record in context.lineage if not isinstance(record, Fork)]
    return records[-1] if records else None


def _unknown(checkpoint: int, context: Context) -> BadArguments:
    last = [str(mark.id) for mark in context.checkpoints[-KNOWN_MAX:]]
    known = f"The last ones are: {', '.join(last)}." if last else "There is none at all."
    return BadArguments(f"There is no checkpoint {checkpoint}. {known}")
