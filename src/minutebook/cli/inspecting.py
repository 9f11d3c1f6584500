"""`inspect`: what a session or another agent's file is, holds and weighs, and what is wrong."""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec import structs

from minutebook.cli.findings import Finding, look_around, of_bytes, of_survey, reason_of
from minutebook.cli.options import (
    ConversationOption,
    JsonOption,
    ModelOption,
    PathArgument,
    WindowOption,
)
from minutebook.cli.rendering import (
    LABEL,
    WARNING,
    Page,
    byte_size,
    emit_json,
    moment,
    number,
    percent,
    plural,
    ranges,
)
from minutebook.cli.surveying import Surveyed, surveying
from minutebook.context import Mark
from minutebook.records import Compaction, Lineage
from minutebook.survey import Marked, Survey
from minutebook.tokens.breakdown import share

NAMES = {
    "system": "system prompt",
    "tools": "tools",
    "user": "user",
    "assistant": "assistant",
    "thinking": "thinking",
    "tool_calls": "tool calls",
    "tool_results": "tool results",
    "media": "media",
    "summary": "summaries",
    "other": "other",
    "pinned": "pinned",
}
"""The kinds of tokens, as people read them."""


PROBLEMS_SHOWN = 20
"""People get the first problems of lines, programs get all."""
TITLE_CHARACTERS = 120


def inspect(
    path: PathArgument,
    window: WindowOption = None,
    model: ModelOption = None,
    conversation: ConversationOption = 0,
    json: JsonOption = False,
) -> None:
    """Say what a session holds and weighs, and what is wrong.

    Opens it for reading only, also while an agent writes it. Lists messages, turns, tokens by
    kind, checkpoints, compactions, rotations, and every problem with its line. A damaged
    session opens too, and so does one that has lost its log and still has rotations.
    """
    with surveying(path, window=window, model=model, conversation=conversation) as surveyed:
        facts = facts_of(surveyed)
    if json:
        emit_json(facts)
    else:
        show(facts)


def facts_of(surveyed: Surveyed) -> dict[str, Any]:
    """Give all that `inspect` reports, as JSON values with stable keys."""
    found = surveyed.survey
    around = look_around(surveyed.store, found, surveyed.path)
    findings = [
        *of_bytes(surveyed.problems),
        *of_survey(found, surveyed.path),
        *around.findings,
    ]
    return {
        "path": str(surveyed.path),
        "format": surveyed.format,
        "evidence": surveyed.evidence,
        "title": surveyed.title,
        "agent": surveyed.agent,
        "model": surveyed.model,
        "started": found.started,
        "updated": found.updated,
        "messages": {"total": found.messages, "by_role": dict(found.by_role)},
        "turns": found.turns,
        "tokens": tokens_of(found, surveyed.window),
        "pins": sorted(found.pins),
        "checkpoints": [checkpoint_facts(mark) for mark in found.checkpoints],
        "compactions": _compactions(surveyed),
        "lineage": [_lineage_facts(record) for record in found.lineage],
        "rotations": [structs.asdict(rotation) for rotation in around.rotations],
        "counts": surveyed.counts,
        "problems": [problem_facts(finding) for finding in findings],
    }


def tokens_of(found: Survey, window: int | None) -> dict[str, Any]:
    """Say how much room the next request takes."""
    kinds = found.kinds()
    exact = found.token_count_is_exact
    full = share(found.tokens_used, window)
    return {
        "exact": found.token_count if exact else None,
        "pending": found.token_count_pending if exact else None,
        "with_pending": found.tokens_used,
        "estimated": sum(kinds.values()),
        "by_kind": kinds,
        "window": full.window,
        "percent": None if full.percent is None else round(full.percent, 1),
        "remaining": full.remaining,
    }


def checkpoint_facts(mark: Mark | Marked) -> dict[str, Any]:
    """Describe a checkpoint; `messages` counts those before it, which a revert keeps."""
    return {"id": mark.id, "label": mark.label, "at": mark.at, "messages": mark.messages}


def problem_facts(finding: Finding) -> dict[str, Any]:
    """Describe one thing that is wrong."""
    return {
        "line": finding.line,
        "byte": finding.byte,
        "file": finding.file or None,
        "kind": finding.kind,
        "what": finding.what,
    }


def _compactions(surveyed: Surveyed) -> list[dict[str, Any]]:
    """Describe the compactions that the log tells of; what it does not say is null.

    Other agents leave no record of one, but its summary or their own count.
    """
    found = [
        _compaction_facts(record)
        for record in surveyed.survey.lineage
        if isinstance(record, Compaction)
    ]
    if found:
        return found
    counted = surveyed.counts.get("compactions", 0)
    return [_compaction_facts(None) for _ in range(max(counted, surveyed.survey.summaries))]


def _compaction_facts(record: Compaction | None) -> dict[str, Any]:
    parent = record.parent if record is not None else None
    return {
        "id": record.id if record is not None else None,
        "at": record.at if record is not None else None,
        "trigger": record.trigger if record is not None else None,
        "steps": list(record.steps) if record is not None else None,
        "tokens_before": record.tokens_before if record is not None else None,
        "tokens_after": record.tokens_after if record is not None else None,
        "rotation": parent.number if parent is not None else None,
    }


