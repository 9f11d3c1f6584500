"""Play a scenario on a disk in memory, and look at every state that a power loss may leave of it.

A scenario is told in operations of `Home`, which notes before each what may be found from then
on, and after each, once it is acknowledged, what has to be. `survey` opens every state.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple

from minutebook.errors import StoreError
from minutebook.records import Rotated
from minutebook.store.files import FileStore
from minutebook.store.metadata import Metadata
from minutebook.testing.crashes import Left, Sampling, states
from minutebook.testing.disks import CHANGES, SYNCS, WatchedDisk
from minutebook.testing.memory_disk import EMPTY, ROOT, MemoryDisk, State
from minutebook.testing.store import content, joined, line, lines

FOLDER = "/a/s"
"""The session's folder; neither it nor the one above exists at first."""


class Outcome(NamedTuple):
    """One way in which the session may be found."""

    lines: tuple[bytes, ...]
    rotations: tuple[tuple[int, bytes], ...]
    """Which rotations have to be there, and with what bytes; others may be."""
    title: str = ""
    """What `session.json` says, where it is there."""


class Expected(NamedTuple):
    """What has to hold after a power loss."""

    outcomes: tuple[Outcome, ...]
    retired: frozenset[bytes]
    """What a rotation may hold: every log that a rewrite has begun to retire."""
    kept: tuple[bytes, ...] = ()
    """Damaged bytes that lie in the log or have been set aside."""


class KilledError(BaseException):
    """The process is dead: none of its operations is done any more."""


class Home:
    """A session on a disk in memory, and what is known of it."""

    def __init__(self, disk: MemoryDisk) -> None:
        self.disk = disk
        self.lines: tuple[bytes, ...] = ()
        self.rotations: dict[int, bytes] = {}
        self.title = ""
        self.earlier: tuple[Outcome, ...] = ()
        """What may still be found of a time before something went wrong."""
        self.retired: frozenset[bytes] = frozenset()
        self.kept: tuple[bytes, ...] = ()
        self.next = 1
        self._store: FileStore | None = None
        self._expect(self._now())

    @property
    def store(self) -> FileStore:
        """The open store."""
        assert self._store is not None
        return self._store

    async def open(self) -> None:
        """Open the session as its writer."""
        self._store = await FileStore.open(FOLDER, disk=self.disk)

    async def close(self) -> None:
        """Close it, if it is open."""
        store, self._store = self._store, None
        if store is not None:
            await store.close()

    async def reopen(self) -> None:
        """Close it and open it again."""
        await self.close()
        await self.open()

    def new(self, count: int = 1, size: int = 20) -> list[bytes]:
        """Make lines that no other has, each with some text."""
        made = [line(self.next + number, "x" * size) for number in range(count)]
        self.next += count
        return made

    async def append(self, *groups: Sequence[bytes]) -> None:
        """Append groups of lines at once; of what is not acknowledged any may be there, whole."""
        found = [*(one.lines for one in self.earlier), self.lines]
        for group in groups:
            found += [(*before, *joined(*group)) for before in found]
        expected = tuple(self._now()._replace(lines=one) for one in dict.fromkeys(found))
        self._expect(*expected)
        receipts = [self.store.append(group) for group in groups]
        try:
            await asyncio.gather(*receipts)
        except StoreError:
            # Until the store has gone back to what is safe, it may still be found.
            self.earlier = expected
            raise
        self.lines, self.earlier = found[-1], ()
        self._expect(self._now())

    async def rewrite(
        self,
        *,
        keep: int,
        tail: Sequence[bytes] = (),
        head: Sequence[bytes] = (),
        source: int | None = None,
    ) -> None:
        """Keep the first *keep* records of a log, between *head* and *tail*.

        The last of them is not inside of a batch.
        """
        before = content(self.store)
        old = before if source is None else content(self.store, source)
        length = 0
        records: list[bytes] = []
        for one in old.split(b"\n"):
            if len(records) == keep:
                break
            length += len(one) + 1
            records += [one] * (b'{"role":"_batch"' not in one)
        after = (*joined(*head), *records, *joined(*tail))
        self.retired |= {before}
        was = self._now()

        def told(rotated: Rotated) -> Sequence[bytes]:
            rotations = tuple({**self.rotations, rotated.number: before}.items())
            self._expect(was, was._replace(lines=after, rotations=rotations))
            return tail

        self._expect(was)
        rotated = await self.store.rewrite(
            head=head, source=source, keep=length, tail=told, reason="test"
        )
        self.lines, self.rotations[rotated.number] = after, before
        self.earlier = ()
        self._expect(self._now())

    def describe(self, title: str) -> None:
        """Replace `session.json`."""
        old, self.title = self._now(), title
        self._expect(old, self._now())
        self.store.save_metadata(Metadata(id="s", title=title))
        self._expect(self._now())

    def _now(self) -> Outcome:
        return Outcome(self.lines, tuple(self.rotations.items()), self.title)

    def _expect(self, *outcomes: Outcome) -> None:
        self._outcomes = (*self.earlier, *outcomes)
        self.disk.mark(Expected(self._outcomes, self.retired, self.kept))

    async def killed(self, scenario: "Scenario", operations: int) -> int:
        """Play a scenario in a process that is killed after so many operations.

        Gives how many had been done when the next process begins, which finds what is there.
        """
        alive = self.disk.fault

        def fault(name: str, path: str) -> None:
            if len(self.disk.operations) >= operations:
                raise KilledError
            if alive is not None:
                alive(name, path)

        self.disk.fault = fault
        # Some of the killed process's own errors come from its being dead.
        with suppress(KilledError, StoreError):
            await scenario(self)
        with suppress(KilledError):
            await self.close()
        self.disk.fault = alive
        self._store = await FileStore.open(FOLDER, disk=self.disk)
        found = tuple(lines(self.store))
        now = next(one for one in self._outcomes if one.lines == found)
        self.earlier = self._outcomes
        self.lines, self.rotations = now.lines, dict(now.rotations)
        return len(self.disk.operations)

    def given(self, *, lines: Sequence[bytes], kept: Sequence[bytes] = ()) -> None:
        """Say what the disk held at the start."""
        self.disk.operations.clear()
        self.lines, self.kept = tuple(joined(*lines)), tuple(kept)
        self._expect(self._now())


