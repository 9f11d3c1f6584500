"""Room: which rotations are compressed or removed, and doing it without a moment of risk.

`plan` decides purely. `carry_out` acts, under the writer's lock: it writes a compressed
rotation beside the plain one, reads it back, compares, syncs, and only then unlinks.
"""

from __future__ import annotations

import os
import time
from contextlib import closing
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from minutebook.errors import StoreError
from minutebook.store.compressed import Head, Pieces, compressed_pieces, read_head, write_synced
from minutebook.store.disk import discard
from minutebook.store.logfile import translated
from minutebook.store.names import NEW_ROTATION, rotation_name
from minutebook.store.rewriting import checksum_of
from minutebook.store.rotated import rotation_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from minutebook.store.contract import Rotation
    from minutebook.store.disk import Disk

COMPARE_BYTES = 1 << 20
SHARED_BYTES_MIN = 4096
"""Sharing less is not worth a dependency on another file."""
NEIGHBOURS = 3
"""How many rotations are looked at for a shared part, of those after this one and of those
that others share a part with already: a revert shares most with what is near it."""
ENOUGH_SHARE = 0.95
"""A base that shares this much is taken without looking for a better one."""
COMPRESSED_A_SECOND = 30_000_000
"""Bytes; half of the slowest measured (66 MB/s, of text that shares nothing). What would take
longer than there is time for is not begun."""


What = Literal["keep", "compress", "remove"]


class Retention(Struct, frozen=True, kw_only=True):
    """What may become of rotations. By default none is ever removed."""

    keep_plain: int = 3
    """How many of the newest stay as plain files."""
    compress: bool = True
    rotations_max: int | None = None
    """Remove the oldest beyond this many."""
    age_days_max: float | None = None
    """Remove those last written longer ago."""
    bytes_max: int | None = None
    """Remove the oldest until all together take no more on the disk."""
    drop_history: bool = False
    """Whether what the full history needs may be removed too."""
    foreign: bool = False
    """Whether a session in another agent's folder is tidied too."""
    on_close_seconds: float = 1.0
    """How long a closing session may spend on it; the rest is done next time. 0: nothing."""

    @property
    def removes(self) -> bool:
        """Whether there is a limit that may remove a rotation."""
        return (self.rotations_max, self.age_days_max, self.bytes_max) != (None, None, None)


class Action(Struct, frozen=True, kw_only=True):
    """What is to be done with one rotation."""

    number: int
    what: What
    why: str
    stored_bytes: int
    """What it takes now."""


class Outcome(Struct, frozen=True, kw_only=True):
    """What was done with one rotation, or would be."""

    action: Action
    freed_bytes: int
    """How much less it takes on the disk; not more than 0 for one that would only grow."""


def plan(
    rotations: Sequence[Rotation], needed: frozenset[int], retention: Retention, now: float
) -> list[Action]:
    """Decide about each rotation; gives the actions in the order in which they may be done.

    *needed* are the numbers that the full history needs; *now* is the time in seconds since
    1970. A rotation that others share a part with is not removed before them, and what is
    removed goes before anything is compressed, so that none gets a base that is to go.
    """
    doomed = _doomed(rotations, needed, retention, now)
    bases = {
        rotation.base
        for rotation in rotations
        if rotation.base is not None and rotation.number not in doomed
    }
    first_plain = len(rotations) - retention.keep_plain
    actions = []
    for position, rotation in enumerate(rotations):
        what: What = "keep"
        if rotation.number in doomed and rotation.number not in bases:
            what, why = "remove", doomed[rotation.number]
        elif rotation.number in doomed:
            why = f"{doomed[rotation.number]}, but others share a part with it"
        elif rotation.compressed:
            why = "compressed already"
        elif position >= first_plain:
            why = "one of the newest"
        elif not retention.compress:
            why = "compression is off"
        else:
            what, why = "compress", "older than the newest"
        stored = rotation.stored_bytes
        actions.append(Action(number=rotation.number, what=what, why=why, stored_bytes=stored))
    with_base = {rotation.number for rotation in rotations if rotation.base is not None}
    return sorted(
        actions, key=lambda action: (action.what != "remove", action.number not in with_base)
    )


