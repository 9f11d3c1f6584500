"""What stands beside a history of Cline, Roo or Kilo, and what of it is sent. Pure.

The history itself is never cut: a truncation is a range of entries that are not sent, kept with
the messages of the screen (`ui_messages.json`) and in the list of tasks; file contents that were
read again are replaced by a note (`context_history.json`). Histories with calls of the
provider's own form may still have their results as texts, which name the tool and no call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from minutebook.formats.mapping import table, text, whole
from minutebook.formats.source import loads

FILES = ("ui_messages.json", "context_history.json", "history_item.json")
"""The files of a task that say what is sent, and whose it is."""
TASKS = "../../state/taskHistory.json"
"""The list of all tasks."""
_RESULT = re.compile(r"\[(\w+)(?: for '[^\n]*?')?\] Result:")
_SURROUNDINGS = "<environment_details>"
_RANGE = "conversationHistoryDeletedRange"

Entry = dict[str, Any]


class Task(Struct, frozen=True, kw_only=True):
    """What is known of a task beside its history."""

    hidden: range = range(0)
    """The entries that a truncation hides."""
    edits: dict[tuple[int, int], str] = {}
    """The text that is sent in the place of a block's: by entry and block."""
    title: str = ""
    parent: str = ""
    cwd: str = ""


def task_of(beside: Mapping[str, bytes], name: str) -> Task:
    """Read what stands beside the history of the task *name*. Whatever is broken counts as none."""
    found: dict[str, Any] = {path: loads(data)[0] for path, data in beside.items()}
    item = table(found.get("history_item.json"))
    tasks = found.get(TASKS)
    for task in tasks if isinstance(tasks, list) else ():
        if text(table(task).get("id")) == name and not item:
            item = table(task)
    screen = found.get("ui_messages.json")
    shown = [table(message) for message in (screen if isinstance(screen, list) else ())]
    ranges = [message[_RANGE] for message in shown if _RANGE in message]
    return Task(
        hidden=_range(ranges[-1] if ranges else item.get(_RANGE)),
        edits=_edits(found.get("context_history.json")),
        title=text(item.get("task")),
        parent=text(item.get("parentTaskId")),
        cwd=text(item.get("workspace")) or text(item.get("cwdOnTaskInitialization")),
    )


def _range(value: object) -> range:
    """Give the entries that a range names, both ends included."""
    if not isinstance(value, list) or len(value) != 2:
        return range(0)
    start, end = whole(value[0]), whole(value[1])
    return range(0) if start is None or end is None else range(start, end + 1)


def _edits(value: object) -> dict[tuple[int, int], str]:
    """Give the last text that each edited block was replaced by.

    The file is a map of maps, written as lists of pairs: of each entry a kind and its blocks,
    of each block the edits, each `[time, kind, [text], about]`.
    """
    found: dict[tuple[int, int], str] = {}
    for entry, edited in _pairs(value):
        blocks = edited[1] if isinstance(edited, list) and len(edited) == 2 else None
        for block, updates in _pairs(blocks):
            last = updates[-1] if isinstance(updates, list) and updates else None
            said = last[2] if isinstance(last, list) and len(last) > 2 else None
            if isinstance(said, list) and said and isinstance(said[0], str):
                found[entry, block] = said[0]
    return found


def _pairs(value: object) -> list[tuple[int, Any]]:
    """Give the pairs of a map with numbers as keys that is written as a list."""
    return [
        (pair[0], pair[1])
        for pair in (value if isinstance(value, list) else ())
        if isinstance(pair, list) and len(pair) == 2 and type(pair[0]) is int
    ]


def forms(
    entries: Sequence[Entry], edits: Mapping[tuple[int, int], str]
) -> tuple[list[Entry], list[Entry]]:
    """Give entries in their whole form and as they are sent, both with results in their places."""
    if not edits:
        found = with_results(entries)
        return found, found
    numbered = with_results([_numbered(entry, at) for at, entry in enumerate(entries)])
    return [_form(entry, {}) for entry in numbered], [_form(entry, edits) for entry in numbered]


_PLACE = "\0place"
"""The key under which a block knows its place while results are sorted out."""


def _numbered(entry: Entry, number: int) -> Entry:
    """Give an entry whose text blocks know their places."""
    content = entry.get("content")
    blocks = content if isinstance(content, list) else [content]
    given = [{"type": "text", "text": item} if isinstance(item, str) else item for item in blocks]
    placed = [
        {**table(block), _PLACE: (number, at)} if table(block).get("type") == "text" else block
        for at, block in enumerate(given)
    ]
    return {**entry, "content": placed} if "content" in entry else entry


def _form(entry: Entry, edits: Mapping[tuple[int, int], str]) -> Entry:
    """Give an entry with the texts that took the place of its own, and without places."""
    content = entry.get("content")
    if not isinstance(content, list):
        return entry
    blocks: list[Any] = []
    for block in content:
        given = table(block)
        if given.get("type") == "tool_result":
            blocks.append(_form(given, edits))
        elif _PLACE in given:
            plain = {key: value for key, value in given.items() if key != _PLACE}
            said = edits.get(given[_PLACE])
            blocks.append(plain if said is None else {**plain, "text": said})
        else:
            blocks.append(block)
    return {**entry, "content": blocks}


def with_results(entries: Sequence[Entry]) -> list[Entry]:
    """Give entries in which results that are texts stand as results of their calls.

    That is where an entry follows one with calls and answers none by id. A result begins at a
    text that names a tool of an open call, and goes up to the next one or to what is told of
    the surroundings. Nothing is taken out of the texts.
    """
    found: list[Entry] = []
    waiting: list[tuple[str, str]] = []
    for entry in entries:
        content = entry.get("content")
        blocks = content if isinstance(content, list) else []
        kinds = {text(table(block).get("type")) for block in blocks}
        if entry.get("role") == "assistant":
            calls = [table(block) for block in blocks if table(block).get("type") == "tool_use"]
            waiting = [(text(call.get("name")), text(call.get("id"))) for call in calls]
            found.append(entry)
            continue
        answers = waiting and "tool_result" not in kinds
        paired = _paired(blocks or [content], waiting) if answers else content
        found.append({**entry, "content": paired} if answers else entry)
        waiting = []
    return found


def _paired(blocks: Sequence[Any], waiting: Sequence[tuple[str, str]]) -> list[Any]:
    """Put the blocks of results into results, in the order of their calls."""
    left = list(waiting)
    results: list[dict[str, Any]] = []
    rest: list[Any] = []
    target = rest
    for block in blocks:
        words = text(block) or text(table(block).get("text"))
        lead = _RESULT.match(words)
        call = next((call for call in left if lead is not None and call[0] == lead[1]), None)
        if call is not None:
            left.remove(call)
            target = []
            results.append({"type": "tool_result", "tool_use_id": call[1], "content": target})
        elif lead is not None or words.startswith(_SURROUNDINGS):
            target = rest
        target.append({"type": "text", "text": block} if isinstance(block, str) else block)
    return [*results, *rest]
