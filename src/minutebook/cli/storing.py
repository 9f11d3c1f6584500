"""What keeps sessions sound and small on the disk: verify, repair, gc, and the list of them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct, structs

from minutebook.cli import mending
from minutebook.cli.homes import at_home
from minutebook.cli.mending import InPlaceOption, OutOption
from minutebook.cli.opening import check_session, is_session
from minutebook.cli.options import JsonOption, PathArgument, SessionArgument
from minutebook.cli.rendering import (
    LABEL,
    WARNING,
    Page,
    byte_size,
    command,
    emit_json,
    moment,
    number,
    plural,
    working,
)
from minutebook.cli.surveying import store_for_reading
from minutebook.errors import FormatError, SessionLocked, StoreError
from minutebook.operations import needed_rotations
from minutebook.repairing import Repaired, examine
from minutebook.repairing import repair as repair_store
from minutebook.repairing import verify as verify_store
from minutebook.retired import live_lineage
from minutebook.store.collecting import Action, Outcome, Retention
from minutebook.store.files import FileStore
from minutebook.store.listing import list_sessions
from minutebook.store.names import LOG, folder_of, rotation_name
from minutebook.sums import Span

AllOption = Annotated[bool, typer.Option("--all", help="The rotations too.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done; write nothing.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do it; without this nothing is done.")]
KeepOption = Annotated[
    int, typer.Option("--keep", metavar="N", min=0, help="The newest N stay uncompressed.")
]
AgeOption = Annotated[
    float | None,
    typer.Option(
        "--max-age-days",
        metavar="DAYS",
        min=0,
        help="Remove rotations last written longer ago.",
        show_default=False,
    ),
]
BytesOption = Annotated[
    int | None,
    typer.Option(
        "--max-bytes",
        metavar="BYTES",
        min=0,
        help="Remove the oldest until those of a session take no more.",
        show_default=False,
    ),
]
CountOption = Annotated[
    int | None,
    typer.Option(
        "--max-rotations",
        metavar="N",
        min=0,
        help="Remove the oldest beyond so many.",
        show_default=False,
    ),
]
DropOption = Annotated[
    bool,
    typer.Option("--drop-history", help="The limits may remove what the full history needs."),
]
ForeignOption = Annotated[
    bool, typer.Option("--foreign", help="Sessions in another agent's folders too.")
]
RootArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[ROOT]",
        help="The folder to look through. Without it: the homes of the agents on this machine.",
        show_default=False,
    ),
]
PathOrRootArgument = Annotated[
    Path,
    typer.Argument(
        metavar="PATH|ROOT",
        help="A session's folder, or a folder with sessions in it.",
        show_default=False,
    ),
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Neither read nor write the index of the list.")
]


class Verified(Struct, frozen=True, kw_only=True):
    """What the check sums of one log say."""

    file: str
    bytes: int
    spans: dict[str, int]
    """How many spans are good, changed, damaged, or without a sum."""
    unsummed_bytes: int
    first_bad: Span | None = None
    """The first damaged span."""
    error: str = ""
    """Why the log could not be read to its end."""


def verify(path: SessionArgument, every: AllOption = False, json: JsonOption = False) -> None:
    """Check a session against its check sums.

    Each checkpoint and each rewrite carries the sum of the bytes since the one before. Says
    where the first damaged span begins, and ends with 1 if there is one. Lines that another
    program wrote in between are a change and no damage.
    """
    with store_for_reading(path) as store:
        found = [_verified(store, None)] if store.size or not every else []
        if every:
            found += [_verified(store, rotation.number) for rotation in store.rotations()]
    bad = next((item for item in found if item.first_bad or item.error), None)
    if json:
        emit_json(
            {"path": str(path), "good": bad is None, "logs": [_facts(item) for item in found]}
        )
    else:
        _show_verified(found)
    if bad is not None:
        _raise_bad(path, bad)


def _verified(store: FileStore, source: int | None) -> Verified:
    """Walk one log, in bounded memory."""
    name = LOG if source is None else rotation_name(source)
    counts, size, unsummed, error = Counter[str](), 0, 0, ""
    first: Span | None = None
    with working(f"verifying {name}") as say:
        try:
            for span in verify_store(store, source):
                counts[span.verdict] += 1
                size = span.byte + span.bytes
                unsummed += 0 if span.summed else span.bytes
                if span.verdict == "damaged":
                    first = first or span
                say(f"verifying {name}, {byte_size(size)}")
        except StoreError as failure:
            error = failure.what
    return Verified(
        file=name,
        bytes=size,
        spans=dict(counts),
        unsummed_bytes=unsummed,
        first_bad=first,
        error=error,
    )


def _facts(item: Verified) -> dict[str, Any]:
    facts = structs.asdict(item)
    facts["spans"] = {name: item.spans.get(name, 0) for name in VERDICTS}
    bad = item.first_bad
    facts["first_bad"] = (
        None if bad is None else {"line": bad.line, "byte": bad.byte, "bytes": bad.bytes}
    )
    return facts


VERDICTS = {
    "good": "good",
    "changed": "changed by another program",
    "damaged": "damaged",
    "unsummed": "without a sum",
}


def _show_verified(found: list[Verified]) -> None:
    page = Page()
    for item in found:
        spans = ", ".join(
            f"{number(item.spans[name])} {words}"
            for name, words in VERDICTS.items()
            if item.spans.get(name)
        )
        page.line(f"{item.file}  {byte_size(item.bytes)}: {spans or 'empty'}")
        if item.error:
            page.line(item.error, style=WARNING, indent=2)
        if item.spans.get("good") and item.unsummed_bytes:
            tail = byte_size(item.unsummed_bytes)
            page.line(f"no sum covers {tail}; a checkpoint would", style=LABEL, indent=2)


def _raise_bad(path: Path, bad: Verified) -> None:
    folder = Path(folder_of(path))
    if bad.first_bad is None:
        raise StoreError(bad.error, path=str(folder / bad.file))
    raise FormatError(
        f"damaged within {plural(bad.first_bad.bytes, 'byte')}",
        path=str(folder / bad.file),
        line=bad.first_bad.line,
        byte=bad.first_bad.byte,
    )


def repair(
    path: PathArgument,
    *,
    out: OutOption = None,
    in_place: InPlaceOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Lay a session's log anew without what is wrong with it.

    Torn ends are closed, glued records split, bad lines set aside in context.bad.jsonl, calls
    without a result get a marked one, and check sums are made anew. The log before becomes a
    rotation, so no byte is lost; a second time changes nothing more.

    Of another agent's file a mended copy is written, which that agent opens: beside it, or where
    --out says. With --in-place the file itself is mended, and a backup kept.
    """
    if not is_session(path) and path.is_file():
        if out is not None and in_place:
            raise typer.BadParameter("give --out or --in-place", param_hint="--out, --in-place")
        told = mending.mend(path, out=out, in_place=in_place, dry_run=dry_run)
        if json:
            emit_json(told)
        else:
            mending.show(told)
        return
    if out is not None or in_place:
        raise typer.BadParameter(
            "a session is repaired in place, and its old log kept as a rotation",
            param_hint="--out, --in-place",
        )
    check_session(path)
    if dry_run:
        with store_for_reading(path) as store, working(f"reading {path}"):
            actions, rotation = examine(store).actions(), None
    else:
        with working(f"repairing {path}"):
            done = asyncio.run(_repaired(folder_of(path)))
        actions = list(done.actions)
        rotation = None if done.rotation is None else done.rotation.number
    if json:
        emit_json(mending.facts_of(path, actions=actions, dry_run=dry_run, rotation=rotation))
        return
    page = Page()
    for action in actions:
        page.line(action)
    if not actions:
        page.line("nothing to repair")
    elif rotation is not None:
        page.line(f"the log before is rotation {rotation}; undo with: {command('undo', path)}")
    else:
        page.line("nothing was written; without --dry-run it is done", style=LABEL)


