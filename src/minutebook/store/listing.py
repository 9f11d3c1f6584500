"""The sessions below a folder, listed without folding their logs.

One pass over the lines of each log: what is looked at are their beginnings and ends, so a list
over ten thousand sessions takes seconds, and much less with the index that is kept beside
them. The index is only a cache: wrong or missing, it is made anew without a word.
"""

from __future__ import annotations

import os
import time
import zlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, structs

from minutebook.codec import REFUSED, SPECIAL_PREFIXES, checksum, decode_message, decode_special
from minutebook.lines import BATCH_PREFIX, Entry, Scanner, flatten
from minutebook.messages import Message
from minutebook.records import Batch, Usage
from minutebook.store.disk import Disk, discard, is_file, write_all
from minutebook.store.logfile import translated
from minutebook.store.metadata import load
from minutebook.store.names import LOG, METADATA, rotation_number
from minutebook.store.rewriting import read_pieces

if TYPE_CHECKING:
    from collections.abc import Callable


INDEX = ".minutebook.index"
INDEX_VERSION = 2
INDEX_BYTES_MAX = 64 << 20
SETTLED_NS = 2_000_000_000
"""A folder that changed later than this before our look may change again in the same tick of
its file system's clock (a tick is 2 seconds on FAT, 4 milliseconds on ext4 here)."""
TITLE_CHARACTERS_MAX = 80
BYTES_A_TOKEN = 4
"""For the part that no usage record covers; the list is for finding, not for budgeting."""
ROLE = b'{"role":'
ROLES = (ROLE + b'"', ROLE + b' "')
USAGES = tuple(prefix + b"usage" for prefix in SPECIAL_PREFIXES)


class Listed(Struct, frozen=True, kw_only=True, array_like=True):
    """One session of a list."""

    path: str
    """Its folder, relative to the root."""
    title: str
    """From `session.json`, else the first user message's beginning."""
    agent: str
    modified: float
    """When the log was last written, in seconds since 1970."""
    messages: int
    tokens: int
    """What the last usage record says, and a rough estimate of what follows it."""
    bytes: int
    rotations: int
    problem: str = ""
    """Why it could not be read; the counts are then 0."""


class _Row(Struct, frozen=True, array_like=True):
    changed: int
    """When names in the folder last changed, in nanoseconds; 0 if that was only just."""
    subfolders: tuple[str, ...]
    rotations: int
    has_log: bool
    stamp: tuple[int, ...] = ()
    """inode, size and time of the log, inode and time of `session.json`."""
    listed: Listed | None = None


class _Index(Struct, frozen=True, array_like=True):
    version: int
    rows: dict[str, _Row]


def list_sessions(
    root: str,
    *,
    disk: Disk | None = None,
    cached: bool = True,
    progress: Callable[[int], None] | None = None,
) -> list[Listed]:
    """List every session at or below *root*, the one last written first.

    *progress* is told how many have been looked at. The index is written where that is
    allowed, and only then. A line that begins and ends as a record does is taken for one,
    whatever is between. What has gone meanwhile is passed over; what cannot be read is
    listed with the problem.

    Raises:
        StoreError: If *root* itself cannot be read.
    """
    disk = disk or Disk()
    root = os.path.realpath(root)
    with translated(root):
        disk.names(root)
    known = _read_index(disk, root) if cached else {}
    rows: dict[str, _Row] = {}
    found: list[Listed] = []
    waiting = ["."]
    while waiting:
        name = waiting.pop()
        row = _row(disk, root, name, known.get(name))
        if row is None:
            continue
        rows[name] = row
        waiting += [child if name == "." else f"{name}/{child}" for child in row.subfolders]
        if row.listed is not None:
            found.append(row.listed)
            if progress is not None:
                progress(len(found))
    if cached and rows != known:
        _write_index(disk, root, rows)
    return sorted(found, key=lambda listed: (-listed.modified, listed.path))


def _row(disk: Disk, root: str, name: str, known: _Row | None) -> _Row | None:
    """Look at one folder; as little as the index allows. None if it has gone meanwhile."""
    folder = root if name == "." else f"{root}/{name}"
    try:
        row = _names(disk, folder, known, kept=name != ".")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return _failed(_Row(0, (), 0, has_log=False), name, str(error.strerror))
    if not (row.has_log or row.rotations):
        return structs.replace(row, stamp=(), listed=None) if row.listed else row
    path = f"{folder}/{LOG}"
    try:
        status = disk.stat(path)
        if not is_file(status):
            return _failed(row, name, f"{LOG} is not a plain file")
        stamp = (
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            *_stamp_of(disk, f"{folder}/{METADATA}"),
        )
        listed = row.listed
        if listed is None or row.stamp != stamp:
            listed = _listed(disk, folder, name, status)
    except FileNotFoundError:
        return _failed(row, name, f"{LOG} is missing")
    except OSError as error:
        return _failed(row, name, str(error.strerror))
    if listed is row.listed and listed.rotations == row.rotations:
        return row
    return structs.replace(
        row, stamp=stamp, listed=structs.replace(listed, rotations=row.rotations)
    )


