"""Codex rollouts mended: torn and glued lines, calls and outputs. Pure.

Codex sends the items of a resumed rollout as they stand, to an API that wants an output for each
call and a call for each output.
"""

from __future__ import annotations

from typing import Any

from minutebook.formats.mending.rows import Mended, Row, joined, split
from minutebook.providers.view import UNKNOWN_OUTCOME

_ANSWERS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "function_call_output",
}
"""The kinds of calls, and of what answers each."""
_ORPHAN = "<system>The output of a call that is not in this file:</system>"


def mend(data: bytes) -> Mended:
    """Mend a rollout. Time and memory are linear in its size."""
    rows, actions, aside = split(data)
    rows = _paired(rows, actions)
    whole = joined(rows) if actions else data
    return Mended(data=whole, actions=tuple(actions), aside=aside)


def _paired(rows: list[Row], actions: list[str]) -> list[Row]:
    """Answer what is not answered, directly behind its call; tell what nobody asked for."""
    answered = _answered(rows)
    laid: list[Row] = []
    asked: set[str] = set()
    for row in rows:
        item = _item(row)
        call_id, kind = item.get("call_id"), item.get("type")
        if kind in _ANSWERS.values() and call_id not in asked:
            row.change(payload=_told(item))
            actions.append(f"the output of {call_id!r} has no call before it; it is a text now")
        laid.append(row)
        if kind in _ANSWERS and isinstance(call_id, str):
            asked.add(call_id)
            if call_id not in answered:
                payload = {"type": _ANSWERS[kind], "call_id": call_id, "output": UNKNOWN_OUTCOME}
                laid.append(Row({**row.value, "payload": payload}, b""))
                actions.append(f"the call {call_id!r} had no output; it has a marked one now")
    return laid


def _answered(rows: list[Row]) -> set[str]:
    """Give the ids of the calls that have an output behind them."""
    asked: set[str] = set()
    answered: set[str] = set()
    for row in rows:
        item = _item(row)
        if item.get("type") in _ANSWERS:
            asked.add(item["call_id"])
        elif item.get("type") in _ANSWERS.values() and item["call_id"] in asked:
            answered.add(item["call_id"])
    return answered


def _item(row: Row) -> dict[str, Any]:
    """Give the item of a line that has one with an id; else nothing."""
    value = row.value
    if not isinstance(value, dict) or value.get("type") != "response_item":
        return {}
    payload = value.get("payload")
    named = isinstance(payload, dict) and isinstance(payload.get("call_id"), str)
    return payload if isinstance(payload, dict) and named else {}


def _told(item: dict[str, Any]) -> dict[str, Any]:
    """Give an output as a message."""
    output = item.get("output")
    text = output if isinstance(output, str) else ""
    content = [{"type": "input_text", "text": f"{_ORPHAN}\n{text}".rstrip()}]
    return {"type": "message", "role": "user", "content": content}
