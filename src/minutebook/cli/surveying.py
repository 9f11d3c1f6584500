"""A conversation of any size, surveyed for a report: its messages pass by and are not kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from minutebook.cli.opening import (
    check_only_conversation,
    check_session,
    is_session,
    writer_of,
)
from minutebook.cli.rendering import working
from minutebook.formats.reading import Reading, read
from minutebook.lines import Entry, Problem, Run
from minutebook.models.windows import window_of
from minutebook.store.files import FileStore
from minutebook.store.names import folder_of
from minutebook.survey import Survey, survey


class Surveyed(Struct, frozen=True, kw_only=True):
    """What is known of a conversation, from wherever it came."""

    path: Path
    """As the user named it."""
    format: str
    evidence: str
    """One sentence: by what the format was recognised."""
    survey: Survey
    problems: tuple[Problem, ...]
    """What was wrong with the file's bytes."""
    title: str
    agent: str
    model: str
    window: int | None
    """The model's window in tokens: as somebody said it, or as is known of the model."""
    counts: dict[str, int] = {}
    """What else was counted, by name."""
    store: FileStore | None = None
    """The session's store, open for reading; None for another agent's file."""


@contextmanager
def surveying(
    path: Path, *, window: int | None = None, model: str | None = None, conversation: int = 0
) -> Iterator[Surveyed]:
    """Survey whatever *path* is: takes no lock, writes nothing, keeps no message of a session.

    A session whose log is missing is surveyed as an empty one.

    Raises:
        FormatError: If it is of no known format.
        StoreError: If it cannot be read.
    """
    if not is_session(path):
        with working(f"reading {path}"):
            found = read(path, index=conversation)
            made = survey(lambda: (Entry(record, 0, 0) for record in found.records))
        yield _of_reading(path, found, made, window=window, model=model)
        return
    check_only_conversation(path, conversation)
    with store_for_reading(path) as store:
        with working(f"reading {path}") as say:
            made = survey(lambda: told(store, store.replay(), f"reading {path}", say))
        yield _of_session(path, store, made, window=window, model=model)


@contextmanager
def store_for_reading(path: Path) -> Iterator[FileStore]:
    """Open a session's store for reading, whether or not it still has its log.

    Raises:
        StoreError: If it is no session, or cannot be opened.
    """
    check_session(path)
    store = asyncio.run(
        FileStore.open(folder_of(path), mode="r", create=False, allow_missing_log=True)
    )
    try:
        yield store
    finally:
        asyncio.run(store.close())


def told(
    store: FileStore, found: Iterable[Run | Entry], words: str, say: Any
) -> Iterator[Run | Entry]:
    """Pass on what is read of a log, and say how far it is."""
    size = max(store.size, 1)
    for item in found:
        yield item
        end = item.end if isinstance(item, Entry) else item.starts[-1]
        say(f"{words}, {100 * end // size} %")


def _of_session(
    path: Path, store: FileStore, made: Survey, *, window: int | None, model: str | None
) -> Surveyed:
    form, evidence = writer_of(store)
    known = store.metadata
    name = model or known.model or made.model
    unknown = made.unknown_records
    return Surveyed(
        path=path,
        format=form,
        evidence=evidence,
        survey=made,
        problems=tuple(store.problems),
        title=known.title,
        agent=known.agent,
        model=name,
        window=window or (None if model else known.window) or _window(name),
        counts={"unknown_records": unknown} if unknown else {},
        store=store,
    )


def _of_reading(
    path: Path, found: Reading, made: Survey, *, window: int | None, model: str | None
) -> Surveyed:
    name = model or found.model
    return Surveyed(
        path=path,
        format=found.format,
        evidence=found.evidence,
        survey=made,
        problems=found.problems,
        title=found.title,
        agent=" ".join(filter(None, (found.agent, found.agent_version))),
        model=name,
        window=window or _window(name),
        counts=dict(found.counts),
    )


def _window(model: str) -> int | None:
    return window_of(model) if model else None
