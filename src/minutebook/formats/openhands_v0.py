"""OpenHands trajectories up to version 1: actions and observations, numbered. Pure.

A list of events, or one a line; an evaluation's output has one list a line, under `history`.
An event file of a session takes in those beside it. The messages that the model saw are not
stored and are put together here: a reply is the response that the actions of it carry, whole;
an action without one becomes a call of its name; an observation answers the call of its action.

Condensations hide events by number. All that any of them hides is hidden, and the last summary
stands where it says, counted among the events that the agent looks at.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct, structs

from minutebook.formats.blocks import part_of
from minutebook.formats.conversations import choose, several, single_values
from minutebook.formats.event_log import Entry, assemble, condensed
from minutebook.formats.items import Piece, content_parts
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
from minutebook.formats.source import ABSENT, Source, loads, whole_file
from minutebook.formats.value import Format, Reading, only_one
from minutebook.formats.views import arrange, total
from minutebook.lines import Problem
from minutebook.messages import (
    Function,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    Part,
    TextPart,
    ThinkPart,
    ToolCall,
)
from minutebook.records import SystemPrompt, Usage
from minutebook.tokens.spent import Spent

_SKIPPED_ACTIONS = frozenset({"null", "change_agent_state", "recall", "condensation_request"})
"""Actions that say nothing to the model."""
_SKIPPED_OBSERVATIONS = frozenset({"null", "agent_state_changed"})
_UNSEEN = frozenset({"null", "change_agent_state", "agent_state_changed"})
"""Events that the agent never looks at: they do not count where places are told."""
_LOOKED_AT = 8
"""How many entries of a file are looked at to recognise it."""
_OWN_WORDS = ("thought", "final_thought")
"""Arguments of an action that are what the model said, and no argument of a call."""

Event = dict[str, Any]


def detect(source: Source) -> str | None:
    """Give the evidence that the file is a trajectory of version 0."""
    document = source.document
    if document is ABSENT:
        values: Sequence[object] = source.objects
    else:
        values = document if isinstance(document, list) else [document]
    for value in values[:_LOOKED_AT]:
        history = table(value).get("history")
        first = next(iter(_flat(history)), None) if isinstance(history, list) else None
        if _is_event(first):
            return f"a history of events, the first with the key {_kind(table(first))}"
        if _is_event(value):
            return f"an event with the keys source and {_kind(table(value))}"
    return None


def _is_event(value: object) -> bool:
    event = table(value)
    return isinstance(event.get("source"), str) and bool(_kind(event)) and "message" in event


def _kind(event: Event) -> str:
    return next((key for key in ("action", "observation") if isinstance(event.get(key), str)), "")


def _flat(history: object) -> list[Event]:
    """Give a history as a list of events; old ones are pairs of an action and what came of it."""
    found: list[Event] = []
    for entry in history if isinstance(history, list | tuple) else ():
        found += [
            item
            for item in (entry if isinstance(entry, list) else [entry])
            if isinstance(item, dict)
        ]
    return found


def beside(source: Source) -> tuple[str, ...]:
    """Name the neighbours of one event's file."""
    return ("[0-9]*.json",) if _is_event(source.document) else ()


class _Trajectory(Struct, frozen=True, kw_only=True):
    """The events of one trajectory, and what stands around them."""

    events: list[Event]
    around: dict[str, Any]
    problems: list[Problem]
    conversations: int = 0
    """How many the file holds, 0 if it is this one alone."""


