"""The messages of a Claude Code transcript, put together from chosen lines. Pure.

One reply is several lines of the same `message.id`, a content block each, and often with the
results of its first calls between them: it becomes one message, its usage behind it (once; of
the repeated figures the last are final), and all its results behind that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Struct

from minutebook.formats.blocks import sort_blocks
from minutebook.formats.claude_lines import Record as Line
from minutebook.formats.claude_tree import Tree, reply_id
from minutebook.formats.mapping import (
    compact_json,
    leading_text,
    moment,
    stored,
    table,
    text,
    usage,
    whole,
)
from minutebook.formats.source import loads
from minutebook.messages import Message, Part, ToolCall, replace
from minutebook.records import Usage

SYNTHETIC_MODEL = "<synthetic>"
"""The model that the client names in replies which it wrote itself: errors, interruptions."""
_CLIENT_LEADS = (
    "<command-name>",
    "<local-command-",
    "<bash-stdout>",
    "<bash-stderr>",
    "<system-reminder>",
    "<task-notification>",
    "[Request interrupted by user",
)
"""How user records begin that the client wrote by itself [M]. A command that is a prompt begins
with `<command-message>`, and is a user's."""


class Slot:
    """One message as it grows: a reply with its usage and results, or another message."""

    def __init__(self, first: int, *, sent: bool, message: Message) -> None:
        """Begin at the byte *first*; *sent* says whether it follows the last compaction."""
        self.first = first
        self.sent = sent
        self.message = message
        self.parts: list[Part] = []
        self.calls: dict[object, ToolCall] = {}
        self.results: list[tuple[int, Message]] = []
        """Each with the byte at which its line begins."""
        self.usage: Usage | None = None
        self._seen: set[str] | None = None

    def add(self, parts: Iterable[Part], calls: Iterable[ToolCall], *, on_path: bool) -> None:
        """Take the blocks of one line.

        A line off the path may be a copy of one on it: then its blocks are there already.
        """
        if self._seen is None and not on_path:
            self._seen = {compact_json(part) for part in self.parts}
        for part in parts:
            if self._seen is not None:
                key = compact_json(part)
                if key in self._seen:
                    continue
                self._seen.add(key)
            self.parts.append(part)
        for call in calls:
            self.calls.setdefault(call.id or len(self.calls), call)

    def records(self) -> Iterator[tuple[int, Message | Usage]]:
        """Give the message, its usage and its results in file order, each with its byte."""
        message = self.message
        if self.parts or self.calls:
            calls = tuple(self.calls.values()) or None
            message = replace(message, content=stored(self.parts), tool_calls=calls)
        yield self.first, message
        if self.usage is not None:
            yield self.first, self.usage
        yield from sorted(self.results, key=itemgetter(0))


class Body(Struct, frozen=True):
    """What a record says."""

    message: Any = None
    attachment: Any = None


_decode = msgspec.json.Decoder(Body).decode
_REFUSED = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


def body_of(data: bytes, node: Line) -> Body:
    """Read what a record says; of a mended or glued one too."""
    piece = memoryview(data)[node.start : node.end]
    try:
        return _decode(piece)
    except _REFUSED:
        value, _mended = loads(piece)
        return Body(table(value).get("message"), table(value).get("attachment"))


