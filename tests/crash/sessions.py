"""Scenarios of whole sessions: what may be found is what the log held after one of the steps.

A step is one call of a session. While it is under way the log may be what it was before, what
it is after, or what it held when one of the step's own appends had been written.
"""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from random import Random

from minutebook.errors import MinutebookError, StoreError
from minutebook.messages import Message, assistant, call, tool, user
from minutebook.repairing import repair
from minutebook.session import Session
from minutebook.store.collecting import Retention
from minutebook.store.files import FileStore
from minutebook.testing.crashes import Left, Sampling, states
from minutebook.testing.memory_disk import EMPTY, MemoryDisk, State
from tests.crash.survey import FOLDER, Expected, Outcome, Place, Survey, complaint, read
from tests.grown import sent_back
from tests.playing import Clock, settings, values

FORK = "/b/forks/t"
"""Where forks go; neither it nor the folders above exist at first."""
Action = Callable[[Session], Awaitable[object]]
Scenario = Callable[["SessionHome"], Awaitable[None]]
SCENARIOS: dict[str, Scenario] = {}


@dataclasses.dataclass
class Step:
    """What may be found during a step; filled in when it is over."""

    outcomes: list[Outcome]
    retired: set[bytes]
    fork: "Fork | None" = None


@dataclasses.dataclass
class Fork:
    """A fork, and whether it has to be there."""

    values: dict[str, object]
    full: tuple[Message, ...]
    """Its whole history, that of its rotations included."""
    is_sure: bool


class SessionHome:
    """A session on a disk in memory."""

    def __init__(self, disk: MemoryDisk) -> None:
        self.disk = disk
        self.retired: set[bytes] = set()
        self.fork: Fork | None = None
        self._seen: list[State] = []
        disk.fault = self._look
        disk.mark(Step([Outcome((), ())], self.retired))

    def _look(self, name: str, path: str) -> None:
        """Note what the log holds when a sync of it begins: an append has just been written."""
        if name == "fdatasync":
            self._seen.append(self.disk.now())

    async def open(self) -> None:
        """Open the session."""
        self.session = await opened(self.disk, FOLDER)

    async def close(self) -> None:
        """Close it."""
        await self.session.close()

    async def do(self, action: Action, *, may_fail: bool = False) -> None:
        """Do one step; one that *may_fail* for a reason of its own has then changed nothing."""
        before = await self._found(self.disk.now())
        step = Step([before], self.retired, self.fork)
        self.disk.mark(step)
        self._seen.clear()
        (outcome,) = await asyncio.gather(action(self.session), return_exceptions=True)
        if isinstance(outcome, BaseException):
            if isinstance(outcome, StoreError) or not may_fail:
                raise outcome
            assert await self._found(self.disk.now()) == before
        after = await self._found(self.disk.now())
        step.outcomes += [*[await self._found(state) for state in self._seen], after]
        self.disk.mark(Step([after], self.retired, self.fork))

    async def fork_off(self, at: int | None) -> None:
        """Make a fork; until that is over it may be there or not."""
        step = Step([await self._found(self.disk.now())], self.retired)
        self.disk.mark(step)
        await self.session.fork(FORK, at=at)
        made = await opened(MemoryDisk(self.disk.now()), FORK)
        step.fork = Fork(values(made.context), made.history(full=True), is_sure=False)
        await made.close()
        self.fork = dataclasses.replace(step.fork, is_sure=True)
        self.disk.mark(Step(step.outcomes, self.retired, self.fork))

    async def reopen(self) -> None:
        """Close the session and open it again; what closing does is a step."""
        await self.do(lambda session: session.close())
        await self.open()

    async def _found(self, state: State) -> Outcome:
        if not any("context.jsonl" in names for names in state.folders.values()):
            return Outcome((), ())
        node = next(
            names["context.jsonl"] for names in state.folders.values() if "context.jsonl" in names
        )
        self.retired.add(state.files[node])
        found = await read(Place(MemoryDisk(state), FOLDER))
        assert found is not None
        lines, rotations, title = found
        return Outcome(lines, tuple(rotations.items()), title)


