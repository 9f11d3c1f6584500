"""Gemini CLI sessions: one JSON object until version 0.39, JSON Lines since then. Pure.

The lines are a log of changes: a message with an id that is there already takes its place,
`$set` changes what is known of the session and may replace all messages (so compressions and
the masking of old outputs are stored), `$rewindTo` drops a message and all after it. A call
holds its own result. Notes to the user are stored among the messages and never sent, nor are
the user's commands to the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from minutebook.formats.gemini_log import Session
from minutebook.formats.mapping import (
    compact_json,
    counted,
    leading_text,
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
from minutebook.formats.source import ABSENT, Source, at_line, lines, values
from minutebook.formats.value import Format, Reading, Why, only_one
from minutebook.formats.views import Item, arrange, total
from minutebook.lines import Problem
from minutebook.messages import (
    AudioPart,
    Content,
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
    tool,
)
from minutebook.records import Usage

_TYPES = frozenset({"user", "gemini", "info", "error", "warning"})
_NOTES = frozenset({"info", "error", "warning"})
"""Types of messages that only the user sees."""
_COMMANDS = ("/", "?")
"""How a user's text begins that is a command to the program and no prompt."""
_STATE = "<state_snapshot>"
"""What a compression leaves in the first user message."""
_STATE_WITHIN = 400
"""How far behind a message's beginning it may stand, in characters."""
_INJECTED = "<session_context>"
"""How the message begins in which the program says where it runs."""


def detect(source: Source) -> str | None:
    """Give the evidence that the file is a session."""
    document = source.document
    if isinstance(document, dict):
        if "sessionId" in document and "projectHash" in document:
            return "an object with the keys sessionId and projectHash"
        messages = document.get("messages")
        if "sessionId" in document and isinstance(messages, list) and any(map(_is_one, messages)):
            return "an object with sessionId, and messages of the type user or gemini"
    history = table(document).get("history", document)
    if isinstance(history, list) and history and all(map(_is_raw, history[:8])):
        return "messages of the role user or model with the key parts"
    for value in source.objects:
        line = table(value)
        if "sessionId" in line and "projectHash" in line:
            return "a line with the keys sessionId and projectHash"
        if "$rewindTo" in line:
            return "a line with the key $rewindTo"
        given = table(line.get("$set")).get("messages")
        if isinstance(given, list) and any(map(_is_one, given)):
            return "a line with the key $set, and messages of the type user or gemini"
        if _is_one(value) and line["type"] == "gemini":
            return "a line with an id and the type gemini"
    return None


def _is_raw(value: object) -> bool:
    """Tell whether a value is a message in the form that is sent."""
    message = table(value)
    return text(message.get("role")) in {"user", "model"} and isinstance(message.get("parts"), list)


def _is_one(value: object) -> bool:
    """Tell whether a value is a message."""
    kind = table(value).get("type")
    return isinstance(kind, str) and kind in _TYPES and "id" in table(value)


def read(source: Source, index: int) -> Reading:
    """Read a session."""
    only_one(source, index)
    problems: list[Problem] = []
    session = _replayed(source, problems)
    items: list[Item] = []
    places: dict[int, range] = {}
    why: dict[int, Why] = {}
    for at, message in enumerate(session.written):
        if at in session.outdated or text(message.get("type")) in _NOTES:
            continue
        start = len(items)
        items += _items(message, session.written[session.whole.get(at, at)])
        places[at] = range(start, len(items))
        if at in session.left:
            why.update(dict.fromkeys(places[at], "abandoned"))
        elif _is_command(message):
            why.update(dict.fromkeys(places[at], "unsent"))
    sent = [place for at in session.live for place in places.get(at, ()) if place not in why]
    counted_from = min(
        (found.start for at, found in places.items() if at >= session.changed_at),
        default=len(items),
    )
    records, left_out = arrange(items, sent=sent, why=why, counted_from=counted_from)
    named, made_up = with_call_ids(records)
    kinds = [text(message.get("type")) for message in session.written]
    counts = counted(
        (record for record in named if isinstance(record, Message)),
        compactions=session.compactions,
        microcompactions=session.maskings,
        reverts=session.reverts,
        abandoned=sum(item.why == "abandoned" for item in left_out),
        unsent=sum(item.why == "unsent" for item in left_out),
        blanked=sum(item.why == "blanked" for item in left_out),
        duplicates=len(session.outdated) - len(session.whole),
        only_shown=sum(kind in _NOTES for kind in kinds),
        made_up_ids=made_up,
        message_ids=sum(bool(text(item.get("id"))) for item in session.written),
    )
    times = [item.at for item in _messages(items) if item.at is not None]
    about = session.about
    directories = about.get("directories")
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints(named),
        left_out=left_out,
        counts=counts,
        problems=tuple(problems),
        title=text(about.get("summary")),
        agent="Gemini CLI",
        model=next(filter(None, (text(item.get("model")) for item in session.written[::-1])), ""),
        session_id=text(about.get("sessionId")) or source.name,
        cwd=text(directories[0]) if isinstance(directories, list) and directories else "",
        started=moment(about.get("startTime")) or min(times, default=None),
        updated=moment(about.get("lastUpdated")) or max(times, default=None),
        spent=total(item.record for item in items if isinstance(item.record, Usage)),
    )