def read(source: Source, index: int) -> Reading:
    """Read one trajectory of the file."""
    found = _gathered(source, index)
    events = found.events
    builder = _Builder()
    for event in events:
        builder.take(event)
    view, hidden_before = builder.condensed()
    assembled = assemble(builder.entries, view=view, left=(), usages=builder.usages)
    stale = sum(first < hidden_before for first in assembled.firsts)
    records, left_out = arrange(assembled.items, sent=assembled.sent, counted_from=stale)
    named, made_up = with_call_ids(records)
    counts = counted(
        (record for record in named if isinstance(record, Message)),
        conversations=found.conversations,
        compactions=builder.condensations,
        made_up_ids=made_up,
        other_records=builder.skipped,
    )
    stamps = (moment(event.get("timestamp")) for event in events)
    times = [stamp for stamp in stamps if stamp is not None]
    prompt = builder.prompt
    around = found.around
    config = table(table(around.get("metadata")).get("llm_config"))
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints([*([SystemPrompt(content=prompt)] if prompt else ()), *named]),
        left_out=left_out,
        counts=counts,
        problems=tuple(found.problems),
        agent="OpenHands",
        agent_version=builder.version,
        model=builder.model or text(config.get("model")),
        session_id=text(around.get("instance_id")) or source.name,
        started=min(times, default=None),
        updated=max(times, default=None),
        spent=_spent(around, builder.usages),
    )


def _gathered(source: Source, index: int) -> _Trajectory:
    """Give one trajectory, from whatever holds it.

    Raises:
        FormatError: If there is none of that index.
    """
    document = source.document
    if isinstance(document, dict) and _is_event(document):
        only_one(source, index)
        return _with_neighbours(source, document)
    heads = source.objects[:_LOOKED_AT] if document is ABSENT else document
    if isinstance(heads, tuple | list) and any(map(_is_event, _flat(heads))):
        only_one(source, index)
        problems: list[Problem] = []
        if document is ABSENT:
            values_of = [value for value, _ in single_values(source, problems)]
        else:
            problems += source.document_problems
            values_of = list(document)
        return _Trajectory(events=_flat(values_of), around={}, problems=problems)
    chosen = choose(source, index, lambda value: table(value) if _history(value) else None)
    return _Trajectory(
        events=_history(chosen.value),
        around=chosen.value,
        problems=chosen.problems,
        conversations=several(chosen),
    )


def _history(value: object) -> list[Event]:
    """Give the events of an object that holds some; none if they are others."""
    events = _flat(table(value).get("history"))
    return events if any(map(_is_event, events)) else []


def _with_neighbours(source: Source, event: Event) -> _Trajectory:
    """Give the events of a session's folder in the order of their numbers."""
    problems: list[Problem] = []
    found = {_number(event): event}
    for path, data in source.beside.items():
        value, _mended = loads(data)
        if isinstance(value, dict):
            found.setdefault(_number(value), value)
        else:
            problems.append(whole_file(source.data, "bad", f"{path} cannot be read"))
    events = [found[number] for number in sorted(found)]
    return _Trajectory(events=events, around={}, problems=problems)


def _number(event: Event) -> int:
    number = whole(event.get("id"))
    return -1 if number is None else number


