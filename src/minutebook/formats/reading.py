"""Find out what a file is, and read it: the registry of formats, and the one place of I/O.

A file is known by its content. Formats are asked in the order of `FORMATS`, from the most to
the least particular, and the `Reading` names the one that took the file and by what evidence.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable
from pathlib import Path

from msgspec import structs

from minutebook.errors import FormatError, StoreError
from minutebook.formats import anthropic_messages, claude_code, kimi, openai_chat
from minutebook.formats.mapping import table, text
from minutebook.formats.source import Source, loads
from minutebook.formats.value import Format, LeftOut, Reading

__all__ = ["FORMATS", "Format", "LeftOut", "Reading", "read", "read_source", "recognise"]

FORMATS: tuple[Format, ...] = (
    kimi.NATIVE,
    kimi.KIMI,
    claude_code.FORMAT,
    anthropic_messages.FORMAT,
    openai_chat.FORMAT,
)
"""Every format that can be read, in the order in which they are asked."""
LOG_NAME = "context.jsonl"
"""The log in a session's directory, ours and Kimi CLI's."""
_COMMON_NAMES = frozenset({"context", "api_conversation_history", "claude_messages"})
"""Names that all sessions' files of an agent have: then the folder's name is the session's."""
_CANDIDATES_SHOWN = 3
_HEAD_BYTES = 200
"""Where an event log says which version of its protocol it has."""
_ROTATION = re.compile(r"context_(\d{1,18})\.jsonl(?:\.zst)?", re.ASCII)


def recognise(source: Source) -> tuple[Format, str]:
    """Give the format of a source, and the evidence.

    Raises:
        FormatError: If it is of no known format; the message lists what was looked for.
    """
    for form in FORMATS:
        evidence = form.detect(source)
        if evidence is not None:
            return form, evidence
    looked = "; ".join(form.looks_for for form in FORMATS)
    hint = "the file is empty; " if source.blank else ""
    if b'"protocol_version"' in source.data[:_HEAD_BYTES]:
        hint = f"this is an agent's event log, name the {LOG_NAME} beside it if there is one; "
    raise FormatError(f"no known format: {hint}looked for {looked}", path=source.path)


def read(path: Path, *, index: int = 0) -> Reading:
    """Read a session's file or directory.

    Of a file that holds several conversations the one of *index*, from 0, is read, and a
    problem of the kind `several` says how many there are. Memory: a few times the file's size.

    Raises:
        FormatError: If the content is of no known format, there is no conversation of that
            index, or a directory holds no session.
        StoreError: If the path cannot be read.
    """
    try:
        file = _log_in(path) if path.is_dir() else path
        data = _bytes_of(file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StoreError(f"cannot be read: {reason}", path=str(path)) from error
    own = file.parent.name if file.stem in _COMMON_NAMES else file.stem
    source = Source(data, path=str(file), name=own)
    try:
        reading = read_source(source, index=index)
    except RecursionError as error:
        raise FormatError("values are nested too deeply", path=str(file)) from error
    return _with_neighbours(reading, file) if file.name == LOG_NAME else reading


def read_source(source: Source, *, index: int = 0) -> Reading:
    """Read a session that is in memory. Pure.

    Raises:
        FormatError: As `read`.
    """
    if source.path.endswith(LOG_NAME) and source.blank:
        # A session that was opened and never written to; nothing but its name says so.
        return kimi.read_native(source, index)
    form, _ = recognise(source)
    return form.read(source, index)


def _log_in(folder: Path) -> Path:
    """Give the log of a session's directory.

    Raises:
        FormatError: If there is none; the message names what there is instead.
    """
    names = sorted(entry.name for entry in folder.iterdir())
    if LOG_NAME in names:
        return folder / LOG_NAME
    rotations = _rotations(names)
    if rotations:
        what = f"no {LOG_NAME}, but rotations; the newest is context_{max(rotations)}.jsonl"
        raise FormatError(f"{what}, name that file", path=str(folder))
    files = [name for name in names if name.endswith((".jsonl", ".json"))]
    shown = ", ".join(files[:_CANDIDATES_SHOWN])
    more = ", ..." if len(files) > _CANDIDATES_SHOWN else ""
    there = f"name one of its files ({shown}{more})" if files else "it holds no session"
    raise FormatError(f"a directory without {LOG_NAME}: {there}", path=str(folder))


def _rotations(names: Iterable[str]) -> list[int]:
    """Give the numbers of the rotations among file names, packed ones too."""
    return [int(found[1]) for found in map(_ROTATION.fullmatch, names) if found is not None]


def _bytes_of(file: Path) -> bytes:
    """Read a regular file whole. What waits for a writer, or never ends, is refused."""
    if not stat.S_ISREG(file.stat().st_mode):
        raise StoreError("is not a file", path=str(file))
    return file.read_bytes()


def _with_neighbours(reading: Reading, log: Path) -> Reading:
    """Add what a log's directory knows: the title, rotations, sub-agents. All may be broken."""
    folder = log.parent
    try:
        names = [entry.name for entry in folder.iterdir()]
        below = folder / "subagents"
        subagents = [entry.name for entry in below.iterdir()] if below.is_dir() else []
    except OSError:
        return reading
    more = {
        "rotations": len(_rotations(names)),
        "subagents": len(subagents) + sum(name.startswith("context_sub_") for name in names),
    }
    counts = reading.counts | {name: count for name, count in more.items() if count}
    return structs.replace(reading, title=_title(folder) or reading.title, counts=counts)


def _title(folder: Path) -> str:
    """Give a session's title: ours, or Kimi CLI's; empty if none can be read."""
    for name, key in (("session.json", "title"), ("state.json", "custom_title")):
        try:
            value, _mended = loads(_bytes_of(folder / name))
        except (OSError, StoreError):
            continue
        title = text(table(value).get(key))
        if title:
            return title
    return ""
