"""What a compaction came to: the report, as JSON values and for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from minutebook.budget import Limits, Policy, preset
from minutebook.cli.giving_back import Given, told
from minutebook.cli.harmless import harmless_line
from minutebook.cli.inspecting import NAMES
from minutebook.cli.rendering import Page, command, number, percent, plural
from minutebook.compaction.plan import Plan
from minutebook.config.values import Config
from minutebook.costing import Costs
from minutebook.messages import Message
from minutebook.records import Rotated
from minutebook.store.names import folder_of, rotation_name
from minutebook.turns import is_real_user


class Job(Struct, frozen=True, kw_only=True):
    """What is asked for."""

    path: Path
    out: Path | None
    window: int | None
    """In tokens, where it is said."""
    target: float | None
    focus: str
    preset: str | None
    """Where one is named."""
    model: str | None
    conversation: int
    config: Config

    @property
    def policy(self) -> Policy:
        """The rules to follow: those of the preset that is named, else the configuration's."""
        return self.config.policy if self.preset is None else preset(self.preset)

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
    tags: dict[int, tuple[str, ...]] = {}
    """The tags of the messages before, by their number."""
    before: dict[str, int]
    """The estimate of the whole request by kind, in tokens."""
    after: dict[str, int]
    costs: Costs | None = None
    """What the pass costs and saves; None if nothing was changed."""
    rotation: Rotated | None = None
    not_imported: int = 0
    """How many messages another agent's file holds that it no longer sends."""


def facts_of(
    job: Job, outcome: Outcome, *, dry_run: bool, given: Given | None = None
) -> dict[str, Any]:
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
        "costs": None if outcome.costs is None else asdict(outcome.costs),
        "kept": kept_of(outcome),
        "tags": tags_of(outcome),
        "left_out": len(plan.left_out),
        "not_imported": outcome.not_imported,
        "rotation": rotation.number if rotation is not None else None,
        "old_log": str(Path(folder_of(place), rotation_name(rotation.number)))
        if rotation is not None
        else None,
        "undo": command("undo", place) if rotation is not None else None,
        "as": None if given is None else asdict(given),
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


def tags_of(outcome: Outcome) -> list[dict[str, Any]]:
    """Count for each tag what became of its messages."""
    shortened, gone = set(outcome.plan.shortened), set(outcome.plan.left_out)
    counts: dict[str, dict[str, int]] = {}
    for seq, tags in outcome.tags.items():
        what = "left_out" if seq in gone else "shortened" if seq in shortened else "whole"
        for tag in tags:
            counts.setdefault(tag, {"whole": 0, "shortened": 0, "left_out": 0})[what] += 1
    return [{"tag": tag, **count} for tag, count in sorted(counts.items())]


def show(facts: dict[str, Any]) -> None:
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
    if facts["as"]:
        return f"{facts['as']['file']}: a new session, made of {facts['path']}"
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
            *((f"#{harmless_line(counts['tag'])}", _tag(counts)) for counts in facts["tags"]),
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
            *_costs(facts["costs"]),
            ("old log", f"{facts['old_log']} (every word, as it was)" if facts["old_log"] else ""),
            ("undo", facts["undo"] or ""),
            ("resume", facts["as"]["resume"] if facts["as"] else ""),
            ("not in it", told(facts["as"]["lost"]) if facts["as"] else ""),
        ]
    )


def _costs(costs: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Say what a pass costs once, and saves with each request."""
    if costs is None:
        return []
    once = [f"{number(costs['reread_tokens'])} tokens are read anew"]
    read, written = costs["summary_input_tokens"], costs["summary_output_tokens"]
    if read or written:
        once.append(f"the summary took {number(read)} in and {number(written)} out")
    saves = f"{number(costs['saved_tokens'])} tokens with each request"
    if costs["cost_usd"] is not None:
        once.append(f"{_dollars(costs['cost_usd'])} in all")
        saves += f", {_dollars(costs['saved_usd'])}"
    if costs["pays_after"] is not None:
        saves += f"; it pays after {plural(costs['pays_after'], 'request')}"
    return [("costs once", ", ".join(once)), ("saves", saves)]


def _dollars(amount: float) -> str:
    return f"${amount:.4f}" if amount < 1 else f"${amount:,.2f}"


def _tag(counts: dict[str, Any]) -> str:
    """Say what became of a tag's messages."""
    words = {"whole": "word for word", "shortened": "shortened", "left_out": "left out"}
    return ", ".join(
        f"{number(counts[what])} {said}" for what, said in words.items() if counts[what]
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
