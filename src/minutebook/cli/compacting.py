"""`compact`: make a session smaller, or another agent's file a smaller session, and report it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import replace

from minutebook.budget import PRESETS, Limits, limits, preset
from minutebook.cli import batch
from minutebook.cli.importing import import_into, new_session
from minutebook.cli.inspecting import NAMES
from minutebook.cli.interrupts import prompt_interrupts
from minutebook.cli.opening import (
    Opened,
    is_session,
    known_window,
    reading,
    window_of_session,
    writing,
)
from minutebook.cli.options import (
    ConversationOption,
    JsonOption,
    ModelOption,
    PathArgument,
    WindowOption,
)
from minutebook.cli.rendering import Page, command, emit_json, number, percent, plural, working
from minutebook.cli.wording import say
from minutebook.compaction.ladder import compact as plan_compaction
from minutebook.compaction.plan import Plan
from minutebook.context import Context
from minutebook.messages import Message
from minutebook.operations import compaction_request, fixed_tokens
from minutebook.records import Rotated
from minutebook.store.names import folder_of, rotation_name
from minutebook.tokens.breakdown import by_kind
from minutebook.turns import is_real_user


def _known_preset(name: str) -> str:
    if name not in PRESETS:
        raise typer.BadParameter(f"{name!r} is none; there are {', '.join(PRESETS)}")
    return name


TargetOption = Annotated[
    float | None,
    typer.Option(
        "--target",
        metavar="SHARE",
        help="The share of the window to be left, such as 0.25, in place of the preset's.",
        show_default=False,
    ),
]
FocusOption = Annotated[
    str,
    typer.Option(
        "--focus", metavar="TEXT", help="What the summary should look at first.", show_default=False
    ),
]
PresetOption = Annotated[
    str,
    typer.Option(
        "--preset",
        metavar="NAME",
        help=f"The rules to follow: {', '.join(PRESETS)}.",
        callback=_known_preset,
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Report what would be done, and change nothing.")
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Make a new session there and leave PATH as it is. Another agent's file needs it.",
        show_default=False,
    ),
]


class Job(Struct, frozen=True, kw_only=True):
    """What is asked for."""

    path: Path
    out: Path | None
    window: int | None
    """In tokens, where it is said."""
    target: float | None
    focus: str
    preset: str
    model: str | None
    conversation: int

    @property
    def place(self) -> Path:
        """The session that is made smaller, as the user calls it."""
        return self.out or self.path


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of it, or would."""

    plan: Plan
    bounds: Limits
    history: tuple[Message, ...]
    """The messages before."""
    pins: frozenset[int]
    before: dict[str, int]
    """The estimate of the whole request by kind, in tokens."""
    after: dict[str, int]
    rotation: Rotated | None = None
    not_imported: int = 0
    """How many messages another agent's file holds that it no longer sends."""


def compact(
    path: PathArgument,
    *,
    window: WindowOption = None,
    target: TargetOption = None,
    focus: FocusOption = "",
    preset: PresetOption = "default",
    model: ModelOption = None,
    dry_run: DryRunOption = False,
    out: OutOption = None,
    conversation: ConversationOption = 0,
    every: batch.AllOption = False,
    older_than: batch.OlderOption = "",
    jobs: batch.JobsOption = None,
    json: JsonOption = False,
) -> None:
    """Make what is sent smaller; every word stays on disk.

    A session is compacted in place, or with --out in a fork of it; another agent's file becomes
    a new session with --out. Needs no model: old tool outputs are set aside, then older
    exchanges become a summary made of their own words, and only if that is not enough the
    oldest are left out. What is pinned and newest stays word for word. The report says where
    the old log is and how to undo.
    """
    job = Job(
        path=path,
        out=out,
        window=window,
        target=target,
        focus=focus,
        preset=preset,
        model=model,
        conversation=conversation,
    )
    if every:
        _compact_all(job, older_than=older_than, jobs=jobs, dry_run=dry_run, json=json)
        return
    if older_than or jobs is not None:
        raise typer.BadParameter("belongs to --all", param_hint="--older-than, --jobs")
    if dry_run:
        outcome = _dry(job)
    elif out is not None:
        outcome = _into_new(job, out)
    elif is_session(path) or not path.exists():
        outcome = _in_place(job)
    else:
        raise typer.BadParameter(
            "another agent's file is never changed; name a new folder for the session: "
            + command("compact", path, "--out", "NEW-FOLDER"),
            param_hint="--out",
        )
    facts = facts_of(job, outcome, dry_run=dry_run)
    if json:
        emit_json(facts)
    else:
        _show(facts)