def _listed(disk: Disk, folder: str, name: str, status: os.stat_result) -> Listed:
    """Count a session's log and read what its `session.json` says."""
    metadata, _problem = load(disk, folder)
    titled = metadata is not None and bool(metadata.title)
    tally = _count(disk, f"{folder}/{LOG}", status.st_size, titled=titled)
    return Listed(
        path=name,
        title=(metadata.title if metadata else "") or tally.title,
        agent=metadata.agent if metadata else "",
        modified=status.st_mtime,
        messages=tally.messages,
        tokens=tally.exact + tally.since // BYTES_A_TOKEN,
        bytes=status.st_size,
        rotations=0,
        problem=tally.problem,
    )


def _names(disk: Disk, folder: str, known: _Row | None, *, kept: bool) -> _Row:
    """Read a folder's names, unless they have not changed.

    Those of the root are not *kept*: each time the index is written they change.

    Raises:
        OSError: As the system does.
    """
    changed = disk.stat(folder).st_mtime_ns
    if known is not None and known.changed == changed:
        return known
    with os.scandir(folder) as entries:
        found = list(entries)
    names = {entry.name for entry in found}
    settled = kept and time.time_ns() - changed > SETTLED_NS
    return _Row(
        changed if settled else 0,
        tuple(sorted(entry.name for entry in found if entry.is_dir(follow_symlinks=False))),
        sum(rotation_number(name) is not None for name in names),
        LOG in names,
        known.stamp if known is not None else (),
        known.listed if known is not None else None,
    )


def _stamp_of(disk: Disk, path: str) -> tuple[int, int]:
    try:
        status = disk.stat(path)
    except OSError:
        return 0, 0
    return status.st_ino, status.st_mtime_ns


def _failed(row: _Row, name: str, problem: str) -> _Row:
    listed = Listed(
        path=name,
        title="",
        agent="",
        modified=0.0,
        messages=0,
        tokens=0,
        bytes=0,
        rotations=row.rotations,
        problem=problem,
    )
    return structs.replace(row, stamp=(), listed=listed)


def _count(disk: Disk, path: str, size: int, *, titled: bool) -> _Tally:
    """Count a log's messages and tokens; without a title, find what the user said first."""
    descriptor = disk.open(path, os.O_RDONLY)
    try:
        quick, slow = _QuickTally(titled=titled), _SlowTally(titled=titled)
        if all(map(quick.feed, read_pieces(disk, descriptor, 0, size))) and quick.finish():
            return quick
        for piece in read_pieces(disk, descriptor, 0, size):
            slow.feed(piece)
        slow.finish()
        return slow
    finally:
        disk.close(descriptor)


class _Tally(ABC):
    """What is counted of a log. `feed` and `finish` give False where they cannot tell."""

    def __init__(self, *, titled: bool) -> None:
        self.messages = 0
        self.exact = 0
        self.since = 0
        """How many bytes came since the last usage record."""
        self.title = ""
        self.problem = ""
        self._titled = titled

    @abstractmethod
    def feed(self, data: bytes) -> bool: ...

    @abstractmethod
    def finish(self) -> bool: ...

    def _counted(self, usage: Usage) -> bool:
        """Believe a usage record, unless it says that a history takes nothing."""
        if usage.token_count < 0 or (usage.token_count == 0 and self.messages):
            return False
        self.exact, self.since = usage.token_count, 0
        return True