def _doomed(
    rotations: Sequence[Rotation], needed: frozenset[int], retention: Retention, now: float
) -> dict[int, str]:
    """Give the rotations that a limit asks to remove, with the limit."""
    free = [
        rotation
        for rotation in rotations
        if retention.drop_history or rotation.number not in needed
    ]
    doomed: dict[int, str] = {}
    if retention.age_days_max is not None:
        oldest = now - retention.age_days_max * 86_400
        for rotation in free:
            if rotation.modified < oldest:
                doomed[rotation.number] = f"older than {retention.age_days_max:g} days"
    count = len(rotations) - len(doomed)
    total = sum(item.stored_bytes for item in rotations if item.number not in doomed)
    for rotation in free:
        if rotation.number in doomed:
            continue
        if retention.rotations_max is not None and count > retention.rotations_max:
            doomed[rotation.number] = f"more than {retention.rotations_max} rotations"
        elif retention.bytes_max is not None and total > retention.bytes_max:
            doomed[rotation.number] = f"more than {retention.bytes_max} bytes in all"
        else:
            continue
        count -= 1
        total -= rotation.stored_bytes
    return doomed


def carry_out(
    disk: Disk,
    folder: str,
    rotations: Sequence[Rotation],
    actions: Sequence[Action],
    *,
    seconds: float,
    dry: bool = False,
) -> list[Outcome]:
    """Do what a plan says, for so many seconds; *dry*: only find out how much it would free.

    What takes longer than is left is passed over, for the next time.

    Raises:
        StoreError: If something failed; every rotation is then still readable.
    """
    started = time.monotonic()
    room = _Room(disk, folder, list(rotations))
    done = []
    for action in actions:
        if action.what == "keep":
            continue
        left = seconds - (time.monotonic() - started)
        rotation = room.find(action.number)
        with translated(rotation.path):
            if action.what == "remove":
                freed = room.remove(rotation, dry=dry)
            elif rotation.bytes > left * COMPRESSED_A_SECOND:
                continue
            else:
                freed = room.compress(rotation, dry=dry)
        done.append(Outcome(action=action, freed_bytes=freed))
    return done


