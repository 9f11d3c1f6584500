"""A context as the records that a writer is given: the fold turned around. Pure."""

from __future__ import annotations

from collections import defaultdict

from minutebook.context import Context
from minutebook.messages import replace
from minutebook.records import Checkpoint, Record, SystemPrompt


def unfold(context: Context) -> list[Record]:
    """Give the prompt in force, the messages, and the counts and checkpoints between them.

    What the log says besides (lineage, tags) is about the log itself and stays behind; a pin
    that was set later stands on its message.
    """
    before: defaultdict[int, list[Record]] = defaultdict(list)
    for counted in context.usages:
        before[counted.messages].append(counted.usage)
    for mark in context.checkpoints:
        content = f"checkpoint {mark.id}" + (f": {mark.label}" if mark.label else "")
        before[mark.messages].append(
            Checkpoint(id=mark.id, content=content, at=mark.at, label=mark.label)
        )
    records: list[Record] = []
    if context.system_prompt is not None:
        records.append(SystemPrompt(content=context.system_prompt))
    pins = context.pins
    for index, message in enumerate(context.history):
        records += before[index]
        pinned = message.seq in pins
        records.append(message if message.pin == pinned else replace(message, pin=pinned))
    return records + before[len(context.history)]
