"""Hooks: code and commands that are asked before a compaction and told after it.

Before, each may veto, or add instructions for the summary; after, none can do harm. All hooks
run side by side, equal commands once. One that fails, or hangs and is ended after its time,
counts as having said nothing, and the events say so. Nothing that a hook says becomes a
message: a veto's reason is told to the caller, instructions go to the summary's author.

This module starts processes and reads from pipes; it knows neither session nor log.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import os
import re
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from typing import IO, Any, Literal, Self

import msgspec
from msgspec import Struct

from minutebook.errors import CompactionVetoed, ConfigError
from minutebook.events import HookRan, Listener, Result, emit

TIMEOUT_SECONDS = 30.0
"""How long a hook may take, unless it says otherwise: an agent waits for it."""
EXIT_BLOCKS = 2
"""The exit code with which a command says no, its reason on standard error."""
DENIALS = ("deny", "block")
"""The words for no, as `decision` in a command's output."""
OUTPUT_BYTES_MAX = 64 << 10
"""How much of a command's output is kept; the rest is read and dropped, so that it can end."""
REASON_CHARACTERS_MAX = 2_000
"""A veto's reason is for people, and goes into an error's one line."""
INSTRUCTIONS_CHARACTERS_MAX = 8_000
"""What one hook may add to a summary's instructions; the rest is cut off."""

_READ_BYTES = 64 << 10
_PIPE_BYTES_MAX = 1 << 20
"""What a pipe holds at most, without privileges (Linux; others hold less)."""
_NO_REASON = "no reason was given"


class PreCompact(Struct, frozen=True, kw_only=True):
    """What hooks are told before a compaction."""

    session: str
    """The session's id."""
    trigger: str
    """Why: `manual`, `trigger`, `limit`, `overflow`, `condense`, or `background`."""
    focus: str
    tokens_before: int
    """The size of the whole request."""


class PostCompact(Struct, frozen=True, kw_only=True):
    """What hooks are told after one, whatever became of it."""

    session: str
    trigger: str
    focus: str
    tokens_before: int
    tokens_after: int
    """Equal to `tokens_before` where nothing was changed."""
    outcome: Result
    """`applied`, `skipped` or `failed`; see `events.result_of`."""


Details = PreCompact | PostCompact


class Answer(Struct, frozen=True, kw_only=True):
    """What a hook says before a compaction."""

    veto: str = ""
    """The reason for a veto; empty agrees."""
    instructions: str = ""
    """Text that is added to the summary's instructions."""


Hook = Callable[[Any], "Answer | str | Awaitable[Answer | str | None] | None"]
"""Gets the details; gives nothing, instructions as text, or an `Answer`. Sync or async.

A sync one runs in the event loop's thread and has to be quick: it cannot be ended.
`CompactionVetoed` raised is a veto too; any other error counts as having said nothing.
"""


class Command(Struct, frozen=True, kw_only=True):
    """A shell command as a hook: the details as JSON on its standard input.

    Exit code 0 agrees; its output may be a JSON object with `decision` (`deny` vetoes), `reason`
    and `instructions`; other output is dropped. Exit code 2 vetoes, with standard error as the
    reason. Any other exit code, and a command that takes too long, says nothing.
    """

    command: str
    event: Literal["PreCompact", "PostCompact"] = "PreCompact"
    matcher: str = ""
    """A regular expression that the whole trigger has to match; empty: any."""
    timeout_seconds: float = TIMEOUT_SECONDS
    """After so long it is ended, with all that it has started and that is in its group."""

    def __post_init__(self) -> None:
        """Refuse what could not run.

        Raises:
            ConfigError: Naming the field.
        """
        if not self.command.strip():
            raise ConfigError("command", "a hook's command is empty")
        if not (math.isfinite(self.timeout_seconds) and self.timeout_seconds > 0):
            raise ConfigError("timeout_seconds", f"{self.timeout_seconds} is no time to wait")
        try:
            re.compile(self.matcher)
        except (re.error, RecursionError, OverflowError) as error:
            raise ConfigError(
                "matcher", f"{self.matcher!r} is no regular expression ({error})"
            ) from error

    def wants(self, details: Details) -> bool:
        """Tell whether the command is for this event and trigger."""
        return self.event == type(details).__name__ and (
            not self.matcher or re.fullmatch(self.matcher, details.trigger) is not None
        )


