"""What reading a session file gives: the common value of all formats. Pure.

Every agent keeps three views apart, each in its own way, and so does `Reading`: what would be
sent next (`records`, `sent`), the active branch with what compactions hid (`branch`), and
everything ever written (`everything`). Of a view's messages those that would not be sent have
`active` false, as in a session's full history.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from minutebook.errors import FormatError
from minutebook.formats.source import Source
from minutebook.lines import Problem
from minutebook.messages import Message, replace
from minutebook.records import Record
from minutebook.tokens.spent import Spent

Why = Literal["compacted", "abandoned", "unsent", "blanked"]


class LeftOut(Struct, frozen=True, kw_only=True):
    """A message that the file holds and that would not be sent."""

    message: Message
    before: int
    """The index, among the messages of `Reading.records`, of the one it stands in front of."""
    why: Why
    """`compacted`: older than the last compaction, or hidden by a truncation. `abandoned`: on a
    branch that was left. `unsent`: on the active branch, but of a kind that the agent keeps for
    itself, as a reply that was cut off. `blanked`: the whole form of the message at index
    `before`, which the agent sends shortened."""


class Reading(Struct, frozen=True, kw_only=True):
    """One conversation of a session file."""

    format: str
    """The name of the format, one of `reading.FORMATS`."""
    evidence: str
    """One sentence: by what the format was recognised."""
    records: tuple[Record, ...]
    """What would be sent next, as records to append to a log: the system prompt, messages without
    `seq`, the usage behind the reply it belongs to, a checkpoint before each real user turn. Of
    our own logs and Kimi CLI's: the records of the file."""
    left_out: tuple[LeftOut, ...] = ()
    """The other messages of the file, in the order of writing; `before` never falls but for
    `blanked` ones."""
    counts: dict[str, int] = {}
    """How many there are of what a user may want to know, by name; no entry for none.

    Of what is sent: `images`, `sounds`, `films`, `unknown_parts`, `blanked` results, `made_up_ids`
    of calls that had none, `opaque` summaries that only their provider can read. Of the file:
    `conversations`, `compactions`, `microcompactions`, `truncations`, `reverts`, `branches` left
    and the `abandoned` messages on them, `unsent` messages, `aborts` of turns, `demonstrations`,
    `rotations`, `subagents`. Of what is left out altogether: `sidechain` messages of sub-agents,
    `client_replies` (errors), `only_shown` records, `attachments` but for what a user typed,
    `copies` of what the file says elsewhere, `duplicates`, `snapshots` of files, `other_records`
    of known kinds that say nothing of the conversation, `unknown_records`, `message_ids` of the
    agent's own, `tools` that were offered beside the messages.
    """
    problems: tuple[Problem, ...] = ()
    title: str = ""
    agent: str = ""
    """The program that wrote the file, as its makers call it; empty where nothing says so."""
    agent_version: str = ""
    model: str = ""
    """The model of the last reply."""
    session_id: str = ""
    parent_session: str = ""
    """The session that this one was forked from or is a sub-agent of, as the file names it."""
    cwd: str = ""
    """The working directory, as the file names it."""
    started: float | None = None
    """The first time stamp, in seconds since 1970."""
    updated: float | None = None
    """The last time stamp."""
    spent: Spent | None = None
    """What all calls of the file cost, those of messages that are not sent too; none where the
    file counts nothing, or only what `records` says."""

    @property
    def sent(self) -> tuple[Message, ...]:
        """The messages that the agent would send next."""
        return tuple(record for record in self.records if isinstance(record, Message))

    @property
    def earlier(self) -> tuple[Message, ...]:
        """The messages of the active branch that a compaction or truncation hides, not active."""
        return tuple(
            replace(item.message, active=False) for item in self.left_out if item.why == "compacted"
        )

    @property
    def branch(self) -> tuple[Message, ...]:
        """The active branch: what is sent, in its whole form, what compactions hid, the unsent."""
        return self._merged({"compacted", "unsent"})

    @property
    def everything(self) -> tuple[Message, ...]:
        """Every message ever written, abandoned branches where they were written."""
        return self._merged({"compacted", "abandoned", "unsent"})

    def _merged(self, wanted: set[Why]) -> tuple[Message, ...]:
        """Put the left out messages of the wanted kinds, and the whole forms, in their places."""
        sent = list(self.sent)
        for item in self.left_out:
            if item.why == "blanked":
                sent[item.before] = item.message
        merged: list[Message] = []
        position = 0
        for item in self.left_out:
            if item.why in wanted:
                merged += sent[position : item.before]
                position = max(position, item.before)
                merged.append(replace(item.message, active=False))
        return (*merged, *sent[position:])


def nothing_beside(source: Source) -> tuple[str, ...]:  # noqa: ARG001 (one of several)
    """Need no other file: most formats are one file."""
    return ()


class Format(Struct, frozen=True, kw_only=True):
    """One reader of the registry."""

    name: str
    description: str
    """What its files are, for people."""
    looks_for: str
    """By what it knows its files: completes the sentence "looked for ..."."""
    detect: Callable[[Source], str | None]
    """Gives the evidence, one sentence, or None when the source is of another format."""
    read: Callable[[Source, int], Reading]
    """Reads the conversation of that index; called only after `detect` gave evidence.

    Raises `FormatError` when there is no conversation of that index.
    """
    beside: Callable[[Source], tuple[str, ...]] = nothing_beside
    """Names the other files that a source of this format needs, as patterns of paths relative to
    its folder. Asked again with what was found, until it names nothing new."""


def only_one(source: Source, index: int) -> None:
    """Refuse every index but 0, for a format whose files hold one conversation.

    Raises:
        FormatError: If *index* is not 0.
    """
    if index:
        raise FormatError(
            f"there is no conversation {index}: the file holds one, number 0", path=source.path
        )