async def _repaired(folder: str) -> Repaired:
    store = await FileStore.open(folder, create=False)
    try:
        return await repair_store(store, clock=time.time)
    finally:
        await store.close()


class Tidied(Struct, frozen=True, kw_only=True):
    """What became of one session's rotations, or would."""

    path: str
    outcomes: tuple[Outcome, ...] = ()
    left_alone: str = ""
    """Why nothing was looked at."""


def gc(
    path: PathOrRootArgument,
    *,
    yes: YesOption = False,
    keep: KeepOption = 0,
    max_age_days: AgeOption = None,
    max_bytes: BytesOption = None,
    max_rotations: CountOption = None,
    drop_history: DropOption = False,
    foreign: ForeignOption = False,
    json: JsonOption = False,
) -> None:
    """Make room: compress rotations, and remove what a limit says.

    Says what would go and how much that frees; --yes does it. Compressed rotations are read
    and restored as before. A limit removes no rotation that the full history needs, unless
    --drop-history is given. Sessions in use are left alone.
    """
    retention = Retention(
        keep_plain=keep,
        age_days_max=max_age_days,
        bytes_max=max_bytes,
        rotations_max=max_rotations,
        drop_history=drop_history,
        foreign=foreign,
    )
    found = [_tidied(folder, retention, yes=yes) for folder in _with_rotations(path)]
    if json:
        emit_json(_gc_facts(path, found, yes=yes))
    else:
        _show_gc(found, yes=yes)


