"""The memory of an LLM agent: keeps every word, sends only the minutes.

    async with minutebook.open("sessions/first", window=200_000) as session:
        await session.append(minutebook.user("hello"))
        view = await session.fit()

`Session` says what can be done with a session; `docs/` how it works.
"""

from minutebook.context import Context
from minutebook.errors import (
    CheckpointNotFound,
    CompactionFailed,
    CompactionVetoed,
    ConfigError,
    ContextOverflow,
    FormatError,
    InvalidMessage,
    LogChanged,
    MinutebookError,
    SessionLocked,
    StoreError,
)
from minutebook.messages import Message, assistant, call, system, tool, user
from minutebook.opening import open_session as open
from minutebook.session import Session
from minutebook.sync import open_sync
from minutebook.version import __version__

__all__ = [
    "CheckpointNotFound",
    "CompactionFailed",
    "CompactionVetoed",
    "ConfigError",
    "Context",
    "ContextOverflow",
    "FormatError",
    "InvalidMessage",
    "LogChanged",
    "Message",
    "MinutebookError",
    "Session",
    "SessionLocked",
    "StoreError",
    "__version__",
    "assistant",
    "call",
    "open",
    "open_sync",
    "system",
    "tool",
    "user",
]