class _QuickTally(_Tally):
    """Counts lines by how they begin and end; gives up on whatever is not as we write it."""

    def __init__(self, *, titled: bool) -> None:
        super().__init__(titled=titled)
        self._kept: list[bytes] = []
        self._size = 0
        self._need = 0
        self._usage = b""

    def feed(self, data: bytes) -> bool:
        self._kept.append(data)
        self._size += len(data)
        if b"\0" in data:
            return False
        if b"\n" not in data or self._size < self._need:
            return True
        whole = self._kept[0] if len(self._kept) == 1 else b"".join(self._kept)
        stop = self._lines(whole, whole.rfind(b"\n") + 1)
        self._kept = [whole[stop:]] if stop < len(whole) else []
        self._size = len(whole) - stop
        return stop >= 0

    def finish(self) -> bool:
        if self._size:
            return False
        if not self._usage:
            return True
        since = self.since
        try:
            usage = decode_special(self._usage)
        except REFUSED:
            return False
        believed = isinstance(usage, Usage) and self._counted(usage)
        self.since = since
        return believed

    def _lines(self, whole: bytes, cut: int) -> int:
        """Count the lines of `whole[:cut]`; give up to where, or -1 if one is not usual.

        Every name is bound outside of the loop: this is what a list of many sessions costs.
        """
        position = inside = self._need = 0
        lines = messages = 0
        roles, special, batch_prefix = ROLES, SPECIAL_PREFIXES, BATCH_PREFIX
        titled, view = self._titled or bool(self.title), memoryview(whole)
        for line in whole[:cut].split(b"\n")[:-1]:
            if not line.startswith(roles) or not line.endswith(b"}"):
                return -1
            after = position + len(line) + 1
            if not line.startswith(special):
                messages += 1
                if not titled:
                    self.title = _title(line)
                    titled = bool(self.title)
            elif line.startswith(batch_prefix):
                batch = _batch_of(line)
                if batch is None or position < inside:
                    return -1
                inside = after + batch.bytes
                if inside > len(whole):
                    self._need = inside - position
                    break
                if checksum(view[after:inside]) != batch.hash:
                    return -1
            elif line.startswith(USAGES):
                self._usage, self.since = line, -after
            lines += 1
            position = after
        self.messages += messages
        self.since += position
        return position if whole.count(ROLE, 0, position) == lines else -1


class _SlowTally(_Tally):
    """Counts records, as whoever opens the session does."""

    def __init__(self, *, titled: bool) -> None:
        super().__init__(titled=titled)
        self._scanner = Scanner()

    def feed(self, data: bytes) -> bool:
        for entry in flatten(self._scanner.feed(data)):
            self._add(entry)
        return True

    def finish(self) -> bool:
        for entry in flatten(self._scanner.finish()):
            self._add(entry)
        bad = sum(problem.kind != "mended" for problem in self._scanner.problems)
        if bad and not self.messages:
            self.problem = f"{LOG} has {bad} damaged lines and no message"
        return True

    def _add(self, entry: Entry) -> None:
        record = entry.record
        self.since += entry.end - entry.start
        if isinstance(record, Message):
            self.messages += 1
            self.title = self.title or _title_of(record)
        elif isinstance(record, Usage):
            self._counted(record)


def _batch_of(line: bytes) -> Batch | None:
    """Give a batch's record; None if it is none that can count."""
    try:
        record = decode_special(line)
    except REFUSED:
        return None
    return record if isinstance(record, Batch) and record.bytes > 0 else None


def _title(line: bytes) -> str:
    """Give the title that a line makes, if it is a user's message."""
    if b'"user"' not in line[:20]:
        return ""
    try:
        return _title_of(decode_message(line))
    except REFUSED:
        return ""


def _title_of(message: Message) -> str:
    """Give the beginning of what a user wrote; empty for what was only written in their name."""
    text = message.text[: 4 * TITLE_CHARACTERS_MAX]
    marked = message.origin is None and text.lstrip().startswith("<")
    if message.role != "user" or message.origin not in {None, "user"} or marked:
        return ""
    return " ".join(text.split())[:TITLE_CHARACTERS_MAX].rstrip()


def _read_index(disk: Disk, root: str) -> dict[str, _Row]:
    """Read the index: a check sum, a newline, and the rows. Empty unless it is as we wrote it."""
    try:
        descriptor = disk.open(os.path.join(root, INDEX), os.O_RDONLY)
    except OSError:
        return {}
    try:
        size = min(disk.fstat(descriptor).st_size, INDEX_BYTES_MAX)
        total, _, data = disk.read(descriptor, size, 0).partition(b"\n")
        if total != b"%08x" % zlib.crc32(data):
            return {}
        index = msgspec.json.decode(data, type=_Index)
    except (OSError, msgspec.DecodeError):
        return {}
    finally:
        disk.close(descriptor)
    return index.rows if index.version == INDEX_VERSION else {}


def _write_index(disk: Disk, root: str, rows: dict[str, _Row]) -> None:
    """Replace the index; where that fails the list goes without."""
    path = os.path.join(root, INDEX)
    temporary = f"{path}.{os.getpid()}.new"
    try:
        data = msgspec.json.encode(_Index(INDEX_VERSION, rows))
        descriptor = disk.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except (OSError, UnicodeEncodeError):
        # A folder's name may be no text.
        return
    try:
        write_all(disk, descriptor, b"%08x\n" % zlib.crc32(data) + data)
        disk.rename(temporary, path)
    except OSError:
        discard(disk, temporary)
    finally:
        disk.close(descriptor)
