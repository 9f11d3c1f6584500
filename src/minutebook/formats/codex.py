"""Codex rollouts: `rollout-<time>-<id>.jsonl`. Pure.

What the model is sent stands in the `response_item` lines; the `event_msg` lines say most of
it again for the screen. So texts are taken from the items, and from the events only where a
file has no such items, as older ones do. Of the events the token counts are read, rollbacks,
aborts and titles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct, structs

from minutebook.formats.codex_log import Log
from minutebook.formats.items import CLUES, SNAPSHOTS, Piece, piece_of
from minutebook.formats.mapping import (
    compact_json,
    counted,
    leading_text,
    moment,
    table,
    text,
    usage,
    whole,
    with_call_ids,
    with_checkpoints,
)
from minutebook.formats.source import Source, at_line
from minutebook.formats.typed import REFUSED, Row, in_order, payload, rows
from minutebook.formats.typed import whole as whole_row
from minutebook.formats.value import Format, Reading, only_one
from minutebook.formats.views import arrange, total
from minutebook.lines import Problem
from minutebook.messages import ImagePart, MediaUrl, Message, OtherPart, Part, TextPart, ThinkPart
from minutebook.records import Record, SystemPrompt, Usage
from minutebook.tokens.spent import Spent

_KINDS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_INJECTED = (
    "# AGENTS.md instructions",
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<permissions instructions>",
    "<skill>",
    "<user_shell_command>",
    "<subagent_notification>",
)
"""How user items begin that no user wrote: what Codex tells the model of its surroundings."""
_BARE = CLUES | SNAPSHOTS | {"message", "reasoning"}
"""The kinds of items, which are the kinds of lines in old rollouts."""
_ITEM_ROLES = {"user_message": "user", "agent_message": "assistant", "agent_reasoning": "think"}
"""The events that repeat an item, and which items those are."""


class _Head(Struct, frozen=True):
    """What a line is. Old lines are bare items: they have a type and no payload."""

    type: Any = None
    timestamp: Any = None
    payload: Raw = Raw(b"")
    record_type: Any = None


class _EventHead(Struct, frozen=True):
    """What an event is; those with long outputs are read no further."""

    type: Any = None


class _ItemHead(Struct, frozen=True):
    """What an item is."""

    type: Any = None
    role: Any = None


_event_head = msgspec.json.Decoder(_EventHead).decode
_item_head = msgspec.json.Decoder(_ItemHead).decode


def detect(source: Source) -> str | None:
    """Give the evidence that the file is a rollout."""
    for value in source.objects:
        line = table(value)
        kind = text(line.get("type"))
        if kind in _KINDS and isinstance(line.get("payload"), dict):
            return f"a line of the type {kind} with the key payload"
        if "record_type" in line and not kind:
            return "a line with the key record_type, as old rollouts have"
    first = table(source.objects[0]) if source.objects else {}
    if {"id", "timestamp", "instructions"} <= first.keys() and "type" not in first:
        return "a first line with the keys id, timestamp and instructions, as in old rollouts"
    return None


def read(source: Source, index: int) -> Reading:
    """Read a rollout. Memory: the items of the conversation, and one line of the rest."""
    only_one(source, index)
    problems: list[Problem] = []
    lines = list(rows(source.data, _Head, problems))
    reader = _Reader(source.data, lines, problems)
    for row in lines:
        reader.take(row)
    arranged = reader.log.arranged()
    records, left_out = arrange(arranged.items, sent=arranged.sent, why=arranged.why)
    named, made_up = with_call_ids(records)
    prompt = reader.meta.prompt
    counts = counted(
        (record for record in named if isinstance(record, Message)),
        compactions=reader.log.compactions,
        opaque=sum(_is_opaque(record) for record in named),
        reverts=reader.log.reverts,
        abandoned=sum(item.why == "abandoned" for item in left_out),
        blanked=sum(item.why == "blanked" for item in left_out),
        made_up_ids=made_up,
        **reader.counts,
    )
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints([*([SystemPrompt(content=prompt)] if prompt else ()), *named]),
        left_out=left_out,
        counts=counts,
        problems=in_order(problems),
        title=reader.title,
        agent="Codex",
        agent_version=reader.meta.version,
        model=reader.model,
        session_id=reader.meta.id or source.name,
        parent_session=reader.meta.parent,
        cwd=reader.meta.cwd,
        started=reader.started,
        updated=reader.updated,
        spent=reader.spent(),
    )


class _Meta(Struct, frozen=True, kw_only=True):
    """What the first `session_meta` says; further ones are those of the sessions before a fork."""

    id: str = ""
    cwd: str = ""
    version: str = ""
    parent: str = ""
    prompt: str = ""


class _Reader:
    """Takes a rollout's lines in order."""

    def __init__(self, data: bytes, lines: Sequence[Row[_Head]], problems: list[Problem]) -> None:
        self.log = Log(real_user=_is_real_user)
        self.meta = _Meta()
        self.counts: dict[str, int] = {}
        self.title = ""
        self.model = ""
        self.started: float | None = None
        self.updated: float | None = None
        self._problems = problems
        self._totals: dict[str, Any] | None = None
        self._metas = 0
        self._data = data
        self._by_id: dict[str, dict[str, Any]] = {}
        self._mirrored = _roles_of_items(lines)

    def take(self, row: Row[_Head]) -> None:
        """Take one line."""
        head = row.head
        at = moment(head.timestamp)
        if at is not None:
            self.started = at if self.started is None else self.started
            self.updated = at
        kind = text(head.type)
        match kind:
            case "response_item":
                self._item(self._payload(row), at)
            case "event_msg":
                self._event(row, at)
            case "session_meta":
                self._session(self._payload(row))
            case "turn_context":
                self.model = text(self._payload(row).get("model")) or self.model
            case "compacted":
                self._compacted(row, at)
            case _:
                self._bare(row, kind)

    def spent(self) -> Spent | None:
        """Give what all calls cost: the last running total, else the sum of the calls."""
        counts = _usage(table(self._totals), "")
        calls = [item for item in self.log.usages() if not item.estimated]
        found = total(calls if counts is None else [counts])
        return None if found is None else structs.replace(found, calls=len(calls))

    def _payload(self, row: Row[_Head]) -> dict[str, Any]:
        return payload(row.head.payload, row.line, self._problems)

    def _count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def _item(self, item: dict[str, Any], at: float | None) -> None:
        if isinstance(item.get("id"), str):
            self._by_id[item["id"]] = item
        piece = piece_of(item, at=at)
        if piece is None:
            self._count("snapshots")
        else:
            self.log.add(_judged(piece))

    def _bare(self, row: Row[_Head], kind: str) -> None:
        """Take a line without a payload, as old rollouts have, or of an unknown kind."""
        if kind in _BARE:
            self._item(whole_row(self._data, row), moment(row.head.timestamp))
        elif row.head.record_type is not None:
            self._count("other_records")
        elif not kind and not self._metas:
            self._session(whole_row(self._data, row))
        else:
            self._count("unknown_records")

    def _session(self, meta: dict[str, Any]) -> None:
        self._metas += 1
        if self._metas == 1:
            self.meta = _meta(meta)

    def _compacted(self, row: Row[_Head], at: float | None) -> None:
        body = self._payload(row)
        summary = text(body.get("message"))
        given = body.get("replacement_history")
        if isinstance(given, list):
            items = [table(item) for item in given]
        elif isinstance(body.get("replacement_history_entries"), list):
            items = self._resolved(body["replacement_history_entries"], row)
        else:
            said = Piece(role="user", parts=(TextPart(summary),), origin="summary", at=at)
            self.log.compact([*self.log.users(), *([said] if summary else ())])
            return
        pieces = [_judged(piece) for item in items if (piece := piece_of(item, at=at)) is not None]
        pieces = [_summary(piece, summary) for piece in pieces]
        if not any(piece.origin == "summary" for piece in pieces):
            what = "a compaction left no summary that can be read"
            self._problems.append(at_line(row.line, "summary", what))
        self.log.compact(pieces)

    def _resolved(self, entries: list[Any], row: Row[_Head]) -> list[dict[str, Any]]:
        """Give the items that entries hold, or name by the id of an earlier one."""
        found: list[dict[str, Any]] = []
        missing = 0
        for entry in map(table, entries):
            item = entry.get("item")
            if not isinstance(item, dict):
                item = self._by_id.get(text(entry.get("item_id")))
            if item is None:
                missing += 1
            else:
                found.append(item)
        if missing:
            what = f"{missing} entries of a compaction name items that are not in the file"
            self._problems.append(at_line(row.line, "reference", what))
        return found

    def _event(self, row: Row[_Head], at: float | None) -> None:
        try:
            kind = text(_event_head(row.head.payload).type)
        except REFUSED:
            kind = text(self._payload(row).get("type"))
        match kind:
            case "token_count":
                self._tokens(table(self._payload(row).get("info")))
            case "thread_rolled_back":
                self.log.revert(whole(self._payload(row).get("num_turns")) or 0)
            case "turn_aborted":
                self._count("aborts")
            case "thread_name_updated":
                body = self._payload(row)
                self.title = text(body.get("thread_name")) or text(body.get("name"))
            case "user_message" | "agent_message" | "agent_reasoning":
                if _ITEM_ROLES[kind] in self._mirrored:
                    self._count("copies")
                else:
                    self.log.add(_shown(kind, self._payload(row), at))
            case _:
                self._count("other_records")

    def _tokens(self, info: dict[str, Any]) -> None:
        """Take a token count. The same totals again mean no new call.

        But for one that follows a compaction: it has zeros, and an estimate of what is left.
        """
        last = table(info.get("last_token_usage"))
        totals = info.get("total_token_usage")
        if not isinstance(totals, dict) or totals != self._totals:
            self._totals = table(totals)
            counts = _usage(last, self.model)
            if counts is not None:
                self.log.count(counts)
            return
        left = whole(last.get("total_tokens"))
        if left and _usage(last, self.model) is None:
            content = f"{left} tokens, estimated"
            self.log.count(Usage(token_count=left, content=content, estimated=True))


