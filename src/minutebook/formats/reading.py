"""Find out what a file is, and read it: the registry of formats, and the one place of I/O.

A file is known by its content. Formats are asked in the order of `FORMATS`, from the most to
the least particular, and the `Reading` names the one that took the file and by what evidence.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import structs

from minutebook.errors import FormatError, MinutebookError, StoreError
from minutebook.formats import kimi
from minutebook.formats.mapping import table, text
from minutebook.formats.packed import unpacked
from minutebook.formats.registry import FORMATS, every_format, plugins
from minutebook.formats.source import Source, loads
from minutebook.formats.value import Format, LeftOut, Reading

__all__ = ["FORMATS", "Format", "LeftOut", "Reading", "read", "read_source", "recognise"]

LOG_NAME = "context.jsonl"
"""The log in a session's directory, ours and Kimi CLI's."""
_COMMON_NAMES = frozenset(
    {"context", "api_conversation_history", "claude_messages", "base_state", "wire"}
)
"""Names that all sessions' files of an agent have: then the folder's name is the session's."""
_MAIN_FILES = (
    LOG_NAME,
    "agents/main/wire.jsonl",
    "base_state.json",
    "api_conversation_history.json",
    "claude_messages.json",
    "{name}.messages.json",
)
"""Which file is a session's in a folder of the agents that give each session one."""
_EVENT = re.compile(r"event-(\d+)-.*\.json|(\d+)\.json", re.ASCII)
"""The files of OpenHands' events, of both generations."""
_ROUNDS = 3
"""How often a format is asked what else it needs: what it names may name more."""
_CANDIDATES_SHOWN = 3
_HEAD_BYTES = 200
"""Where an event log says which version of its protocol it has."""
_ROTATION = re.compile(r"context_(\d{1,18})\.jsonl(?:\.zst)?", re.ASCII)


def recognise(source: Source) -> tuple[Format, str]:
    """Give the format of a source, and the evidence.

    Raises:
        FormatError: If it is of no known format; the message lists what was looked for.
    """
    for form in every_format():
        evidence = _asked(form, source)
        if evidence is not None:
            return form, evidence
    looked = "; ".join(form.looks_for for form in every_format())
    broken = "".join(f"; format {problem}" for problem in plugins().problems)
    what = f"no known format: {_hint(source)}looked for {looked}{broken}"
    raise FormatError(what, path=source.path)


def _asked(form: Format, source: Source) -> str | None:
    """Ask a format whether a source is of it. What another package's raises is our own error."""
    try:
        return form.detect(source)
    except (MinutebookError, RecursionError):
        raise
    except Exception as error:
        what = f"the format {form.name} failed while it looked at the file: {error!r}"
        raise FormatError(what, path=source.path) from error


def _hint(source: Source) -> str:
    """Say what a file of no known format seems to be, where that helps to find the right one."""
    if source.blank:
        return "the file is empty; "
    if b'"protocol_version"' in source.data[:_HEAD_BYTES]:
        return f"this is an agent's event log, name the {LOG_NAME} beside it if there is one; "
    document = source.document
    keys = table(document).keys()
    if "messages_path" in keys:
        return "this only describes a session, name the .messages.json beside it; "
    if "main" in table(table(document).get("agents")):
        return "this only describes a session, name agents/main/wire.jsonl beside it; "
    if "sessionID" in keys:
        return "this is a piece of a session, name the session's own file in storage/session; "
    first = table(document[0]) if isinstance(document, list) and document else {}
    if text(first.get("type")) in {"say", "ask"}:
        return "these are messages of the screen, name api_conversation_history.json beside them; "
    return ""


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
    source = Source(unpacked(data, path=str(file)), path=str(file), name=own)
    try:
        reading = _read(source, index=index, folder=file.parent)
    except RecursionError as error:
        raise FormatError("values are nested too deeply", path=str(file)) from error
    return _with_neighbours(reading, file) if file.name == LOG_NAME else reading


def read_source(source: Source, *, index: int = 0) -> Reading:
    """Read a session that is in memory. Touches no file.

    Raises:
        FormatError: As `read`.
    """
    return _read(source, index=index, folder=None)


def _read(source: Source, *, index: int, folder: Path | None) -> Reading:
    """Read a session, with the files beside it if its *folder* is known."""
    if source.path.endswith(LOG_NAME) and source.blank:
        # A session that was opened and never written to; nothing but its name says so.
        return kimi.read_native(source, index)
    form, _ = recognise(source)
    try:
        if folder is not None:
            source = _with_beside(form, source, folder)
        return form.read(source, index)
    except (MinutebookError, RecursionError):
        raise
    except Exception as error:
        if form in FORMATS:
            raise
        what = f"the format {form.name} failed while it read the file: {error!r}"
        raise FormatError(what, path=source.path) from error


def _with_beside(form: Format, source: Source, folder: Path) -> Source:
    """Add the files that a format asks for, as far as they are there and can be read."""
    found: dict[str, bytes] = {}
    asked: set[str] = set()
    for _ in range(_ROUNDS):
        patterns = [pattern for pattern in form.beside(source) if pattern not in asked]
        if not patterns:
            break
        for pattern in patterns:
            asked.add(pattern)
            found.update(_matching(folder, pattern))
        document = source
        source = Source(source.data, path=source.path, name=source.name, beside=found)
        source.take_over(document)
    return source


def _matching(folder: Path, pattern: str) -> Iterator[tuple[str, bytes]]:
    """Give the files that a pattern names, by their paths as the pattern has them.

    Only the last component may be a pattern. The source's own file may be among them.
    """
    where, _, last = pattern.rpartition("/")
    try:
        paths = sorted((folder / where).glob(last))
    except (OSError, ValueError):
        return
    for path in paths:
        try:
            data = unpacked(_bytes_of(path), path=str(path))
        except (OSError, MinutebookError):
            continue
        yield (f"{where}/{path.name}" if where else path.name), data


def _log_in(folder: Path) -> Path:
    """Give the log of a session's directory.

    Raises:
        FormatError: If there is none; the message names what there is instead.
    """
    names = sorted(entry.name for entry in folder.iterdir())
    for pattern in _MAIN_FILES:
        main = folder / pattern.format(name=folder.resolve().name)
        if main.is_file() or (pattern == LOG_NAME and LOG_NAME in names):
            return main
    rotations = _rotations(names)
    if rotations:
        what = f"no {LOG_NAME}, but rotations; the newest is context_{max(rotations)}.jsonl"
        raise FormatError(f"{what}, name that file", path=str(folder))
    events = [found for found in map(_EVENT.fullmatch, names) if found is not None]
    if events:
        return folder / min(events, key=lambda found: int(found[1] or found[2]))[0]
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