class Hooks(Struct, frozen=True, kw_only=True):
    """All hooks of a session."""

    before: tuple[Hook, ...] = ()
    """Asked before a compaction, with a `PreCompact`."""
    after: tuple[Hook, ...] = ()
    """Told after one, with a `PostCompact`."""
    commands: tuple[Command, ...] = ()
    """Each is asked or told, as its event says."""
    timeout_seconds: float = TIMEOUT_SECONDS
    """How long an async callable may take."""

    async def ask(self, details: PreCompact, listeners: Sequence[Listener] = ()) -> str:
        """Ask every hook; give the instructions that they add, a paragraph each.

        All are asked, and all have ended when this returns or raises. Callables come before
        commands. Each is told to *listeners* as it ends.

        Raises:
            CompactionVetoed: If one says no, with the first reason and the hook's name.
        """
        answers = await self._run(self.before, details, listeners)
        for name, answer in answers:
            if answer.veto:
                raise CompactionVetoed(answer.veto, hook=name)
        return "\n\n".join(answer.instructions for _, answer in answers if answer.instructions)

    async def tell(self, details: PostCompact, listeners: Sequence[Listener] = ()) -> None:
        """Tell every hook; what they say or raise is dropped."""
        await self._run(self.after, details, listeners)

    async def _run(
        self, callables: Sequence[Hook], details: Details, listeners: Sequence[Listener]
    ) -> list[tuple[str, Answer]]:
        commands: dict[str, Command] = {}
        for command in self.commands:
            if command.wants(details):
                commands.setdefault(command.command, command)

        async def note(name: str, run: Awaitable[_Said]) -> tuple[str, Answer]:
            said = await run
            ran = HookRan(
                hook=name, event=_event_of(details), outcome=said.outcome, reason=said.reason
            )
            emit(listeners, ran)
            return name, said.answer

        runs = [
            note(_name_of(hook), _call(hook, details, self.timeout_seconds)) for hook in callables
        ]
        runs += [note(name, _execute(command, details)) for name, command in commands.items()]
        # A group, since it leaves no run behind: on a cancel it waits until all have ended.
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run) for run in runs]
        return [task.result() for task in tasks]


class _Said(Struct, frozen=True, kw_only=True):
    """What a hook said, and how it ended."""

    answer: Answer = Answer()
    outcome: Literal["agreed", "instructed", "vetoed", "failed", "timeout"] = "agreed"
    reason: str = ""


def _said(answer: Answer) -> _Said:
    """Bound what a hook answered."""
    if answer.veto:
        reason = answer.veto.strip()[:REASON_CHARACTERS_MAX] or _NO_REASON
        return _Said(answer=Answer(veto=reason), outcome="vetoed", reason=reason)
    instructions = answer.instructions.strip()[:INSTRUCTIONS_CHARACTERS_MAX]
    if instructions:
        return _Said(answer=Answer(instructions=instructions), outcome="instructed")
    return _Said()


def _failed(reason: str) -> _Said:
    return _Said(outcome="failed", reason=reason.strip()[:REASON_CHARACTERS_MAX])


def _timed_out(seconds: float) -> _Said:
    return _Said(outcome="timeout", reason=f"ended after {seconds:g} seconds")


def _event_of(details: Details) -> Literal["PreCompact", "PostCompact"]:
    return "PreCompact" if isinstance(details, PreCompact) else "PostCompact"


def _name_of(hook: Hook) -> str:
    return str(getattr(hook, "__name__", type(hook).__name__))


async def _call(hook: Hook, details: Details, timeout_seconds: float) -> _Said:
    """Call a hook of the program's own; one that raises has said nothing."""
    limit: asyncio.Timeout | None = None
    try:
        found: object = hook(details)
        if inspect.isawaitable(found):
            async with asyncio.timeout(timeout_seconds) as limit:
                found = await found
    except CompactionVetoed as error:
        return _said(Answer(veto=error.reason or _NO_REASON))
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return _failed("it was cancelled from within")
    except Exception as error:  # noqa: BLE001 - a hook is not ours; nothing it raises may stop us
        if limit is not None and limit.expired():
            return _timed_out(timeout_seconds)
        return _failed(repr(error))
    if isinstance(found, Answer):
        return _said(found)
    if found is None or isinstance(found, str):
        return _said(Answer(instructions=found or ""))
    return _failed(f"it gave a {type(found).__name__}, neither text nor an Answer")