async def opened(disk: MemoryDisk, folder: str) -> Session:
    """Open a session on a disk."""
    store = await FileStore.open(folder, disk=disk)
    session = Session(store, settings(), clock=Clock())
    session.replay()
    return session


async def session_complaint(left: Left) -> str:
    """Hold a state to its mark, then open it as a session, and write, mark, and go back."""
    step: Step = left.expected
    expected = Expected(tuple(step.outcomes), frozenset(step.retired))
    if found := await complaint(left._replace(expected=expected)):
        return found
    if step.fork is not None and (found := await fork_complaint(left, step.fork)):
        return found
    disk = MemoryDisk(left.state)
    session = await opened(disk, FOLDER)
    try:
        before = session.context.history
        number = await session.checkpoint()
        await session.append(user("after the power loss"))
        if session.context.history[:-1] != before:
            return "an append has changed the history before it"
        await session.revert(number)
        if session.context.history != before:
            return "a revert does not lead back"
        now = values(session.context)
    except MinutebookError as error:
        return f"cannot be gone on with: {error}"
    finally:
        await session.close()
    again = await opened(disk, FOLDER)
    same = values(again.context) == now
    await again.close()
    return "" if same else "reopened, it has another context"


async def fork_complaint(left: Left, fork: Fork) -> str:
    """Open the fork of a state: it is whole, its full history too, or it is not there."""
    disk = MemoryDisk(left.state)
    try:
        made = await FileStore.open(FORK, disk=disk, create=False)
    except StoreError as error:
        return f"the fork is gone: {error}" if fork.is_sure else ""
    session = Session(made, settings(), clock=Clock())
    session.replay()
    try:
        if values(session.context) != fork.values:
            return "the fork has another context"
        if session.history(full=True) != fork.full:
            return "the fork lacks a part of its history"
        await session.append(user("on its own"))
    except MinutebookError as error:
        return f"the fork cannot be gone on with: {error}"
    finally:
        await session.close()
    return ""


async def survey(
    scenario: Scenario, sampling: Sampling, *, skip: str = "", stop: bool = False
) -> Survey:
    """Play a scenario and look at what a power loss may leave; *stop* at the first complaint."""
    disk = MemoryDisk(EMPTY, skip=frozenset({skip} - {""}))
    home = SessionHome(disk)
    await home.open()
    await scenario(home)
    await home.close()
    count, complaints = 0, []
    for left in states(disk, sampling):
        count += 1
        if found := await session_complaint(left):
            complaints.append(f"after {left.after} of {len(disk.operations)}: {found}")
            if stop:
                break
    return Survey(count, complaints, frozenset(disk.sites))


def scenario(function: Scenario) -> Scenario:
    """List a scenario."""
    SCENARIOS[function.__name__] = function
    return function


def appending(*messages: Message, usage: int | None = None) -> Action:
    """Give the step that appends messages."""
    return lambda session: session.append(*messages, usage=usage)


async def talk(home: SessionHome, turns: int, size: int = 40) -> None:
    """Let the session grow by some turns, each with a checkpoint and a reply with its usage."""
    for turn in range(turns):
        made = call(f"c{turn}", "Shell", '{"command":"ls"}')
        reply = assistant("I look " + "x" * size, tool_calls=[made])
        await home.do(lambda session: session.checkpoint())
        await home.do(appending(user(f"turn {turn}")))
        await home.do(appending(reply, usage=500))
        await home.do(appending(tool(made.id, "x" * size)))


@scenario
async def prompts(home: SessionHome) -> None:
    """The first prompt of a log that has none, then another, then a log that begins with one."""
    await home.do(appending(user("hello")))
    await home.do(lambda session: session.set_system_prompt("You fix builds."))
    await home.do(lambda session: session.set_system_prompt("Be brief."))
    await home.do(lambda session: session.clear())
    await home.do(appending(user("again")))


@scenario
async def checkpoints_and_reverts(home: SessionHome) -> None:
    """Marks, shown or not, and the way back to them with a note."""
    await talk(home, 2)
    await home.do(lambda session: session.checkpoint(marker=True))
    await home.do(appending(user("in vain")))
    await home.do(lambda session: session.revert(2, note="it was in vain"))
    await home.do(appending(user("better")))
    await home.do(lambda session: session.revert(0))


