"""Kimi Code wire logs: `agents/<agent>/wire.jsonl`. Pure.

The log is the session's state; see `kimi_code_log` for how it is replayed. Records that only
tell what was asked of the model (`llm.request`) are read for its name alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, Raw, Struct

from minutebook.formats.kimi_code_log import Log, Slot, origin_kind
from minutebook.formats.mapping import (
    CLEARED_NOTICE,
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
from minutebook.formats.source import Source, loads
from minutebook.formats.typed import Row, in_order, payload, rows
from minutebook.formats.typed import whole as whole_row
from minutebook.formats.value import Format, Reading, Why, only_one
from minutebook.formats.views import Item, arrange, total
from minutebook.lines import Problem
from minutebook.messages import (
    AudioPart,
    Function,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    Part,
    TextPart,
    ThinkPart,
    ToolCall,
    VideoPart,
    replace,
)
from minutebook.records import SystemPrompt, Usage
from minutebook.turns import pair

_ERROR_LEAD = "<system>ERROR: the tool failed.</system>"
_BLOB = "blobref:"
"""How the address of a medium begins that stands in a file of its own."""
_STATE = "../../state.json"
_ORIGINS = {"compaction_summary": "summary", "user": "user", "": None}
"""The origins that are not injections; a missing one is judged by the text."""
_MEDIA: dict[str, type[ImagePart | AudioPart | VideoPart]] = {
    "image_url": ImagePart,
    "audio_url": AudioPart,
    "video_url": VideoPart,
}


class _Head(Struct, frozen=True):
    """What a line is, and the part of it that may be long."""

    type: Any = None
    time: Any = None
    message: Raw = Raw(b"")
    event: Raw = Raw(b"")
    protocol_version: Any = None


def detect(source: Source) -> str | None:
    """Give the evidence that the file is a wire log of Kimi Code."""
    metadata = False
    for value in source.objects:
        line = table(value)
        kind = text(line.get("type"))
        if kind.startswith("context.") and ("message" in line or "event" in line or "time" in line):
            return f"a line of the type {kind}"
        if kind == "metadata" and "protocol_version" in line:
            metadata = True
        elif metadata and kind and "time" in line and "message" not in line:
            return f"a line with protocol_version, and one of the type {kind} with the key time"
    return None


def beside(source: Source) -> tuple[str, ...]:
    """Name the session's state, which stands above the folder of its agents."""
    return (_STATE,) if "agents" in source.path.replace("\\", "/").split("/")[-3:-2] else ()


def read(source: Source, index: int) -> Reading:
    """Read a wire log."""
    only_one(source, index)
    problems: list[Problem] = []
    reader = _Reader(source.data, problems)
    for row in rows(source.data, _Head, problems):
        reader.take(row)
    log = reader.log
    log.finish()
    items, places = _items(log)
    why: dict[int, Why] = {
        place: "abandoned" if at in log.left else "unsent"
        for at in log.left | reader.orphans
        for place in places[at]
    }
    sent = _without_orphans(items, [place for at in log.view() for place in places[at]])
    counted_from = sum(len(places[at]) for at in range(log.changed_at))
    records, left_out = arrange(items, sent=sent, why=why, counted_from=counted_from)
    named, made_up = with_call_ids(records)
    state, _mended = loads(source.beside.get(_STATE, b"{}"))
    about = table(state)
    session, agent = _names(source)
    counts = counted(
        (record for record in named if isinstance(record, Message)),
        compactions=log.compactions,
        microcompactions=log.maskings,
        reverts=log.reverts,
        abandoned=sum(item.why == "abandoned" for item in left_out),
        unsent=sum(item.why == "unsent" for item in left_out),
        blanked=sum(item.why == "blanked" for item in left_out),
        aborts=reader.aborts,
        made_up_ids=made_up,
        other_records=reader.others,
    )
    prompt = reader.prompt
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints([*([SystemPrompt(content=prompt)] if prompt else ()), *named]),
        left_out=left_out,
        counts=counts,
        problems=in_order(problems),
        title=text(about.get("title")),
        agent="Kimi Code",
        model=reader.model,
        session_id=session if agent == "main" else f"{session}/{agent}",
        parent_session="" if agent == "main" else session,
        cwd=text(about.get("workDir")) or reader.cwd,
        started=reader.started,
        updated=reader.updated,
        spent=total(reader.spent or [slot.usage for slot in log.slots if slot.usage is not None]),
    )


