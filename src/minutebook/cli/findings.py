"""What is wrong with a session, beyond the bytes of its log: a look at everything around it.

Nothing here repairs; each finding is one sentence that says what is there.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from minutebook.cli.rendering import byte_size, command, plural, ranges
from minutebook.errors import StoreError
from minutebook.lineage import HasLineage, walk
from minutebook.lines import Entry, Problem, Run, Scanner, flatten
from minutebook.messages import Message
from minutebook.records import Clear, Compaction, Fork, Lineage, Revert, Rotated
from minutebook.store.contract import Rotation
from minutebook.store.files import FileStore
from minutebook.store.names import BAD, LOCK, LOG, METADATA, rotation_name, rotation_number
from minutebook.survey import Survey
from minutebook.unsettled import Unsettled

REMEDIES = {"several": "; --conversation N reads another"}
"""What one can do about a problem of that kind at the command line."""


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that is not as it should be."""

    kind: str
    what: str
    """One sentence for people."""
    file: str = ""
    """The file's name, where it is not the one that was asked for."""
    line: int | None = None
    """The line's number, from 1, where it is about one line."""
    byte: int | None = None


class Retired(Struct, frozen=True, kw_only=True):
    """One rotation, there or missing, and how it came to be."""

    number: int
    path: str = ""
    """Where it lies; empty if it is missing."""
    bytes: int | None = None
    """Its length as a log, compressed or not; None where that cannot be told."""
    messages: int | None = None
    reason: str = ""
    """What left it behind: compaction, revert, clear, undo, restore; empty if no record says."""
    at: float | None = None
    missing: bool = False


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a look at a session's folder gave."""

    rotations: tuple[Retired, ...]
    findings: tuple[Finding, ...]


def of_bytes(problems: Iterable[Problem], file: str = "") -> list[Finding]:
    """Give what a reader found in the bytes of one file."""
    return [
        Finding(
            kind=problem.kind,
            what=problem.what + REMEDIES.get(problem.kind, ""),
            file=file,
            line=problem.line,
            byte=problem.byte,
        )
        for problem in problems
    ]


def of_survey(found: Survey, path: Path) -> Iterator[Finding]:
    """Say which numbers of a log are used twice, and which exchanges are not whole."""
    ids = Counter(mark.id for mark in found.checkpoints)
    twice = [checkpoint for checkpoint, count in ids.items() if count > 1]
    if twice:
        yield Finding(
            kind="twice",
            what=f"checkpoint {ranges(twice)} is there more than once; the newest one counts",
        )
    if found.seqs_used_twice:
        seqs = ranges(found.seqs_used_twice)
        yield Finding(kind="twice", what=f"number {seqs} is on more than one message")
    yield from _exchanges(found.unsettled, path)


def _exchanges(unsettled: Unsettled, path: Path) -> Iterator[Finding]:
    shown = command("show", path, "--view")
    orphans = unsettled.orphans
    if orphans:
        yield Finding(
            kind="exchange",
            what=f"{plural(len(orphans), 'tool result')} without a call (message "
            f"{ranges(orphans)}); not sent, see: {shown}",
        )
    # The calls of the last reply may still be running.
    last = unsettled.last_calling
    unanswered = [call.seq for call in unsettled.open() if call.index != last]
    if unanswered:
        yield Finding(
            kind="exchange",
            what=f"{plural(len(unanswered), 'tool call')} without a result (message "
            f"{ranges(unanswered)}); sent with a marked result, see: {shown}",
        )


def look_around(store: FileStore | None, log: HasLineage, path: Path) -> Surroundings:
    """Look at everything in a session's folder: rotations, metadata, modes, what was set aside.

    *log* is the live one, *path* what the user called it. Reads every rotation once and keeps
    none of its messages.
    """
    if store is None:
        return Surroundings(rotations=(), findings=())
    found: list[Finding] = []
    rotations = _rotations(store, log, found)
    if not os.path.lexists(Path(store.folder, LOG)):
        newest = max((rotation.number for rotation in rotations), default=0)
        found.insert(0, _log_missing(path, newest))
    if store.metadata_problem:
        found.append(
            Finding(
                kind="metadata",
                what=f"{store.metadata_problem.removesuffix('; rebuilt')}; title, agent, model "
                "and window that it held are not known",
                file=METADATA,
            )
        )
    found += _set_aside(store)
    found += _modes(Path(store.folder))
    return Surroundings(rotations=tuple(rotations), findings=tuple(found))


def _log_missing(path: Path, newest: int) -> Finding:
    return Finding(
        kind="missing",
        what=f"is missing; bring a rotation back with: {command('restore', path, newest)}",
        file=LOG,
    )


