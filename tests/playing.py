"""Play operations on a real session and on the model, and hold the two side by side."""

import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import hypothesis
import pytest

from minutebook.context import Context, fold
from minutebook.errors import CheckpointNotFound, ConfigError, ContextOverflow, InvalidMessage
from minutebook.lineage import NothingToUndo
from minutebook.messages import Message, replace
from minutebook.opening import open_session
from minutebook.providers import validate_anthropic, validate_chat
from minutebook.recovery import holds_whole
from minutebook.reports import Settings
from minutebook.session import Session
from minutebook.store.disk import Disk
from minutebook.store.memory import MemoryStore, Shelf
from minutebook.turns import exchanges, pair
from tests import model as oracle
from tests.model import Model, NotThereError
from tests.strategies import Do

EXAMPLES_USUAL = 100
"""How many Hypothesis takes if it is not told."""
WINDOW = 6_000
"""Small, so that compactions have something to do."""


def examples(count: int) -> int:
    """Say how many examples a long property takes: *count*, or what a longer search asks for."""
    wanted = hypothesis.settings().max_examples
    return wanted if wanted > EXAMPLES_USUAL else count


class Clock:
    """A clock that goes on by one second each time it is asked."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def settings(**changes: Any) -> Settings:
    """Give the settings of a session with a window."""
    values: dict[str, Any] = {"window": WINDOW, "model": None, "tools": (), "max_output": None}
    return Settings.of(**{**values, "preset_name": "default", **changes})


@asynccontextmanager
async def on_memory(shelf: Shelf, **changes: Any) -> AsyncIterator[Session]:
    """Open a session on a shelf."""
    store = await MemoryStore.open(shelf)
    session = Session(store, settings(**changes), clock=Clock())
    try:
        session.replay()
        yield session
    finally:
        await session.close()


def values(context: Context) -> dict[str, object]:
    """Give every value that a context has."""
    return {
        "history": context.history,
        "system_prompt": context.system_prompt,
        "token_count": context.token_count,
        "token_count_is_exact": context.token_count_is_exact,
        "token_count_pending": context.token_count_pending,
        "token_count_with_pending": context.token_count_with_pending,
        "estimates": context.estimates,
        "usages": context.usages,
        "next": context.next,
        "checkpoints": context.checkpoints,
        "steps": context.steps,
        "pins": context.pins,
        "tags": context.tags,
        "unknown_records": context.unknown_records,
        "span_start": context.span_start,
        "spans": [context.span(index) for index in range(len(context.history))],
    }


def assert_replay_is_the_same(session: Session) -> None:
    """Promise 1: what a reader of the log gets is what the session has."""
    assert values(fold(session.store.replay())) == values(session.context)


def timeless(messages: Sequence[Message]) -> list[Message]:
    """Leave the times out, which the model does not know."""
    return [replace(message, at=None) for message in messages]


class Home(Protocol):
    """Where a session lives, so that it can be opened again."""

    def open(self) -> Any:
        """Open it, as a context manager."""


class MemoryHome:
    """A session on a shelf."""

    def __init__(self) -> None:
        self.shelf = Shelf()

    def open(self) -> Any:
        return on_memory(self.shelf)


@contextmanager
def unsynced() -> Iterator[None]:
    """Leave out the syncs, for tests in which no power fails: they take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "fdatasync", "fsync_folder"):
            patch.setattr(Disk, name, lambda *_: None)
        yield