class _Reader:
    """Takes a log's lines in order."""

    def __init__(self, data: bytes, problems: list[Problem]) -> None:
        self.log = Log()
        self.orphans: set[int] = set()
        """The slots of results that no call waited for."""
        self.spent: list[Usage] = []
        self.prompt = ""
        self.model = ""
        self.cwd = ""
        self.aborts = 0
        self.others = 0
        self.started: float | None = None
        self.updated: float | None = None
        self._data = data
        self._problems = problems

    def take(self, row: Row[_Head]) -> None:
        """Take one line."""
        kind = text(row.head.type)
        at = moment(row.head.time)
        if at is not None:
            self.started = at if self.started is None else self.started
            self.updated = at
        match kind:
            case "context.append_loop_event":
                self._event(payload(row.head.event, row.line, self._problems), at)
            case "context.append_message":
                message = payload(row.head.message, row.line, self._problems)
                self.log.add(_slot(message, at))
            case "context.apply_compaction":
                self._compaction(self._whole(row), at)
            case "context.undo":
                self.log.undo(whole(self._whole(row).get("count")) or 0)
            case "context.clear":
                self.log.clear()
            case "micro_compaction.apply":
                self.log.mask(whole(self._whole(row).get("cutoff")) or 0)
            case "config.update" | "profile.bind":
                self._config(self._whole(row))
            case "usage.record":
                self._usage(self._whole(row))
            case "turn.cancel":
                self.aborts += 1
            case _ if kind.startswith("spine."):
                record = self._whole(row)
                memory = _noted(text(record.get("memory")), at)
                self.log.spine(kind, record, memory)
            case _:
                self.others += kind != "metadata"

    def _whole(self, row: Row[_Head]) -> dict[str, Any]:
        return whole_row(self._data, row)

    def _config(self, record: dict[str, Any]) -> None:
        self.prompt = text(record.get("systemPrompt")) or self.prompt
        self.model = text(record.get("modelAlias")) or self.model
        self.cwd = text(record.get("cwd")) or self.cwd
        where = table(record.get("environmentDisclosure"))
        self.cwd = self.cwd or text(where.get("cwd"))

    def _usage(self, record: dict[str, Any]) -> None:
        """Take what a call cost. The step's own figures say the same, but not of compactions."""
        model = text(record.get("model"))
        counts = _usage(table(record.get("usage")), model)
        if counts is not None:
            self.spent.append(counts)
        self.model = model or self.model

    def _compaction(self, record: dict[str, Any], at: float | None) -> None:
        given = record.get("contextSummary", record.get("summary"))
        content = given.get("content") if isinstance(given, dict) else given
        summary = Slot("user", at=at, kind="compaction_summary")
        summary.parts = _parts(content)
        self.log.compact(record, summary)

    def _event(self, event: dict[str, Any], at: float | None) -> None:
        """Take an event of a step."""
        uuid = text(event.get("stepUuid")) or text(event.get("uuid"))
        match event.get("type"):
            case "step.begin":
                self.log.step(uuid, at)
            case "content.part":
                slot = self.log.reply(uuid)
                if slot is not None:
                    slot.parts += _parts([event.get("part")])
            case "tool.call":
                call_id = text(event.get("toolCallId"))
                name, given = text(event.get("name")), event.get("args", UNSET)
                self.log.call(uuid, _call(call_id, name, given))
            case "tool.result":
                self._result(event, at)
            case "step.end":
                slot = self.log.step_of(uuid)
                if slot is not None:
                    slot.usage = _usage(table(event.get("usage")), self.model) or slot.usage
            case _:
                self.others += 1

    def _result(self, event: dict[str, Any], at: float | None) -> None:
        result = table(event.get("result"))
        slot = Slot("tool", at=at)
        slot.call_id = text(event.get("toolCallId"))
        slot.parts = _parts(result.get("output"))
        if result.get("isError") is True:
            slot.parts.insert(0, TextPart(_ERROR_LEAD))
        if text(result.get("note")):
            slot.parts.append(TextPart(result["note"]))
        if not self.log.result(slot):
            self.orphans.add(len(self.log.slots) - 1)


def _names(source: Source) -> tuple[str, str]:
    """Give the session's and the agent's name, of the path where it is the vendor's."""
    parts = source.path.replace("\\", "/").split("/")
    if parts[-3:-2] == ["agents"]:
        return parts[-4] if len(parts) > 3 else source.name, parts[-2]
    return source.name, "main"


