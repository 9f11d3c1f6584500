"""OpenHands conversations since version 1: an event a file, in a folder with its state. Pure.

`base_state.json` and `events/event-<number>-<id>.json`; or the events as a list, or one a line.
What is sent is worked out as the vendor does: events that speak to the model, on the branch
that ends at the head, without those that condensations forget, and with the summaries of these
at the place that each names in what was left. A condensation that is not last stays in force.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import UNSET, structs

from minutebook.formats.blocks import part_of as block_part
from minutebook.formats.event_log import Entry, assemble, condensed
from minutebook.formats.items import Piece
from minutebook.formats.mapping import (
    compact_json,
    counted,
    moment,
    table,
    text,
    usage,
    whole,
    with_call_ids,
    with_checkpoints,
)
from minutebook.formats.source import ABSENT, Source, at_line, lines, loads, values, whole_file
from minutebook.formats.value import Format, Reading, only_one
from minutebook.formats.views import arrange, total
from minutebook.lines import Problem
from minutebook.messages import (
    Function,
    ImagePart,
    MediaUrl,
    Message,
    Part,
    TextPart,
    ThinkPart,
    ToolCall,
)
from minutebook.records import SystemPrompt, Usage
from minutebook.tokens.spent import Spent

_ERROR_LEAD = "<system>ERROR: the tool failed.</system>"
"""How a failed result begins with us, in Kimi CLI's way."""
_SPEAKING = frozenset(
    {
        "SystemPromptEvent",
        "MessageEvent",
        "ActionEvent",
        "ObservationEvent",
        "UserRejectObservation",
        "AgentErrorEvent",
        "CondensationSummaryEvent",
    }
)
_KNOWN = _SPEAKING | {
    "Condensation",
    "CondensationRequest",
    "PauseEvent",
    "InterruptEvent",
    "ConversationErrorEvent",
    "ConversationStateUpdateEvent",
    "TokenEvent",
    "HookExecutionEvent",
    "ACPToolCallEvent",
    "LLMCompletionLogEvent",
    "StreamingDeltaEvent",
}
_EVENT_ID = re.compile(r"[0-9a-fA-F-]{32,36}")
"""What an event's id looks like. A parent that is none and is not known means the root."""


def detect(source: Source) -> str | None:
    """Give the evidence that the file is of a conversation of version 1."""
    document = source.document
    if isinstance(document, dict):
        if {"agent", "execution_status", "stats"} <= document.keys():
            return "an object with the keys agent, execution_status and stats: a base state"
        kind = document.get("kind")
        return f"an event of the kind {kind}" if _is_event(document) else None
    for value in document if isinstance(document, list) else source.objects:
        if _is_event(value):
            return f"an event of the kind {value['kind']}"
    return None


def _is_event(value: object) -> bool:
    """Tell whether a value is an event: one of a known kind, or with the keys that all have."""
    event = table(value)
    kind = event.get("kind")
    if not isinstance(kind, str) or "source" not in event or "timestamp" not in event:
        return False
    return kind in _KNOWN or kind.endswith("Event")


def beside(source: Source) -> tuple[str, ...]:
    """Name the events of a state; of one event, its neighbours and the state."""
    document = source.document
    if not isinstance(document, dict):
        return ()
    if "execution_status" in document:
        return ("events/event-*.json",)
    return ("event-*.json", "../base_state.json")