def _compact_all(job: Job, *, older_than: str, jobs: int | None, dry_run: bool, json: bool) -> None:
    """Compact every session at or below the path; exit 1 if one failed."""
    if job.out is not None or job.conversation:
        raise typer.BadParameter("sessions are compacted in place with --all", param_hint="--out")
    facts = batch.run(
        job.path,
        partial(_one_of_many, job, dry_run),
        older_than=batch.seconds_of(older_than) if older_than else None,
        jobs=jobs,
        dry_run=dry_run,
    )
    if json:
        emit_json(facts)
    else:
        batch.show(facts)
    if facts["counts"]["failed"]:
        raise typer.Exit(1)


def _one_of_many(job: Job, dry_run: bool, folder: str) -> batch.Done:
    """Compact one session of many, unless it is within its target already."""
    own = replace(job, path=Path(folder))
    with _opened(own) as opened:
        window = known_window(opened)
        target = _bounds(opened.context, own, window).target
        if opened.used <= target:
            return batch.Done(
                path=folder,
                outcome="skipped",
                tokens_before=opened.used,
                tokens_after=opened.used,
                reason=f"within the target of {number(target)}",
            )
    outcome = _dry(own) if dry_run else _in_place(own)
    plan, rotation = outcome.plan, outcome.rotation
    return batch.Done(
        path=folder,
        outcome="compacted" if plan.changed else "skipped",
        tokens_before=plan.tokens_before,
        tokens_after=plan.tokens_after,
        rotation=None if rotation is None else rotation.number,
        reason=plan.reason,
    )


def _opened(job: Job) -> AbstractContextManager[Opened]:
    return reading(job.path, window=job.window, model=job.model, conversation=job.conversation)


def _dry(job: Job) -> Outcome:
    """Work out what a compaction would come to. Nothing is written, no lock is taken."""
    with _opened(job) as opened:
        context = opened.context
        with working(f"planning for {plural(len(context.history), 'message')}"):
            plan, bounds = _plan(context, job, known_window(opened))
    pins = context.pins
    return Outcome(
        plan=plan,
        bounds=bounds,
        history=context.history,
        pins=pins,
        before=by_kind(context.system_prompt, (), context.history, pins),
        after=by_kind(context.system_prompt, (), plan.history, pins),
        not_imported=_not_imported(opened),
    )


def _plan(context: Context, job: Job, window: int) -> tuple[Plan, Limits]:
    bounds = _bounds(context, job, window)
    fixed = fixed_tokens(context.system_prompt, ())
    request = compaction_request(context, fixed=fixed, focus=job.focus)
    return plan_compaction(request, bounds, preset(job.preset), forced=True), bounds


def _bounds(context: Context, job: Job, window: int) -> Limits:
    return limits(
        preset(job.preset),
        window=window,
        max_output=None,
        fixed=fixed_tokens(context.system_prompt, ()),
        target_ratio=job.target,
    )


def _in_place(job: Job) -> Outcome:
    window = window_of_session(job.path, window=job.window, model=job.model)
    return _compact(job, job.path, window)


def _into_new(job: Job, out: Path) -> Outcome:
    """Fork or import into a new folder and compact there; the folder appears once that is done."""
    with _opened(job) as opened, new_session(out) as folder:
        window = known_window(opened)
        if opened.session is not None:
            opened.session.fork(folder)
        else:
            with working("importing") as progress:
                import_into(folder, opened, progress, window=job.window)
        outcome = _compact(job, folder, window)
    return replace(outcome, not_imported=_not_imported(opened))


def _compact(job: Job, folder: Path, window: int) -> Outcome:
    """Compact a session in place."""
    session: Any = None
    rewrites = 0
    try:
        with writing(folder, window=window, model=job.model, preset=job.preset) as session:
            history: tuple[Message, ...] = session.context.history
            pins: frozenset[int] = session.context.pins
            rewrites = len(session.context.lineage)
            with working(f"compacting {plural(len(history), 'message')}"), prompt_interrupts():
                done = session.compact(job.focus, target=job.target)
    except KeyboardInterrupt:
        # It came too late if the rewrite had begun, which is finished then.
        if job.out is None and session and len(session.context.lineage) != rewrites:
            say(f"the compaction was done already; take it back with: {command('undo', job.path)}")
        raise
    return Outcome(
        plan=done.plan,
        bounds=done.limits,
        history=history,
        pins=pins,
        before=done.before,
        after=done.after,
        rotation=done.rotation,
    )


def _not_imported(opened: Opened) -> int:
    return len(opened.reading.left_out) if opened.reading is not None else 0


def facts_of(job: Job, outcome: Outcome, *, dry_run: bool) -> dict[str, Any]:
    """Give the report as JSON values with stable keys."""
    plan, rotation = outcome.plan, outcome.rotation
    place = job.place
    return {
        "path": str(job.path),
        "out": None if job.out is None else str(job.out),
        "dry_run": dry_run,
        "changed": plan.changed and not dry_run,
        "reason": plan.reason or None,
        "window": outcome.bounds.window,
        "target": outcome.bounds.target,
        "before": {
            "tokens": plan.tokens_before,
            "messages": len(outcome.history),
            "by_kind": outcome.before,
        },
        "after": {
            "tokens": plan.tokens_after,
            "messages": len(plan.history),
            "by_kind": outcome.after,
        },
        "steps": _steps(plan),
        "kept": kept_of(outcome),
        "left_out": len(plan.left_out),
        "not_imported": outcome.not_imported,
        "rotation": rotation.number if rotation is not None else None,
        "old_log": str(Path(folder_of(place), rotation_name(rotation.number)))
        if rotation is not None
        else None,
        "undo": command("undo", place) if rotation is not None else None,
    }


