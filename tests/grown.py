"""A session that has lived a little, for tests that break or interrupt it again and again."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from minutebook.messages import assistant, call, tool, user
from minutebook.opening import open_session
from minutebook.session import Session
from minutebook.store.disk import Disk
from minutebook.store.files import Durability, FileStore
from minutebook.store.worker import Worker
from minutebook.tools.dmail import OFFER
from tests.playing import WINDOW, Clock, settings, values

Act = Callable[[Session], Awaitable[Any]]


async def sent_back(session: Session) -> bool:
    """Send a D-Mail to the last checkpoint, unless one waits, and deliver it."""
    session.set_tools([OFFER.to_openai()])
    session.mailbox.handle({"message": "no", "checkpoint_id": session.context.checkpoints[-1].id})
    return await session.deliver()


ACTS: dict[str, Act] = {
    "append": lambda session: session.append(user("new")),
    "append a batch": lambda session: session.append(user("new"), assistant("ok"), usage=900),
    "append a usage": lambda session: session.append(usage=900),
    "record_usage": lambda session: session.record_usage(900),
    "set_system_prompt": lambda session: session.set_system_prompt("another"),
    "checkpoint": lambda session: session.checkpoint("here"),
    "checkpoint with a marker": lambda session: session.checkpoint(marker=True),
    "pin": lambda session: session.pin(session.context.history[0].seq or 0),
    "tag": lambda session: session.tag(session.context.history[0].seq or 0, "a", "b"),
    "revert": lambda session: session.revert(session.context.checkpoints[-1].id),
    "revert with a note": lambda session: session.revert(
        session.context.checkpoints[-1].id, note="in vain"
    ),
    "deliver": sent_back,
    "revert into a rotation": lambda session: session.revert(0),
    "undo": lambda session: session.undo(force=True),
    "restore": lambda session: session.restore(1),
    "clear": lambda session: session.clear(),
    "compact": lambda session: session.compact("the build", target=0.2),
    "fit": lambda session: session.fit(max_output=3_000),
}
"""Every method that writes, each in a way that works twice in a row."""


async def grow(folder: Path) -> None:
    """Make the session: two logs, checkpoints in both, pins, exchanges, usage."""
    async with open_session(
        folder, durability="process", window=WINDOW, retention=None, clock=Clock()
    ) as session:
        await session.set_system_prompt("You fix builds.")
        await session.append(user("fix the build"))
        await session.checkpoint("start")
        await session.append(user("it says exit 2"), usage=40)
        await session.pin(1)
        await session.clear()
        for number in range(12):
            await session.append(user(f"look at src/{number}.py " + "and tell me " * 12))
            calls = [call(f"a{number}", "Shell", '{"command": "make"}'), call("b", "ReadFile")]
            await session.append(
                assistant("I run it", tool_calls=calls),
                tool("b", "x = 1\n" * 120),
                tool(f"a{number}", "error: exit 2\n" * 40, error=True),
            )
            if number % 4 == 1:
                await session.checkpoint()
        await session.append(assistant("done"))


class Grown:
    """The session as a template: each test gets a copy of its own."""

    def __init__(self, folder: Path) -> None:
        self._template = folder / "template"
        self._folder = folder
        self._count = 0
        asyncio.run(grow(self._template))

    def copy(self) -> Path:
        """Give a fresh copy."""
        self._count += 1
        target = self._folder / f"copy-{self._count}"
        shutil.copytree(self._template, target)
        return target


class AtOnce(Worker):
    """Does the work of the worker thread in the calling one, so that every run goes alike."""

    def __init__(self) -> None:
        super().__init__("at once")

    def hand(
        self, do: Callable[[], Any], then: Callable[[Any, BaseException | None], None]
    ) -> None:
        """Do it now."""
        try:
            outcome = do()
        except BaseException as error:  # noqa: BLE001 - as the thread does
            then(None, error)
        else:
            then(outcome, None)


async def opened(
    folder: Path, disk: Disk, durability: Durability, worker: Worker | None = None
) -> Session:
    """Open a session on a disk of the test's."""
    store = await FileStore.open(folder, disk=disk, durability=durability)
    if worker is not None:
        store._durable._worker = worker
    session = Session(store, settings(), clock=Clock())
    session.replay()
    return session


async def on_disk(folder: Path) -> dict[str, object]:
    """Give what a reader of the folder sees."""
    async with open_session(folder, mode="r") as session:
        return values(session.context)
