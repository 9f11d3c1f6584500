"""Kimi CLI's `context.jsonl`. Pure.

Its format is ours, so records stay as they are, with their keys that Kimi CLI passes over: time
stamps, origins, the parts of a usage. What it would stumble over is left out: roles and parts
that it does not know, and counts that cannot be true. Numbers (`seq`) belong to the log that
gave them. A call that nobody answered gets a marked result: Kimi CLI sends its history as it is,
and a provider refuses a call without one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minutebook.codec import encode_line
from minutebook.formats.kimi import read_native
from minutebook.formats.mapping import stored, with_checkpoints
from minutebook.formats.writers.value import About, Writer, Written, checked
from minutebook.messages import Message, OtherPart, replace
from minutebook.providers.view import UNKNOWN_OUTCOME
from minutebook.records import Checkpoint, Record, SystemPrompt, Usage
from minutebook.turns import pair

_ROLES = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system"}
_OTHER_ROLES = {"developer": "system"}


def write(records: Sequence[Record], about: About) -> Written:  # noqa: ARG001 (one of several)
    """Write a session; checkpoints stand before each real user turn if there are none."""
    kept = list(_answered(list(_kept(records))))
    data = b"".join(map(encode_line, with_checkpoints(kept)))
    return checked(data, records, read_native)


def _kept(records: Sequence[Record]) -> Iterator[Record]:
    """Give the records that Kimi CLI reads, as it can read them."""
    for record in records:
        match record:
            case SystemPrompt() | Checkpoint():
                yield record
            case Usage() if record.token_count > 0:
                yield record
            case Message(role=role) if role in _ROLES or role in _OTHER_ROLES:
                parts = [part for part in record.parts if not isinstance(part, OtherPart)]
                content = record.content if len(parts) == len(record.parts) else stored(parts)
                yield replace(
                    record,
                    role=_ROLES.get(role) or _OTHER_ROLES[role],
                    content="" if content is None else content,
                    seq=None,
                    active=True,
                )
            case _:
                pass


def _answered(records: Sequence[Record]) -> Iterator[Record]:
    """Give the records, a marked result behind each message for its calls without one."""
    messages = [record for record in records if isinstance(record, Message)]
    results, index = pair(messages).results, -1
    for record in records:
        yield record
        if not isinstance(record, Message):
            continue
        index += 1
        for number, call in enumerate(record.calls if record.role == "assistant" else ()):
            if (index, number) not in results:
                yield Message("tool", UNKNOWN_OUTCOME, tool_call_id=call.id, origin="notice")


WRITER = Writer(
    name="kimi",
    description="Kimi CLI: context.jsonl in a session's folder",
    write=write,
)