class Assembly:
    """Puts lines together; feed each line once, in file order."""

    def __init__(self, data: bytes, tree: Tree, *, path: set[int], sent: set[int]) -> None:
        """Take the lines' bytes, the nodes of the active branch, and those that are sent."""
        self.slots: list[Slot] = []
        self.counts: Counter[str] = Counter()
        self._data = data
        self._tree = tree
        self._path = path
        self._sent = sent
        self._replies: dict[str, Slot] = {}
        self._callers: dict[str, Slot] = {}

    def feed(self, index: int) -> None:
        """Take one node."""
        node = self._tree.nodes[index]
        match node.head.type:
            case "assistant":
                self._reply(index, node)
            case "user":
                self._user(index, node)
            case "attachment":
                self._attachment(index, node)
            case _:
                pass

    def unanswered(self) -> set[str]:
        """Give the ids of calls without a result so far."""
        answered = {result.tool_call_id for slot in self.slots for _, result in slot.results}
        return self._callers.keys() - answered

    def lend(self, index: int, wanted: set[str]) -> bool:
        """Take from a node off the branch the results that calls on it wait for.

        Each id that is found leaves *wanted*. Tells whether any was.
        """
        node = self._tree.nodes[index]
        found = False
        content = table(body_of(self._data, node).message).get("content")
        for result in sort_blocks(content, role="user").results:
            call_id = result.tool_call_id or ""
            if call_id in wanted:
                wanted.discard(call_id)
                self._callers[call_id].results.append((node.start, self._dated(result, node)))
                found = True
        return found

    def _reply(self, index: int, node: Line) -> None:
        head = node.head.message
        model = head.model if head is not None else None
        if node.head.is_api_error_message is True or model == SYNTHETIC_MODEL:
            self.counts["client_replies"] += 1
            return
        slot = self._replies.get(reply_id(node))
        if slot is None:
            message = Message(role="assistant", content="", origin="assistant")
            slot = self._begin(index, node, message)
            if reply_id(node):
                self._replies[reply_id(node)] = slot
        slot.sent = slot.sent or index in self._sent
        said = table(body_of(self._data, node).message)
        blocks = sort_blocks(said.get("content"), role="assistant")
        slot.add(blocks.parts, blocks.calls, on_path=index in self._path)
        for call in blocks.calls:
            if call.id:
                self._callers.setdefault(call.id, slot)
        slot.usage = _usage(table(said.get("usage")), model or "") or slot.usage

    def _user(self, index: int, node: Line) -> None:
        head = node.head
        if head.is_visible_in_transcript_only is True and head.is_compact_summary is not True:
            self.counts["only_shown"] += 1
            return
        content = table(body_of(self._data, node).message).get("content")
        blocks = sort_blocks(content, role="user")
        for result in blocks.results:
            caller = self._callers.get(result.tool_call_id or "")
            if caller is None:
                self._begin(index, node, result)
            else:
                caller.results.append((node.start, self._dated(result, node)))
        if blocks.parts or not blocks.results:
            rest = Message(role="user", content=stored(blocks.parts))
            self._begin(index, node, replace(rest, origin=_origin(node, rest)))

    def _attachment(self, index: int, node: Line) -> None:
        """Take what a user typed while the agent worked; the client's own notes are counted."""
        kind = node.head.attachment.type if node.head.attachment is not None else ""
        if kind != "queued_command":
            self.counts["attachments"] += 1
            return
        attachment = table(body_of(self._data, node).attachment)
        blocks = sort_blocks(attachment.get("prompt"), role="user")
        typed = text(attachment.get("commandMode")) in {"", "prompt"}
        origin = "user" if typed and node.head.is_meta is not True else "injection"
        message = Message(role="user", content=stored(blocks.parts), origin=origin)
        self._begin(index, node, message)

    def _begin(self, index: int, node: Line, message: Message) -> Slot:
        slot = Slot(node.start, sent=index in self._sent, message=self._dated(message, node))
        self.slots.append(slot)
        return slot

    def _dated(self, message: Message, node: Line) -> Message:
        return replace(message, at=moment(node.head.timestamp))


def _origin(node: Line, message: Message) -> str:
    """Say who wrote a user record."""
    if node.head.is_compact_summary is True:
        return "summary"
    if node.head.is_meta is True:
        return "injection"
    lead = leading_text(message.content).lstrip()
    return "injection" if lead.startswith(_CLIENT_LEADS) else "user"


def _usage(reported: dict[str, Any], model: str) -> Usage | None:
    """Make a usage record of what Anthropic's API reported: its counts are disjoint."""
    return usage(
        fresh=whole(reported.get("input_tokens")),
        cache_read=whole(reported.get("cache_read_input_tokens")),
        cache_write=whole(reported.get("cache_creation_input_tokens")),
        output=whole(reported.get("output_tokens")),
        model=model,
    )


def cleared(nodes: Sequence[Line]) -> dict[str, int]:
    """Give the call ids that microcompactions name, with the byte of the last that does."""
    found: dict[str, int] = {}
    for node in nodes:
        ids = node.head.microcompact_metadata
        if node.head.subtype == "microcompact_boundary" and ids is not None:
            found.update(dict.fromkeys(ids.compacted_tool_ids or (), node.start))
    return found
