"""The command `stats`: what the sessions of a folder have come to, in figures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from minutebook.cli.options import JsonOption
from minutebook.cli.rendering import (
    LABEL,
    WARNING,
    Page,
    emit_json,
    number,
    percent,
    plural,
    working,
)
from minutebook.cli.surveying import store_for_reading
from minutebook.cli.wording import sentence
from minutebook.errors import MinutebookError, StoreError
from minutebook.lines import Entry, Problem, Run, Scanner
from minutebook.models.prices import price_of
from minutebook.stats import NOBODY, By, Figures, SessionStats
from minutebook.store.files import FileStore
from minutebook.store.names import LOG, rotation_number

HARMLESS = frozenset({"mended"})
"""Kinds of problems that cost nothing: the line was read all the same."""

StatsRootArgument = Annotated[
    Path,
    typer.Argument(metavar="ROOT", help="The folder to look through.", show_default=False),
]
ByOption = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="|".join(get_args(By)),
        help="Group the figures too: by day (UTC), by the steps taken, by trigger, by model.",
        show_default=False,
    ),
]


def stats(root: StatsRootArgument, by: ByOption = None, json: JsonOption = False) -> None:
    """Say what the sessions of a folder have come to.

    Counted from the logs themselves, rotations included, each thing once: messages, requests
    and what of them the cache gave, compactions and what they saved, what went wrong. Dollars
    are list prices, where the model's is known. A session that cannot be read is told of and
    stops nobody.
    """
    if by is not None and by not in get_args(By):
        raise typer.BadParameter(f"{by!r} is none of {', '.join(get_args(By))}")
    facts = gathered(root, cast("By | None", by))
    if json:
        emit_json(facts)
    else:
        show(facts)


def gathered(root: Path, by: By | None) -> dict[str, Any]:
    """Read every session at or below *root*; give the facts of the report.

    Raises:
        StoreError: If there is no such folder.
    """
    if not root.is_dir():
        raise StoreError("no such folder", path=str(root), remedy="check the path")
    whole, groups, rows = Figures(), dict[str, Figures](), list[dict[str, Any]]()
    with working(f"looking for sessions below {root}") as say:
        folders = sorted(_folders(root))
        ids = {folder.resolve().name for folder in folders}
        for place, folder in enumerate(folders, 1):

            def progress(words: str, place: int = place) -> None:
                say(f"session {place} of {len(folders)}: {words}")

            found, problem = _read(folder, by, ids - {folder.resolve().name}, progress)
            whole.add(found.whole)
            for key, figures in found.groups.items():
                groups.setdefault(key, Figures()).add(figures)
            path = folder.relative_to(root).as_posix()
            rows.append({"path": path, "problem": problem, **found.whole.facts(price_of)})
        return {
            "root": str(root),
            "by": by,
            "total": {"sessions": len(rows), **whole.facts(price_of)},
            "sessions": rows,
            "groups": [
                {"key": key, "sessions": groups[key].sessions, **groups[key].facts(price_of)}
                for key in sorted(groups)
            ],
        }


def _folders(root: Path) -> Iterator[Path]:
    """Find the folders of sessions by their names alone: their logs are read once, and later.

    One that cannot be looked into is given too, since it may be one; not if it has just gone.
    """
    closed: list[Path] = []

    def note(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            closed.append(Path(error.filename))

    for folder, folders, names in os.walk(root, onerror=note):
        if any(name == LOG or rotation_number(name) is not None for name in (*folders, *names)):
            yield Path(folder)
    yield from closed


def _read(
    folder: Path, by: By | None, others: set[str], progress: Callable[[str], None]
) -> tuple[SessionStats, str]:
    """Read all logs of one session; give why not, with what was counted until then."""
    found, problem = SessionStats(by, others), ""
    try:
        with store_for_reading(folder) as store:
            for rotation in store.rotations():
                try:
                    _take(found, store, rotation.number, progress)
                except StoreError as error:
                    problem = problem or sentence(error)
            _take(found, store, None, progress)
            found.note_problems(bool(store.metadata_problem))
            if not store.size:
                problem = problem or f"{LOG} is missing or empty"
            elif found.whole.problems and not found.whole.messages:
                problem = problem or "no message in it can be read"
    except (MinutebookError, OSError) as error:
        problem = sentence(error)
    return found, problem


def _take(
    found: SessionStats, store: FileStore, source: int | None, progress: Callable[[str], None]
) -> None:
    """Read one log, in pieces, and keep none of it."""
    scanner = Scanner()
    name = f"{store.folder}, log {'now' if source is None else source}"

    def records() -> Iterator[Run | Entry]:
        for piece in store.pieces(source):
            yield from scanner.feed(piece)
            progress(name)
        yield from scanner.finish()

    try:
        found.take(records())
    finally:
        found.note_problems(sum(map(_counts, scanner.problems)))


def _counts(problem: Problem) -> bool:
    return problem.kind not in HARMLESS


def show(facts: dict[str, Any]) -> None:
    """Print the report for people: the whole, the groups, and a row for each session."""
    page = Page()
    total, sessions = facts["total"], facts["sessions"]
    if not sessions:
        page.line("no sessions", style=LABEL)
        return
    page.heading(f"{facts['root']}: {plural(len(sessions), 'session')}")
    page.blank()
    page.pairs(_pairs(total))
    if facts["groups"]:
        page.blank()
        page.rows(_table(f"by {facts['by']}", "key", facts["groups"]), right=range(1, 7))
    page.blank()
    page.rows(_table("session", "path", sessions), right=range(1, 7))
    for one in sessions:
        if one["problem"]:
            page.line(f"{one['path']}: {one['problem']}", style=WARNING, indent=2)


def _pairs(total: dict[str, Any]) -> Iterator[tuple[str, str]]:
    requests, made, failures = total["requests"], total["compactions"], total["failures"]
    yield "messages", number(total["messages"])
    sent = requests["input"] + requests["cache_read"] + requests["cache_write"]
    count, used = number(requests["count"]), _used(sent, requests["output"], requests["cost_usd"])
    yield "requests", f"{count}: {used}" if sent else count
    if requests["cost_usd"] is not None and requests["unpriced"]:
        yield "", f"{number(requests['unpriced'])} of them without a known price"
    if requests["cache_share"] is not None:
        yield "from the cache", percent(requests["cache_read"], sent)
    yield "compactions", _counted(made["by_trigger"]) or "none"
    if made["count"]:
        yield "their steps", _counted(made["by_step"])
        authors = {name: count for name, count in made["by_model"].items() if name != NOBODY}
        yield "summaries by", _counted(authors)
        before, after = made["tokens_before"], made["tokens_after"]
        shrunk = f"{number(before)} to {number(after)}, {percent(after, before)}"
        yield "tokens saved", f"{number(made['tokens_saved'])}: {shrunk}"
    if made["spent_input"] or made["spent_output"]:
        used = _used(made["spent_input"], made["spent_output"], made["cost_usd"])
        yield "compactor's own", used
    yield "rewrites", _counted(total["rewrites"]["by_kind"])
    words = {
        "overflows": "sent too much",
        "partial_replies": "reply broke off",
        "summaries_in_vain": "no model gave a summary",
    }
    yield "failures", _counted({words[name]: count for name, count in failures.items()})
    if total["problems"]:
        yield "problems", f"{plural(total['problems'], 'problem')} in the logs; inspect says which"


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{number(count)} {name}" for name, count in sorted(counts.items()) if count)


def _used(given: int, answered: int, cost: float | None) -> str:
    dollars = "" if cost is None else f", ${cost:,.2f}"
    return f"{plural(given, 'token')} in, {number(answered)} out{dollars}"


def _table(title: str, key: str, rows: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    head = (title, "messages", "requests", "from cache", "compactions", "saved", "problems", "cost")
    return [head, *(_row(row[key], row) for row in rows)]


def _row(name: str, facts: dict[str, Any]) -> tuple[str, ...]:
    requests, made = facts["requests"], facts["compactions"]
    costs = [one for one in (requests["cost_usd"], made["cost_usd"]) if one is not None]
    shared = requests["cache_share"]
    return (
        name,
        number(facts["messages"]),
        number(requests["count"]),
        "" if shared is None else f"{100 * shared:.1f} %",
        number(made["count"]),
        number(made["tokens_saved"]),
        number(facts["problems"]),
        f"${sum(costs):,.2f}" if costs else "",
    )
