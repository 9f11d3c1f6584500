"""Another agent's file becomes a session, and a new session appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minutebook.cli.opening import Opened, writing
from minutebook.errors import FormatError, StoreError
from minutebook.formats import kimi
from minutebook.messages import Message, replace
from minutebook.records import Checkpoint, Record, SystemPrompt, Usage
from minutebook.store.disk import Disk, write_all
from minutebook.store.folder import find_folder
from minutebook.store.logfile import translated
from minutebook.store.metadata import Metadata
from minutebook.store.names import LOG, check_session_id
from minutebook.sync import open_sync

SAME_FORM = frozenset((kimi.NATIVE.name, kimi.KIMI.name))
"""Formats whose files are logs as they stand: their bytes are taken over, and nothing is lost."""

Progress = Callable[[str], object]


@contextmanager
def new_session(destination: Path) -> Iterator[Path]:
    """Give a folder to make a session in, which gets the name *destination* once it is whole.

    Until then it has another name beside it. After an error, or Ctrl-C, nothing is left of it.

    Raises:
        StoreError: If there is something of that name already, or it cannot be made.
    """
    # Not resolved: a link of that name is something that is there already.
    target = Path(os.path.abspath(destination))  # noqa: PTH100 (see above)
    check_session_id(target.name)
    with translated(str(destination)):
        if os.path.lexists(target) and not _is_empty_folder(target):
            raise StoreError(
                "there is something already", path=str(destination), remedy="name a new folder"
            )
        find_folder(Disk(), str(target.parent), create=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name[:40]}.", dir=target.parent))
    try:
        yield beside / target.name
        with translated(str(destination)):
            (beside / target.name).rename(target)
            Disk().fsync_folder(str(target.parent))
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def import_into(
    folder: Path, opened: Opened, progress: Progress, *, window: int | None = None
) -> None:
    """Write what another agent's file says into a new session in *folder*.

    Its checkpoints come along: where the file has none, one before each real user turn.
    *window* is remembered as the model's window.

    Raises:
        FormatError: If the file holds nothing.
        StoreError: If it cannot be written.
    """
    if opened.reading is None or not opened.reading.records:
        raise FormatError("holds no message, so there is nothing to import", path=str(opened.path))
    if opened.format in SAME_FORM:
        _copy(opened.path, folder)
    with open_sync(folder, durability="process") as session:
        if opened.format not in SAME_FORM:
            _append_all(session, opened.reading.records, progress)
        known = session.store.metadata
        session.store.save_metadata(_metadata(known.id, opened, window))
    with translated(str(folder)):
        _sync(folder / LOG)
        Disk().fsync_folder(str(folder))


def add_new(destination: Path, opened: Opened, progress: Progress) -> int:
    """Append to a session what a file that it was made of has more by now; count the messages.

    What was compacted, cleared or taken back meanwhile is known by the full history.

    Raises:
        StoreError: If the session is not one of that file's, or cannot be written.
    """
    records = opened.reading.records if opened.reading is not None else ()
    with writing(destination) as session:
        known = [_key(one) for one in session.history(full=True) if _is_theirs(one)]
        places = [
            place
            for place, record in enumerate(records)
            if isinstance(record, Message) and _is_theirs(record)
        ]
        keys = [_key(records[place]) for place in places]
        count = min(len(known), len(keys))
        if known[:count] != keys[:count]:
            raise StoreError(
                f"does not hold what {opened.path} begins with",
                path=str(destination),
                remedy="name a new folder",
            )
        new = records[places[count - 1] + 1 if count else 0 :] if len(keys) > count else ()
        last = session.context.token_count
        while new and isinstance(new[0], Usage) and new[0].token_count == last:
            new = new[1:]
        _append_all(session, new, progress)
    return len(keys) - count


def _is_theirs(message: Any) -> bool:
    """Tell whether a message is one that a file can hold, and not a note of ours."""
    return (message.origin or "user") not in {"summary", "notice", "checkpoint", "dmail"}


def _key(message: Any) -> tuple[object, ...]:
    """Give what a message says, by which it is known again."""
    return message.role, message.text, tuple((call.name, call.arguments) for call in message.calls)


def _append_all(session: Any, records: Sequence[Record], progress: Progress) -> None:
    """Append the records of a reading, each run of messages between two others in one batch."""
    waiting: list[Message] = []
    done = 0

    def flush(usage: Usage | None = None) -> None:
        nonlocal done
        if waiting or usage is not None:
            session.append(*waiting, usage=usage)
            done += len(waiting)
            waiting.clear()
            progress(f"importing: {done} of {total} messages")

    total = sum(isinstance(record, Message) for record in records)
    for record in records:
        match record:
            case Message():
                waiting.append(_appendable(record))
            case Usage():
                flush(record)
            case SystemPrompt():
                flush()
                session.set_system_prompt(record.content)
            case Checkpoint():
                flush()
                session.checkpoint(record.label)
            case _:
                # No reader gives another kind but those whose files are copied as they are.
                continue
    flush()


def _appendable(message: Message) -> Message:
    """Give a result whose file names no call the empty id, which is how the view knows it."""
    if message.role == "tool" and message.tool_call_id is None:
        return replace(message, tool_call_id="")
    return message


def _metadata(session_id: str, opened: Opened, window: int | None) -> Metadata:
    found = opened.reading
    return Metadata(
        id=session_id,
        title=opened.title,
        created=found.started if found is not None else None,
        agent=opened.agent,
        model=opened.model,
        window=window,
    )


def _copy(path: Path, folder: Path) -> None:
    """Take a log over byte for byte."""
    disk = Disk()
    with translated(str(path)):
        data = path.read_bytes()
    with translated(str(folder)):
        disk.make_folder(str(folder))
        descriptor = disk.open(str(folder / LOG), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            write_all(disk, descriptor, data)
        finally:
            disk.close(descriptor)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())
