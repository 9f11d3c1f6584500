"""Our own logs and Kimi CLI's: one form, read by the one door for bytes. Pure.

Records are kept as they are in the file, checkpoints and usage in their places. Two kinds of
records are counted and not given: `_batch`, which is framing and not content, and special
records of kinds that are not known here, whose value would hold nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minutebook.codec import SPECIAL_PREFIXES
from minutebook.formats.mapping import counted, table, text, with_checkpoints
from minutebook.formats.source import Source
from minutebook.formats.value import Format, Reading, only_one
from minutebook.lines import BOM, scan
from minutebook.messages import Message
from minutebook.records import Batch, Compaction, Other, Record, Usage
from minutebook.turns import origin_of

_OURS = ("_batch", "_compaction", "_revert", "_clear", "_fork", "_tag")
"""Kinds of records that Kimi CLI does not write."""


def _special_role(source: Source) -> str:
    """Give the role of a special record of the file, empty if there is none.

    One is looked for in the whole file: a log whose head was lost may begin with messages.
    """
    for value in source.objects:
        role = text(table(value).get("role"))
        if role.startswith("_"):
            return role
    data = source.data.removeprefix(BOM)
    for prefix in SPECIAL_PREFIXES:
        at = data.find(b"\n" + prefix)
        if at >= 0:
            start = at + len(prefix)
            return data[start : start + 32].partition(b'"')[0].decode("ascii", "replace")
    return ""


def _has_think(value: Any) -> bool:
    """Tell whether a message has a thinking part in the form of these logs."""
    content = table(value).get("content")
    parts = content if isinstance(content, list) else []
    return any(table(part).get("type") == "think" and "think" in part for part in parts)


def _is_ours(value: Any) -> bool:
    """Tell whether minutebook wrote a record: Kimi CLI's have none of these marks."""
    record = table(value)
    role = text(record.get("role"))
    if role.startswith("_"):
        return role in _OURS or (role != "_system_prompt" and "content" in record)
    return bool(role) and "content" in record and type(record.get("seq")) is int


def detect_native(source: Source) -> str | None:
    """Give the evidence that minutebook wrote the log."""
    if any(_is_ours(value) for value in source.objects):
        return "its records have the keys that minutebook adds to the form of Kimi CLI"
    return None


def detect_kimi(source: Source) -> str | None:
    """Give the evidence that the file is a log in Kimi CLI's form."""
    role = _special_role(source)
    if role:
        return f"a line is a special record with the role {role}"
    if any("role" in table(value) and _has_think(value) for value in source.objects):
        return "a line is a message with a part of the type think"
    return None


def read_native(source: Source, index: int) -> Reading:
    """Read a log that minutebook wrote."""
    return _read(source, index, NATIVE, detect_native(source) or "an empty log of a session")


def read_kimi(source: Source, index: int) -> Reading:
    """Read a log that Kimi CLI wrote: `context.jsonl`, a rotation, an old flat file."""
    return _read(source, index, KIMI, detect_kimi(source) or "")


def _read(source: Source, index: int, form: Format, evidence: str) -> Reading:
    """Read a log of either program."""
    only_one(source, index)
    entries, problems = scan(source.data)
    everything = [entry.record for entry in entries]
    kept = [record for record in everything if not isinstance(record, Batch | Other)]
    messages = [record for record in kept if isinstance(record, Message)]
    times = [message.at for message in messages if message.at is not None]
    counts = counted(
        messages,
        compactions=_compactions(kept, messages),
        unknown_records=sum(isinstance(record, Other) for record in everything),
    )
    models = [record.model for record in kept if isinstance(record, Usage) and record.model]
    return Reading(
        format=form.name,
        evidence=evidence,
        records=with_checkpoints(kept),
        counts=counts,
        problems=tuple(problems),
        agent=form.description.partition(":")[0],
        model=models[-1] if models else "",
        session_id=source.name,
        started=min(times, default=None),
        updated=max(times, default=None),
    )


def _compactions(records: Sequence[Record], messages: Sequence[Message]) -> int:
    """Count compactions: by our records of them, or else by the summaries that they left."""
    ours = sum(isinstance(record, Compaction) for record in records)
    return ours or sum(origin_of(message) == "summary" for message in messages)


NATIVE = Format(
    name="native",
    description="minutebook: a session's context.jsonl",
    looks_for="records with minutebook's own keys, such as seq",
    detect=detect_native,
    read=read_native,
)
KIMI = Format(
    name="kimi",
    description="Kimi CLI: a session's context.jsonl, a rotation, or an old flat file",
    looks_for="lines with a role that begins with _, or parts of the type think (Kimi CLI)",
    detect=detect_kimi,
    read=read_kimi,
)
