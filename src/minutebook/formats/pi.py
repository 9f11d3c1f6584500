"""pi sessions: a tree of entries in JSON Lines. Pure.

Each entry names its parent and the last one in the file is the leaf; the first version had no
ids, so there each entry follows the one before. Facts: the vendor's `session-manager` of
version 3 (versions 1 to 3 are read), checked on two real sessions of version 1.

What is sent is the path from the root to the leaf; after the last compaction on it, that one's
summary, what it keeps from before, and what follows. Replies that were cut off or failed are
in the file and never sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET, Raw, Struct

from minutebook.formats.blocks import part_of
from minutebook.formats.mapping import (
    compact_json,
    counted,
    moment,
    role_of,
    stored,
    table,
    text,
    usage,
    whole,
    with_call_ids,
    with_checkpoints,
)
from minutebook.formats.source import Source, at_line
from minutebook.formats.typed import in_order, payload, rows
from minutebook.formats.typed import whole as whole_row
from minutebook.formats.value import Format, Reading, Why, only_one
from minutebook.formats.views import Item, arrange, total
from minutebook.lines import Problem
from minutebook.messages import (
    Function,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    Part,
    ThinkPart,
    ToolCall,
    replace,
    tool,
)
from minutebook.records import Usage

_ROLES = frozenset({"user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage"})
"""Roles of messages; `hookMessage` is what version 2 called `custom`."""
_SPEAKING = frozenset({"message", "compaction", "branch_summary", "custom_message"})
_SILENT = frozenset({"model_change", "thinking_level_change", "session_info", "label", "custom"})
"""Kinds of entries that say nothing to the model."""
_BROKEN = frozenset({"aborted", "error"})
"""Why a reply stopped that is not sent again."""


class _Head(Struct, frozen=True):
    """An entry's place in the tree."""

    type: Any = None
    id: Any = None
    parentId: Any = None  # noqa: N815 (the file's own key)
    timestamp: Any = None
    message: Raw = Raw(b"")


def detect(source: Source) -> str | None:
    """Give the evidence that the file is a session of pi."""
    first = table(source.objects[0]) if source.objects else {}
    if first.get("type") == "session" and isinstance(first.get("id"), str) and "cwd" in first:
        return "a first line of the type session with the keys id and cwd"
    for value in source.objects:
        entry = table(value)
        message = table(entry.get("message"))
        role = text(message.get("role"))
        theirs = "parentId" in entry or "stopReason" in message or "toolCallId" in message
        if entry.get("type") == "message" and role in _ROLES and theirs:
            return f"a line of the type message, and a message with the role {role}"
    return None


class _Node(NamedTuple):
    """An entry of the tree, and what it says."""

    kind: str
    id: str
    parent: int
    """The index of the entry before it on its branch, -1 for none."""
    body: dict[str, Any]
    """The message, or of another entry the whole of it."""
    at: float | None
    first_kept: int
    """Of a compaction of the first version: which entry it keeps first, the header counted."""


def read(source: Source, index: int) -> Reading:
    """Read a session."""
    only_one(source, index)
    problems: list[Problem] = []
    header, nodes = _plant(source.data, problems)
    path = _path(nodes)
    items: list[Item] = []
    places: list[range] = []
    for node in nodes:
        start = len(items)
        items += [Item(record=record) for record in _records(node)]
        places.append(range(start, len(items)))
    chosen, compaction = _context(nodes, path)
    unsent = {at for at in path if _is_unsent(nodes[at])}
    why: dict[int, Why] = {}
    for at, found in enumerate(places):
        if at not in path:
            why.update(dict.fromkeys(found, "abandoned"))
        elif at in unsent:
            why.update(dict.fromkeys(found, "unsent"))
    records, left_out = arrange(
        items,
        sent=[place for at in chosen if at not in unsent for place in places[at]],
        why=why,
        counted_from=places[compaction].start if compaction >= 0 else 0,
    )
    named, made_up = with_call_ids(records)
    kinds = [node.kind for node in nodes]
    counts = counted(
        (record for record in named if isinstance(record, Message)),
        compactions=sum(kinds[at] == "compaction" for at in path),
        branches=sum(at not in path and node.parent in path for at, node in enumerate(nodes)),
        abandoned=sum(item.why == "abandoned" for item in left_out),
        unsent=sum(item.why == "unsent" for item in left_out),
        made_up_ids=made_up,
        message_ids=sum(node.kind == "message" and bool(node.id) for node in nodes),
        other_records=sum(kind in _SILENT for kind in kinds),
        unknown_records=sum(kind not in _SILENT and kind not in _SPEAKING for kind in kinds),
    )
    times = [node.at for node in nodes if node.at is not None]
    titles = [text(node.body.get("name")) for node in nodes if node.kind == "session_info"]
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints(named),
        left_out=left_out,
        counts=counts,
        problems=in_order(problems),
        title=next(filter(None, reversed(titles)), ""),
        agent="pi",
        model=_model(header, [nodes[at] for at in path]),
        session_id=text(header.get("id")) or source.name,
        parent_session=text(header.get("parentSession")) or text(header.get("branchedFrom")),
        cwd=text(header.get("cwd")),
        started=min(times, default=moment(header.get("timestamp"))),
        updated=max(times, default=None),
        spent=total(item.record for item in items if isinstance(item.record, Usage)),
    )


