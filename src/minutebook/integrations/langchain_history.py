"""LangChain: a chat message history that gives what fits and keeps every word.

history = chat_history("sessions/first", window=200_000)
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import minutebook
from minutebook.integrations.extras import needing

if TYPE_CHECKING:
    import os
    from collections.abc import Coroutine, Sequence

    from langchain_core.chat_history import BaseChatMessageHistory

Value = TypeVar("Value")


def chat_history(path: str | os.PathLike[str], **options: Any) -> BaseChatMessageHistory:
    """Make the history of one conversation, kept in a session that each call opens.

    *options* are those of `minutebook.open`, `window` first: without a known window nothing is
    compacted.

    Raises:
        ConfigError: If LangChain is not installed.
    """
    with needing("langchain"):
        from langchain_core.chat_history import BaseChatMessageHistory
        from langchain_core.messages import convert_to_messages, convert_to_openai_messages

    async def fitted() -> list[Any]:
        async with minutebook.open(path, **options) as book:
            if not book.context.history:
                return []
            await book.checkpoint()
            known = book.settings.known_window()
            view = book.view() if known is None else await book.fit()
            return list(convert_to_messages(view.to_openai()))

    async def added(messages: Sequence[Any]) -> None:
        drafts = [dict(one) for one in convert_to_openai_messages(list(messages))]
        if drafts:
            async with minutebook.open(path, **options) as book:
                await book.append(*drafts)

    async def cleared() -> None:
        async with minutebook.open(path, **options) as book:
            await book.clear()

    class MinutebookHistory(
        BaseChatMessageHistory  # type: ignore[misc,unused-ignore]  # Any without LangChain
    ):
        """Reads set a checkpoint and compact if it is due; a clear leaves all in a rotation."""

        @property
        def messages(self) -> list[Any]:  # type: ignore[override,unused-ignore]
            """Give what is to be sent."""
            return _run(fitted())

        def add_messages(self, messages: Sequence[Any]) -> None:
            """Write them as one batch, all or none."""
            _run(added(messages))

        def clear(self) -> None:
            """Leave every message behind, in a rotation."""
            _run(cleared())

    return MinutebookHistory()


def _run(work: Coroutine[Any, Any, Value]) -> Value:
    """Run to the end in a thread of its own, since this one may have a loop that runs."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
