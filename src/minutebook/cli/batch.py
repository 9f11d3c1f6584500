"""Many sessions in one go: each in a process of its own kind, and none stops the others.

Given are a root folder and what is done with one session; here is which sessions are taken,
how the work is spread, what becomes of one that fails, and the table at the end.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from msgspec import Struct, to_builtins

from minutebook.cli.rendering import Page, command, number, percent, plural, working
from minutebook.cli.wording import sentence
from minutebook.errors import MinutebookError, SessionLocked, StoreError
from minutebook.store.listing import Listed, list_sessions

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
"""What an age may be counted in, in seconds."""
JOBS_MAX = 64

_AGE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([smhdw])")

Word = Literal["compacted", "skipped", "locked", "failed"]
WORDS: tuple[Word, ...] = ("compacted", "skipped", "locked", "failed")

AllOption = Annotated[
    bool,
    typer.Option(
        "--all",
        help="Every session at or below PATH that is larger than the target, each in place.",
    ),
]
OlderOption = Annotated[
    str,
    typer.Option(
        "--older-than",
        metavar="AGE",
        help="With --all: only those not written to for so long, such as 12h, 7d or 2w.",
        show_default=False,
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        min=1,
        help="With --all: how many at a time; without it, one for each processor.",
        show_default=False,
    ),
]


class Done(Struct, frozen=True, kw_only=True):
    """What became of one session."""

    path: str
    outcome: Word
    tokens_before: int | None = None
    tokens_after: int | None = None
    rotation: int | None = None
    """Where the log before is."""
    reason: str = ""
    """Why it was not compacted."""


One = Callable[[str], Done]
"""Does the work for the session in a folder. Has to be picklable: it runs in other processes."""


def seconds_of(age: str) -> float:
    """Read an age: `90m`, `12h`, `7d`, `2w`.

    Raises:
        typer.BadParameter: If it is none.
    """
    found = _AGE.fullmatch(age.strip().lower())
    if found is None:
        raise typer.BadParameter(f"{age!r} is no age; write one like 90m, 12h, 7d or 2w")
    return float(found[1]) * UNITS[found[2]]


def run(
    root: Path, one: One, *, older_than: float | None, jobs: int | None, dry_run: bool
) -> dict[str, Any]:
    """Do *one* for every session at or below *root*; give the facts of the report.

    *older_than* leaves out those whose log was written in the last so many seconds. Nothing
    is written for a dry run.

    Raises:
        StoreError: If there is no such folder.
        KeyboardInterrupt: On Ctrl-C, once the sessions under way are done and told of.
    """
    if not root.is_dir():
        raise StoreError("no such folder", path=str(root), remedy="check the path")
    with working(f"looking for sessions below {root}"):
        listed = list_sessions(str(root), cached=not dry_run)
    latest = None if older_than is None else time.time() - older_than
    chosen = [item for item in listed if latest is None or item.modified <= latest]
    unreadable = [item for item in chosen if item.problem]
    folders = [_folder(root, item) for item in chosen if not item.problem]
    done = {
        _folder(root, item): Done(
            path=_folder(root, item), outcome="failed", reason=f"{item.problem}"
        )
        for item in unreadable
    }
    try:
        _spread(folders, one, min(jobs or os.cpu_count() or 1, JOBS_MAX), done)
    except KeyboardInterrupt:
        show(facts_of(root, done, dry_run=dry_run))
        raise
    return facts_of(root, done, dry_run=dry_run)


def _folder(root: Path, item: Listed) -> str:
    return str(root / item.path)


def _spread(folders: Sequence[str], one: One, jobs: int, done: dict[str, Done]) -> None:
    """Do the work in as many processes as are allowed; note what becomes of each session."""
    with working(f"compacting {plural(len(folders), 'session')}") as progress:

        def note(result: Done) -> None:
            done[result.path] = result
            progress(f"compacting {plural(len(folders), 'session')}: {len(done)} done")

        left = _in_pool(folders, one, jobs, note)
        while left:
            # A process has died, of memory say, and taken the pool along. From here on one
            # at a time: then it dies of the first that is not done.
            left = _in_pool(left, one, 1, note)
            if left:
                reason = "the process that worked on it died"
                note(Done(path=left[0], outcome="failed", reason=reason))
                left = left[1:]


def _in_pool(
    folders: Sequence[str], one: One, jobs: int, note: Callable[[Done], None]
) -> list[str]:
    """Do the work in a pool of processes; give what was left undone because the pool broke."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    if not folders:
        return []
    left = dict.fromkeys(folders)
    # Started anew and not forked: this process has threads, which draw the progress.
    pool = ProcessPoolExecutor(
        min(jobs, len(folders)), mp_context=get_context("spawn"), initializer=_prepare
    )
    try:
        for future in as_completed([pool.submit(_guarded, one, folder) for folder in folders]):
            with contextlib.suppress(BrokenProcessPool):
                result = future.result()
                del left[result.path]
                note(result)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return list(left)


def _prepare() -> None:
    """Leave Ctrl-C to the process above, so that what is under way is finished."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _guarded(one: One, folder: str) -> Done:
    """Do the work for one session, without a word on the terminal; turn errors into an outcome."""
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            return one(folder)
        except SessionLocked as error:
            return Done(path=folder, outcome="locked", reason=sentence(error))
        except (MinutebookError, OSError) as error:
            return Done(path=folder, outcome="failed", reason=sentence(error))
        except Exception as error:  # noqa: BLE001 - a fault of ours in one session stops no other
            return Done(path=folder, outcome="failed", reason=f"{type(error).__name__}: {error}")


def facts_of(root: Path, done: dict[str, Done], *, dry_run: bool) -> dict[str, Any]:
    """Give the report as JSON values with stable keys, the sessions by their paths."""
    sessions = [done[path] for path in sorted(done)]
    counted = [one for one in sessions if one.tokens_before is not None]
    return {
        "root": str(root),
        "dry_run": dry_run,
        "counts": {word: sum(one.outcome == word for one in sessions) for word in WORDS},
        "before": {"tokens": sum(one.tokens_before or 0 for one in counted)},
        "after": {"tokens": sum(one.tokens_after or 0 for one in counted)},
        "sessions": [to_builtins(one) for one in sessions],
    }


def show(facts: dict[str, Any]) -> None:
    """Print the report for people: a row for each session, and what it comes to."""
    page = Page()
    sessions = facts["sessions"]
    if not sessions:
        page.line(f"{facts['root']}: no session here or below that is old enough")
        return
    would = "; nothing was changed" if facts["dry_run"] else ""
    page.heading(f"{facts['root']}: {plural(len(sessions), 'session')}{would}")
    page.blank()
    page.rows([("session", "before", "after", ""), *_rows(facts)], right=(1, 2))
    page.blank()
    counts = [f"{count} {word}" for word, count in facts["counts"].items() if count]
    before, after = facts["before"]["tokens"], facts["after"]["tokens"]
    page.line(f"{', '.join(counts)}; {number(before)} tokens before, {number(after)} after")
    if facts["counts"]["compacted"] and not facts["dry_run"]:
        page.line(f"each can be taken back: {command('undo', 'SESSION')}")


def _rows(facts: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for one in facts["sessions"]:
        before, after = one["tokens_before"], one["tokens_after"]
        words = one["outcome"]
        if one["reason"]:
            words += f": {one['reason']}"
        elif before:
            words += f" to {percent(after, before)}"
        yield (
            one["path"],
            "" if before is None else number(before),
            "" if after is None else number(after),
            words,
        )