Scenario = Callable[[Home], Awaitable[None]]


def on_disk(log: bytes, **others: bytes) -> State:
    """Give a state in which the session's folder holds a log and other files."""
    files = {3: log}
    names = {"context.jsonl": 3}
    for number, (name, data) in enumerate(others.items(), start=4):
        names[name], files[number] = number, data
    return State(files, {0: {"a": 1}, 1: {"s": 2}, 2: names})


class Place(NamedTuple):
    """Where a state is: the disk, and the session's folder on it."""

    disk: MemoryDisk | WatchedDisk
    folder: str

    def is_changed(self) -> bool:
        """Tell whether anything was done to it."""
        if isinstance(self.disk, MemoryDisk):
            return bool(self.disk.operations)
        return bool(self.disk.named(*CHANGES, *SYNCS))


def lay_out(state: State, root: Path) -> None:
    """Put a state on the real disk; files with several names are links."""
    first: dict[int, Path] = {}

    def lay(folder: int, path: Path) -> None:
        path.mkdir(mode=0o700)
        for name, node in state.folders[folder].items():
            if node in state.folders:
                lay(node, path / name)
            elif node in first:
                (path / name).hardlink_to(first[node])
            else:
                (path / name).write_bytes(state.files[node])
                first[node] = path / name

    lay(ROOT, root)