def _messages(items: list[Item]) -> Iterator[Message]:
    return (item.record for item in items if isinstance(item.record, Message))


def _replayed(source: Source, problems: list[Problem]) -> Session:
    """Replay a file: its lines, or the one object that it is."""
    session = Session()
    document = source.document
    if document is not ABSENT:
        problems += source.document_problems
        given = {"messages": document} if isinstance(document, list) else table(document)
        history = given.get("history")
        session.set({**given, "messages": history} if isinstance(history, list) else given)
        return session
    for line in lines(source.data):
        for value in values(source.data, line, problems):
            record = table(value.value)
            if isinstance(record.get("$set"), dict):
                session.set(record["$set"])
            elif "$rewindTo" in record:
                session.rewind(record["$rewindTo"])
            elif "sessionId" in record and "type" not in record:
                session.set(record)
            elif "type" in record:
                session.put(record)
            else:
                problems.append(at_line(line, "entry", "an entry is no message and no change"))
    return session


def _is_command(message: dict[str, Any]) -> bool:
    """Tell whether a user's message is a command to the program, which is not sent."""
    if message.get("type") != "user":
        return False
    return leading_text(_content(message.get("content"))).strip().startswith(_COMMANDS)


def _items(message: dict[str, Any], whole_one: dict[str, Any]) -> list[Item]:
    """Turn a message into items: itself, its usage, its results, each with its whole form."""
    found = list(_records(message))
    if whole_one is message:
        return [Item(record=record) for record in found]
    before = {_slot(record): record for record in _records(whole_one)}
    items: list[Item] = []
    for record in found:
        old = before.get(_slot(record))
        if not isinstance(old, Message) or _said(old) == _said(record):
            old = None
        items.append(Item(record=record, whole=old))
    return items


def _slot(record: Message | Usage) -> str:
    """Name what a record is within its message: a result by its call."""
    return record.tool_call_id or "" if isinstance(record, Message) else "usage"


def _said(record: Message | Usage | None) -> object:
    return (record.content, record.tool_calls) if isinstance(record, Message) else None


def _records(message: dict[str, Any]) -> Iterator[Message | Usage]:
    """Give what a message says, as records."""
    at = moment(message.get("timestamp"))
    if isinstance(message.get("parts"), list):
        yield from _raw(message)
        return
    kind = text(message.get("type"))
    if kind != "gemini":
        content = _content(message.get("content"))
        role = role_of({"role": kind})
        yield Message(role=role, content=content, at=at, origin=_origin(role, content))
        return
    yield _reply(message, at)
    counts = _usage(table(message.get("tokens")), text(message.get("model")))
    if counts is not None:
        yield counts
    for call in _calls(message):
        if call.get("result") is not None:
            yield replace(_result(call), at=moment(call.get("timestamp")))


def _raw(message: dict[str, Any]) -> Iterator[Message]:
    """Give a message in the form that is sent, as checkpoints of a chat have it."""
    given = [table(part) for part in message["parts"]]
    answers = [table(part["functionResponse"]) for part in given if "functionResponse" in part]
    for answer in answers:
        yield _result({"id": answer.get("id"), "result": [{"functionResponse": answer}]})
    calls = [table(part["functionCall"]) for part in given if "functionCall" in part]
    rest = [part for part in given if "functionCall" not in part and "functionResponse" not in part]
    if message.get("role") == "model":
        made = tuple(map(_call, calls)) or None
        content = _content(rest)
        yield Message(role="assistant", content=content, tool_calls=made, origin="assistant")
    elif rest or not answers:
        content = _content(rest)
        yield Message(role="user", content=content, origin=_origin("user", content))


def _origin(role: str, content: Content) -> str | None:
    """Say who wrote a message."""
    if role != "user":
        return None
    lead = leading_text(content).lstrip()
    if _STATE in lead[:_STATE_WITHIN]:
        return "summary"
    return "injection" if lead.startswith(_INJECTED) else "user"