class _Room:
    """A session's rotations, while they are tidied up."""

    def __init__(self, disk: Disk, folder: str, rotations: list[Rotation]) -> None:
        self._disk = disk
        self._folder = folder
        self._rotations = rotations

    def find(self, number: int) -> Rotation:
        return next(item for item in self._rotations if item.number == number)

    def remove(self, rotation: Rotation, *, dry: bool) -> int:
        """Remove a rotation; give what that frees."""
        if not dry:
            if not rotation.compressed:
                # Of an interrupted run; else it would come back in the plain one's place.
                discard(self._disk, self._target(rotation))
            self._disk.unlink(rotation.path)
        self._rotations.remove(rotation)
        return rotation.stored_bytes

    def compress(self, rotation: Rotation, *, dry: bool) -> int:
        """Compress a plain rotation; give what that frees.

        Raises:
            StoreError: If what was written does not read back as it was; the plain one stays.
            OSError: As the system does; the plain one stays.
        """
        base, shared = self._best_base(rotation)
        head = Head(
            bytes=rotation.bytes,
            hash=checksum_of(self._pieces(rotation)),
            base=None if base is None else base.number,
            shared=shared,
            shared_hash=checksum_of(self._pieces(rotation, end=shared)),
            modified=rotation.modified,
        )
        pieces = compressed_pieces(head, self._pieces(rotation, start=shared))
        if dry:
            stored = sum(map(len, pieces))
            changed = structs.replace(rotation, base=head.base, stored_bytes=stored)
        else:
            target = self._target(rotation)
            self._check_free(target, head)
            stored = self._write(rotation, target, head, pieces)
            changed = structs.replace(
                rotation, path=target, compressed=True, base=head.base, stored_bytes=stored
            )
        self._rotations[self._rotations.index(rotation)] = changed
        return rotation.stored_bytes - stored

    def _write(self, rotation: Rotation, target: str, head: Head, pieces: Pieces) -> int:
        """Write the compressed rotation, read it back, and only then let the plain one go."""
        disk = self._disk
        temporary = os.path.join(self._folder, NEW_ROTATION)
        discard(disk, temporary)
        try:
            with closing(pieces):
                stored = write_synced(disk, temporary, pieces)
            written = structs.replace(
                rotation, path=temporary, compressed=True, base=head.base, stored_bytes=stored
            )
            self._read_back(rotation, written)
            disk.rename(temporary, target)
        except BaseException:
            discard(disk, temporary)
            raise
        disk.fsync_folder(self._folder)
        disk.unlink(rotation.path)
        return stored

    def _read_back(self, rotation: Rotation, written: Rotation) -> None:
        """Compare what was written with what it is to stand for, as any reader would read it."""
        if not _same(self._pieces(rotation), self._pieces(written)):
            raise StoreError("does not read back as it was", path=written.path)

    def _check_free(self, target: str, head: Head) -> None:
        """Make sure that no other rotation of that number is there, compressed and readable."""
        try:
            there = read_head(self._disk, target)
        except (FileNotFoundError, StoreError):
            return
        if (there.bytes, there.hash) != (head.bytes, head.hash):
            raise StoreError("another rotation of this number is there", path=target)

    def _target(self, rotation: Rotation) -> str:
        return os.path.join(self._folder, f"{rotation_name(rotation.number)}.zst")

    def _pieces(self, rotation: Rotation, *, start: int = 0, end: int | None = None) -> Pieces:
        return rotation_pieces(self._disk, self._rotations, rotation, start, end)

    def _best_base(self, rotation: Rotation) -> tuple[Rotation | None, int]:
        """Find a rotation that shares a part with this one; None if it is itself such a base."""
        bases = {other.base for other in self._rotations}
        if rotation.number in bases:
            return None, 0
        free = [
            other
            for other in self._rotations
            if other.number != rotation.number and other.base is None and other.bytes > 0
        ]
        known = [other for other in free if other.number in bases]
        known.sort(key=lambda other: abs(other.number - rotation.number))
        later = [other for other in free if other.number not in bases]
        later = [other for other in later if other.number > rotation.number]
        best: Rotation | None = None
        most = SHARED_BYTES_MIN - 1
        for other in [*known[:NEIGHBOURS], *later[:NEIGHBOURS]]:
            shared = _shared(self._pieces(rotation), self._pieces(other))
            if shared > most:
                best, most = other, shared
            if most >= ENOUGH_SHARE * rotation.bytes:
                break
        return (best, most) if best is not None else (None, 0)


def _same(one: Pieces, other: Pieces) -> bool:
    """Compare two streams of bytes to their ends."""
    with closing(one), closing(other):
        return all(a == b for a, b in zip_longest(_cut(one), _cut(other)))


def _shared(one: Pieces, other: Pieces) -> int:
    """Give the length of the common beginning of two streams of bytes."""
    shared = 0
    with closing(one), closing(other):
        for a, b in zip(_cut(one), _cut(other), strict=False):
            if a != b:
                return shared + _prefix_length(a, b)
            shared += len(a)
    return shared


def _prefix_length(one: bytes, other: bytes) -> int:
    """Give the length of the common prefix, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _cut(pieces: Pieces) -> Iterator[bytes]:
    """Cut pieces of any size into pieces of one size, so that two streams can be compared."""
    rest = b""
    for piece in pieces:
        rest = rest + piece if rest else piece
        start = 0
        while len(rest) - start >= COMPARE_BYTES:
            yield rest[start : start + COMPARE_BYTES]
            start += COMPARE_BYTES
        rest = rest[start:]
    if rest:
        yield rest
