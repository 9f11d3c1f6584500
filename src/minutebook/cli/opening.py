"""What a PATH means: a session of ours to open, or a file of another agent to read.

A folder that holds `context.jsonl` (or rotations of one) and a file of that name are a session
and are opened by our own store; everything else is read through `formats`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from msgspec import Struct

from minutebook.cli.rendering import command, working
from minutebook.context import Context
from minutebook.errors import ConfigError, FormatError, StoreError
from minutebook.formats import kimi
from minutebook.formats.reading import Reading, read
from minutebook.formats.source import Source
from minutebook.lines import Problem
from minutebook.messages import Message
from minutebook.models.windows import window_of
from minutebook.operations import fixed_tokens
from minutebook.store import metadata
from minutebook.store.disk import Disk
from minutebook.store.files import FileStore
from minutebook.store.names import LOG, folder_of, rotation_number
from minutebook.sync import open_sync

HEAD_BYTES = 1 << 18
"""How much of a log is looked at to say who wrote it."""
LONG_BYTES = 4 << 20
"""A file of more than this takes long enough to read that a terminal says so."""


class Opened(Struct, frozen=True, kw_only=True):
    """A conversation that is open for reading, from wherever it came."""

    path: Path
    """As the user named it."""
    format: str
    evidence: str
    """One sentence: by what the format was recognised."""
    context: Context
    problems: tuple[Problem, ...]
    """What was wrong with the file's bytes."""
    title: str
    agent: str
    model: str
    window: int | None
    """The model's window in tokens: as somebody said it, or as is known of the model."""
    session: Any | None = None
    """The session, where it is one of ours: a `SyncSession`, open for reading."""
    store: FileStore | None = None
    """The session's store; None for another agent's file."""
    reading: Reading | None = None
    """What was read, where it is another agent's file."""

    @property
    def used(self) -> int:
        """The size of the next request in tokens: exact and pending, else estimated whole."""
        if self.context.token_count_is_exact:
            return self.context.token_count_with_pending
        return self.prompt_tokens + sum(self.context.estimates)

    @property
    def prompt_tokens(self) -> int:
        """The size of the system prompt in tokens, estimated."""
        return fixed_tokens(self.context.system_prompt, ())

    def everything(self, *, partial: bool = False) -> tuple[Message, ...]:
        """Give every message ever written, with `active` telling those that are still sent.

        Raises:
            StoreError: If a rotation is missing, unless *partial*.
        """
        if self.session is not None:
            found: tuple[Message, ...] = self.session.history(full=True, partial=partial)
            return found
        return self.reading.everything if self.reading is not None else self.context.history


def is_session(path: Path) -> bool:
    """Tell whether *path* is a session of ours: a log by its name, or a folder that has one.

    A folder that has lost its log and still has rotations is one too.
    """
    if path.name == LOG:
        return True
    try:
        names = [entry.name for entry in path.iterdir()]
    except OSError:
        return False
    return LOG in names or any(rotation_number(name) is not None for name in names)


@contextmanager
def reading(
    path: Path,
    *,
    window: int | None = None,
    model: str | None = None,
    conversation: int = 0,
    log_needed: bool = True,
) -> Iterator[Opened]:
    """Open whatever *path* is, for reading: takes no lock and writes nothing.

    *conversation* chooses one of a file that holds several. A session whose log is missing is
    an error, unless not *log_needed*: then it opens empty, and its rotations can be seen.

    Raises:
        FormatError: If it is of no known format.
        StoreError: If it cannot be read.
    """
    if not is_session(path):
        with working(f"reading {path}"):
            found = read(path, index=conversation)
        yield _from_reading(path, found, window=window, model=model)
        return
    check_only_conversation(path, conversation)
    with _session(path, mode="r", log_needed=log_needed) as session:
        yield _from_session(path, session, window=window, model=model)


def check_session(path: Path) -> None:
    """Refuse what is no session of ours.

    Raises:
        StoreError: If it is missing, or another agent's file.
    """
    if is_session(path):
        return
    if not os.path.lexists(path):
        raise StoreError("no such session", path=str(path), remedy="check the path")
    if path.is_dir():
        raise StoreError(f"no {LOG} in this folder, so it is no session", path=str(path))
    raise StoreError(
        "is no session of minutebook's, and only those are changed",
        path=str(path),
        remedy=f"make one of it with: {command('fork', path, 'NEW-FOLDER')}",
    )


