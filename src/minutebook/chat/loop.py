"""The loop of an agent: append, checkpoint, fit, ask, append, do what was called, deliver.

Everything that was said is on disk before the next thing happens, so the chat may be killed
anywhere. An interrupt ends the turn: calls without a result are answered by marked ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from minutebook.messages import Message, tool, user

if TYPE_CHECKING:
    from minutebook.chat.endpoint import Endpoint
    from minutebook.chat.screen import Screen
    from minutebook.chat.tools import Tools
    from minutebook.session import Session

OVERFLOWS_MAX = 2
"""How often in a row a request that is too large is made smaller and sent once more."""


class Chat(Struct, frozen=True, kw_only=True):
    """A session, the model that it talks to, what that may call, and who looks on."""

    session: Session
    endpoint: Endpoint
    tools: Tools
    screen: Screen


async def turn(chat: Chat, text: str) -> None:
    """Take what the user said, and go on until the model calls nothing more.

    Raises:
        EndpointError: If the model cannot be reached, or refuses; what was said is kept.
        MinutebookError: If the session cannot be written, or does not fit.
    """
    await chat.session.append(user(text))
    while (reply := await step(chat)).calls:
        for call in reply.calls:
            chat.screen.calls(call)
            result = await chat.tools.run(call)
            await chat.session.append(tool(call.id, result.text, error=result.failed))
        # Both wait for the results: the exchange that asked has to be whole.
        await chat.tools.condense.apply()
        await chat.session.deliver()
    chat.screen.status(chat.session)


async def step(chat: Chat) -> Message:
    """Ask the model once; give its reply, which is in the log by then."""
    await chat.session.checkpoint()
    for _ in range(OVERFLOWS_MAX):
        view = await chat.session.fit()
        try:
            answer = await chat.endpoint.ask(view, chat.tools.offers)
            break
        except Exception as error:
            # Too large after all: the session learns the window, and becomes smaller.
            if not await chat.session.overflowed(error):
                raise
    else:
        view = await chat.session.fit()
        answer = await chat.endpoint.ask(view, chat.tools.offers)
    (reply,) = await chat.session.append(answer.message, usage=answer.usage)
    chat.screen.says(reply)
    return reply