def _rotations(store: FileStore, log: HasLineage, found: list[Finding]) -> list[Retired]:
    """List the rotations that are there or should be; *found* takes what is wrong with them."""
    there = {rotation.number: rotation for rotation in store.rotations()}
    looks = {number: _look(store, rotation, found) for number, rotation in there.items()}
    left: dict[int, tuple[str, float | None]] = {}

    def load(named: Rotated) -> HasLineage | None:
        look = looks.get(named.number)
        return look if look is not None and look.is_named(named) else None

    _note_lineage(log, left)
    reached = set()
    for number, old in walk(log, load):
        reached.add(number)
        if old is not None:
            _note_lineage(old, left)
            continue
        what = f"rotation {number} is missing; without it the full history is not whole"
        if number in there:
            what = f"is not the file that was left behind as rotation {number}: its bytes differ"
        kind = "changed" if number in there else "missing"
        found.append(Finding(kind=kind, what=what, file=rotation_name(number)))
    return [
        Retired(
            number=number,
            path=there[number].path if number in there else "",
            bytes=_length(there[number]) if number in there else None,
            messages=looks[number].messages if number in looks else None,
            reason=left.get(number, ("", None))[0],
            at=left.get(number, ("", None))[1],
            missing=number not in there,
        )
        for number in sorted({*there, *left, *reached})
    ]


def _length(rotation: Rotation) -> int | None:
    """Give a rotation's length; None where a compressed one does not tell it."""
    return rotation.bytes if rotation.bytes >= 0 else None


class _Look(Struct, frozen=True):
    """What a rotation's file says, its length and its check sum."""

    messages: int
    lineage: tuple[Lineage, ...]
    bytes: int
    checksum: str

    def is_named(self, named: Rotated) -> bool:
        """Tell whether it is the file that a record names."""
        return named.bytes in {None, self.bytes} and named.hash in {None, self.checksum}


def _look(store: FileStore, rotation: Rotation, found: list[Finding]) -> _Look:
    """Read a rotation whole; *found* takes what is wrong in it."""
    scanner, size, running = Scanner(), 0, 0
    messages = 0
    lineage: list[Lineage] = []
    name = Path(rotation.path).name

    def note(items: Iterable[Run | Entry]) -> None:
        nonlocal messages
        for record in (entry.record for entry in flatten(items)):
            if isinstance(record, Message):
                messages += 1
            elif isinstance(record, Lineage):
                lineage.append(record)

    try:
        for piece in store.pieces(rotation.number):
            size += len(piece)
            running = zlib.crc32(piece, running)
            note(scanner.feed(piece))
        note(scanner.finish())
    except StoreError as error:
        found.append(Finding(kind="unreadable", what=f"cannot be read: {error.what}", file=name))
    found += of_bytes(scanner.problems, name)
    return _Look(messages, tuple(lineage), size, f"crc32:{running:08x}")


def _note_lineage(log: HasLineage, left: dict[int, tuple[str, float | None]]) -> None:
    """Note what left each rotation behind that a log's records name."""
    for record in log.lineage:
        named = _left_by(record)
        if named is not None:
            left.setdefault(named.number, (reason_of(record), record.at))


def _left_by(record: Lineage) -> Rotated | None:
    """Give the rotation that a rewrite left behind."""
    match record:
        case Compaction():
            return record.parent
        case Revert() | Clear():
            return record.origin
        case Fork():
            return None


def reason_of(record: Lineage) -> str:
    """Name what a lineage record did, in one word."""
    if isinstance(record, Compaction):
        return "compaction"
    if isinstance(record, Revert):
        return record.reason
    return type(record).__name__.lower()


def _set_aside(store: FileStore) -> Iterator[Finding]:
    try:
        size = Path(store.folder, BAD).stat().st_size
    except OSError:
        return
    yield Finding(
        kind="set-aside", what=f"{byte_size(size)} of damaged lines were set aside here", file=BAD
    )


def _modes(folder: Path) -> Iterator[Finding]:
    """Say what others than the owner may do with a session's folder and files."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    names = sorted(entry.name for entry in folder.iterdir())
    if mode & 0o077:
        may = "change what is in" if mode & 0o022 else "look into"
        yield Finding(
            kind="mode", what=f"others may {may} the folder (mode {mode:04o}); it should be 0700"
        )
    loose = []
    for name in names:
        if name not in {LOG, LOCK, METADATA, BAD} and rotation_number(name) is None:
            continue
        mode = (folder / name).lstat().st_mode
        if stat.S_ISLNK(mode):
            yield Finding(kind="link", what="is a symbolic link, which is not followed", file=name)
        elif mode & 0o077:
            loose.append(f"{name} (mode {stat.S_IMODE(mode):04o})")
    if loose:
        yield Finding(kind="mode", what=f"others may open {', '.join(loose)}; it should be 0600")
