"""Small Claude Code transcripts for the tests: records as values, and their bytes."""

import json
from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from minutebook.formats.source import Source

Record = dict[str, Any]

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def stamp(second: int) -> str:
    """Write a moment of one day as Claude Code does."""
    return f"2026-01-02T03:{second // 60 % 60:02d}:{second % 60:02d}.000Z"


def record(kind: str, uuid: str, parent: str | None, **keys: Any) -> Record:
    """Make a record of the chain."""
    common = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s1", "cwd": "/w"}
    return {**common, "version": "2.1.0", "isSidechain": False, "timestamp": stamp(0), **keys}


def typed(uuid: str, parent: str | None, content: Any, **keys: Any) -> Record:
    """Make a user record."""
    return record("user", uuid, parent, message={"role": "user", "content": content}, **keys)


def said(uuid: str, parent: str | None, identity: str, *blocks: Record, **keys: Any) -> Record:
    """Make one line of a reply; `usage` goes into the message."""
    message: Record = {"id": identity, "role": "assistant", "model": "m-1", "content": [*blocks]}
    if "usage" in keys:
        message["usage"] = keys.pop("usage")
    return record("assistant", uuid, parent, message=message, **keys)


def answer(uuid: str, parent: str, call_id: str, content: Any = "done", **keys: Any) -> Record:
    """Make the record of one result."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return typed(uuid, parent, [block], **keys)


def words(text: str) -> Record:
    """Make a text block."""
    return {"type": "text", "text": text}


def use(call_id: str, name: str = "Read") -> Record:
    """Make a call's block."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"path": "a b"}}


def boundary(uuid: str, logical: str | None, **keys: Any) -> Record:
    """Make the boundary of a compaction."""
    return record(
        "system", uuid, None, subtype="compact_boundary", logicalParentUuid=logical, **keys
    )


def summary(uuid: str, parent: str | None, text: str = "what was done") -> Record:
    """Make the record of a compaction's summary."""
    return typed(uuid, parent, text, isCompactSummary=True, isVisibleInTranscriptOnly=True)


def dump(records: Iterable[Record]) -> bytes:
    """Write records as JSON Lines."""
    return b"".join(
        json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        for item in records
    )


def source(*records: Record) -> Source:
    """Make a source of records."""
    return Source(dump(records), path="s1.jsonl", name="s1")
