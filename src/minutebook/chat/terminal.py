"""The chat in a terminal: opens what it needs, reads lines, and ends a turn at Ctrl-C."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from minutebook.chat import commands
from minutebook.chat.endpoint import Endpoint
from minutebook.chat.loop import Chat, turn
from minutebook.chat.screen import Screen
from minutebook.chat.tools import Tools
from minutebook.cli.harmless import harmless
from minutebook.cli.wording import sentence
from minutebook.companions import Companions
from minutebook.errors import MinutebookError
from minutebook.opening import open_session
from minutebook.tools.condense import Decision

SYSTEM = (
    "You help in the folder that your tools work in. Look before you change something, and say "
    "in a sentence what you have done."
)


def hold(
    endpoint: Endpoint,
    path: Path,
    folder: Path,
    *,
    allowed: frozenset[str],
    model: str | None,
    window: int | None,
) -> None:
    """Hold a chat until the user ends it; the session in *path* is closed then.

    Raises:
        MinutebookError: If the session cannot be opened.
    """
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            made = runner.run(
                _opened(stack, endpoint, path, folder, allowed, model=model, window=window)
            )
            made.screen.line(f"{path}  (/help lists commands)")
            made.screen.status(made.session)
            _talk(runner, made)
        finally:
            runner.run(stack.aclose())


async def _opened(
    stack: AsyncExitStack,
    endpoint: Endpoint,
    path: Path,
    folder: Path,
    allowed: frozenset[str],
    *,
    model: str | None,
    window: int | None,
) -> Chat:
    screen = Screen(lambda line: print(line, flush=True))  # noqa: T201 (what a chat is for)
    stack.push_async_callback(endpoint.close)
    session = await stack.enter_async_context(
        open_session(
            path,
            model=model,
            window=window,
            companions=Companions(listeners=(screen.event,)),
        )
    )
    tools = Tools(session, folder, allowed=allowed, ask=_allowed, decide=_decided)
    session.set_tools(endpoint.schemas(tools.offers))
    await session.set_system_prompt(SYSTEM)
    return Chat(session=session, endpoint=endpoint, tools=tools, screen=screen)


def _talk(runner: asyncio.Runner, made: Chat) -> None:
    """Read lines and do what they say, until there are no more."""
    while True:
        try:
            line = input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            if line.startswith("/"):
                if not runner.run(commands.run(made, line)):
                    return
            elif line:
                runner.run(turn(made, line))
        except KeyboardInterrupt:
            made.screen.line("interrupted; the session is whole")
        except MinutebookError as error:
            made.screen.line(sentence(error))
        except Exception as error:  # noqa: BLE001 - whatever an SDK raises ends the turn alone
            made.screen.line(f"the model could not be asked: {error}")


async def _allowed(what: str) -> bool:
    return (await _input(f"{harmless(what)}? [y/N] ")).lower() in {"y", "yes"}


async def _decided(proposed: str) -> Decision:
    """Show a proposed summary, and take what the user says to it."""
    said = await _input(f"{harmless(proposed)}\nUse this summary? [y/N, or what to change] ")
    if said.lower() in {"y", "yes"}:
        return Decision(what="accept")
    return (
        Decision(what="feedback", text=said)
        if said.lower() not in {"", "n", "no"}
        else Decision(what="refuse")
    )


async def _input(prompt: str) -> str:
    """Ask, while the loop stands still: nothing else is to happen meanwhile."""
    try:
        return input(prompt).strip()  # noqa: ASYNC250 (the answer is waited for on purpose)
    except EOFError:
        return ""