def _with_rotations(path: Path) -> Iterator[Path]:
    """Give the sessions that are meant and have rotations."""
    if is_session(path):
        yield Path(folder_of(path))
        return
    with working(f"looking through {path}") as say:
        listed = list_sessions(
            str(path), progress=lambda count: say(f"looking through {path}: {number(count)}")
        )
    yield from (path / item.path for item in listed if item.rotations)


def _tidied(folder: Path, retention: Retention, *, yes: bool) -> Tidied:
    """Tidy one session up, or find out what that would do."""
    try:
        with working(f"looking at {folder}"):
            return asyncio.run(_tidy(folder, retention, yes=yes))
    except SessionLocked:
        return Tidied(path=str(folder), left_alone="in use")
    except StoreError as error:
        return Tidied(path=str(folder), left_alone=error.what)


async def _tidy(folder: Path, retention: Retention, *, yes: bool) -> Tidied:
    store = await FileStore.open(
        folder, mode="w" if yes else "r", create=False, allow_missing_log=True
    )
    try:
        if store.is_foreign and not retention.foreign:
            return Tidied(path=str(folder), left_alone="another agent's folder (--foreign)")
        needed = frozenset[int]()
        if retention.removes:
            needed = needed_rotations(store, live_lineage(store))
        now = time.time()
        done = (
            store.tidy(needed, retention, now=now)
            if yes
            else store.would_collect(needed, retention, now=now)
        )
        return Tidied(path=str(folder), outcomes=tuple(done))
    finally:
        await store.close()


def _gc_facts(path: Path, found: list[Tidied], *, yes: bool) -> dict[str, Any]:
    return {
        "path": str(path),
        "done": yes,
        "freed_bytes": _freed(found),
        "sessions": [
            {
                "path": item.path,
                "left_alone": item.left_alone or None,
                "freed_bytes": _freed([item]),
                "rotations": [
                    {**structs.asdict(outcome.action), "freed_bytes": outcome.freed_bytes}
                    for outcome in item.outcomes
                ],
            }
            for item in found
        ],
    }


def _freed(found: list[Tidied]) -> int:
    return sum(outcome.freed_bytes for item in found for outcome in item.outcomes)


def _show_gc(found: list[Tidied], *, yes: bool) -> None:
    page = Page()
    for item in found:
        if item.left_alone:
            page.line(f"{item.path}: left alone, {item.left_alone}", style=LABEL)
        elif item.outcomes:
            page.heading(item.path)
            page.rows([_row(outcome.action, outcome.freed_bytes) for outcome in item.outcomes])
    steps = sum(len(item.outcomes) for item in found)
    if not steps:
        page.line("nothing to do")
        return
    amount = f"{byte_size(_freed(found))} of {plural(steps, 'rotation')}"
    page.line(f"freed {amount}" if yes else f"would free {amount}; --yes does it")


def _row(action: Action, freed: int) -> tuple[str, ...]:
    return (
        str(action.number),
        action.what,
        byte_size(action.stored_bytes),
        f"frees {byte_size(freed)}",
        action.why,
    )


def sessions(
    root: RootArgument = None, no_cache: NoCacheOption = False, json: JsonOption = False
) -> None:
    """List the sessions in a folder, the one last written first.

    With title, agent, last change, messages and tokens. An index beside them makes the next
    list quick; what has changed is counted anew. Without a folder: those that the agents on
    this machine keep in your home, the newest of each.
    """
    words = f"looking through {root or 'the homes of agents'}"
    with working(words) as say:

        def progress(count: int) -> None:
            say(f"{words}: {plural(count, 'session')}")

        if root is None:
            found = at_home(progress)
        else:
            found = list_sessions(str(root), cached=not no_cache, progress=progress)
    if json:
        named = None if root is None else str(root)
        emit_json({"root": named, "sessions": [structs.asdict(item) for item in found]})
        return
    page = Page()
    if not found:
        page.line("no sessions", style=LABEL)
    page.rows(
        [
            (
                moment(item.modified) if item.modified else "",
                plural(item.messages, "message"),
                plural(item.tokens, "token"),
                item.agent,
                item.path,
                item.problem or item.title,
            )
            for item in found
        ],
        right=(1, 2),
    )
