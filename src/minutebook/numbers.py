"""The numbers of messages and checkpoints, counted without keeping the messages. Pure.

The same rules as `Context`, which counts for itself since it is on the path of every opening.
"""

from __future__ import annotations

from minutebook.codec import SEQ_LIMIT
from minutebook.messages import Message
from minutebook.records import Checkpoint, Clear, Compaction, Fork, Next, Record, Revert


class Numbers:
    """What number each message has, and which are free behind the last record."""

    def __init__(self) -> None:
        """Begin before the first record."""
        self._seq = 1
        self._checkpoint = 0

    @property
    def following(self) -> Next:
        """The free numbers."""
        return Next(checkpoint=self._checkpoint, seq=self._seq)

    def take(self, record: Record) -> int:
        """Count one record; give a message's number, and 0 for any other record."""
        if isinstance(record, Message):
            seq = record.seq
            if seq is None or not 0 < seq < SEQ_LIMIT:
                seq = self._seq
            self._seq = max(self._seq, seq + 1)
            return seq
        if isinstance(record, Checkpoint):
            self._checkpoint = max(self._checkpoint, record.id + 1)
        elif isinstance(record, Compaction | Revert | Clear | Fork) and record.next is not None:
            self._seq = max(self._seq, min(record.next.seq, SEQ_LIMIT))
            self._checkpoint = max(self._checkpoint, record.next.checkpoint)
        return 0