def _meta(meta: dict[str, Any]) -> _Meta:
    """Read what a `session_meta` says, or the bare first line of an old rollout."""
    spawn = table(table(table(meta.get("source")).get("subagent")).get("thread_spawn"))
    parents = [meta.get("forked_from_id"), meta.get("parent_thread_id")]
    parents.append(spawn.get("parent_thread_id"))
    return _Meta(
        id=text(meta.get("id")),
        cwd=text(meta.get("cwd")),
        version=text(meta.get("cli_version")),
        parent=next(filter(None, map(text, parents)), ""),
        prompt=text(table(meta.get("base_instructions")).get("text"))
        or text(meta.get("instructions")),
    )


def _roles_of_items(lines: Sequence[Row[_Head]]) -> frozenset[str]:
    """Tell of which roles the file has items; as soon as it has all, the rest is not looked at."""
    found: set[str] = set()
    for row in lines:
        kind = text(row.head.type)
        if kind != "response_item" and kind not in _BARE:
            continue
        try:
            head = _item_head(row.head.payload) if len(row.head.payload) else _ItemHead()
        except REFUSED:
            continue
        found.add("think" if head.type == "reasoning" else text(head.role))
        if found.issuperset(_ITEM_ROLES.values()):
            break
    return frozenset(found)