def _lineage_facts(record: Lineage) -> dict[str, Any]:
    return {"kind": reason_of(record), "at": record.at, "what": record.content}


def show(facts: dict[str, Any]) -> None:
    """Print the report for people."""
    page = Page()
    messages, tokens = facts["messages"], facts["tokens"]
    page.heading(facts["path"], facts["title"][:TITLE_CHARACTERS])
    page.pairs(
        [
            ("format", f"{facts['format']} ({facts['evidence']})"),
            ("agent", facts["agent"]),
            ("model", facts["model"]),
            ("written", _span(facts["started"], facts["updated"])),
            ("messages", _messages(messages["total"], messages["by_role"], facts["turns"])),
            ("pinned", ranges(facts["pins"])),
            (
                "also",
                ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in facts["counts"].items()),
            ),
        ]
    )
    page.blank()
    _show_tokens(page, tokens)
    _show_checkpoints(page, facts["checkpoints"])
    _show_rewrites(page, facts)
    _show_problems(page, facts["problems"])


def _span(started: float | None, updated: float | None) -> str:
    first, last = moment(started), moment(updated)
    return first if first == last else f"{first} to {last}"


def _messages(total: int, by_role: dict[str, int], turns_count: int) -> str:
    roles = ", ".join(f"{role} {number(count)}" for role, count in by_role.items())
    return f"{number(total)} in {plural(turns_count, 'turn')}" + (f" ({roles})" if roles else "")


def _show_tokens(page: Page, tokens: dict[str, Any]) -> None:
    used, window = tokens["with_pending"], tokens["window"]
    if tokens["exact"] is None:
        counted = "estimated"
    else:
        counted = f"{number(tokens['exact'])} exact and {number(tokens['pending'])} pending"
    room = f"{percent(used, window)} of {number(window)}" if window else "window unknown"
    page.heading(f"{plural(used, 'token')}", f"{counted}; {room}")
    whole = window or tokens["estimated"]
    rows = [
        (NAMES.get(kind, kind), number(count), percent(count, whole), page.bar(count, whole))
        for kind, count in tokens["by_kind"].items()
        if count
    ]
    page.rows(rows, right=(1, 2), indent=2)
    if rows and tokens["exact"] is not None:
        estimated = number(tokens["estimated"])
        page.line(f"by kind as estimated, {estimated} in all", style=LABEL, indent=2)


def _show_checkpoints(page: Page, checkpoints: list[dict[str, Any]]) -> None:
    if not checkpoints:
        return
    page.blank()
    newest = checkpoints[-1]
    page.heading(plural(len(checkpoints), "checkpoint"), ranges(mark["id"] for mark in checkpoints))
    label = f" {newest['label']!r}" if newest["label"] else ""
    page.line(
        f"the newest, {newest['id']}{label}, stands after {plural(newest['messages'], 'message')}",
        indent=2,
    )


def _show_rewrites(page: Page, facts: dict[str, Any]) -> None:
    compactions, lineage, rotations = facts["compactions"], facts["lineage"], facts["rotations"]
    if compactions or lineage:
        page.blank()
        done = Counter(step["kind"] for step in lineage if step["kind"] != "compaction")
        others = ", ".join(plural(count, kind) for kind, count in done.items())
        page.heading(plural(len(compactions), "compaction"), others)
        page.rows([(moment(step["at"]), step["what"]) for step in lineage])
    if rotations:
        page.blank()
        page.heading(plural(len(rotations), "rotation"), "retired logs, complete and restorable")
        page.rows(rotation_rows(rotations), right=(0, 1, 2))


def rotation_rows(rotations: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Give the columns in which rotations are listed."""
    return [
        (
            str(rotation["number"]),
            "missing" if rotation["missing"] else byte_size(rotation["bytes"] or 0),
            "" if rotation["messages"] is None else plural(rotation["messages"], "message"),
            rotation["reason"],
            moment(rotation["at"]),
            rotation["path"],
        )
        for rotation in rotations
    ]


def _show_problems(page: Page, problems: list[dict[str, Any]]) -> None:
    page.blank()
    if not problems:
        page.line("no problems")
        return
    page.line(plural(len(problems), "problem"), style=WARNING)
    of_lines = [problem for problem in problems if problem["line"] is not None]
    for problem in problems:
        if problem["line"] is None:
            page.line(place(problem) + problem["what"], indent=2)
    page.rows([(place(problem), problem["what"]) for problem in of_lines[:PROBLEMS_SHOWN]])
    if len(of_lines) > PROBLEMS_SHOWN:
        page.line(
            f"and {number(len(of_lines) - PROBLEMS_SHOWN)} more; --json has them all", indent=2
        )


def place(problem: dict[str, Any]) -> str:
    """Say where a problem is: the file if it is another one, and the line if it is about one."""
    if problem["line"] is not None:
        return (
            f"{problem['file']}, line {problem['line']}"
            if problem["file"]
            else f"line {problem['line']}"
        )
    return f"{problem['file']}: " if problem["file"] else ""
