"""LangChain: a middleware that compacts what is sent, and leaves the agent's state alone.

create_agent(model, tools, middleware=[compaction("sessions/first", window=200_000)])
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from minutebook.integrations.extras import needing
from minutebook.integrations.mirror import Mirror

if TYPE_CHECKING:
    import os
    from collections.abc import Coroutine, Sequence

    from langchain.agents.middleware import AgentMiddleware

Value = TypeVar("Value")


def compaction(path: str | os.PathLike[str], **options: Any) -> AgentMiddleware[Any, Any, Any]:
    """Make a middleware that keeps the conversation in a session and sends what fits.

    One for each conversation. *options* are those of `minutebook.open`, `window` first.

    Raises:
        ConfigError: If LangChain is not installed.
    """
    with needing("langchain"):
        from langchain.agents.middleware import AgentMiddleware
    mirror = Mirror(path, **options)

    class MinutebookMiddleware(
        AgentMiddleware[Any, Any, Any]  # type: ignore[misc,unused-ignore]  # Any without LangChain
    ):
        """Sends what fits, before each call of the model; keeps the reply after it."""

        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            """Call the model with what fits."""
            response = handler(_run(_fitted(mirror, request)))
            _run(mirror.kept(_dicts([*request.messages, *response.result])))
            return response

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            """Call the model with what fits."""
            response = await handler(await _fitted(mirror, request))
            await mirror.kept(_dicts([*request.messages, *response.result]))
            return response

    return MinutebookMiddleware()


async def _fitted(mirror: Mirror, request: Any) -> Any:
    """Give the request with what fits; messages that nothing shortened are the very objects."""
    from langchain_core.messages import convert_to_messages

    system = request.system_message
    sent = await mirror.fitted(
        _dicts(request.messages), system=None if system is None else str(system.text)
    )
    messages = [
        request.messages[one] if isinstance(one, int) else convert_to_messages([one])[0]
        for one in sent
    ]
    return request.override(messages=messages)


def _dicts(messages: Sequence[Any]) -> list[dict[str, Any]]:
    from langchain_core.messages import convert_to_openai_messages

    return [dict(message) for message in convert_to_openai_messages(list(messages))]


def _run(work: Coroutine[Any, Any, Value]) -> Value:
    """Run to the end in a thread of its own, since this one may have a loop that runs."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