def _reply(message: dict[str, Any], at: float | None) -> Message:
    """Make a reply: its thoughts, its text, its calls."""
    thoughts = message.get("thoughts")
    parts: list[Part] = [
        ThinkPart(
            "\n".join(filter(None, (text(item.get("subject")), text(item.get("description")))))
        )
        for item in map(table, thoughts if isinstance(thoughts, list) else ())
    ]
    blocks = _blocks(message.get("content"))
    parts += [_part(block) for block in blocks if "functionCall" not in table(block)]
    calls = tuple(map(_call, _calls(message)))
    return Message(
        role="assistant", content=stored(parts), tool_calls=calls or None, at=at, origin="assistant"
    )


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the calls of a reply. Its content may say the same calls again: those count once."""
    given = message.get("toolCalls")
    calls = [call for call in (given if isinstance(given, list) else ()) if isinstance(call, dict)]
    named = {call.get("id") for call in calls if isinstance(call.get("id"), str)}
    same = {compact_json([call.get("name"), call.get("args")]) for call in calls}
    for block in _blocks(message.get("content")):
        other = table(table(block).get("functionCall"))
        known = text(other.get("id")) in named if text(other.get("id")) else False
        if other and not known and compact_json([other.get("name"), other.get("args")]) not in same:
            calls.append(other)
    return calls


def _call(call: dict[str, Any]) -> ToolCall:
    given = call.get("args", UNSET)
    arguments = given if given is UNSET or isinstance(given, str) else compact_json(given)
    name = text(call.get("name"))
    return ToolCall(
        type="function", id=text(call.get("id")), function=Function(name=name, arguments=arguments)
    )


def _result(call: dict[str, Any]) -> Message:
    """Make the result of a call; what it gave beside its text stays with it."""
    given = call.get("result")
    parts: list[Part] = []
    error = False
    for block in _blocks(given):
        answer = table(table(block).get("functionResponse"))
        if not answer:
            parts.append(_part(block))
            continue
        response = table(answer.get("response"))
        error = error or "error" in response
        said = response.get("error", response.get("output", response))
        words = said if isinstance(said, str) else compact_json(said)
        parts += [TextPart(words)] if words else []
    return tool(text(call.get("id")), stored(parts), error=error)


def _blocks(content: object) -> list[Any]:
    """Give content as a list of parts."""
    if content is None or content == "":
        return []
    return content if isinstance(content, list) else [content]


def _content(content: object) -> str | tuple[Part, ...]:
    return stored([_part(block) for block in _blocks(content) if block != ""])


def _part(block: object) -> Part:
    """Make a part of one of Gemini's; what has no place in ours is kept whole."""
    match block:
        case str():
            return TextPart(block)
        case {"text": str(words), "thought": True}:
            return ThinkPart(words)
        case {"text": str(words)}:
            return TextPart(words)
        case {"inlineData": {"mimeType": str(kind), "data": str(data)}}:
            known = _media(kind, f"data:{kind};base64,{data}")
        case {"fileData": {"mimeType": str(kind), "fileUri": str(url)}}:
            known = _media(kind, url)
        case _:
            known = None
    if known is not None:
        return known
    return OtherPart(block if isinstance(block, dict) else {"type": "unknown", "value": block})


def _media(kind: str, url: str) -> Part | None:
    match kind.partition("/")[0]:
        case "image":
            return ImagePart(MediaUrl(url))
        case "audio":
            return AudioPart(MediaUrl(url))
        case "video":
            return VideoPart(MediaUrl(url))
        case _:
            return None


def _usage(tokens: dict[str, Any], model: str) -> Usage | None:
    """Make a usage record: thoughts stand beside the output, what was cached is in the input."""
    sent, cached = whole(tokens.get("input")), whole(tokens.get("cached"))
    tools, thoughts = whole(tokens.get("tool")) or 0, whole(tokens.get("thoughts")) or 0
    if sent is not None and cached is not None and cached > sent:
        cached = None
    output = whole(tokens.get("output"))
    return usage(
        fresh=None if sent is None else sent - (cached or 0) + tools,
        cache_read=cached,
        output=None if output is None else output + thoughts,
        reasoning=thoughts or None,
        model=model,
    )


FORMAT = Format(
    name="gemini-cli",
    description="Gemini CLI: a session, session-<time>-<id>.json or .jsonl, or a chat's checkpoint",
    looks_for="the keys sessionId and projectHash, or $set and $rewindTo (Gemini CLI)",
    detect=detect,
    read=read,
)