def read(source: Source, index: int) -> Reading:
    """Read a conversation."""
    only_one(source, index)
    problems: list[Problem] = list(source.document_problems)
    state, events = _gathered(source, problems)
    path = _path(events, text(state.get("leaf_event_id")), source, problems)
    entries: list[Entry] = []
    index_of: dict[int, int] = {}
    by_id: dict[str, int] = {}
    view: list[int] = []
    condensations = 0
    last_condensation = 0
    for at, event in enumerate(events):
        kind = text(event.get("kind"))
        if kind in _SPEAKING and kind != "SystemPromptEvent":
            index_of[at] = len(entries)
            by_id[text(event.get("id"))] = len(entries)
            entries.append(_entry(event))
            if at in path:
                view.append(index_of[at])
        elif kind == "SystemPromptEvent" and at in path:
            # It counts when the place of a summary is told.
            view.append(_PROMPT)
        elif kind == "Condensation" and at in path:
            condensations += 1
            view = _after(event, view, entries, by_id)
            last_condensation = len(entries)
    left = {number for at, number in index_of.items() if at not in path}
    replies = _usages(state)
    assembled = assemble(
        entries, view=[at for at in view if at != _PROMPT], left=left, usages=replies
    )
    stale = sum(first < last_condensation for first in assembled.firsts)
    records, left_out = arrange(
        assembled.items, sent=assembled.sent, why=assembled.why, counted_from=stale
    )
    named, made_up = with_call_ids(records)
    prompts = [_prompt(event) for at, event in enumerate(events) if at in path]
    prompt = next(filter(None, reversed(prompts)), "")
    kinds = [text(event.get("kind")) for event in events]
    counts = counted(
        (record for record in named if isinstance(record, Message)),
        compactions=condensations,
        abandoned=sum(item.why == "abandoned" for item in left_out),
        blanked=sum(item.why == "blanked" for item in left_out),
        made_up_ids=made_up,
        message_ids=len(by_id),
        other_records=sum(kind in _KNOWN - _SPEAKING - {"Condensation"} for kind in kinds),
        unknown_records=sum(kind not in _KNOWN for kind in kinds),
    )
    stamps = (moment(event.get("timestamp")) for event in events)
    times = [stamp for stamp in stamps if stamp is not None]
    agent = table(state.get("agent"))
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints([*([SystemPrompt(content=prompt)] if prompt else ()), *named]),
        left_out=left_out,
        counts=counts,
        problems=tuple(problems),
        title=text(state.get("title")),
        agent="OpenHands",
        model=text(table(agent.get("llm")).get("model")) or _model(events),
        session_id=text(state.get("id")) or source.name,
        cwd=text(table(state.get("workspace")).get("working_dir")),
        started=min(times, default=None),
        updated=max(times, default=None),
        spent=_spent(state, events),
    )


_PROMPT = -1
"""Stands for the system prompt in a view of entries, which are messages."""