def _plant(data: bytes, problems: list[Problem]) -> tuple[dict[str, Any], list[_Node]]:
    """Read the header, and the entries with their parents.

    A parent that is not among the entries before is replaced by the entry before: such gaps
    are lost lines, and what follows them goes on with the conversation.
    """
    header: dict[str, Any] = {}
    nodes: list[_Node] = []
    by_id: dict[str, int] = {}
    for row in rows(data, _Head, problems):
        head = row.head
        kind = text(head.type)
        if kind == "session":
            header = header or whole_row(data, row)
            continue
        own = text(head.id)
        parent = len(nodes) - 1
        if own and head.parentId is None:
            parent = -1
        elif own and text(head.parentId) in by_id:
            parent = by_id[text(head.parentId)]
        elif own and nodes:
            what = "the parent of this record is not in the file; taken as the record before"
            problems.append(at_line(row.line, "parent", what))
        if kind == "message":
            body = payload(head.message, row.line, problems)
        else:
            body = whole_row(data, row) if kind in _SPEAKING or kind in _SILENT else {}
        if own:
            by_id[own] = len(nodes)
        kept = whole(body.get("firstKeptEntryIndex"))
        # The header is an entry too where entries are counted.
        first_kept = -1 if kept is None else kept - 1
        nodes.append(_Node(kind, own, parent, body, moment(head.timestamp), first_kept))
    return header, nodes


def _path(nodes: Sequence[_Node]) -> dict[int, None]:
    """Give the active branch from its root to the last entry, in order. Parents come first."""
    path: list[int] = []
    at = len(nodes) - 1
    while at >= 0:
        path.append(at)
        at = nodes[at].parent
    return dict.fromkeys(reversed(path))


def _context(nodes: Sequence[_Node], path: Iterable[int]) -> tuple[list[int], int]:
    """Give which entries of the path are sent, in order, and the last compaction, -1 for none."""
    found = list(path)
    last = next((at for at in reversed(found) if nodes[at].kind == "compaction"), -1)
    if last < 0:
        return found, last
    kept_id = text(nodes[last].body.get("firstKeptEntryId"))
    before = [at for at in found if at < last]
    start = next(
        (
            number
            for number, at in enumerate(before)
            if (kept_id and nodes[at].id == kept_id) or at == nodes[last].first_kept
        ),
        len(before),
    )
    kept = [at for at in before[start:] if nodes[at].kind != "compaction"]
    return [last, *kept, *(at for at in found if at > last)], last


def _is_unsent(node: _Node) -> bool:
    """Tell whether pi keeps a message for itself: a broken reply, or a command shown to no one."""
    broken = node.body.get("role") == "assistant" and text(node.body.get("stopReason")) in _BROKEN
    return node.kind == "message" and (broken or node.body.get("excludeFromContext") is True)


def _records(node: _Node) -> Iterator[Message | Usage]:
    """Give what an entry says, as records."""
    body = node.body
    match node.kind:
        case "message":
            yield from _said(body, moment(body.get("timestamp")) or node.at)
        case "compaction" | "branch_summary":
            summary = text(body.get("summary"))
            yield Message(role="user", content=summary, at=node.at, origin="summary")
        case "custom_message":
            yield _typed(body.get("content"), node.at, origin="injection")
        case _:
            pass


