"""Claude Code's transcripts mended: torn and glued lines, parents, calls and results. Pure.

Claude Code walks from the last record to the root by `parentUuid`, and sends what it finds to an
API that wants each call answered and each result asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid5

from minutebook.formats.claude_lines import CHAINED
from minutebook.formats.mending.rows import Mended, Row, joined, split
from minutebook.providers.view import UNKNOWN_OUTCOME

_NAMESPACE = UUID("1f3c0a52-2f0e-5d0c-9b0e-6d656e64696e")
"""Ours: the ids of added lines are made from it and the call's."""
_ORPHAN = "<system>The result of a call that is not in this file:</system>"


def mend(data: bytes) -> Mended:
    """Mend a transcript. Time and memory are linear in its size."""
    rows, actions, aside = split(data)
    _join_parents(rows, actions)
    _tell_orphans(rows, actions)
    rows = _answered(rows, actions)
    whole = joined(rows) if actions else data
    return Mended(data=whole, actions=tuple(actions), aside=aside)


def _join_parents(rows: list[Row], actions: list[str]) -> None:
    """Hang a record whose parent is missing under the record before it, of the same side."""
    known = {row.value["uuid"] for row in rows if _is_chained(row)}
    before: dict[bool, str | None] = {True: None, False: None}
    for row in filter(_is_chained, rows):
        side = row.value.get("isSidechain") is True
        parent = row.value.get("parentUuid")
        if parent is not None and parent not in known:
            row.change(parentUuid=before[side])
            actions.append(
                f"record {row.value['uuid']}: its parent is missing; hung behind the one before"
            )
        before[side] = row.value["uuid"]


def _tell_orphans(rows: list[Row], actions: list[str]) -> None:
    """Make a text of each result whose call is nowhere."""
    asked = {block["id"] for row in rows for block in _blocks(row, "assistant", "tool_use")}
    for row in rows:
        orphans = [
            block
            for block in _blocks(row, "user", "tool_result")
            if block.get("tool_use_id") not in asked
        ]
        if not orphans:
            continue
        message = row.value["message"]
        content = [_told(block) if block in orphans else block for block in message["content"]]
        row.change(message={**message, "content": content})
        actions += [
            f"the result of {block.get('tool_use_id')!r} has no call; it is a text now"
            for block in orphans
        ]


def _answered(rows: list[Row], actions: list[str]) -> list[Row]:
    """Put a marked result behind each reply with a call that nobody answered."""
    answered = {
        block.get("tool_use_id") for row in rows for block in _blocks(row, "user", "tool_result")
    }
    laid: list[Row] = []
    moved: dict[str, str] = {}
    rows_of = {row.value["uuid"]: row for row in rows if _is_chained(row)}
    for row in rows:
        if _is_chained(row) and row.value.get("parentUuid") in moved and _goes_on(row, rows_of):
            row.change(parentUuid=moved[row.value["parentUuid"]])
        laid.append(row)
        for block in _blocks(row, "assistant", "tool_use"):
            if block["id"] in answered or not _is_chained(row):
                continue
            added = _result_line(row.value, block["id"], moved.get(row.value["uuid"]))
            moved[row.value["uuid"]] = added["uuid"]
            laid.append(Row(added, b""))
            actions.append(f"the call {block['id']!r} had no result; it has a marked one now")
    return laid


def _goes_on(row: Row, rows_of: dict[str, Row]) -> bool:
    """Tell whether a record goes on from the one that it hangs under.

    A result does not, nor does another line of the same reply.
    """
    reply = rows_of.get(row.value["parentUuid"])
    same = reply is not None and _message_id(reply) is not None
    if same and reply is not None and _message_id(row) == _message_id(reply):
        return False
    return not any(True for _ in _blocks(row, "user", "tool_result"))


def _message_id(row: Row) -> str | None:
    message = row.value.get("message")
    return message.get("id") if isinstance(message, dict) else None


def _result_line(reply: dict[str, Any], call_id: str, parent: str | None) -> dict[str, Any]:
    kept = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "timestamp")
    content = [
        {
            "type": "tool_result",
            "tool_use_id": call_id,
            "content": UNKNOWN_OUTCOME,
            "is_error": True,
        }
    ]
    return {
        "parentUuid": parent or reply["uuid"],
        **{key: reply[key] for key in kept if key in reply},
        "type": "user",
        "message": {"role": "user", "content": content},
        "uuid": str(uuid5(_NAMESPACE, f"{reply['uuid']} {call_id}")),
    }


def _is_chained(row: Row) -> bool:
    value = row.value
    return (
        isinstance(value, dict)
        and value.get("type") in CHAINED
        and isinstance(value.get("uuid"), str)
    )


def _blocks(row: Row, role: str, kind: str) -> Iterator[dict[str, Any]]:
    """Give the blocks of a kind in a record of the conversation."""
    value = row.value
    message = (
        value.get("message") if isinstance(value, dict) and value.get("type") == role else None
    )
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        named = "id" if kind == "tool_use" else "tool_use_id"
        if (
            isinstance(block, dict)
            and block.get("type") == kind
            and isinstance(block.get(named), str)
        ):
            yield block


def _told(block: dict[str, Any]) -> dict[str, Any]:
    """Give a result as a text."""
    content = block.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    told = "\n".join(text for text in texts if isinstance(text, str))
    return {"type": "text", "text": f"{_ORPHAN}\n{told}".rstrip()}
