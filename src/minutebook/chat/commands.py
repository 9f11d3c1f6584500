"""What the user may type after a slash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from minutebook.chat.loop import Chat
from minutebook.cli.giving_back import write_new
from minutebook.errors import MinutebookError
from minutebook.formats.writers.registry import writer_of
from minutebook.formats.writers.unfold import unfold
from minutebook.formats.writers.value import About

Command = Callable[[Chat, str], Awaitable[None]]

HELP = {
    "/compact [focus]": "make the context smaller now",
    "/checkpoints": "list what one can go back to",
    "/revert N": "go back to checkpoint N",
    "/undo": "take the last compaction, revert or clear back",
    "/pin [N]": "keep message N, or the last one of yours, word for word",
    "/context": "what fills the window",
    "/clear": "leave everything behind but the system prompt",
    "/export FILE": "write the conversation as Markdown",
    "/help": "this list",
    "/quit": "end; the session stays",
}


async def run(chat: Chat, line: str) -> bool:
    """Do a command; tell whether the chat goes on. What goes wrong is said, and nothing changed."""
    name, _, rest = line.partition(" ")
    if name in {"/quit", "/exit"}:
        return False
    command = COMMANDS.get(name)
    if command is None:
        chat.screen.line(f"there is no {name}; /help lists what there is")
        return True
    try:
        await command(chat, rest.strip())
    except (MinutebookError, OSError) as error:
        chat.screen.line(str(error))
    except ValueError:
        chat.screen.line(f"{name} takes a number")
    return True


async def _compact(chat: Chat, focus: str) -> None:
    done = await chat.session.compact(focus)
    if not done.changed:
        chat.screen.line(done.plan.reason)
    chat.screen.status(chat.session)


async def _checkpoints(chat: Chat, _: str) -> None:
    for mark in chat.session.context.checkpoints:
        chat.screen.line(f"  {mark.id}  before message {mark.messages + 1}  {mark.label or ''}")


async def _revert(chat: Chat, text: str) -> None:
    await chat.session.revert(int(text))
    chat.screen.line(f"back at checkpoint {int(text)}")


async def _undo(chat: Chat, _: str) -> None:
    await chat.session.undo()
    chat.screen.status(chat.session)


async def _pin(chat: Chat, text: str) -> None:
    said = [one for one in chat.session.context.history if one.origin == "user"]
    seq = int(text) if text else (said[-1].seq if said else None)
    if seq is None:
        chat.screen.line("there is nothing to pin")
        return
    await chat.session.pin(seq)
    chat.screen.line(f"message {seq} is pinned")


async def _context(chat: Chat, _: str) -> None:
    chat.screen.table({kind: count for kind, count in chat.session.usage().items() if count})
    chat.screen.status(chat.session)


async def _clear(chat: Chat, _: str) -> None:
    await chat.session.clear()
    chat.screen.line("cleared; /undo brings it back")


async def _export(chat: Chat, text: str) -> None:
    path = Path(text or "conversation.md")
    writer = writer_of("markdown")
    assert writer is not None
    about = About(session_id=Path(chat.session.store.path).parent.name, at=0.0)
    write_new(path, writer.write(unfold(chat.session.context), about).data)
    chat.screen.line(f"written to {path}")


async def _help(chat: Chat, _: str) -> None:
    for name, what in HELP.items():
        chat.screen.line(f"  {name:<18} {what}")


COMMANDS: dict[str, Command] = {
    "/compact": _compact,
    "/checkpoints": _checkpoints,
    "/revert": _revert,
    "/undo": _undo,
    "/pin": _pin,
    "/context": _context,
    "/clear": _clear,
    "/export": _export,
    "/help": _help,
}
