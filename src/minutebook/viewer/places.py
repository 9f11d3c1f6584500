"""Which sessions may be looked at, and under which name each stands in an address.

A name is the check sum of a path, and only names of this list are known: no address of a page
holds a path, so none can lead out of what was asked for.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, structs

from minutebook.cli.homes import at_home
from minutebook.cli.opening import is_session
from minutebook.errors import StoreError
from minutebook.store.listing import Listed, list_sessions
from minutebook.store.names import folder_of

KEY_BYTES = 8
HOMES_SECONDS = 30.0
"""How old a list of the agents' homes may be: making it reads many files."""


class Place(Struct, frozen=True, kw_only=True):
    """One session, or one file of another agent."""

    key: str
    """Its name in addresses: the same whenever this path is looked at."""
    path: Path
    listed: Listed
    """What a list says of it; of a single one that was named, its path alone."""


class Places:
    """The sessions that the viewer was started for. May be asked from several threads."""

    def __init__(self, path: Path | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a session, another agent's file, a folder with sessions, or None for the homes.

        Raises:
            StoreError: If there is nothing at *path*.
        """
        if path is not None and not path.exists():
            raise StoreError("no such file or folder", path=str(path), remedy="check the path")
        self.root = path
        self.single = path is not None and (path.is_file() or is_session(path))
        self._clock = clock
        self._homes: tuple[float, list[Listed]] | None = None
        self._known: dict[str, Place] = {}

    def all(self) -> list[Place]:
        """List every session, the one last written first.

        Raises:
            StoreError: If the root cannot be read.
        """
        if self.root is not None and self.single:
            found = [self._single(self.root)]
        elif self.root is not None:
            found = [
                _place((self.root / listed.path).resolve(), listed)
                for listed in list_sessions(str(self.root))
            ]
        else:
            found = [_place(Path(one.path).resolve(), one) for one in self._at_home()]
        self._known = {place.key: place for place in found}
        return found

    def find(self, key: str) -> Place | None:
        """Find the session of a name; None if there is none."""
        found = self._known.get(key)
        if found is None:
            self.all()
            found = self._known.get(key)
        return found

    def _single(self, path: Path) -> Place:
        if is_session(path):
            whole = Path(folder_of(path)).resolve()
            for found in list_sessions(str(whole), cached=False):
                if found.path == ".":
                    return _place(whole, structs.replace(found, path=whole.name))
        whole, status = path.resolve(), path.stat()
        listed = Listed(
            path=whole.name,
            title="",
            agent="",
            modified=status.st_mtime,
            messages=0,
            tokens=0,
            bytes=status.st_size,
            rotations=0,
        )
        return _place(whole, listed)

    def _at_home(self) -> list[Listed]:
        """List the sessions in the agents' homes, anew once the last list is old."""
        now = self._clock()
        if self._homes is None or now - self._homes[0] > HOMES_SECONDS:
            self._homes = (now, at_home(lambda _count: None))
        return self._homes[1]


def _place(path: Path, listed: Listed) -> Place:
    key = hashlib.blake2b(os.fsencode(path), digest_size=KEY_BYTES).hexdigest()
    return Place(key=key, path=path, listed=listed)