def _judged(piece: Piece) -> Piece:
    """Say who wrote a piece: a user, or Codex in a user's or the developer's name."""
    if piece.role == "user":
        lead = leading_text(piece.parts).lstrip()
        origin = "injection" if lead.startswith(_INJECTED) else "user"
        return structs.replace(piece, origin=origin)
    return structs.replace(piece, origin="injection") if piece.role == "developer" else piece


def _summary(piece: Piece, summary: str) -> Piece:
    """Mark the piece of a compaction that is its summary."""
    if summary and piece.role == "user" and leading_text(piece.parts) == summary:
        return structs.replace(piece, origin="summary")
    return piece


def _is_real_user(piece: Piece) -> bool:
    return piece.role == "user" and piece.origin == "user"


def _shown(kind: str, event: dict[str, Any], at: float | None) -> Piece:
    """Make a piece of an event, for a file without the item that it repeats."""
    if kind == "agent_reasoning":
        parts: tuple[Part, ...] = (ThinkPart(text(event.get("text"))),)
        return Piece(role="assistant", parts=parts, at=at)
    said = text(event.get("message"))
    images = event.get("images")
    links = map(text, images if isinstance(images, list) else ())
    parts = (*((TextPart(said),) if said else ()), *(ImagePart(MediaUrl(url)) for url in links))
    role = _ITEM_ROLES[kind]
    return _judged(Piece(role=role, parts=parts, key=(role, compact_json(parts)), at=at))


def _is_opaque(record: Record) -> bool:
    """Tell whether a message is a summary that only its provider can read."""
    return (
        isinstance(record, Message)
        and record.origin == "summary"
        and any(isinstance(part, OtherPart) for part in record.parts)
    )


def _usage(reported: dict[str, Any], model: str) -> Usage | None:
    """Make a usage record of a count: what was cached is part of the input."""
    sent = whole(reported.get("input_tokens"))
    cached = whole(reported.get("cached_input_tokens"))
    if sent is not None and cached is not None and cached > sent:
        cached = None
    return usage(
        fresh=None if sent is None else sent - (cached or 0),
        cache_read=cached,
        output=whole(reported.get("output_tokens")),
        reasoning=whole(reported.get("reasoning_output_tokens")),
        model=model,
    )


FORMAT = Format(
    name="codex",
    description="Codex: a session's rollout, rollout-<time>-<id>.jsonl",
    looks_for="lines with the keys type, payload and timestamp (Codex)",
    detect=detect,
    read=read,
)
