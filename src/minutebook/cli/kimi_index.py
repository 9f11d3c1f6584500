"""`kimi.json`: the folders that Kimi CLI has worked in. What is not listed there it does not find.

Worse: asked for a session of a folder that is not listed, Kimi CLI makes it anew, and unlinks
the `context.jsonl` that lies in its place (measured with kimi-cli 1.52).
"""

from __future__ import annotations

import os
from hashlib import md5
from pathlib import Path
from typing import Any

import msgspec

from minutebook.errors import StoreError
from minutebook.store.disk import FOLDER_MODE, Disk, write_all
from minutebook.store.logfile import translated

FILE = "kimi.json"
LOCAL = "local"
"""What Kimi CLI calls the machine that it runs on; a folder of another is not ours to judge."""


def digest_of(cwd: str) -> str:
    """Give the name of the folder in which the sessions of a working folder lie."""
    return md5(cwd.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()


def folder_of_digest(share: Path, digest: str) -> str | None:
    """Give the working folder whose sessions lie under *digest*; None if none is listed.

    Raises:
        StoreError: If the list cannot be read.
    """
    listed = (entry["path"] for entry in _entries(_load(share)))
    return next((path for path in listed if digest_of(path) == digest), None)


def ensure_listed(share: Path, cwd: str) -> None:
    """List a working folder, if it is not; everything else in the file stays as it is.

    Raises:
        StoreError: If the list cannot be read or written.
    """
    content = _load(share)
    if any(entry["path"] == cwd for entry in _entries(content)):
        return
    entry = {"path": cwd, "kaos": LOCAL, "last_session_id": None}
    content = {**content, "work_dirs": [*content.get("work_dirs", []), entry]}
    disk, path = Disk(), share / FILE
    with translated(str(path)):
        share.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        new = str(path.with_name(f"{FILE}.{os.getpid()}.new"))
        descriptor = disk.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            write_all(disk, descriptor, msgspec.json.format(msgspec.json.encode(content)))
            disk.fsync(descriptor)
            disk.rename(new, str(path))
        except BaseException:
            disk.unlink(new)
            raise
        finally:
            disk.close(descriptor)
        disk.fsync_folder(str(share))


def _load(share: Path) -> dict[str, Any]:
    """Read the file as it is; an empty mapping where there is none.

    Raises:
        StoreError: If it is not what Kimi CLI writes; it could not read that either.
    """
    path = share / FILE
    with translated(str(path)):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return {}
    try:
        content = msgspec.json.decode(data)
        if isinstance(content, dict) and isinstance(content.get("work_dirs", []), list):
            return content
        problem = "no list of working folders"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = str(error)
    raise StoreError(
        f"Kimi CLI's list of folders is damaged ({problem})",
        path=str(path),
        remedy="mend or remove it, or write the session elsewhere with --out",
    )


def _entries(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the folders of this machine."""
    return [
        entry
        for entry in content.get("work_dirs", [])
        if isinstance(entry, dict)
        and isinstance(entry.get("path"), str)
        and entry.get("kaos", LOCAL) == LOCAL
    ]