def check_only_conversation(path: Path, conversation: int) -> None:
    """Refuse any but the one conversation that a session is.

    Raises:
        FormatError: If another one was asked for.
    """
    if conversation:
        what = f"there is no conversation {conversation}: a session is one"
        raise FormatError(what, path=str(path))


@contextmanager
def writing(path: Path, *, log_needed: bool = True, **options: Any) -> Iterator[Any]:
    """Open a session of ours as its one writer; gives a `SyncSession`. Never makes one.

    Raises:
        StoreError: If *path* is no session of ours, or it cannot be opened.
        SessionLocked: If another program writes it.
    """
    check_session(path)
    with _session(path, mode="w", log_needed=log_needed, **options) as session:
        yield session


@contextmanager
def _session(path: Path, *, mode: str, log_needed: bool, **options: Any) -> Iterator[Any]:
    """Open a session of ours, with words on the terminal if that takes a while."""
    folder = folder_of(path)
    opening = open_sync(
        folder, mode=mode, create=False, allow_missing_log=not log_needed, **options
    )
    long = _size(Path(folder, LOG)) > LONG_BYTES
    with ExitStack() as stack:
        with working(f"reading {path}") if long else nullcontext():
            session = stack.enter_context(opening)
        yield session


def _from_session(path: Path, session: Any, *, window: int | None, model: str | None) -> Opened:
    store: FileStore = session.store
    context: Context = session.context
    form, evidence = writer_of(store)
    known = store.metadata
    name = model or known.model or last_model(context)
    return Opened(
        path=path,
        format=form,
        evidence=evidence,
        context=context,
        problems=tuple(session.problems),
        title=known.title,
        agent=known.agent,
        model=name,
        window=window or (None if model else known.window) or _window(name),
        session=session,
        store=store,
    )


def _from_reading(path: Path, found: Reading, *, window: int | None, model: str | None) -> Opened:
    context = Context()
    for record in found.records:
        context.apply(record)
    name = model or found.model
    return Opened(
        path=path,
        format=found.format,
        evidence=found.evidence,
        context=context,
        problems=found.problems,
        title=found.title,
        agent=" ".join(filter(None, (found.agent, found.agent_version))),
        model=name,
        window=window or _window(name),
        reading=found,
    )


def writer_of(store: FileStore) -> tuple[str, str]:
    """Say whose log it is: ours, or one of Kimi CLI's form that we have not written to yet."""
    head = b"".join(store.pieces(end=HEAD_BYTES))
    source = Source(head[: head.rfind(b"\n") + 1] or head, path=store.path)
    ours = kimi.detect_native(source)
    if ours is not None:
        return kimi.NATIVE.name, ours
    evidence = kimi.detect_kimi(source)
    if evidence is not None:
        return kimi.KIMI.name, evidence
    return kimi.NATIVE.name, f"a log by its name, {LOG}"


def window_of_session(path: Path, *, window: int | None, model: str | None) -> int:
    """Find out the window of a session's model, from what is said and what the session knows.

    Raises:
        ConfigError: If it is not known; names the option.
    """
    if window is not None:
        return window
    if model:
        found = window_of(model)
        if found is None:
            raise unknown_window(path, model)
        return found
    described, _problem = metadata.load(Disk(), folder_of(path))
    if described is not None and (found := described.window or _window(described.model)):
        return found
    with reading(path) as opened:
        return known_window(opened)


def known_window(opened: Opened) -> int:
    """Give the window of a conversation's model.

    Raises:
        ConfigError: If it is not known; names the option.
    """
    if opened.window is None:
        raise unknown_window(opened.path, opened.model)
    return opened.window


def unknown_window(path: Path, model: str) -> ConfigError:
    """Make the error that says which option is missing."""
    why = f"of the model {model} is not known" if model else "of the model is not known"
    example = command("compact", path, "--window", 200_000)
    return ConfigError("window", f"the window {why}; say how many tokens it takes, like: {example}")


def last_model(context: Context) -> str:
    """Give the model that the last usage record names; empty if none does."""
    for counted in reversed(context.usages):
        if counted.usage.model:
            return counted.usage.model
    return ""


def _window(model: str) -> int | None:
    return window_of(model) if model else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
