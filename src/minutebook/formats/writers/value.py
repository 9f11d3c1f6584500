"""What a writer is given beside the records, and what it gives. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.formats.writers.losses import losses
from minutebook.records import Record


class About(Struct, frozen=True, kw_only=True):
    """What is known of a session beside its records."""

    session_id: str
    """The id of the session that is written: a new one, and a UUID where the agent wants one."""
    at: float
    """When it is written, in seconds since 1970: the time of messages that have none."""
    title: str = ""
    cwd: str = ""
    model: str = ""
    agent_version: str = ""
    """The version of the agent that the file is for; each writer knows one that fits."""
    maker: str = ""
    """Whose the signatures and cipher texts are, `anthropic` or `openai`, where neither they
    nor the model of their reply say so. What is nobody's is left out: each provider refuses
    what it did not make."""


class Written(Struct, frozen=True, kw_only=True):
    """A session as a file."""

    data: bytes
    lost: dict[str, int]
    """What the target does not hold, by name, with how many there are; see `losses`."""


class Writer(Struct, frozen=True, kw_only=True):
    """One writer of the registry."""

    name: str
    """That of the format as it is read, where it can be read."""
    description: str
    """What its files are, for people."""
    write: Callable[[Sequence[Record], About], Written]
    """Writes what would be sent. Never raises on records that a log can hold."""


def checked(
    data: bytes, records: Sequence[Record], read: Callable[[Source, int], Reading]
) -> Written:
    """Give what was written of *records*, read back to find out what it does not hold."""
    return Written(data=data, lost=losses(records, read(Source(data), 0)))
