"""mini-swe-agent trajectories: `<instance>.traj.json`. Pure.

Version 2 is one object with `messages` and `info`, whose messages are OpenAI's with the raw
response beside them; version 1 is a bare list of texts, known by how commands and their results
are marked in them. The last message may have the role `exit`, which no API has: it says why
the run ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minutebook.formats.mapping import (
    counted,
    moment,
    role_of,
    table,
    text,
    with_call_ids,
    with_checkpoints,
)
from minutebook.formats.openai_chat import message_of, usage_of
from minutebook.formats.source import Source
from minutebook.formats.value import Format, Reading, Why, only_one
from minutebook.formats.views import Item, arrange, total
from minutebook.messages import Message, replace
from minutebook.records import SystemPrompt, Usage

_COMMAND = "```mswea_bash_command"
"""How a command begins in a reply of version 1 [M]."""
_RESULT = "<returncode>"
"""How what came of it begins."""
_EXIT = "exit"


def detect(source: Source) -> str | None:
    """Give the evidence that the file is a trajectory."""
    document = source.document
    if isinstance(document, dict):
        if text(document.get("trajectory_format")).startswith("mini-swe-agent"):
            return f"an object with the trajectory_format {document['trajectory_format']}"
        if "mini_version" in table(document.get("info")):
            return "an object with an info that has the key mini_version"
    for message in _messages(document)[:_LOOKED_AT]:
        content = text(message.get("content"))
        if message.get("role") == "assistant" and _COMMAND in content:
            return "messages, and a command marked as mswea_bash_command"
        if message.get("role") == "user" and content.startswith(_RESULT):
            return "messages, and the result of a command marked as returncode"
    return None


_LOOKED_AT = 8
"""How many messages of a bare list are looked at."""


def _messages(document: object) -> list[dict[str, Any]]:
    found = document.get("messages") if isinstance(document, dict) else document
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def read(source: Source, index: int) -> Reading:
    """Read a trajectory."""
    only_one(source, index)
    document = table(source.document)
    info = table(document.get("info"))
    entries = _messages(source.document)
    items: list[Item] = []
    sent: list[int] = []
    why: dict[int, Why] = {}
    prompt, model = "", ""
    asked = False
    for number, entry in enumerate(entries):
        message = _message(entry, asked=asked)
        if not number and message.role == "system":
            prompt = message.text
            continue
        asked = asked or message.role == "user"
        if message.role == _EXIT:
            why[len(items)] = "unsent"
        else:
            sent.append(len(items))
        items.append(Item(record=message))
        response = table(table(entry.get("extra")).get("response"))
        model = text(response.get("model")) or model
        counts = usage_of(table(response.get("usage")), text(response.get("model")))
        if counts is not None:
            sent.append(len(items))
            items.append(Item(record=counts))
    records, left_out = arrange(items, sent=sent, why=why)
    named, made_up = with_call_ids(records)
    messages = [record for record in named if isinstance(record, Message)]
    times = [message.at for message in messages if message.at is not None]
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints([*([SystemPrompt(content=prompt)] if prompt else ()), *named]),
        left_out=left_out,
        counts=counted(messages, unsent=len(why), made_up_ids=made_up),
        problems=tuple(source.document_problems),
        agent="mini-swe-agent",
        agent_version=text(info.get("mini_version")),
        model=model or _configured(info),
        session_id=text(document.get("instance_id")) or source.name.removesuffix(".traj"),
        started=min(times, default=None),
        updated=max(times, default=None),
        spent=total(_usages(items)),
    )


def _usages(items: Sequence[Item]) -> list[Usage]:
    return [item.record for item in items if isinstance(item.record, Usage)]


def _configured(info: dict[str, Any]) -> str:
    """Give the model that the run was set up with."""
    return text(table(table(info.get("config")).get("model")).get("model_name"))


def _message(entry: dict[str, Any], *, asked: bool) -> Message:
    """Make a message. The user's first one is the task, later ones are results or corrections."""
    message = message_of(entry)
    at = moment(table(entry.get("extra")).get("timestamp"))
    if role_of(entry) == "user":
        return replace(message, at=at, origin="injection" if asked else "user")
    return replace(message, at=at)


FORMAT = Format(
    name="mini-swe-agent",
    description="mini-swe-agent: a trajectory, <instance>.traj.json",
    looks_for="an object with trajectory_format or mini_version, or marked commands "
    "(mini-swe-agent)",
    detect=detect,
    read=read,
)