def _slot(message: dict[str, Any], at: float | None) -> Slot:
    """Make a slot of a whole message."""
    kind, typed = origin_kind(message)
    slot = Slot(role_of(message), at=at, kind=kind, typed=typed)
    slot.parts = _parts(message.get("content"))
    calls = message.get("toolCalls")
    for call in map(table, calls if isinstance(calls, list) else ()):
        function = table(call.get("function")) or call
        given = function.get("arguments", UNSET)
        slot.calls.append(_call(text(call.get("id")), text(function.get("name")), given))
    if slot.role == "tool":
        slot.call_id = text(message.get("toolCallId")) or text(message.get("tool_call_id"))
    return slot


def _noted(memory: str, at: float | None) -> Slot:
    """Make a slot of what a model noted of a task that it closed."""
    slot = Slot("user", at=at, kind="compaction_summary")
    slot.parts = _parts(memory)
    return slot


def _call(call_id: str, name: str, given: Any) -> ToolCall:
    """Make a call; arguments that are a value become compact JSON text."""
    if not (given is None or given is UNSET or isinstance(given, str)):
        given = compact_json(given)
    return ToolCall(type="function", id=call_id, function=Function(name=name, arguments=given))


def _parts(content: object) -> list[Part]:
    """Make parts of content."""
    if isinstance(content, str):
        return [TextPart(content)] if content else []
    given = content if isinstance(content, list) else [content]
    return [_part(item) for item in given if item is not None and item != ""]


def _part(item: object) -> Part:
    """Make a part of one; what has no place in ours is kept whole."""
    part = table(item)
    kind = text(part.get("type"))
    if isinstance(item, str):
        return TextPart(item)
    if kind == "text" and isinstance(part.get("text"), str):
        return TextPart(part["text"])
    if kind == "think" and isinstance(part.get("think"), str):
        encrypted = part.get("encrypted")
        return ThinkPart(part["think"], encrypted if isinstance(encrypted, str) else UNSET)
    if kind in _MEDIA:
        name = kind.removesuffix("_url")
        url = text(table(part.get(kind, part.get(f"{name}Url"))).get("url"))
        if url and not url.startswith(_BLOB):
            return _MEDIA[kind](MediaUrl(url))
    return OtherPart(item if isinstance(item, dict) else {"type": "unknown", "value": item})


def _items(log: Log) -> tuple[list[Item], list[range]]:
    """Turn slots into items: each a message, and the usage of a reply."""
    blanked = log.blanked()
    items: list[Item] = []
    places: list[range] = []
    for at, slot in enumerate(log.slots):
        start = len(items)
        message = slot.message if slot.message is not None else _message(slot)
        if at in blanked:
            short = replace(message, content=CLEARED_NOTICE, elided="mask")
            items.append(Item(record=short, whole=message))
        else:
            items.append(Item(record=message))
        if slot.usage is not None:
            items.append(Item(record=slot.usage))
        places.append(range(start, len(items)))
    return items, places


def _message(slot: Slot) -> Message:
    """Make a message of a slot."""
    origin = slot.role if slot.role in {"assistant", "tool"} else None
    if slot.role == "user":
        origin = "user" if slot.real and slot.kind else _ORIGINS.get(slot.kind, "injection")
    return Message(
        role=slot.role,
        content=stored(slot.parts),
        tool_calls=tuple(slot.calls) or None,
        tool_call_id=slot.call_id if slot.role == "tool" else None,
        at=slot.at,
        origin=origin,
    )


def _without_orphans(items: Sequence[Item], sent: list[int]) -> list[int]:
    """Leave out the results whose call is not sent: the agent does so too."""
    places = [place for place in sent if isinstance(items[place].record, Message)]
    messages = [items[place].record for place in places]
    gone = {
        places[orphan]
        for orphan in pair([item for item in messages if isinstance(item, Message)]).orphans
    }
    return [place for place in sent if place not in gone]


def _usage(reported: dict[str, Any], model: str) -> Usage | None:
    """Make a usage record of a step's counts, which are disjoint."""
    return usage(
        fresh=whole(reported.get("inputOther")),
        cache_read=whole(reported.get("inputCacheRead")),
        cache_write=whole(reported.get("inputCacheCreation")),
        output=whole(reported.get("output")),
        model=model,
    )


FORMAT = Format(
    name="kimi-code",
    description="Kimi Code: an agent's wire log, agents/<agent>/wire.jsonl",
    looks_for="lines with the keys type and time, of types that begin with context. (Kimi Code)",
    detect=detect,
    read=read,
    beside=beside,
)