def _said(message: dict[str, Any], at: float | None) -> Iterator[Message | Usage]:
    """Give a message of the conversation, and the usage of a reply."""
    role = role_of(message)
    match role:
        case "user":
            yield _typed(message.get("content"), at, origin="user")
        case "assistant":
            yield _reply(message, at)
            counts = _usage(table(message.get("usage")), text(message.get("model")))
            if counts is not None:
                yield counts
        case "toolResult":
            error = message.get("isError") is True
            content = _content(message.get("content"))
            yield replace(tool(text(message.get("toolCallId")), content, error=error), at=at)
        case "bashExecution":
            yield Message(role="user", content=_command(message), at=at, origin="injection")
        case "compactionSummary" | "branchSummary":
            summary = text(message.get("summary"))
            yield Message(role="user", content=summary, at=at, origin="summary")
        case _:
            ours = "user" if role in _ROLES else role
            yield Message(
                role=ours, content=_content(message.get("content")), at=at, origin="injection"
            )


def _typed(content: object, at: float | None, *, origin: str) -> Message:
    return Message(role="user", content=_content(content), at=at, origin=origin)


def _content(content: object) -> str | tuple[Part, ...]:
    """Make content of a text or of blocks; empty text of nothing."""
    blocks = content if isinstance(content, list) else [content]
    return stored([_part(block) for block in blocks if block is not None and block != ""])


def _part(block: object) -> Part:
    """Make a part of one block."""
    match block:
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            return ImagePart(MediaUrl(f"data:{kind};base64,{data}"))
        case {"type": "thinking", "redacted": True}:
            return OtherPart(table(block))
        case {"type": "thinking", "thinking": str(thought)}:
            signature = table(block).get("thinkingSignature")
            return ThinkPart(thought, signature if isinstance(signature, str) else UNSET)
        case _:
            return part_of(block)


def _reply(message: dict[str, Any], at: float | None) -> Message:
    """Make a reply."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else [content]
    calls = [table(block) for block in blocks if table(block).get("type") == "toolCall"]
    rest = [block for block in blocks if table(block).get("type") != "toolCall"]
    return Message(
        role="assistant",
        content=_content(rest),
        tool_calls=tuple(map(_call, calls)) or None,
        at=at,
        origin="assistant",
    )


def _call(block: dict[str, Any]) -> ToolCall:
    """Make a call of a block; arguments that are no text become compact JSON text."""
    given = block.get("arguments", UNSET)
    arguments = given if given is UNSET or isinstance(given, str) else compact_json(given)
    name = text(block.get("name"))
    return ToolCall(
        type="function", id=text(block.get("id")), function=Function(name=name, arguments=arguments)
    )


def _command(message: dict[str, Any]) -> str:
    """Say what a user ran and what came of it. The words are ours: pi makes its own on sending."""
    lines = [f"$ {text(message.get('command'))}", text(message.get("output"))]
    code = message.get("exitCode")
    if message.get("cancelled") is True:
        lines.append("[cancelled]")
    elif isinstance(code, int) and code:
        lines.append(f"[exit code {code}]")
    if message.get("truncated") is True and text(message.get("fullOutputPath")):
        lines.append(f"[cut short; the whole output is in {message['fullOutputPath']}]")
    return "\n".join(filter(None, lines))


def _model(header: dict[str, Any], path: Sequence[_Node]) -> str:
    """Give the model of the last reply or change on the path, else that of the header."""
    for node in reversed(path):
        name = text(node.body.get("modelId" if node.kind == "model_change" else "model"))
        if name and node.kind in {"message", "model_change"}:
            return name
    return text(header.get("modelId"))


def _usage(reported: dict[str, Any], model: str) -> Usage | None:
    """Make a usage record of a reply's counts, which are disjoint."""
    return usage(
        fresh=whole(reported.get("input")),
        cache_read=whole(reported.get("cacheRead")),
        cache_write=whole(reported.get("cacheWrite")),
        output=whole(reported.get("output")),
        model=model,
    )


FORMAT = Format(
    name="pi",
    description="pi: a session's tree of entries, <time>_<id>.jsonl",
    looks_for="a first line of the type session, and lines of the type message (pi)",
    detect=detect,
    read=read,
)
