"""`session.json`: what is known about a session beside its log. Small, replaceable, never needed.

The log is the truth; a torn or missing `session.json` is rebuilt and reported.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from minutebook.store.disk import write_all
from minutebook.store.names import METADATA, NEW_METADATA

if TYPE_CHECKING:
    from minutebook.store.disk import Disk

BYTES_MAX = 1 << 20


class Metadata(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of `session.json`."""

    id: str
    title: str = ""
    created: float | None = None
    """Seconds since 1970."""
    agent: str = ""
    """Which agent wrote the session."""
    model: str = ""
    window: int | None = None
    """The model's context window in tokens, where somebody said it."""
    learned_window: int | None = None
    """What a provider's overflow error taught of it."""
    tags: tuple[str, ...] = ()


def load(disk: Disk, folder: str) -> tuple[Metadata | None, str]:
    """Read `session.json`: None where there is none, or none that can be read.

    The second value says in one sentence why it could not be read; empty if it is missing.
    """
    try:
        descriptor = disk.open(os.path.join(folder, METADATA), os.O_RDONLY)
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"{METADATA} cannot be opened ({error.strerror}); rebuilt"
    try:
        data = disk.read(descriptor, BYTES_MAX, 0)
        return msgspec.json.decode(data, type=Metadata), ""
    except OSError as error:
        return None, f"{METADATA} cannot be read ({error.strerror}); rebuilt"
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        return None, f"{METADATA} is damaged ({error}); rebuilt"
    finally:
        disk.close(descriptor)


def save(disk: Disk, folder: str, metadata: Metadata) -> None:
    """Replace `session.json` atomically; the folder is left to be synced.

    Raises:
        OSError: As the system does; the old file is then still there.
    """
    temporary = os.path.join(folder, NEW_METADATA)
    descriptor = disk.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        write_all(disk, descriptor, msgspec.json.format(msgspec.json.encode(metadata)) + b"\n")
        disk.fsync(descriptor)
    finally:
        disk.close(descriptor)
    disk.rename(temporary, os.path.join(folder, METADATA))
