"""A `SessionStore` of the Claude Agent SDK: each transcript is a session of ours.

    options = ClaudeAgentOptions(session_store=MinutebookStore("sessions"), resume=session_id)

An entry is one message: its text, so that it can be read and searched, and the entry itself,
which is given back as it came. Nothing is ever deleted, so the store has no `delete`, which the
SDK takes for a store that keeps everything.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import minutebook
from minutebook.messages import Message, OtherPart, TextPart
from minutebook.store.names import LOG

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

KEPT = "claude_agent_entry"
"""The kind of the part that holds an entry."""
SUBPATHS = "subpaths"
"""The folder in a session's folder that has the transcripts of its subagents."""
LOCK_SECONDS = 10.0
"""How long an append waits for another one to the same transcript."""
ROLES = frozenset({"user", "assistant"})


class MinutebookStore:
    """The transcripts below one folder: a folder a project, in it a session a transcript."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        """Take the folder, which is made when the first entry comes."""
        self._root = Path(root)

    async def append(self, key: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> None:
        """Write the entries that the transcript has not, in one batch with a checkpoint before.

        Raises:
            InvalidMessage: If an entry is no JSON; nothing was written.
            StoreError: If it could not be written.
        """
        if not entries:
            return
        async with minutebook.open(self._folder(key), lock_timeout=LOCK_SECONDS) as book:
            known = list(_entries(book.history(full=True)))
            new = list(_once([*known, *entries]))[len(known) :]
            if new:
                await book.checkpoint()
                await book.append(*map(_message, new))

    async def load(self, key: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        """Give every entry ever written, in order; None for a transcript that never was.

        Raises:
            StoreError: If it cannot be read.
        """
        folder = self._folder(key)
        if not (folder / LOG).exists():
            return None
        async with minutebook.open(folder, mode="r") as book:
            return list(_once(_entries(book.history(full=True)))) or None

    async def list_sessions(self, project_key: str) -> list[dict[str, Any]]:
        """List a project's transcripts, those of subagents left out; times in milliseconds."""
        return [
            {
                "session_id": unquote(folder.name),
                "mtime": (folder / LOG).stat().st_mtime_ns // 1_000_000,
            }
            for folder in _sessions(self._root / _name(project_key))
        ]

    async def list_subkeys(self, key: Mapping[str, Any]) -> list[str]:
        """List the transcripts of a session's subagents."""
        main = {name: key[name] for name in ("project_key", "session_id")}
        return [unquote(folder.name) for folder in _sessions(self._folder(main) / SUBPATHS)]

    def _folder(self, key: Mapping[str, Any]) -> Path:
        folder = self._root / _name(key["project_key"]) / _name(key["session_id"])
        subpath = key.get("subpath")
        return folder if subpath is None else folder / SUBPATHS / _name(subpath)


def _name(text: str) -> str:
    """Give the name of a folder that stands for a text, and never leads anywhere else."""
    name = quote(text, safe=" ")
    return name if name.strip(".") else name.replace(".", "%2E") or "%"


def _sessions(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(inner for inner in folder.iterdir() if (inner / LOG).is_file())


def _message(entry: Mapping[str, Any]) -> Message:
    """Make the message of an entry; what is no part of the conversation is the system's."""
    inner = entry.get("message")
    content = inner.get("content") if isinstance(inner, dict) else entry.get("content")
    kept = OtherPart({"type": KEPT, "entry": dict(entry)})
    text = "\n".join(_texts(content))
    kind = entry.get("type")
    return Message(
        role=kind if isinstance(kind, str) and kind in ROLES else "system",
        content=(TextPart(text), kept) if text else (kept,),
        origin="import",
    )


def _texts(content: Any) -> Iterator[str]:
    """Give what can be read in the content of an entry."""
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield from _texts(block.get("text"))
            yield from _texts(block.get("content"))


def _entries(messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, OtherPart) and part.data.get("type") == KEPT:
                yield part.data["entry"]


def _once(entries: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Leave out what came again: entries of a uuid that has been before."""
    seen = set()
    for entry in entries:
        uuid = entry.get("uuid")
        if not isinstance(uuid, str) or uuid not in seen:
            seen.add(uuid)
            yield dict(entry)
