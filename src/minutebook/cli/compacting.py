"""`compact`: make a session smaller, or another agent's file a smaller session, and report it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from minutebook.budget import PRESETS, Limits, limits
from minutebook.cli import batch, giving_back
from minutebook.cli.compacted import Job, Outcome, facts_of, show
from minutebook.cli.importing import import_into, new_session
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
from minutebook.cli.rendering import command, emit_json, number, plural, working
from minutebook.cli.wording import say
from minutebook.compaction.ladder import compact as plan_compaction
from minutebook.compaction.plan import Plan
from minutebook.config.reading import load_config
from minutebook.context import Context
from minutebook.costing import Costs, cache_share, costs_of, priced
from minutebook.messages import Message
from minutebook.opening import DEFAULT_PRESET
from minutebook.operations import all_tags, compaction_request, fixed_tokens
from minutebook.tokens.breakdown import by_kind


def _known_preset(name: str | None) -> str | None:
    if name is not None and name not in PRESETS:
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
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help=f"The rules to follow, in place of the configuration's: {', '.join(PRESETS)}.",
        callback=_known_preset,
        show_default=False,
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="The configuration; without it, the nearest minutebook.toml from here on upwards.",
        show_default=False,
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


def compact(
    path: PathArgument,
    *,
    window: WindowOption = None,
    target: TargetOption = None,
    focus: FocusOption = "",
    preset: PresetOption = None,
    model: ModelOption = None,
    dry_run: DryRunOption = False,
    out: OutOption = None,
    agent: giving_back.AgentOption = None,
    config: ConfigOption = None,
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

    With --as a smaller session is written that the agent itself resumes, under a new id and in
    the agent's own place; PATH stays as it is, and the command that resumes it is printed.
    """
    settings = load_config(config, near=Path())
    job = Job(
        config=settings,
        path=path,
        out=None if agent else out,
        window=window or settings.window,
        target=target,
        focus=focus,
        preset=preset,
        model=model or settings.model or None,
        conversation=conversation,
    )
    if every:
        if agent is not None:
            raise typer.BadParameter("one session at a time", param_hint="--as")
        _compact_all(job, older_than=older_than, jobs=jobs, dry_run=dry_run, json=json)
        return
    if older_than or jobs is not None:
        raise typer.BadParameter("belongs to --all", param_hint="--older-than, --jobs")
    given: giving_back.Given | None = None
    if dry_run:
        outcome = _dry(job)
    elif agent is not None:
        outcome, given = _as_agent(job, agent, out)
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
    facts = facts_of(job, outcome, dry_run=dry_run, given=given)
    if json:
        emit_json(facts)
    else:
        show(facts)


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
        model = opened.model
    pins = context.pins
    return Outcome(
        plan=plan,
        bounds=bounds,
        history=context.history,
        pins=pins,
        tags=all_tags(job.config.tags, context),
        before=by_kind(context.system_prompt, (), context.history, pins),
        after=by_kind(context.system_prompt, (), plan.history, pins),
        costs=_costs_of_plan(plan, context, model),
        not_imported=_not_imported(opened),
    )


def _costs_of_plan(plan: Plan, context: Context, model: str | None) -> Costs | None:
    """Say what a plan would cost and save; None if it changes nothing."""
    if not plan.changed:
        return None
    found = costs_of(
        plan.tokens_before, plan.tokens_after, spent=None, share=cache_share(context.usages)
    )
    if not model:
        return found
    from minutebook.models.prices import price_of

    return priced(found, model, model, price_of)


def _plan(context: Context, job: Job, window: int) -> tuple[Plan, Limits]:
    bounds = _bounds(context, job, window)
    fixed = fixed_tokens(context.system_prompt, ())
    request = compaction_request(context, fixed=fixed, focus=job.focus, tagging=job.config.tags)
    return plan_compaction(request, bounds, job.policy, forced=True), bounds


def _bounds(context: Context, job: Job, window: int) -> Limits:
    return limits(
        job.policy,
        window=window,
        max_output=job.config.max_output,
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


def _as_agent(
    job: Job, agent: giving_back.Agent, out: Path | None
) -> tuple[Outcome, giving_back.Given]:
    """Compact a copy, and write what came of it for an agent."""
    with giving_back.scratch() as folder, _opened(job) as opened:
        outcome = _into_new(job, folder)
        given = giving_back.give_back(agent, folder, opened, out)
    return replace(outcome, rotation=None), given


def _compact(job: Job, folder: Path, window: int) -> Outcome:
    """Compact a session in place."""
    session: Any = None
    rewrites = 0
    try:
        with writing(
            folder,
            window=window,
            model=job.model,
            preset=job.preset or DEFAULT_PRESET,
            config=job.config,
        ) as session:
            history: tuple[Message, ...] = session.context.history
            pins: frozenset[int] = session.context.pins
            tags = all_tags(job.config.tags, session.context)
            rewrites = len(session.context.lineage)
            with working(f"compacting {plural(len(history), 'message')}"), prompt_interrupts():
                done = session.compact(job.focus, target=job.target)
            sent_to = session.settings.model
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
        tags=tags,
        before=done.before,
        after=done.after,
        costs=done.costs(sent_to) if done.changed else None,
        rotation=done.rotation,
    )


def _not_imported(opened: Opened) -> int:
    return len(opened.reading.left_out) if opened.reading is not None else 0