@scenario
async def sent_to_oneself(home: SessionHome) -> None:
    """A D-Mail: the way back, the new checkpoint and the message are there together or not."""
    await talk(home, 1)
    await home.do(lambda session: session.pin(1))
    await home.do(lambda session: session.checkpoint())
    await home.do(appending(assistant("in vain")))
    await home.do(sent_back)
    await home.do(appending(assistant("better")))


@scenario
async def pins_and_tags(home: SessionHome) -> None:
    """They are kept by a revert, and dropped with their messages."""
    await talk(home, 1)
    await home.do(lambda session: session.pin(1))
    await home.do(lambda session: session.tag(2, "a", "b"))
    await talk(home, 1)
    await home.do(lambda session: session.revert(1))


@scenario
async def undone(home: SessionHome) -> None:
    """A clear and a revert are taken back, and what was undone is restored."""
    await talk(home, 1)
    await home.do(lambda session: session.clear())
    await home.do(lambda session: session.undo())
    await home.do(lambda session: session.revert(0))
    await home.do(lambda session: session.undo())
    await home.do(lambda session: session.restore(1))


@scenario
async def compacted(home: SessionHome) -> None:
    """A compaction, a revert across it, and its undoing."""
    await talk(home, 4, size=1_500)
    await home.do(lambda session: session.compact(target=0.2))
    await home.do(appending(user("and now?")))
    await home.do(lambda session: session.undo())
    await home.do(lambda session: session.compact(target=0.2))
    await home.do(lambda session: session.revert(1))


@scenario
async def collected(home: SessionHome) -> None:
    """Rotations are compressed, then the oldest are removed."""
    await talk(home, 1, size=600)
    for _ in range(3):
        await home.do(appending(user("once more")))
        await home.do(lambda session: session.revert(0))
        await talk(home, 1)
    await home.do(lambda session: session.collect(Retention(keep_plain=1)))
    await home.do(lambda session: session.collect(Retention(rotations_max=1, drop_history=True)))
    await home.do(appending(user("at last")))


@scenario
async def forked(home: SessionHome) -> None:
    """A copy up to a checkpoint of a rotation, with the rotations that it needs."""
    await talk(home, 2, size=600)
    await home.do(lambda session: session.revert(1))
    await talk(home, 1)
    await home.do(lambda session: session.clear())
    await home.do(appending(user("and now?")))
    await home.fork_off(2)
    await home.do(appending(user("meanwhile")))
    await home.do(lambda session: session.revert(0))


@scenario
async def forked_whole(home: SessionHome) -> None:
    """A copy of all of it; the one that it was made of goes on."""
    await talk(home, 1)
    await home.do(lambda session: session.revert(0))
    await home.do(appending(user("better"), assistant("yes"), usage=700))
    await home.fork_off(None)
    await home.do(lambda session: session.collect(Retention(rotations_max=0, drop_history=True)))


@scenario
async def repaired(home: SessionHome) -> None:
    """A damaged log is mended: what was unanswered is settled."""
    made = call("c1", "Shell")
    await home.do(appending(user("go"), assistant("", tool_calls=[made])))
    await home.do(appending(user("never mind")))
    await home.do(lambda session: repair(session.store, clock=lambda: 5.0))
    await home.reopen()
    await home.do(appending(user("on we go")))


async def twenty(home: SessionHome, seed: int) -> None:
    """Twenty steps drawn at random."""
    random = Random(seed)
    actions: list[Action] = [
        lambda session: session.append(user("u" * random.randint(1, 60))),
        lambda session: session.append(user("a"), assistant("b"), usage=random.randint(1, 900)),
        lambda session: session.checkpoint(),
        lambda session: session.checkpoint(marker=True),
        lambda session: session.revert(random.randint(0, 4)),
        lambda session: session.clear(),
        lambda session: session.undo(force=True),
        lambda session: session.set_system_prompt(f"prompt {random.randint(0, 2)}"),
        lambda session: session.compact(target=0.1),
    ]
    for _ in range(20):
        if random.random() < 0.1:
            await home.reopen()
        else:
            await home.do(random.choice(actions), may_fail=True)
