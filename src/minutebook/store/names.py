"""Names: session ids, and the files of a session's directory."""

from __future__ import annotations

import os
import re
import unicodedata

from minutebook.errors import StoreError

LOG = "context.jsonl"
NEW_LOG = ".context.jsonl.new"
"""A rewrite in progress; what a crash leaves of one is cleared by the next writer."""
NEW_ROTATION = ".rotation.new"
"""A rotation that is being compressed."""
EXPANDED = ".context.expanded"
"""A compressed rotation laid out for copying; it keeps its name for an instant only."""
BAD = "context.bad.jsonl"
"""Bytes that were set aside: torn tails and failed batches, each followed by a newline."""
LOCK = ".lock"
FOREIGN = frozenset({"state.json", "wire.jsonl"})
"""Files that Kimi CLI keeps in a session's folder. One that has any of them is another agent's."""
METADATA = "session.json"
NEW_METADATA = ".session.json.new"
ID_BYTES_MAX = 200

_ROTATION = re.compile(r"context_([0-9]{1,18})\.jsonl(\.zst)?")


def rotation_name(number: int) -> str:
    """Give the file name of a rotation."""
    return f"context_{number}.jsonl"


def rotation_number(name: str) -> int | None:
    """Give the number of a rotation's file name; `007` counts as 7."""
    match = _ROTATION.fullmatch(name)
    return int(match[1]) if match else None


def check_session_id(session_id: str) -> str:
    """Give a session id back if it is one path component that is safe as a name.

    Raises:
        StoreError: If it is empty, `.` or `..`, has a separator or a control character, or
            takes more than 200 bytes.
    """
    reason = ""
    if session_id in {"", ".", ".."}:
        reason = "is no name"
    elif "/" in session_id or "\\" in session_id:
        reason = "has a path separator"
    elif any(unicodedata.category(character) in {"Cc", "Cs"} for character in session_id):
        reason = "has a control character or a lone surrogate"
    elif len(session_id.encode("utf-8", "replace")) > ID_BYTES_MAX:
        reason = f"is longer than {ID_BYTES_MAX} bytes"
    if reason:
        raise StoreError(f"session id {session_id[:60]!r} {reason}", remedy="choose another")
    return session_id


def folder_of(path: str | os.PathLike[str]) -> str:
    """Give the session's folder that *path* means: itself, or that of the log it names."""
    folder, name = os.path.split(os.fspath(path))
    return folder or "." if name == LOG else os.fspath(path)
