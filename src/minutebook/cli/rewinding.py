"""Checkpoints and everything that goes back to one: each says where the old log went."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import structs

from minutebook.cli.findings import look_around
from minutebook.cli.importing import add_new, import_into, new_session
from minutebook.cli.inspecting import checkpoint_facts, rotation_rows
from minutebook.cli.opening import Opened, is_session, reading, writing
from minutebook.cli.options import ConversationOption, JsonOption, PathArgument, SessionArgument
from minutebook.cli.rendering import (
    Page,
    command,
    emit_json,
    moment,
    number,
    plural,
    working,
)
from minutebook.cli.surveying import store_for_reading
from minutebook.context import Context
from minutebook.errors import FormatError
from minutebook.lineage import walk
from minutebook.records import Rotated
from minutebook.retired import live_lineage, load_rotation
from minutebook.store.names import folder_of, rotation_name

CheckpointOption = Annotated[
    int,
    typer.Option("--to", metavar="ID", min=0, help="The checkpoint to go back to."),
]
AtOption = Annotated[
    int | None,
    typer.Option(
        "--at",
        metavar="ID",
        min=0,
        help="Only what stands before this checkpoint.",
        show_default=False,
    ),
]
LabelOption = Annotated[
    str | None,
    typer.Option("--label", metavar="TEXT", help="A name to find it by.", show_default=False),
]
MarkerOption = Annotated[
    bool, typer.Option("--marker", help="Also append a message that shows the id to the model.")
]
NoteOption = Annotated[
    str | None,
    typer.Option(
        "--note",
        metavar="TEXT",
        help="Tell the model this, in a message at the end.",
        show_default=False,
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Also where messages that came after are left behind.")
]
NumberArgument = Annotated[
    int, typer.Argument(metavar="N", min=0, help="The rotation's number.", show_default=False)
]
SeqArgument = Annotated[
    int, typer.Argument(metavar="SEQ", min=1, help="The message's number.", show_default=False)
]
DestinationArgument = Annotated[
    Path, typer.Argument(metavar="DEST", help="The new session's folder.", show_default=False)
]


def checkpoints(
    path: PathArgument, conversation: ConversationOption = 0, json: JsonOption = False
) -> None:
    """List the checkpoints that one can go back to.

    Those that a compaction, a revert or a clear left behind are in a rotation, and revert
    finds them there.
    """
    with reading(path, conversation=conversation) as opened:
        found = _checkpoints(opened)
    if json:
        emit_json({"path": str(path), "checkpoints": found})
        return
    page = Page()
    if not found:
        page.line("no checkpoints")
        return
    page.rows(
        [("id", "messages before", "set", "in", "label")]
        + [
            (
                str(mark["id"]),
                number(mark["messages"]),
                moment(mark["at"]),
                "" if mark["rotation"] is None else rotation_name(mark["rotation"]),
                mark["label"] or "",
            )
            for mark in found
        ],
        right=(0, 1),
        indent=0,
    )


def _checkpoints(opened: Opened) -> list[dict[str, Any]]:
    """Describe every checkpoint that a revert finds: of the log, then of its rotations.

    Of an id that is there more than once the one is given that a revert goes back to.
    """
    found: dict[int, dict[str, Any]] = {}

    def take(context: Context, rotation: int | None) -> None:
        for mark in reversed(context.checkpoints):
            found.setdefault(mark.id, {**checkpoint_facts(mark), "rotation": rotation})

    take(opened.context, None)
    store = opened.store
    if store is not None:
        for rotation, context in walk(opened.context, lambda named: load_rotation(store, named)):
            if context is not None:
                take(context, rotation)
    return [found[mark] for mark in sorted(found)]


def checkpoint(
    path: SessionArgument,
    label: LabelOption = None,
    marker: MarkerOption = False,
    json: JsonOption = False,
) -> None:
    """Set a checkpoint at the end, and print its id."""
    with writing(path) as session:
        made = session.checkpoint(label, marker=marker)
    if json:
        emit_json({"path": str(path), "id": made, "label": label})
    else:
        typer.echo(made)


def revert(
    path: SessionArgument,
    to: CheckpointOption,
    note: NoteOption = None,
    json: JsonOption = False,
) -> None:
    """Go back to a checkpoint.

    The checkpoint is dropped with all that came after it. What the log was before becomes a
    rotation, so this can be undone too.
    """
    _rewrite(
        path,
        lambda session: session.revert(to, note=note),
        f"went back to checkpoint {to}",
        json=json,
    )


def undo(path: SessionArgument, force: ForceOption = False, json: JsonOption = False) -> None:
    """Take the last rewrite back.

    Of a compaction the older log comes back with everything appended since. Of a revert, a
    clear or a restore, messages that came after it are left behind in a rotation, and only
    with --force. Twice goes further back.
    """
    _rewrite(
        path,
        lambda session: session.undo(force=force),
        "took the last rewrite back",
        json=json,
    )


def clear(path: SessionArgument, json: JsonOption = False) -> None:
    """Leave every message behind but the system prompt.

    What the log was becomes a rotation: undo brings it back.
    """
    _rewrite(path, lambda session: session.clear(), "left every message behind", json=json)


def restore(path: SessionArgument, rotation: NumberArgument, json: JsonOption = False) -> None:
    """Bring a rotation back whole.

    What the log was becomes a rotation itself. Works also where context.jsonl is missing.
    """
    _rewrite(
        path,
        lambda session: session.restore(rotation),
        f"brought rotation {rotation} back",
        json=json,
        log_needed=False,
    )


def _rewrite(
    path: Path,
    work: Callable[[Any], Rotated],
    done: str,
    *,
    json: bool,
    log_needed: bool = True,
) -> None:
    """Do a rewrite and report it: what is there now, where the old log is, how to go back."""
    with writing(path, log_needed=log_needed) as session:
        before = len(session.context.history)
        rotated = work(session)
        after = len(session.context.history)
        tokens = session.used
    old_log = str(Path(folder_of(path), rotation_name(rotated.number)))
    back = command("restore", path, rotated.number)
    if json:
        emit_json(
            {
                "path": str(path),
                "before": {"messages": before},
                "after": {"messages": after, "tokens": tokens},
                "rotation": rotated.number,
                "old_log": old_log,
                "undo": back,
            }
        )
        return
    page = Page()
    page.heading(f"{path}: {done}")
    page.pairs(
        [
            ("messages", f"{number(before)} before, {number(after)} now"),
            ("tokens", f"{number(tokens)} now"),
            ("old log", old_log),
            ("back to it", back),
        ]
    )


def rotations(path: SessionArgument, json: JsonOption = False) -> None:
    """List the retired logs, complete and restorable."""
    if not is_session(path) and os.path.lexists(path):
        raise FormatError("another agent's file has no rotations of ours", path=str(path))
    with store_for_reading(path) as store, working(f"reading {path}"):
        around = look_around(store, live_lineage(store), path)
    found = [structs.asdict(rotation) for rotation in around.rotations]
    if json:
        emit_json({"path": str(path), "rotations": found})
        return
    page = Page()
    if not found:
        page.line("no rotations: nothing was compacted, reverted, cleared or restored")
        return
    page.rows(rotation_rows(found), right=(0, 1, 2), indent=0)
    page.blank()
    page.pairs([("bring one back", f"{command('restore', path)} N")], indent=0)


def fork(
    path: PathArgument,
    destination: DestinationArgument,
    at: AtOption = None,
    conversation: ConversationOption = 0,
    json: JsonOption = False,
) -> None:
    """Make a new session of this one, or of a file.

    PATH stays as it is. Another agent's file is taken over uncompacted, with a checkpoint
    before each turn of the user.
    """
    with reading(path, conversation=conversation) as opened:
        if opened.session is not None:
            opened.session.fork(destination, at=at)
        elif at is not None:
            raise typer.BadParameter(
                "only a session can be forked at a checkpoint; fork the file whole, "
                "then revert --to",
                param_hint="--at",
            )
        else:
            with new_session(destination) as folder, working("importing") as progress:
                import_into(folder, opened, progress)
    _show_made(path, destination, f"{destination}: a new session, made of {path}", json=json)


def import_(
    path: PathArgument,
    destination: DestinationArgument,
    conversation: ConversationOption = 0,
    json: JsonOption = False,
) -> None:
    """Make a session of another agent's file, or add what is new.

    PATH stays as it is. It is taken over uncompacted, with a checkpoint before each turn of the
    user. Done again, it adds what the file has more by now, whatever became of the session.
    """
    title = f"{destination}: a new session, made of {path}"
    with reading(path, conversation=conversation) as opened, working("importing") as progress:
        if opened.session is not None:
            raise typer.BadParameter(
                "is a session already; make another of it with: "
                + command("fork", path, destination),
                param_hint="PATH",
            )
        if is_session(destination):
            added = add_new(destination, opened, progress)
            title = f"{destination}: {plural(added, 'message')} added of {path}"
        else:
            added = len(opened.context.history)
            with new_session(destination) as folder:
                import_into(folder, opened, progress)
    _show_made(path, destination, title, json=json, added=added)


def _show_made(
    path: Path, destination: Path, title: str, *, json: bool, added: int | None = None
) -> None:
    """Report what a fork or an import has made."""
    with reading(destination) as made:
        messages, marks = len(made.context.history), [mark.id for mark in made.context.checkpoints]
    if json:
        facts = {"path": str(path), "out": str(destination)}
        more = {} if added is None else {"added": added}
        emit_json({**facts, "messages": messages, "checkpoints": marks, **more})
        return
    page = Page()
    page.heading(title)
    page.pairs(
        [
            ("messages", number(messages)),
            ("checkpoints", str(len(marks))),
            ("look at it", command("inspect", destination)),
        ]
    )


def pin(path: SessionArgument, seq: SeqArgument, json: JsonOption = False) -> None:
    """Keep a message word for word in every compaction.

    Its number is the one that show prints. One that a compaction has left behind already comes
    back, with its exchange.
    """
    _pin(path, seq, pinned=True, json=json)


def unpin(path: SessionArgument, seq: SeqArgument, json: JsonOption = False) -> None:
    """Take a pin away."""
    _pin(path, seq, pinned=False, json=json)


def _pin(path: Path, seq: int, *, pinned: bool, json: bool) -> None:
    with writing(path) as session:
        session.pin(seq, pinned=pinned)
        pins = sorted(session.context.pins)
    if json:
        emit_json({"path": str(path), "seq": seq, "pinned": pinned, "pins": pins})
        return
    Page().line(
        f"message {seq} is {'pinned' if pinned else 'no longer pinned'}; "
        f"{plural(len(pins), 'message')} pinned in all"
    )