def _gathered(
    source: Source, problems: list[Problem]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Give the state and the events, from wherever they stand."""
    document = source.document
    if document is ABSENT:
        found: list[dict[str, Any]] = []
        for line in lines(source.data):
            for value in values(source.data, line, problems):
                if isinstance(value.value, dict):
                    found.append(value.value)
                else:
                    problems.append(at_line(line, "entry", "an entry is no event"))
        return {}, found
    if isinstance(document, list):
        return {}, [entry for entry in document if isinstance(entry, dict)]
    state: dict[str, Any] = document if "execution_status" in document else {}
    events = [] if state else [document]
    for path in sorted(source.beside):
        value, _mended = loads(source.beside[path])
        if not isinstance(value, dict):
            problems.append(whole_file(source.data, "bad", f"{path} cannot be read"))
        elif path.endswith("base_state.json"):
            state = value
        else:
            events.append(value)
    if source.beside and "execution_status" not in document:
        # The event that was named is one of its own neighbours.
        events = events[1:] if document in events[1:] else events
    return state, events


def _path(
    events: Sequence[dict[str, Any]], leaf: str, source: Source, problems: list[Problem]
) -> set[int]:
    """Give the events of the branch that ends at the head; without a head, at the last event."""
    parents: list[int] = []
    known: dict[str, int] = {}
    for at, event in enumerate(events):
        parent = event.get("parent_id")
        if parent is None:
            parents.append(at - 1)
        elif isinstance(parent, str) and parent in known:
            parents.append(known[parent])
        elif isinstance(parent, str) and _EVENT_ID.fullmatch(parent) and at:
            what = f"the parent of event {at} is not there; taken as the event before"
            problems.append(whole_file(source.data, "parent", what))
            parents.append(at - 1)
        else:
            parents.append(-1)
        known[text(event.get("id"))] = at
    path: set[int] = set()
    at = known.get(leaf, len(events) - 1) if leaf else len(events) - 1
    while at >= 0:
        path.add(at)
        at = parents[at]
    return path


def _after(
    event: dict[str, Any], view: list[int], entries: list[Entry], by_id: Mapping[str, int]
) -> list[int]:
    """Apply a condensation to a view; its summary becomes an entry."""
    ids = event.get("forgotten_event_ids")
    forgotten = {
        by_id[name]
        for name in (ids if isinstance(ids, list) else ())
        if isinstance(name, str) and name in by_id
    }
    summary = text(event.get("summary"))
    place = None
    if summary:
        place = len(entries)
        at = moment(event.get("timestamp"))
        piece = Piece(role="user", parts=(TextPart(summary),), origin="summary", at=at)
        entries.append(Entry(piece=piece))
    return condensed(view, forgotten, place, whole(event.get("summary_offset")))


def _entry(event: dict[str, Any]) -> Entry:
    """Make an entry of an event that speaks to the model."""
    at = moment(event.get("timestamp"))
    match event.get("kind"):
        case "MessageEvent":
            return Entry(piece=_message(event, at), group=_group(event))
        case "ActionEvent":
            return Entry(piece=_action(event, at), group=_group(event))
        case "CondensationSummaryEvent":
            said = (TextPart(text(event.get("summary"))),)
            return Entry(piece=Piece(role="user", parts=said, origin="summary", at=at))
        case "ObservationEvent":
            observation = table(event.get("observation"))
            error = observation.get("is_error") is True
            return Entry(piece=_result(event, _observed(observation), error=error, at=at))
        case _:
            reason = text(event.get("error")) or text(event.get("rejection_reason"))
            return Entry(piece=_result(event, [TextPart(reason)], error=True, at=at))


def _group(event: dict[str, Any]) -> Hashable:
    """Name the reply that an event is a piece of; none for one that stands alone."""
    return text(event.get("llm_response_id")) or None


def _message(event: dict[str, Any], at: float | None) -> Piece:
    """Make a piece of a message of either side."""
    message = table(event.get("llm_message"))
    role = text(message.get("role"))
    if not role or role.startswith("_"):
        role = "assistant" if event.get("source") == "agent" else "user"
    parts = [*_thinking(message), *_parts(message.get("content"))]
    parts += _parts(event.get("extended_content"))
    return Piece(role=role, parts=tuple(parts), origin="user" if role == "user" else None, at=at)


def _action(event: dict[str, Any], at: float | None) -> Piece:
    """Make a piece of an action: its thoughts, what it says, its call."""
    parts = [*_thinking(event), *_parts(event.get("thought"))]
    made = table(event.get("tool_call"))
    function = table(made.get("function"))
    arguments = made.get("arguments", function.get("arguments", event.get("action", UNSET)))
    if not (arguments is None or arguments is UNSET or isinstance(arguments, str)):
        arguments = compact_json(arguments)
    name = text(event.get("tool_name")) or text(made.get("name")) or text(function.get("name"))
    call = ToolCall(
        type="function",
        id=text(event.get("tool_call_id")) or text(made.get("id")),
        function=Function(name=name, arguments=arguments),
    )
    return Piece(role="assistant", parts=tuple(parts), call=call, at=at)


def _thinking(said: dict[str, Any]) -> list[Part]:
    """Give the thinking of a reply. The blocks are preferred: they have the signature."""
    blocks = said.get("thinking_blocks")
    if isinstance(blocks, list) and blocks:
        return [block_part(block) for block in blocks]
    item = table(said.get("responses_reasoning_item"))
    thought = text(said.get("reasoning_content"))
    summary = item.get("summary")
    words = [text(line) for line in summary] if isinstance(summary, list) else []
    thought = thought or "\n".join(filter(None, words))
    encrypted = item.get("encrypted_content")
    if isinstance(encrypted, str):
        return [ThinkPart(thought, encrypted)]
    return [ThinkPart(thought)] if thought else []


def _parts(content: object) -> list[Part]:
    """Make parts of a list of contents; one with several images is several parts."""
    if isinstance(content, str):
        return [TextPart(content)] if content else []
    found: list[Part] = []
    for item in content if isinstance(content, list) else ():
        urls = table(item).get("image_urls")
        if table(item).get("type") == "image" and isinstance(urls, list):
            found += [ImagePart(MediaUrl(url)) for url in urls if isinstance(url, str)]
        elif table(item).get("type") == "text" and isinstance(item.get("text"), str):
            found += [TextPart(item["text"])] if item["text"] else []
        elif item is not None:
            found.append(block_part(item))
    return found


def _observed(observation: dict[str, Any]) -> list[Part]:
    """Give what a tool said: its content, or in older versions its output; else all of it."""
    if "content" in observation:
        return _parts(observation["content"])
    output = observation.get("output")
    if isinstance(output, str | list):
        return _parts(output)
    return [TextPart(compact_json(observation))]


def _result(
    event: dict[str, Any], parts: Iterable[Part], *, error: bool, at: float | None
) -> Piece:
    """Make a piece of a result; an error is marked in Kimi CLI's way."""
    lead = (TextPart(_ERROR_LEAD),) if error else ()
    call_id = text(event.get("tool_call_id"))
    return Piece(role="tool", parts=(*lead, *parts), call_id=call_id, at=at)


def _prompt(event: dict[str, Any]) -> str:
    """Give the system prompt of an event that sets one."""
    if event.get("kind") != "SystemPromptEvent":
        return ""
    said = (event.get("system_prompt"), event.get("dynamic_context"))
    texts = (text(table(part).get("text")) or text(part) for part in said)
    return "\n".join(filter(None, texts))


def _counts(reported: dict[str, Any]) -> Usage | None:
    """Read the figures of a call: the input has in it what came from the cache and went to it."""
    sent = whole(reported.get("prompt_tokens"))
    cached = whole(reported.get("cache_read_tokens"))
    written = whole(reported.get("cache_write_tokens"))
    return usage(
        fresh=None if sent is None else max(sent - (cached or 0) - (written or 0), 0),
        cache_read=cached,
        cache_write=written,
        output=whole(reported.get("completion_tokens")),
        reasoning=whole(reported.get("reasoning_tokens")),
        model=text(reported.get("model")),
    )


def _metrics(stats: dict[str, Any]) -> list[dict[str, Any]]:
    return [table(found) for found in table(stats.get("usage_to_metrics")).values()]


def _usages(state: dict[str, Any]) -> dict[Hashable, Usage]:
    """Give the usage of replies by the id of the response, where the state lists them."""
    found: dict[Hashable, Usage] = {}
    for metrics in _metrics(table(state.get("stats"))):
        listed = metrics.get("token_usages")
        for reported in map(table, listed if isinstance(listed, list) else ()):
            counts = _counts(reported)
            name = text(reported.get("response_id"))
            if counts is not None and name:
                found[name] = counts
    return found


def _last_stats(state: dict[str, Any], events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Give the running totals: of the state, else of the last event that tells them."""
    stats = table(state.get("stats"))
    if _metrics(stats):
        return stats
    for event in reversed(events):
        if event.get("kind") == "ConversationStateUpdateEvent" and event.get("key") == "stats":
            return table(event.get("value"))
    return {}


def _spent(state: dict[str, Any], events: Sequence[dict[str, Any]]) -> Spent | None:
    """Add up what all models of a conversation cost, the condenser's too."""
    metrics = _metrics(_last_stats(state, events))
    totals = [_counts(table(found.get("accumulated_token_usage"))) for found in metrics]
    found = total(counts for counts in totals if counts is not None)
    lists = (item.get("token_usages") for item in metrics)
    # Running totals do not say of how many calls they are.
    calls = sum(len(listed) for listed in lists if isinstance(listed, list))
    return None if found is None else structs.replace(found, calls=calls)


def _model(events: Sequence[dict[str, Any]]) -> str:
    """Give the model that the running totals name first."""
    names = (text(found.get("model_name")) for found in _metrics(_last_stats({}, events)))
    return next(filter(None, names), "")


FORMAT = Format(
    name="openhands",
    description="OpenHands since version 1: base_state.json with events beside it, or the events",
    looks_for="events with the keys kind, source and timestamp, or a base state (OpenHands)",
    detect=detect,
    read=read,
    beside=beside,
)