async def _execute(command: Command, details: Details) -> _Said:
    """Run a command with the details on its standard input, for at most its time."""
    # Slow to import, and most sessions have no commands.
    import tempfile

    facts = {"event": _event_of(details), **msgspec.to_builtins(details)}
    with ExitStack() as stack:
        try:
            # A file without a name: a reader finds its end, and nobody has to write meanwhile.
            given = stack.enter_context(tempfile.TemporaryFile())
            given.write(json.dumps(facts).encode())
            given.seek(0)
            output, errors = stack.enter_context(_Tap()), stack.enter_context(_Tap())
            process = await _start(command.command, given, output, errors)
        except OSError as error:
            return _failed(f"could not be started: {error}")
        try:
            async with asyncio.timeout(command.timeout_seconds):
                code = await process.wait()
        except TimeoutError:
            return _timed_out(command.timeout_seconds)
        finally:
            await _end(process)
        return _judge(code, output, errors)


class _Tap:
    """A pipe from a process: all is read, so that it never waits, and the beginning is kept.

    A process that has ended may leave others behind that hold its output open, so the end of
    the pipe is not waited for: `drain` reads what is there once the process has ended.
    """

    def __init__(self) -> None:
        self.kept = b""
        self.cut = False
        """Whether there was more than is kept."""
        self._loop = asyncio.get_running_loop()
        self._from, self.into = os.pipe()

    def __enter__(self) -> Self:
        os.set_blocking(self._from, False)
        self._loop.add_reader(self._from, self._read)
        return self

    def __exit__(self, *_: object) -> None:
        self.started()
        self._loop.remove_reader(self._from)
        os.close(self._from)

    def started(self) -> None:
        """Close our copy of the end that the process has by now."""
        if self.into >= 0:
            os.close(self.into)
            self.into = -1

    def drain(self) -> bytes:
        """Read what is in the pipe now, and no more: others may go on writing for ever."""
        for _ in range(_PIPE_BYTES_MAX // _READ_BYTES):
            if not self._read():
                break
        return self.kept

    def _read(self) -> bool:
        """Read once; tell whether there was anything."""
        try:
            data = os.read(self._from, _READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._loop.remove_reader(self._from)
            return False
        room = OUTPUT_BYTES_MAX - len(self.kept)
        self.kept += data[:room]
        self.cut = self.cut or len(data) > room
        return True


async def _start(
    command: str, given: IO[bytes], output: _Tap, errors: _Tap
) -> asyncio.subprocess.Process:
    """Start a command in a group of its own. A cancel waits for the start, and ends it."""
    starting = asyncio.create_task(
        asyncio.create_subprocess_shell(
            command,
            stdin=given,
            stdout=output.into,
            stderr=errors.into,
            start_new_session=True,
        )
    )
    cancelled = await _wait_for(starting)
    process = starting.result()
    output.started()
    errors.started()
    if cancelled is not None:
        await _end(process)
        raise cancelled
    return process


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the process and its group, if it still runs, and wait until it has ended."""
    if process.returncode is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (PermissionError, ProcessLookupError):
            # A shell that has become another user's program cannot be ended, nor waited for.
            return
        cancelled = await _wait_for(asyncio.ensure_future(process.wait()))
        if cancelled is not None:
            raise cancelled


async def _wait_for(work: asyncio.Future[Any]) -> asyncio.CancelledError | None:
    """Wait until short work is done, whatever happens; give a cancel that came meanwhile."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled


def _judge(code: int, output: _Tap, errors: _Tap) -> _Said:
    """Read what a command said by its exit code and its output."""
    said, told = output.drain(), errors.drain().decode("utf-8", "replace")
    if code == EXIT_BLOCKS:
        return _said(Answer(veto=told.strip() or _NO_REASON))
    if code:
        return _failed(f"exit code {code}: {told}")
    if output.cut and said.lstrip().startswith(b"{"):
        return _failed(f"it wrote more than {OUTPUT_BYTES_MAX} bytes, too much to be an answer")
    try:
        value = msgspec.json.decode(said)
    except (ValueError, RecursionError):
        # Ordinary output: what a command tells about its work is no instruction.
        return _Said()
    if not isinstance(value, dict):
        return _Said()
    if value.get("decision") in DENIALS:
        return _said(Answer(veto=str(value.get("reason") or _NO_REASON)))
    instructions = value.get("instructions")
    return _said(Answer(instructions=instructions if isinstance(instructions, str) else ""))
