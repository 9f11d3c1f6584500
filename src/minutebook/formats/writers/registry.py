"""Which forms a session can be written in."""

from __future__ import annotations

from minutebook.formats.writers import (
    anthropic,
    claude_code,
    codex,
    kimi,
    markdown,
    openai_chat,
    openai_responses,
)
from minutebook.formats.writers.value import Writer

WRITERS: tuple[Writer, ...] = (
    kimi.WRITER,
    claude_code.WRITER,
    codex.WRITER,
    openai_chat.WRITER,
    openai_responses.WRITER,
    anthropic.WRITER,
    markdown.WRITER,
)
"""Every writer, by its name."""


def writer_of(name: str) -> Writer | None:
    """Give the writer of that name; none if there is none."""
    return next((writer for writer in WRITERS if writer.name == name), None)