async def complaint(left: Left, root: Path | None = None) -> str:
    """Open a state, read it, write on; say what is wrong with it, or nothing.

    With *root*, a folder that does not exist, it is laid out there, on the real disk.
    """
    expected: Expected = left.expected
    place = Place(MemoryDisk(left.state), FOLDER)
    if root is not None:
        lay_out(left.state, root)
        place = Place(WatchedDisk(), f"{root}{FOLDER}")
    try:
        found = await read(place)
    except StoreError as error:
        if any(outcome.lines == () for outcome in expected.outcomes) and _is_missing(left.state):
            return ""
        return f"cannot be opened: {error}"
    if found is None:
        return "a reader wrote"
    held, rotations, title = found
    if not any(
        held == outcome.lines
        and set(outcome.rotations) <= set(rotations.items())
        and (title in {"", outcome.title})
        for outcome in expected.outcomes
    ):
        return f"holds {_seqs(held)}, rotations {sorted(rotations)}, title {title!r}"
    if odd := [number for number, data in rotations.items() if data not in expected.retired]:
        return f"rotations {odd} are none of the logs that were retired"
    raw = list(left.state.files.values())
    if lost := [one for one in expected.kept if not any(one in data for data in raw)]:
        return f"lost {lost}"
    return await _write_on(place, held)


def _seqs(read: Sequence[bytes]) -> list[str]:
    """Show lines by the number at their end."""
    return [one[-12:].decode() for one in read]


def _is_missing(state: State) -> bool:
    """Tell whether there is no log, and nothing that one could have been."""
    return not any(
        name.startswith("context") and name.endswith(".jsonl") and name != "context.bad.jsonl"
        for names in state.folders.values()
        for name in names
    )


async def read(place: Place) -> tuple[tuple[bytes, ...], dict[int, bytes], str] | None:
    """Read a session; None if the reader has changed something."""
    reader = await FileStore.open(place.folder, mode="r", disk=place.disk)
    try:
        held = tuple(lines(reader))
        rotations = {one.number: content(reader, one.number) for one in reader.rotations()}
        if reader.metadata_problem:
            raise StoreError(reader.metadata_problem)
        title = reader.metadata.title
    finally:
        await reader.close()
    return None if place.is_changed() else (held, rotations, title)


async def _write_on(place: Place, held: tuple[bytes, ...]) -> str:
    """Append, append a batch, rewrite, and read all of it again."""
    store = await FileStore.open(place.folder, disk=place.disk)
    try:
        await store.append([line(901)])
        await store.append([line(902), line(903)])
        now = (*held, *joined(line(901), line(902), line(903)))
        if tuple(lines(store)) != now:
            return f"appended to, it holds {_seqs(lines(store))}"
        before = content(store)
        rotated = await store.rewrite(keep=store.size, tail=[line(904)], reason="test")
        if content(store, rotated.number) != before:
            return "rewritten, its rotation is not what it was"
    except StoreError as error:
        return f"cannot be written to: {error}"
    finally:
        await store.close()
    reader = await FileStore.open(place.folder, mode="r", disk=place.disk)
    after = tuple(lines(reader))
    await reader.close()
    return "" if after == (*now, *joined(line(904))) else f"rewritten, it holds {_seqs(after)}"


class Survey(NamedTuple):
    """What came of a scenario."""

    states: int
    complaints: list[str]
    sites: frozenset[str]
    """Where the store asked for a sync."""


async def survey(
    scenario: Scenario,
    *,
    start: State = EMPTY,
    skip: str = "",
    sampling: Sampling | None = None,
    stop: bool = False,
    killed_after: int | None = None,
    root: Path | None = None,
) -> Survey:
    """Play a scenario and look at what a power loss may leave; *stop* at the first complaint.

    *killed_after* so many operations, the scenario's process is, and another goes on: only
    what is left of its time is looked at. With *root* it is looked at on the real disk.
    """
    disk = MemoryDisk(start, skip=frozenset({skip} - {""}))
    home = Home(disk)
    begin = 0
    if killed_after is None:
        await scenario(home)
    else:
        begin = await home.killed(scenario, killed_after)
        await home.append(home.new())
        await home.rewrite(keep=0, tail=home.new())
        await home.append(home.new(2))
    await home.close()
    sampling = sampling or Sampling(Random(7))
    count, complaints = 0, []
    for left in states(disk, sampling, begin=begin):
        count += 1
        if found := await complaint(left, root and root / str(count)):
            complaints.append(f"after {left.after} of {len(disk.operations)}: {found}")
            if stop:
                break
    return Survey(count, complaints, frozenset(disk.sites))
