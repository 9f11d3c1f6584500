"""SWE-agent trajectories: `<instance>.traj`, one JSON object. Pure.

The conversation is `history`. Each step of `trajectory` repeats the whole prompt, in which old
observations are elided; the last of these says in what form the messages would be sent next.
A demonstration is part of the prompt and of no turn: it shows another task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minutebook.formats.mapping import (
    counted,
    role_of,
    table,
    text,
    usage,
    whole,
    with_call_ids,
    with_checkpoints,
)
from minutebook.formats.openai_chat import message_of
from minutebook.formats.source import Source
from minutebook.formats.value import Format, Reading, Why, only_one
from minutebook.formats.views import Item, arrange, total
from minutebook.messages import Message, replace
from minutebook.records import SystemPrompt

_PROMPTS = ("messages", "query")
"""Under what keys a step has its prompt: that of the next step, and since version 1.1 its own."""


def detect(source: Source) -> str | None:
    """Give the evidence that the file is a trajectory."""
    document = table(source.document)
    if isinstance(document.get("trajectory"), list) and isinstance(document.get("history"), list):
        return "an object with the keys trajectory and history"
    return None


def read(source: Source, index: int) -> Reading:
    """Read a trajectory."""
    only_one(source, index)
    document = table(source.document)
    history = [entry for entry in document["history"] if isinstance(entry, dict)]
    steps = [step for step in document["trajectory"] if isinstance(step, dict)]
    main = text(history[0].get("agent")) if history else ""
    sent_forms = _sent_forms(steps)
    prompt = ""
    items: list[Item] = []
    sent: list[int] = []
    why: dict[int, Why] = {}
    asked = False
    for number, entry in enumerate(history):
        message = _message(entry, asked=asked)
        if not number and message.role == "system":
            prompt = message.text
            continue
        asked = asked or (message.role == "user" and message.origin == "user")
        if text(entry.get("agent")) == main:
            sent.append(len(items))
        else:
            why[len(items)] = "unsent"
        form = sent_forms[number] if number < len(sent_forms) else None
        items.append(_item(entry, message, form))
    records, left_out = arrange(items, sent=sent, why=why)
    named, made_up = with_call_ids(records)
    counts = counted(
        (record for record in named if isinstance(record, Message)),
        demonstrations=sum(_is_demonstration(entry) for entry in history),
        blanked=sum(item.why == "blanked" for item in left_out),
        unsent=len(why),
        made_up_ids=made_up,
    )
    stats = table(table(document.get("info")).get("model_stats"))
    spent = usage(fresh=whole(stats.get("tokens_sent")), output=whole(stats.get("tokens_received")))
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints([*([SystemPrompt(content=prompt)] if prompt else ()), *named]),
        left_out=left_out,
        counts=counts,
        problems=tuple(source.document_problems),
        agent="SWE-agent",
        agent_version=text(table(document.get("info")).get("swe_agent_version")),
        session_id=source.name,
        spent=total([spent] if spent is not None else ()),
    )


def _is_demonstration(entry: dict[str, Any]) -> bool:
    return entry.get("is_demo") is True or entry.get("message_type") == "demonstration"


def _message(entry: dict[str, Any], *, asked: bool) -> Message:
    """Make a message. Of the user's the first one is the task; later ones are observations."""
    role = role_of(entry)
    given = entry
    ids = entry.get("tool_call_ids")
    if role == "tool" and "tool_call_id" not in entry and isinstance(ids, list) and ids:
        given = {**entry, "tool_call_id": ids[0]}
    message = message_of(given)
    if role == "user":
        task = not asked and not _is_demonstration(entry)
        return replace(message, origin="user" if task else "injection")
    return message


def _sent_forms(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the messages of the last prompt, in their order."""
    for step in reversed(steps):
        for key in _PROMPTS:
            found = step.get(key)
            if isinstance(found, list) and found:
                return [table(entry) for entry in found]
    return []


def _item(entry: dict[str, Any], message: Message, form: dict[str, Any] | None) -> Item:
    """Make an item of a message, shortened where the last prompt has it so."""
    if form is None or form.get("role") != entry.get("role"):
        return Item(record=message)
    shown = message_of(form)
    if not form.get("content") or shown.text == message.text:
        return Item(record=message)
    return Item(record=replace(message, content=shown.content, elided="mask"), whole=message)


FORMAT = Format(
    name="swe-agent",
    description="SWE-agent: a trajectory, <instance>.traj",
    looks_for="an object with the keys trajectory and history (SWE-agent)",
    detect=detect,
    read=read,
)
