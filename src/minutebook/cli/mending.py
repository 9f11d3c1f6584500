"""`repair` on another agent's file: a mended copy, or the file itself with a backup kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from minutebook.cli.giving_back import write_new
from minutebook.cli.rendering import LABEL, Page, command, number, plural, working
from minutebook.errors import FormatError, StoreError
from minutebook.formats.mending.registry import MENDERS
from minutebook.formats.mending.rows import Mended
from minutebook.formats.reading import read
from minutebook.store.disk import Disk, write_all
from minutebook.store.logfile import translated

OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Where the mended copy of another agent's file goes.",
        show_default=False,
    ),
]
InPlaceOption = Annotated[
    bool,
    typer.Option(
        "--in-place", help="Mend another agent's file itself; a backup of it is kept beside it."
    ),
]


def mend(path: Path, *, out: Path | None, in_place: bool, dry_run: bool) -> dict[str, Any]:
    """Mend another agent's file, and say what was done and what the agent will see.

    Raises:
        FormatError: If it is of no known format, or of one that cannot be mended.
        StoreError: If something cannot be read or written; the file is then as before.
    """
    with working(f"reading {path}"):
        reading = read(path)
        mender = MENDERS.get(reading.format)
        if mender is None:
            can = ", ".join(sorted(MENDERS))
            raise FormatError(
                f"files of the format {reading.format} cannot be mended ({can} can); make a "
                f"session of it: {command('import', path, 'NEW-FOLDER')}",
                path=str(path),
            )
        with translated(str(path)):
            data = path.read_bytes()
        mended = mender(data)
    target = path if in_place else out or _beside(path)
    backup = None
    if mended.actions and not dry_run:
        if in_place:
            backup = _replace(path, data, mended)
        else:
            write_new(target, mended.data)
        if mended.aside:
            write_new(_free(target, ".bad"), mended.aside)
    seen = read(target) if mended.actions and not dry_run else reading
    return {
        **facts_of(path, actions=mended.actions, dry_run=dry_run),
        "format": reading.format,
        "file": str(target) if mended.actions and not dry_run else None,
        "backup": None if backup is None else str(backup),
        "aside_bytes": len(mended.aside),
        "sent": len(seen.sent),
        "problems": [problem.what for problem in seen.problems],
    }


def facts_of(
    path: Path, *, actions: Sequence[str], dry_run: bool, rotation: int | None = None
) -> dict[str, Any]:
    """Give what a repair did as JSON values: those of a session, with the others' keys empty."""
    return {
        "path": str(path),
        "format": None,
        "dry_run": dry_run,
        "actions": list(actions),
        "rotation": rotation,
        "file": None,
        "backup": None,
        "aside_bytes": None,
        "sent": None,
        "problems": None,
    }


def show(facts: dict[str, Any]) -> None:
    """Print the report for people."""
    page = Page()
    for action in facts["actions"]:
        page.line(action)
    if not facts["actions"]:
        page.line("nothing to repair")
        return
    if facts["dry_run"]:
        page.line("nothing was written; without --dry-run it is done", style=LABEL)
        return
    page.pairs(
        [
            ("mended", facts["file"]),
            ("as it was", facts["backup"] or ""),
            ("set aside", f"{number(facts['aside_bytes'])} bytes" if facts["aside_bytes"] else ""),
            ("the agent sees", plural(facts["sent"], "message")),
            ("left", plural(len(facts["problems"]), "problem") if facts["problems"] else ""),
        ]
    )


def _beside(path: Path) -> Path:
    """Give a free name beside a file, with the file's own ending."""
    return _free(path.with_name(f"{path.stem}.repaired{path.suffix}"), "")


def _free(path: Path, ending: str) -> Path:
    """Give the name with an ending, or with a number behind it if that is taken."""
    wanted = path.with_name(f"{path.name}{ending}")
    count = 1
    while os.path.lexists(wanted):
        count += 1
        wanted = path.with_name(f"{path.stem}-{count}{path.suffix}{ending}")
    return wanted


def _replace(path: Path, data: bytes, mended: Mended) -> Path:
    """Keep the file under another name, and put the mended one in its place, atomically.

    Raises:
        StoreError: If another program wrote to it meanwhile.
    """
    backup, disk = _free(path, ".bak"), Disk()
    with translated(str(path)):
        disk.link(str(path), str(backup))
        new = _free(path, ".new")
        descriptor = disk.open(str(new), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            write_all(disk, descriptor, mended.data)
            disk.fsync(descriptor)
            _check_same(path, data)
            disk.rename(str(new), str(path))
        except BaseException:
            disk.unlink(str(new))
            disk.unlink(str(backup))
            raise
        finally:
            disk.close(descriptor)
        disk.fsync_folder(str(path.parent))
    return backup


def _check_same(path: Path, data: bytes) -> None:
    """Refuse a file that another program wrote to meanwhile."""
    if path.read_bytes() != data:
        raise StoreError(
            "it was written to meanwhile",
            path=str(path),
            remedy="close the agent that has it open, and try again",
        )