class FileHome:
    """A session in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self) -> Any:
        return open_session(self.folder, durability="process", window=WINDOW, clock=Clock())


class Player:
    """Does each operation twice, on the session and on the model, and compares."""

    def __init__(self, home: Home, model: Model | None = None) -> None:
        self.home = home
        self.model = model or Model()
        self.ids: list[int] = []
        self.session: Session

    async def play(self, story: Sequence[Do]) -> None:
        """Play all operations, each checked; those named `reopen` close and open again."""
        rest = list(story)
        while rest:
            async with self.home.open() as self.session:
                self.check()
                while rest:
                    step = rest.pop(0)
                    if step.name == "reopen":
                        break
                    await getattr(self, "do_" + step.name.replace(" ", "_"))(step)
                    self.check()
                self.check_all()

    def check(self) -> None:
        """Compare what is cheap to compare."""
        context, model = self.session.context, self.model
        assert timeless(context.history) == timeless(oracle.messages(model.log))
        assert context.system_prompt == oracle.prompt(model.log)
        assert context.next_seq == model.next_seq
        assert context.next_checkpoint_id == model.next_checkpoint
        found = [(mark.id, mark.messages) for mark in context.checkpoints]
        assert found == oracle.checkpoints(model.log)
        marked = oracle.marks(model.log)
        assert context.pins == {seq for seq, (pin, _) in marked.items() if pin}
        assert context.tags == {seq: tags for seq, (_, tags) in marked.items() if tags}
        counted = (context.token_count, context.token_count_is_exact, context.token_count_pending)
        assert counted == oracle.count(model.log)
        numbers = [rotation.number for rotation in self.session.rotations()]
        assert numbers == sorted(model.rotations)

    def check_all(self) -> None:
        """Compare the rest: replay, full history, the view."""
        assert_replay_is_the_same(self.session)
        full = [
            (replace(message, at=None, active=True), message.active)
            for message in self.session.history(full=True)
        ]
        assert full == [
            (replace(message, at=None), active) for message, active in self.model.full()
        ]
        view = self.session.view()
        assert validate_chat.violations(view.to_openai()) == []
        if view.messages:
            body = view.to_anthropic()
            found = validate_anthropic.violations(body["messages"], system=body.get("system"))
            assert found == []

    async def _refused(self, error: type[Exception], call: Callable[[], Any]) -> None:
        """Expect an error, and that nothing has changed."""
        before, size = values(self.session.context), self.session.store.size
        try:
            await call()
        except error:
            assert values(self.session.context) == before
            assert self.session.store.size == size
        else:
            raise AssertionError(error)

    async def do_append(self, step: Do) -> None:
        said, usage = step.value
        await self.session.append(*said, usage=usage)
        self.model.append(said, usage)

    async def do_usage(self, step: Do) -> None:
        await self.session.record_usage(step.value)
        self.model.append([], step.value)

    async def do_prompt(self, step: Do) -> None:
        await self.session.set_system_prompt(step.value)
        self.model.set_prompt(step.value)

    async def do_checkpoint(self, step: Do) -> None:
        number = await self.session.checkpoint("a label", marker=step.value)
        assert number not in self.ids
        self.ids.append(number)
        assert number == self.model.checkpoint()
        if step.value:
            text = f"<system>CHECKPOINT {number}</system>"
            self.model.append([Message(role="user", content=text, origin="checkpoint")])

    async def do_revert(self, step: Do) -> None:
        if not self.model.next_checkpoint:
            return
        number = step.which % self.model.next_checkpoint
        note = step.value and Message(role="user", content=step.value, origin="notice")
        try:
            self.model.revert(number, note)
        except NotThereError:
            await self._refused(
                CheckpointNotFound, lambda: self.session.revert(number, note=step.value)
            )
        else:
            await self.session.revert(number, note=step.value)

    async def do_revert_unknown(self, step: Do) -> None:
        await self._refused(CheckpointNotFound, lambda: self.session.revert(step.value))

    async def do_undo(self, step: Do) -> None:
        try:
            self.model.undo(force=step.value)
        except NotThereError:
            await self._refused(NothingToUndo, lambda: self.session.undo(force=step.value))
        else:
            await self.session.undo(force=step.value)

    async def do_restore(self, step: Do) -> None:
        if self.model.rotations:
            number = sorted(self.model.rotations)[step.which % len(self.model.rotations)]
            await self.session.restore(number)
            self.model.restore(number)

    async def do_clear(self, step: Do) -> None:
        await self.session.clear()
        self.model.clear()

    async def do_pin(self, step: Do) -> None:
        seq = self._some_seq(step)
        if seq is None:
            return
        if not step.value or holds_whole(self.session.context, seq):
            await self.session.pin(seq, pinned=step.value)
            self.model.mark(seq, pin=step.value)
        else:
            await self._bring_back(seq)

    async def do_pin_any(self, step: Do) -> None:
        """Pin whatever was ever said."""
        seqs = sorted(self.model.words)
        seq = seqs[step.which % len(seqs)] if seqs else None
        if seq is not None and not holds_whole(self.session.context, seq):
            await self._bring_back(seq)

    async def _bring_back(self, seq: int) -> None:
        before, size = values(self.session.context), self.session.store.size
        history = self.session.context.history
        try:
            await self.session.pin(seq)
        except InvalidMessage:
            assert (values(self.session.context), self.session.store.size) == (before, size)
            return
        after = self.session.context.history
        (back,) = [message for message in after if message.seq == seq]
        was = self.model.words[seq]
        assert replace(back, pin=was.pin, at=was.at) == was
        kept = {message.seq: message for message in after}
        assert all(kept[m.seq] == m for m in history if not m.elided)
        self.model.compact(after, self.session.context.token_count, pinned=seq)
        self.ids.append(self.model.next_checkpoint - 1)

    async def do_tag(self, step: Do) -> None:
        seq = self._some_seq(step)
        if seq is not None:
            await self.session.tag(seq, *step.value)
            self.model.mark(seq, tags=step.value)

    def _some_seq(self, step: Do) -> int | None:
        said = oracle.messages(self.model.log)
        return said[step.which % len(said)].seq if said else None

    async def do_compact(self, step: Do) -> None:
        before = self.session.context.history
        pinned = {message.seq: message for message in before if message.seq in self._pins()}
        size, used = self.session.store.size, sum(self.session.usage().values())
        try:
            done = await self.session.compact(target=step.value)
        except (ContextOverflow, ConfigError):
            assert self.session.context.history == before
            assert self.session.store.size == size
            return
        after = self.session.context.history
        if not done.changed:
            assert done.plan.reason
            assert (after, self.session.store.size) == (before, size)
            return
        assert sum(self.session.usage().values()) < used
        kept = {message.seq: message for message in after}
        assert {seq: kept.get(seq) for seq in pinned} == pinned
        for exchange in exchanges(before):
            seqs = [before[index].seq for index in _members(before, exchange.start)]
            assert len({seq in kept for seq in seqs}) == 1
        self.model.compact(done.plan.history, self.session.context.token_count)
        self.ids.append(self.model.next_checkpoint - 1)

    def _pins(self) -> set[int]:
        return {seq for seq, (pin, _) in oracle.marks(self.model.log).items() if pin}

    async def do_fork(self, step: Do) -> None:
        known = [None, *range(self.model.next_checkpoint)]
        at = known[step.which % len(known)]
        assert isinstance(self.home, FileHome)
        folder = self.home.folder.with_name(f"{self.home.folder.name}-f")
        shutil.rmtree(folder, ignore_errors=True)
        try:
            child = self.model.fork(at)
        except NotThereError:
            await self._refused(CheckpointNotFound, lambda: self.session.fork(folder, at=at))
            return
        await self.session.fork(folder, at=at)
        player = type(self)(FileHome(folder), child)
        await player.play([Do("checkpoint", value=True), Do("clear"), Do("undo", value=True)])


def _members(history: Sequence[Message], start: int) -> list[int]:
    """Give the indices of an assistant message and of the results of its calls."""
    pairing = pair(history)
    answered = [result for (index, _), result in pairing.results.items() if index == start]
    return [start, *answered]
