"""Records: what one line of the log can say. Values only, no I/O, no clock.

A record is a message or a special record, whose `role` begins with `_`. Every special
record of ours carries `content`, one readable line, since Kimi CLI's reader fails on a
special record without it and skips one that has it. `docs/format.md` lists every key.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from minutebook.messages import Message


class Next(Struct, frozen=True, gc=False):
    """The numbers that are still free, so that none is ever used twice."""

    checkpoint: int = 0
    """The next checkpoint's id."""
    seq: int = 1
    """The next message's number."""


class Rotated(Struct, frozen=True, gc=False, omit_defaults=True):
    """Which rotation a rewrite left behind. A file that does not match is not it."""

    number: int
    bytes: int | None = None
    """Its length."""
    hash: str | None = None
    """Its check sum, as `lines.checksum` writes it."""


class SystemPrompt(Struct, frozen=True, gc=False, tag_field="role", tag="_system_prompt"):
    """Sets the system prompt; the last one wins."""

    content: str


class Checkpoint(
    Struct, frozen=True, gc=False, omit_defaults=True, tag_field="role", tag="_checkpoint"
):
    """A numbered mark that one can revert to."""

    id: int
    content: str = ""
    at: float | None = None
    """When it was set, in seconds since 1970."""
    label: str | None = None
    sum: str | None = None
    """Check sum of the bytes since the record before it that carries one; see `sums`."""


class Usage(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="role", tag="_usage"):
    """What the provider counted. Empties the pending estimate."""

    token_count: int
    """The whole context in tokens: all input, cached or not, and what of the output stays."""
    content: str = ""
    input: int | None = None
    """Fresh input tokens: neither read from nor written to the provider's cache."""
    output: int | None = None
    """Output tokens, reasoning included."""
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    """The part of *output* that was thinking."""
    model: str | None = None
    estimated: bool = False
    """True after a compaction: counted by us, not exact, not for calibration."""
    learned: list[list[int]] | None = None
    """What was learned of the provider's counting before a compaction; see `calibration`."""


class Compaction(
    Struct, frozen=True, gc=False, omit_defaults=True, tag_field="role", tag="_compaction"
):
    """Older history was replaced by less; the log before is the rotation `parent`."""

    id: str
    content: str = ""
    parent: Rotated | None = None
    next: Next | None = None
    trigger: str = "manual"
    steps: tuple[str, ...] = ()
    span: tuple[int, int] | None = None
    """First and last `seq` of the messages that were left out or shortened."""
    carried: tuple[int, ...] = ()
    """The `seq` of every message carried over, in order; shortened copies too."""
    made: tuple[int, ...] = ()
    """The `seq` of the messages that the compaction wrote itself: summary, notices."""
    lines: int = 0
    """How many records belong to the rewrite, from this one on, itself included."""
    tokens_before: int | None = None
    tokens_after: int | None = None
    model: str | None = None
    """The model that wrote the summary; none for the built-in digest."""
    usage: dict[str, int] | None = None
    """What the compactor's own calls used."""
    focus: str = ""
    checks: dict[str, Any] | None = None
    at: float | None = None
    sum: str | None = None


class Revert(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="role", tag="_revert"):
    """The log was replayed up to a mark; the log before is the rotation `from`."""

    content: str = ""
    origin: Rotated | None = field(default=None, name="from")
    to: int | None = None
    """The checkpoint gone back to, which is dropped with all after it."""
    source: int | None = None
    """The rotation that held what is kept; none for the log itself."""
    next: Next | None = None
    reason: str = "revert"
    """`revert`, `dmail`, `undo`, `restore`, or `repair`."""
    lines: int = 0
    """How many records belong to the rewrite, from this one on, itself included."""
    at: float | None = None
    sum: str | None = None
    """Check sum of the bytes since the record before it that carries one; see `sums`."""


class Clear(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="role", tag="_clear"):
    """Everything was left behind; the log before is the rotation `from`."""

    content: str = ""
    origin: Rotated | None = field(default=None, name="from")
    next: Next | None = None
    lines: int = 0
    """How many records belong to the rewrite, from this one on, itself included."""
    at: float | None = None
    sum: str | None = None


class Fork(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="role", tag="_fork"):
    """This session began as a copy of another."""

    source: str
    """The other session's id."""
    content: str = ""
    checkpoint: int | None = None
    """The checkpoint that was forked at; none for the end of the log."""
    next: Next | None = None
    at: float | None = None


class Tag(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="role", tag="_tag"):
    """Marks a message that is already written."""

    seq: int
    content: str = ""
    pin: bool | None = None
    """True pins, False unpins, none leaves the pin as it is."""
    tags: tuple[str, ...] | None = None
    """The message's tags from now on; none leaves them as they are."""


class Batch(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="role", tag="_batch"):
    """The next `bytes` bytes are `n` lines that count together or not at all."""

    n: int
    bytes: int
    hash: str
    content: str = ""


class Other(Struct, frozen=True, gc=False):
    """A special record of a kind that is not known here: kept, counted, ignored."""

    role: str


Special = SystemPrompt | Checkpoint | Usage | Compaction | Revert | Clear | Fork | Tag | Batch
Lineage = Compaction | Revert | Clear | Fork
Record = Message | Special | Other
