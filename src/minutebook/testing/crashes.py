"""Every state that a power loss may leave of a `MemoryDisk`.

The model. Power may fail after any operation. Of a file, what was written before its last sync
is there. Each write since then is absent, there, or in part: cut at any byte, and each of its
pages of 4 096 bytes there or zero (where it lay over older bytes: those). A cut of a file since
then happened or did not. Of a folder, the names given and taken since its last sync survive in
any subset, each whole; a rename is one of them. What a failed sync was asked for may never be
there, whatever is synced later.

States are drawn where there are too many; `Sampling` says how many are taken, and those in
which nothing or everything has survived are always among them.
"""

from __future__ import annotations

from itertools import chain, combinations, product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from minutebook.testing.memory_disk import (
    ROOT,
    Bind,
    Cut,
    Mark,
    Move,
    State,
    Sync,
    Unbind,
    Write,
    change,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from minutebook.testing.memory_disk import MemoryDisk, Operation

PAGE_BYTES = 4096


class Sampling(NamedTuple):
    """How many states are taken where there are more."""

    random: Random
    states: int = 64
    """After each operation."""
    contents: int = 48
    """Of one file's unsynced bytes."""


class Left(NamedTuple):
    """A state that a power loss may leave, and what was marked as having to hold."""

    state: State
    expected: Any
    after: int
    """After how many operations the power failed."""


def states(disk: MemoryDisk, sampling: Sampling, *, begin: int = 0) -> Iterator[Left]:
    """Give each different state that a power loss may leave from operation *begin* on.

    None is given for a time before the first mark. Of two that are the same to whoever opens
    them, and have to fulfil the same mark, one is given.
    """
    model = _Model(disk.start)
    expected: Any = None
    marks = 0
    seen: set[object] = set()
    for number, operation in enumerate(disk.operations, start=1):
        if isinstance(operation, Mark):
            expected = operation.expected
            marks += 1
        else:
            model.apply(operation)
        if not marks or number < begin:
            continue
        for state in model.states(sampling):
            key = marks, _fingerprint(state)
            if key not in seen:
                seen.add(key)
                yield Left(state, expected, number)


class _File:
    """A file's safe bytes, and what has been done since."""

    def __init__(self, safe: bytes) -> None:
        self.safe = safe
        self.pending: list[Write | Cut] = []
        self.doubtful = False
        """Whether a sync has failed: then none makes what is pending safe."""

    def contents(self, sampling: Sampling) -> list[bytes]:
        """Give what may be left: first nothing since the sync, then everything."""
        if not self.pending:
            return [self.safe]
        choices = list(map(_choices, self.pending))
        drawn = _drawn(list(map(len, choices)), sampling.contents, sampling.random)
        found = [_content(self.safe, self.pending, _picked(choices, taken)) for taken in drawn]
        return list(dict.fromkeys(found))


class _Folder:
    """A folder's safe names, and what has been done since."""

    def __init__(self, safe: dict[str, int]) -> None:
        self.safe = safe
        self.pending: list[Bind | Unbind | Move] = []

    def contents(self, sampling: Sampling) -> list[dict[str, int]]:
        """Give what may be left: first nothing since the sync, then everything."""
        drawn = _drawn([2] * len(self.pending), sampling.contents, sampling.random)
        found = {}
        for taken in drawn:
            names = dict(self.safe)
            for operation, survives in zip(self.pending, taken, strict=True):
                if survives:
                    change({}, {operation.folder: names}, operation)
            found[tuple(sorted(names.items()))] = names
        return list(found.values())


class _Model:
    """What is safe and what is not, up to some operation."""

    def __init__(self, start: State) -> None:
        self._files = {number: _File(data) for number, data in start.files.items()}
        self._folders = {number: _Folder(dict(names)) for number, names in start.folders.items()}

    def apply(self, operation: Operation) -> None:
        """Go on by one operation."""
        match operation:
            case Write() | Cut():
                self._files.setdefault(operation.node, _File(b"")).pending.append(operation)
            case Bind() | Unbind() | Move():
                self._folders[operation.folder].pending.append(operation)
                if isinstance(operation, Bind) and operation.is_folder:
                    self._folders[operation.node] = _Folder({})
            case Sync(node, failed=True):
                if node in self._files:
                    self._files[node].doubtful = True
            case Sync(node):
                self._sync(node)
            case Mark():
                pass

    def _sync(self, node: int) -> None:
        folder, file = self._folders.get(node), self._files.get(node)
        if folder is not None:
            for named in folder.pending:
                change({}, {node: folder.safe}, named)
            folder.pending.clear()
        elif file is not None and not file.doubtful:
            content = {node: bytearray(file.safe)}
            for written in file.pending:
                change(content, {}, written)
            file.safe = bytes(content[node])
            file.pending.clear()

    def states(self, sampling: Sampling) -> Iterator[State]:
        """Give the states that may be left now."""
        numbers = [number for number, folder in self._folders.items() if folder.pending]
        numbers += [number for number, file in self._files.items() if file.pending]
        choices: list[Sequence[Any]] = [
            (self._folders.get(number) or self._files[number]).contents(sampling)
            for number in numbers
        ]
        for taken in _drawn(list(map(len, choices)), sampling.states, sampling.random):
            survived = dict(zip(numbers, _picked(choices, taken), strict=True))
            folders = {
                number: survived.get(number, folder.safe)
                for number, folder in self._folders.items()
            }
            files = {
                number: survived.get(number, file.safe) for number, file in self._files.items()
            }
            yield _reachable(files, folders)


def _picked(choices: Sequence[Sequence[Any]], taken: Sequence[int]) -> list[Any]:
    """Give the option of each index."""
    return [options[index] for options, index in zip(choices, taken, strict=True)]


def _choices(operation: Write | Cut) -> list[object]:
    """Give in which ways an unsynced operation may have survived: first not at all, then whole.

    Of a write: how many of its bytes, and which of its pages are zero.
    """
    if isinstance(operation, Cut):
        return [None, True]
    length = len(operation.data)
    first, last = operation.offset // PAGE_BYTES, (operation.offset + length - 1) // PAGE_BYTES
    pages = range(first, last + 1)
    lost = [()] + [(page,) for page in pages] + [tuple(pages)]
    if len(pages) <= 3:
        lost = list(chain.from_iterable(combinations(pages, n) for n in range(len(pages) + 1)))
    found: dict[object, None] = {None: None, (length, ()): None}
    for cut in [length, *_cuts(operation)]:
        for zero in lost:
            found[cut, zero] = None
    return list(found)


def _cuts(operation: Write) -> list[int]:
    """Give after how many of its bytes a write is cut: at its edges and those of its parts."""
    offset, data = operation.offset, operation.data
    length = len(data)
    edges = range(PAGE_BYTES - offset % PAGE_BYTES, length, PAGE_BYTES)
    ends = [at + 1 for at, byte in enumerate(data) if byte == 0x0A]
    found = {1, length // 2, length - 1, *edges[:3], *edges[-1:]}
    for end in (*ends[:3], *ends[-2:]):
        found |= {end - 1, end}
    return sorted(cut for cut in found if 0 < cut < length)


def _content(safe: bytes, pending: Sequence[Write | Cut], taken: Sequence[Any]) -> bytes:
    """Give a file's bytes where of what is pending these things have survived."""
    files = {0: bytearray(safe)}
    for operation, survived in zip(pending, taken, strict=True):
        if survived is None:
            continue
        if isinstance(operation, Cut):
            change(files, {}, Cut(0, operation.length))
            continue
        cut, zero = survived
        older = files[0][operation.offset : operation.offset + cut]
        data = bytearray(operation.data[:cut])
        older.extend(bytes(len(data) - len(older)))
        for page in zero:
            low = max(0, page * PAGE_BYTES - operation.offset)
            high = max(0, (page + 1) * PAGE_BYTES - operation.offset)
            data[low:high] = older[low:high]
        change(files, {}, Write(0, operation.offset, bytes(data)))
    return bytes(files[0])


def _drawn(sizes: Sequence[int], limit: int, random: Random) -> list[tuple[int, ...]]:
    """Choose from each of some options, by their index: all ways, or *limit* where there are more.

    Of each, 0 is that nothing has survived, 1 that everything has. Always taken, and in this
    order: nothing, everything, and one of them alone with the others all or none.
    """
    none, every = (0,) * len(sizes), tuple(min(1, size - 1) for size in sizes)
    taken = {none: None, every: None}
    if prod(sizes) <= limit:
        taken.update(dict.fromkeys(product(*map(range, sizes))))
        return list(taken)
    for at, size in enumerate(sizes):
        for base in (none, every):
            for option in range(min(2, size)):
                taken[(*base[:at], option, *base[at + 1 :])] = None
    for _ in range(4 * limit):
        if len(taken) >= limit:
            break
        taken[tuple(random.randrange(size) for size in sizes)] = None
    return list(taken)


def _reachable(files: dict[int, bytes], folders: dict[int, dict[str, int]]) -> State:
    """Leave out what no name leads to."""
    found = State({}, {})
    waiting = [ROOT]
    while waiting:
        node = waiting.pop()
        found.folders[node] = names = folders.get(node, {})
        for child in names.values():
            if child in folders:
                waiting.append(child)
            else:
                found.files[child] = files.get(child, b"")
    return found


def _fingerprint(state: State) -> object:
    """Give a value that is equal for states that nobody can tell from each other."""
    numbers: dict[int, int] = {}
    found: list[object] = []
    waiting = [("", ROOT)]
    while waiting:
        path, node = waiting.pop()
        for name, child in sorted(state.folders[node].items()):
            if child in state.folders:
                found.append((path, name))
                waiting.append((f"{path}/{name}", child))
            else:
                number = numbers.setdefault(child, len(numbers))
                found.append((path, name, number, state.files[child]))
    return tuple(found)
