"""What the model may call: read, write and run in one folder, and the library's own three tools.

Each call of the first three is asked for, unless it is allowed. Nothing outside of the folder is
read or written; what is run may do what the user may.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from minutebook.messages import ToolCall
from minutebook.session import Session
from minutebook.tools import condense, dmail, recall
from minutebook.tools.offer import BadArguments, Offer, read_arguments, text_argument

OUTPUT_CHARACTERS_MAX = 40_000
"""Of longer output the beginning and the end are kept: what follows costs tokens at each step."""

Ask = Callable[[str], Awaitable[bool]]
"""Asks the user whether something may be done."""


def _offer(name: str, description: str, **parameters: str) -> Offer:
    properties = {key: {"type": "string", "description": what} for key, what in parameters.items()}
    return Offer(
        name=name,
        description=description,
        parameters={"type": "object", "properties": properties, "required": list(parameters)},
    )


READ = _offer("read", "Read a text file.", path="Where it is, from the folder on.")
WRITE = _offer(
    "write",
    "Write a text file, in place of one that is there.",
    path="Where it goes, from the folder on.",
    content="Its whole text.",
)
RUN = _offer("run", "Run a command in the folder, by the shell.", command="The command line.")


class Result(Struct, frozen=True):
    """What came of a call."""

    text: str
    failed: bool = False


class Tools:
    """The tools of one chat."""

    def __init__(
        self,
        session: Session,
        folder: Path,
        *,
        allowed: frozenset[str],
        ask: Ask,
        decide: condense.Decide,
    ) -> None:
        """Take the folder, what need not be asked for, and who is asked for the rest."""
        self._session = session
        self._folder = folder.resolve()
        self._allowed = allowed
        self._ask = ask
        self._recall = recall.Recall(lambda: session.history(full=True))
        self.condense = condense.Condense(decide, session.condense)
        """What an accepted summary waits in."""

    @property
    def offers(self) -> tuple[Offer, ...]:
        """What the model is told of."""
        return (READ, WRITE, RUN, dmail.OFFER, condense.OFFER, recall.OFFER)

    async def run(self, call: ToolCall) -> Result:
        """Do what was called; whatever goes wrong is told to the model."""
        match call.name:
            case dmail.OFFER.name:
                return Result(self._session.mailbox.handle(call.arguments))
            case condense.OFFER.name:
                return Result(await self.condense.handle(call.arguments))
            case recall.OFFER.name:
                return Result(self._recall.handle(call.arguments))
            case _:
                pass
        try:
            arguments = read_arguments(call.arguments)
            return await self._asked(call.name, arguments)
        except (BadArguments, OSError, ValueError) as error:
            return Result(str(error), failed=True)

    async def _asked(self, name: str, arguments: Mapping[str, Any]) -> Result:
        doing: Callable[[], Awaitable[str] | str]
        match name:
            case "read":
                path = self._inside(text_argument(arguments, "path"))
                what, doing = f"read {path}", lambda: path.read_text("utf-8", "replace")
            case "write":
                path = self._inside(text_argument(arguments, "path"))
                content = str(arguments.get("content", ""))
                what, doing = f"write {path}", lambda: _written(path, content)
            case "run":
                command = text_argument(arguments, "command")
                what, doing = f"run {command}", lambda: _run(command, self._folder)
            case _:
                return Result(f"There is no tool {name}.", failed=True)
        if name not in self._allowed and not await self._ask(what):
            return Result("The user did not allow it.", failed=True)
        done = doing()
        return Result(_shortened(done if isinstance(done, str) else await done))

    def _inside(self, path: str) -> Path:
        """Give a path below the folder.

        Raises:
            ValueError: If it leads out of it, by `..` or by a link.
        """
        found = (self._folder / path).resolve()
        if found != self._folder and self._folder not in found.parents:
            raise ValueError(f"{path} is not in the folder")
        return found


def _written(path: Path, content: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, "utf-8")
    return f"{len(content)} characters written"


async def _run(command: str, folder: Path) -> str:
    """Run a command; one that is interrupted is ended, with what it started.

    In a thread: a process that asyncio starts cannot be ended for certain while it starts.
    """
    process = _started(command, folder)
    ending = asyncio.ensure_future(asyncio.to_thread(process.communicate))
    try:
        output, _ = await asyncio.shield(ending)
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await ending
        raise
    text = output.decode("utf-8", "replace")
    return text if process.returncode == 0 else f"{text}\nexit code {process.returncode}".lstrip()


def _started(command: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a command in a process group of its own."""
    return subprocess.Popen(  # noqa: S602 (a shell is what the model was promised)
        command,
        shell=True,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _shortened(text: str) -> str:
    if len(text) <= OUTPUT_CHARACTERS_MAX:
        return text or "no output"
    half = OUTPUT_CHARACTERS_MAX // 2
    left = len(text) - 2 * half
    return f"{text[:half]}\n… {left} characters left out …\n{text[-half:]}"