def kept_of(outcome: Outcome) -> dict[str, int]:
    """Count what is kept: word for word (and of that by why), shortened, new."""
    plan = outcome.plan
    shortened = set(plan.shortened)
    whole = {
        message.seq
        for message in plan.history
        if message.seq is not None and message.seq not in shortened
    }
    newest = 0
    for message in reversed(outcome.history):
        if message.seq not in whole:
            break
        newest += 1
    return {
        "whole": len(whole),
        "pinned": len(whole & outcome.pins),
        "newest": newest,
        "user": sum(message.seq in whole and is_real_user(message) for message in outcome.history),
        "shortened": len(shortened),
        "new": sum(message.seq is None for message in plan.history),
    }


def _show(facts: dict[str, Any]) -> None:
    """Print the report for people."""
    page = Page()
    before, after = facts["before"], facts["after"]
    page.heading(_title(facts))
    if facts["reason"]:
        page.line(f"nothing was changed: {facts['reason']}", indent=2)
    page.blank()
    rows: list[Sequence[str]] = [
        ("", "before", "after"),
        ("messages", number(before["messages"]), number(after["messages"])),
        ("tokens", number(before["tokens"]), number(after["tokens"])),
    ]
    rows += [
        (f"  {NAMES.get(kind, kind)}", number(count), number(after["by_kind"].get(kind, 0)))
        for kind, count in before["by_kind"].items()
        if count or after["by_kind"].get(kind)
    ]
    window = facts["window"]
    rows.append(
        (
            f"of {number(window)}",
            percent(before["tokens"], window),
            percent(after["tokens"], window),
        )
    )
    page.rows(rows, right=(1, 2))
    if facts["steps"]:
        page.blank()
        page.heading("steps")
        page.rows([_step(step) for step in facts["steps"]], right=(1,))
    page.blank()
    _show_kept(page, facts)


def _title(facts: dict[str, Any]) -> str:
    if facts["dry_run"]:
        return f"{facts['path']}: what a compaction would do; nothing was changed"
    if facts["out"]:
        return f"{facts['out']}: a new session, made of {facts['path']}"
    return facts["path"] if facts["reason"] else f"{facts['path']}: compacted"


def _step(step: dict[str, Any]) -> tuple[str, str, str]:
    saved = step["tokens_before"] - step["tokens_after"]
    change = f"{'-' if saved > 0 else '+'}{number(abs(saved))}" if saved else "0"
    return step["name"], change, step["detail"]


def _show_kept(page: Page, facts: dict[str, Any]) -> None:
    kept = facts["kept"]
    whole = [
        f"the newest {number(kept['newest'])}" if kept["newest"] else "",
        f"{number(kept['pinned'])} pinned" if kept["pinned"] else "",
        f"{number(kept['user'])} of the user" if kept["user"] else "",
    ]
    inside = ", ".join(filter(None, whole))
    page.pairs(
        [
            (
                "kept",
                f"{plural(kept['whole'], 'message')} word for word"
                + (f" ({inside})" if inside else ""),
            ),
            ("shortened", plural(kept["shortened"], "message") if kept["shortened"] else ""),
            (
                "new",
                f"{plural(kept['new'], 'message')} that "
                f"{'stands' if kept['new'] == 1 else 'stand'} for older ones"
                if kept["new"]
                else "",
            ),
            ("left out", plural(facts["left_out"], "message") if facts["left_out"] else ""),
            (
                "not taken",
                f"{plural(facts['not_imported'], 'message')} that the agent no longer "
                "sends; the file still has them"
                if facts["not_imported"]
                else "",
            ),
            ("old log", f"{facts['old_log']} (every word, as it was)" if facts["old_log"] else ""),
            ("undo", facts["undo"] or ""),
        ]
    )


def _steps(plan: Plan) -> list[dict[str, Any]]:
    """Give what each step came to; the ledger, which is no step of the ladder, stands last."""
    found: list[dict[str, Any]] = [
        {
            "name": step.name,
            "tokens_before": step.tokens_before,
            "tokens_after": step.tokens_after,
            "detail": step.detail,
        }
        for step in plan.steps
    ]
    if plan.ledger_tokens:
        before = plan.tokens_after - plan.ledger_tokens
        found.append(
            {
                "name": "ledger",
                "tokens_before": before,
                "tokens_after": plan.tokens_after,
                "detail": plan.ledger,
            }
        )
    return found