class _Builder:
    """Makes entries of events, in order."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.usages: dict[Hashable, Usage] = {}
        self.prompt = ""
        self.version = ""
        self.model = ""
        self.skipped = 0
        self.condensations = 0
        self._seen: list[tuple[int, int]] = []
        """The events that the agent looks at: number, and entry or -1."""
        self._replies: dict[str, range] = {}
        """Of each response the entries that say it: one a call."""
        self._calls: dict[int, str] = {}
        """Of each action the id of its call."""
        self._forgotten: set[int] = set()
        self._summary: tuple[str, int | None, float | None] | None = None
        self._hidden_before = 0

    def take(self, event: Event) -> None:
        """Take one event."""
        kind = text(event.get("action")) or text(event.get("observation"))
        before = len(self.entries)
        if kind == "condensation" and "action" in event:
            self._condensation(event)
        elif kind == "system":
            args = table(event.get("args"))
            self.prompt = text(args.get("content")) or self.prompt
            self.version = text(args.get("openhands_version")) or self.version
        elif "action" in event:
            if kind in _SKIPPED_ACTIONS:
                self.skipped += 1
            else:
                self._action(kind, event)
        elif kind in _SKIPPED_OBSERVATIONS:
            self.skipped += 1
        else:
            self._observation(event)
        if kind not in _UNSEEN:
            made = -1 if len(self.entries) == before else before
            self._seen.append((_number(event), self._own_of(event, made)))

    def condensed(self) -> tuple[list[int], int]:
        """Give which entries are sent, and how many were there at the last condensation."""
        claimed = {entry for _, entry in self._seen}
        # A call that has no event of its own goes with the first one of its response.
        with_it = {
            found[0]: [entry for entry in found if entry not in claimed]
            for found in self._replies.values()
        }
        view = [entry for number, entry in self._seen if number not in self._forgotten]
        if self._summary is not None:
            words, offset, at = self._summary
            piece = Piece(role="user", parts=(TextPart(words),), origin="summary", at=at)
            self.entries.append(Entry(piece=piece))
            view = condensed(view, (), len(self.entries) - 1, offset)
        entries = [each for entry in view for each in (entry, *with_it.get(entry, ()))]
        return [entry for entry in dict.fromkeys(entries) if entry >= 0], self._hidden_before

    def _condensation(self, event: Event) -> None:
        args = table(event.get("args"))
        ids = args.get("forgotten_event_ids")
        self._forgotten.update(
            number for number in (ids if isinstance(ids, list) else ()) if type(number) is int
        )
        start = whole(args.get("forgotten_events_start_id"))
        end = whole(args.get("forgotten_events_end_id"))
        if start is not None and end is not None:
            known = (number for number, _ in self._seen)
            self._forgotten.update(number for number in known if start <= number <= end)
        self._forgotten.add(_number(event))
        self.condensations += 1
        self._hidden_before = len(self.entries)
        summary = text(args.get("summary"))
        if summary:
            offset = whole(args.get("summary_offset"))
            self._summary = summary, offset, moment(event.get("timestamp"))

    def _own_of(self, event: Event, made: int) -> int:
        """Give the entry of an action that is one of several calls of a response."""
        found = self._replies.get(_response_id(event), range(0)) if "action" in event else ()
        call_id = self._calls.get(_number(event), "")
        for entry in found:
            call = self.entries[entry].piece.call
            if call is not None and call.id == call_id:
                return entry
        return found[0] if found else made

    def _action(self, kind: str, event: Event) -> None:
        args = table(event.get("args"))
        at = moment(event.get("timestamp"))
        response = table(table(event.get("tool_call_metadata")).get("model_response"))
        name = text(response.get("id"))
        if response:
            call_id = text(table(event.get("tool_call_metadata")).get("tool_call_id"))
            self._calls[_number(event)] = call_id
            if name not in self._replies or not name:
                first = len(self.entries)
                self._reply(response, at, first)
                self._replies[name] = range(first, len(self.entries))
            return
        if kind == "message" or event.get("source") == "user":
            role = "assistant" if event.get("source") == "agent" else "user"
            self.entries.append(Entry(piece=_said(kind, role, args, at)))
            return
        call_id = f"action-{_number(event)}"
        self._calls[_number(event)] = call_id
        rest = {key: value for key, value in args.items() if key not in _OWN_WORDS}
        call = ToolCall(
            type="function",
            id=call_id,
            function=Function(name=kind, arguments=compact_json(rest)),
        )
        parts = [TextPart(words) for key in _OWN_WORDS if (words := text(args.get(key)))]
        piece = Piece(role="assistant", parts=tuple(parts), call=call, at=at)
        self.entries.append(Entry(piece=piece, group=("action", _number(event))))

    def _reply(self, response: dict[str, Any], at: float | None, group: int) -> None:
        """Make an entry of each call of a response, the first with what the model said."""
        choices = response.get("choices")
        first = table(choices[0]) if isinstance(choices, list) and choices else {}
        message = table(first.get("message"))
        thought = text(message.get("reasoning_content"))
        blocks = message.get("thinking_blocks")
        parts: list[Part] = [ThinkPart(thought)] if thought else []
        if isinstance(blocks, list) and blocks:
            parts = [part_of(block) for block in blocks]
        parts += content_parts(message.get("content"))
        given = message.get("tool_calls")
        calls = [_call(table(call)) for call in (given if isinstance(given, list) else ())]
        for number, call in enumerate(calls or [None]):
            said = tuple(parts) if not number else ()
            piece = Piece(role="assistant", parts=said, call=call, at=at)
            self.entries.append(Entry(piece=piece, group=group))
        self.model = text(response.get("model")) or self.model
        counts = _usage(table(response.get("usage")), text(response.get("model")))
        if counts is not None:
            self.usages[group] = counts

    def _observation(self, event: Event) -> None:
        at = moment(event.get("timestamp"))
        metadata = table(event.get("tool_call_metadata"))
        call_id = text(metadata.get("tool_call_id"))
        cause = whole(event.get("cause"))
        if not call_id and cause is not None:
            call_id = self._calls.get(cause, "")
        parts: list[Part] = content_parts(event.get("content"))
        extras = table(event.get("extras"))
        images = extras.get("image_urls")
        parts += [
            ImagePart(MediaUrl(url))
            for url in (images if isinstance(images, list) else ())
            if isinstance(url, str)
        ]
        if call_id:
            piece = Piece(role="tool", parts=tuple(parts), call_id=call_id, at=at)
        else:
            if event.get("observation") == "recall":
                parts.append(OtherPart({**extras, "type": "recall"}))
            piece = Piece(role="user", parts=tuple(parts), origin="injection", at=at)
        self.entries.append(Entry(piece=piece))


def _response_id(event: Event) -> str:
    response = table(table(event.get("tool_call_metadata")).get("model_response"))
    return text(response.get("id"))


def _said(kind: str, role: str, args: dict[str, Any], at: float | None) -> Piece:
    """Make a piece of a message of either side, or of what a user did by hand."""
    parts: list[Part] = content_parts(args.get("content"))
    images = args.get("image_urls")
    links = images if isinstance(images, list) else ()
    parts += [ImagePart(MediaUrl(url)) for url in links if isinstance(url, str)]
    if kind == "message":
        origin = "user" if role == "user" else None
        return Piece(role=role, parts=tuple(parts), origin=origin, at=at)
    words = TextPart(compact_json({"action": kind, **args}))
    return Piece(role="user", parts=(words,), origin="injection", at=at)


def _call(call: dict[str, Any]) -> ToolCall:
    function = table(call.get("function"))
    arguments = function.get("arguments", UNSET)
    if not (arguments is None or arguments is UNSET or isinstance(arguments, str)):
        arguments = compact_json(arguments)
    return ToolCall(
        type="function",
        id=text(call.get("id")),
        function=Function(name=text(function.get("name")), arguments=arguments),
    )


def _usage(reported: dict[str, Any], model: str) -> Usage | None:
    """Make a usage record of a response's figures, which are those of a chat's completion."""
    sent = whole(reported.get("prompt_tokens"))
    cached = whole(table(reported.get("prompt_tokens_details")).get("cached_tokens"))
    cached = whole(reported.get("cache_read_tokens")) if cached is None else cached
    written = whole(reported.get("cache_write_tokens"))
    details = table(reported.get("completion_tokens_details"))
    return usage(
        fresh=None if sent is None else max(sent - (cached or 0) - (written or 0), 0),
        cache_read=cached,
        cache_write=written,
        output=whole(reported.get("completion_tokens")),
        reasoning=whole(details.get("reasoning_tokens")),
        model=model,
    )


def _spent(around: dict[str, Any], usages: Mapping[Hashable, Usage]) -> Spent | None:
    """Give the running total that stands beside the events, else the sum of the replies."""
    metrics = table(around.get("metrics"))
    counts = _usage(table(metrics.get("accumulated_token_usage")), "")
    found = total(usages.values() if counts is None else [counts])
    return None if found is None else structs.replace(found, calls=len(usages))


FORMAT = Format(
    name="openhands-v0",
    description="OpenHands up to version 1: a trajectory, an event's file, an evaluation's output",
    looks_for="events with the keys source, and action or observation (OpenHands up to version 1)",
    detect=detect,
    read=read,
    beside=beside,
)
