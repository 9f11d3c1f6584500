"""opencode sessions (and Kilo's since version 7): an export, or a session in its storage. Pure.

An export is one object, `{info, messages: [{info, parts}]}`. The storage of versions until
February 2026 is a file for each of these: `storage/session/<project>/<session>.json`,
`storage/message/<session>/<message>.json`, `storage/part/<message>/<part>.json`; there the ids
are those of the paths. One message of the assistant is one step; a call and its result are one
part of it.

A compaction is a user's message with a `compaction` part and an assistant's with `summary`,
behind which stands what the compaction keeps, and what follows. An unfinished or failed one
hides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

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
from minutebook.formats.source import Source, loads, whole_file
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
    TextPart,
    ThinkPart,
    ToolCall,
    replace,
    tool,
)
from minutebook.records import Usage

COMPACTION_NOTICE = "[Here the agent asked for a summary of the conversation so far.]"
"""What stands for the request for a summary. Our words: the client puts its own in."""
_SIGNATURES = ("signature", "reasoningEncryptedContent", "reasoningOpaque", "thoughtSignature")
"""Under what names providers keep what is opaque of a thought, inside `metadata`."""


class _Entry(NamedTuple):
    """One message: what is said of it, and its parts."""

    id: str
    info: dict[str, Any]
    parts: list[dict[str, Any]]


def detect(source: Source) -> str | None:
    """Give the evidence that the file is an export, or a session of the storage."""
    document = table(source.document)
    info = table(document.get("info"))
    messages = document.get("messages")
    if isinstance(messages, list):
        first = next((item for item in map(table, messages) if "info" in item), None)
        if first is not None and isinstance(first.get("parts"), list):
            return "an object with messages that have the keys info and parts"
        if not messages and "projectID" in info:
            return "an object with the keys info and messages, and info has a projectID"
    if "projectID" in document and text(document.get("id")).startswith("ses"):
        return "an object with an id of a session and the key projectID"
    return None


def beside(source: Source) -> tuple[str, ...]:
    """Name the files of a session in the storage: its messages, then their parts."""
    session = table(source.document)
    name = _component(source.name)
    if "projectID" not in session or not name:
        return ()
    messages = [path for path in source.beside if path.startswith("../../message/")]
    ids = [_component(path.rpartition("/")[2].removesuffix(".json")) for path in messages]
    parts = (f"../../part/{found}/*.json" for found in ids if found)
    return (f"../../message/{name}/*.json", *parts)


def _component(name: str) -> str:
    """Give a name that is one component of a path and no pattern, else the empty string."""
    safe = all(char.isalnum() or char in "_-" for char in name)
    return name if safe else ""


def read(source: Source, index: int) -> Reading:
    """Read an export, or a session of the storage."""
    only_one(source, index)
    problems: list[Problem] = list(source.document_problems)
    document = table(source.document)
    session = table(document.get("info")) if "messages" in document else document
    entries = _entries(source, document, problems)
    left_from, shown = _reverted(session, entries)
    items: list[Item] = []
    places: list[list[int]] = []
    why: dict[int, Why] = {}
    for at, entry in enumerate(entries):
        found = _items(entry, shown if at == left_from - 1 else len(entry.parts))
        places.append([len(items) + number for number in range(len(found))])
        reason: Why | None = "unsent" if _is_unsent(entry) else None
        for placed in found:
            fate = "abandoned" if at >= left_from or placed.hidden else reason
            if fate is not None:
                why[len(items)] = fate
            items.append(placed.item)
    order, summary = _context(entries[:left_from])
    records, left_out = arrange(
        items,
        sent=[place for at in order for place in places[at] if place not in why],
        why=why,
        # A summary's own usage counts what it was made of, not what is left.
        counted_from=places[summary][-1] + 1 if summary >= 0 else 0,
    )
    named, made_up = with_call_ids(records)
    kinds = [text(part.get("type")) for entry in entries for part in entry.parts]
    counts = counted(
        (record for record in named if isinstance(record, Message)),
        compactions=sum(entry.info.get("summary") is True for entry in entries),
        abandoned=sum(item.why == "abandoned" for item in left_out),
        unsent=sum(item.why == "unsent" for item in left_out),
        blanked=sum(item.why == "blanked" for item in left_out),
        reverts=left_from < len(entries) or any(fate == "abandoned" for fate in why.values()),
        snapshots=kinds.count("snapshot") + kinds.count("patch"),
        made_up_ids=made_up,
        message_ids=sum(bool(entry.id) for entry in entries),
    )
    created = table(session.get("time")).get("created")
    times = [stamp for entry in entries if (stamp := _created(entry.info)) is not None]
    return Reading(
        format=FORMAT.name,
        evidence=detect(source) or "",
        records=with_checkpoints(named),
        left_out=left_out,
        counts=counts,
        problems=tuple(problems),
        title=text(session.get("title")),
        agent="opencode",
        agent_version=text(session.get("version")),
        model=_model(session, entries),
        session_id=text(session.get("id")) or source.name,
        parent_session=text(session.get("parentID")),
        cwd=text(session.get("directory")),
        started=min(times, default=moment(created)),
        updated=max(times, default=moment(table(session.get("time")).get("updated"))),
        spent=total(item.record for item in items if isinstance(item.record, Usage)),
    )


def _entries(source: Source, document: dict[str, Any], problems: list[Problem]) -> list[_Entry]:
    """Give the messages, in the order of their ids in the storage, of the list in an export."""
    given = document.get("messages")
    if isinstance(given, list):
        found = [table(entry) for entry in given]
        return [
            _Entry(text(info.get("id")), info, _parts(entry.get("parts")))
            for entry in found
            if isinstance(info := entry.get("info"), dict)
        ]
    messages: dict[str, dict[str, Any]] = {}
    parts: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(source.beside):
        value, _mended = loads(source.beside[path])
        kind, owner, name = path.rsplit("/", 3)[-3:]
        own = name.removesuffix(".json")
        if not isinstance(value, dict):
            problems.append(whole_file(source.data, "bad", f"{kind} {own} cannot be read"))
        elif kind == "message":
            messages[own] = {**value, "id": own}
        else:
            parts.setdefault(owner, []).append(value)
    orphans = sum(len(parts[owner]) for owner in parts if owner not in messages)
    if orphans:
        what = f"{orphans} parts belong to messages that are not there"
        problems.append(whole_file(source.data, "orphans", what))
    return [_Entry(own, messages[own], parts.get(own, [])) for own in sorted(messages)]


def _parts(given: object) -> list[dict[str, Any]]:
    return [part for part in given if isinstance(part, dict)] if isinstance(given, list) else []


def _reverted(session: dict[str, Any], entries: Sequence[_Entry]) -> tuple[int, int]:
    """Say from which message on a revert hides all, and how many parts the one before shows."""
    revert = table(session.get("revert"))
    name = text(revert.get("messageID"))
    at = next((at for at, entry in enumerate(entries) if name and entry.id == name), len(entries))
    part = text(revert.get("partID"))
    if at == len(entries):
        return at, len(entries[-1].parts) if entries else 0
    ids = [text(found.get("id")) for found in entries[at].parts]
    if part in ids and ids.index(part) > 0:
        return at + 1, ids.index(part)
    return at, len(entries[at - 1].parts) if at else 0


def _context(entries: Sequence[_Entry]) -> tuple[list[int], int]:
    """Give which messages are sent, in order, and the last compaction's summary, -1 for none."""
    by_id = {entry.id: at for at, entry in enumerate(entries)}
    for summary in reversed(range(len(entries))):
        info = entries[summary].info
        if info.get("summary") is not True or not info.get("finish") or info.get("error"):
            continue
        request = by_id.get(text(info.get("parentID")), summary)
        if request <= summary:
            kept = _kept(entries, request, by_id)
            behind = range(summary + 1, len(entries))
            return [*range(request, summary + 1), *range(kept, request), *behind], summary
    return list(range(len(entries))), -1


def _kept(entries: Sequence[_Entry], request: int, by_id: dict[str, int]) -> int:
    """Give the first message before a compaction that it keeps; the request itself for none."""
    for part in entries[request].parts:
        if part.get("type") == "compaction":
            return min(by_id.get(text(part.get("tail_start_id")), request), request)
    return request


def _is_unsent(entry: _Entry) -> bool:
    """Tell whether a reply is kept back: it failed, or was cut off before it said anything."""
    error = entry.info.get("error")
    if not error or entry.info.get("role") != "assistant":
        return False
    kinds = [text(part.get("type")) for part in entry.parts]
    said = any(kind not in {"step-start", "reasoning"} for kind in kinds)
    return table(error).get("name") != "MessageAbortedError" or not said


class _Placed(NamedTuple):
    """An item of a message, and whether a revert hides it."""

    item: Item
    hidden: bool


def _items(entry: _Entry, shown: int) -> list[_Placed]:
    """Turn a message into items: itself, its usage, its results. Parts from *shown* on hide."""
    whole_one = _message(entry, entry.parts)
    if whole_one.role != "assistant":
        return [_Placed(Item(record=whole_one), hidden=False)]
    first = Item(record=whole_one)
    if shown < len(entry.parts):
        first = Item(record=_message(entry, entry.parts[:shown]), whole=whole_one)
    found = [_Placed(first, hidden=False)]
    counts = _usage(table(entry.info.get("tokens")), text(entry.info.get("modelID")))
    if counts is not None:
        found.append(_Placed(Item(record=counts), hidden=False))
    for number, part in enumerate(entry.parts):
        if part.get("type") == "tool":
            result = _result(part)
            if result is not None:
                found.append(_Placed(result, hidden=number >= shown))
    return found


def _message(entry: _Entry, given: Sequence[dict[str, Any]]) -> Message:
    """Make a message of some of its parts."""
    role = role_of(entry.info)
    parts = [part for found in given if (part := _part(found)) is not None]
    calls = [_call(part) for part in given if part.get("type") == "tool"]
    return Message(
        role=role,
        content=stored(parts),
        tool_calls=tuple(calls) or None if role == "assistant" else None,
        at=_created(entry.info),
        origin=_origin(role, entry),
    )


def _origin(role: str, entry: _Entry) -> str | None:
    """Say who wrote a message."""
    if role == "assistant":
        return "summary" if entry.info.get("summary") is True else "assistant"
    if any(part.get("type") == "compaction" for part in entry.parts):
        return "notice"
    texts = [part for part in entry.parts if part.get("type") == "text"]
    made = bool(texts) and all(part.get("synthetic") is True for part in texts)
    return "injection" if made else "user" if role == "user" else None


def _part(part: dict[str, Any]) -> Part | None:
    """Make a part of one; none of what is no content. Unknown kinds are kept whole."""
    match part:
        case {"type": "text", "text": str(words)} if part.get("ignored") is not True:
            return TextPart(words) if words else None
        case {"type": "reasoning", "text": str(thought)}:
            signature = _signature(table(part.get("metadata")))
            return ThinkPart(thought, UNSET if signature is None else signature)
        case {"type": "file", "mime": str(kind), "url": str(url)} if kind.startswith("image/"):
            return ImagePart(MediaUrl(url))
        case {"type": "compaction"}:
            return TextPart(COMPACTION_NOTICE)
        case {"type": "tool" | "step-start" | "step-finish" | "snapshot" | "patch" | "retry"}:
            return None
        case _:
            return OtherPart(part)


def _signature(metadata: dict[str, Any]) -> str | None:
    """Give what is opaque of a thought, under whatever provider's name it is kept."""
    for found in map(table, metadata.values()):
        for name in _SIGNATURES:
            if isinstance(found.get(name), str):
                return str(found[name])
    return None


def _call(part: dict[str, Any]) -> ToolCall:
    """Make a call of a part that holds a call and its result."""
    given = table(part.get("state")).get("input", UNSET)
    arguments = given if given is UNSET or isinstance(given, str) else compact_json(given)
    name = text(part.get("tool"))
    return ToolCall(
        type="function",
        id=text(part.get("callID")),
        function=Function(name=name, arguments=arguments),
    )


def _result(part: dict[str, Any]) -> Item | None:
    """Make the result of a call; none while it was running, as a crash leaves it."""
    state = table(part.get("state"))
    status = text(state.get("status"))
    if status not in {"completed", "error"}:
        return None
    said = text(state.get("error" if status == "error" else "output"))
    media = [item for found in _parts(state.get("attachments")) if (item := _part(found))]
    times = table(state.get("time"))
    content = stored([*([TextPart(said)] if said else []), *media])
    result = replace(
        tool(text(part.get("callID")), content, error=status == "error"),
        at=moment(times.get("end")),
    )
    if times.get("compacted"):
        return Item(record=replace(result, content=CLEARED_NOTICE, elided="mask"), whole=result)
    return Item(record=result)


def _created(info: dict[str, Any]) -> float | None:
    return moment(table(info.get("time")).get("created"))


def _model(session: dict[str, Any], entries: Sequence[_Entry]) -> str:
    """Give the model of the last reply, else that of the session."""
    names = (text(entry.info.get("modelID")) for entry in reversed(entries))
    return next(filter(None, names), "") or text(table(session.get("model")).get("id"))


def _usage(tokens: dict[str, Any], model: str) -> Usage | None:
    """Make a usage record of a step's counts. Thinking may stand beside the output or in it.

    It stands beside where the total says so; without a total it is taken as part of the output
    where it can be.
    """
    cache = table(tokens.get("cache"))
    sent, output = whole(tokens.get("input")), whole(tokens.get("output"))
    read_tokens, written = whole(cache.get("read")), whole(cache.get("write"))
    thought = whole(tokens.get("reasoning")) or 0
    all_counted = whole(tokens.get("total"))
    known = sum(count or 0 for count in (sent, output, read_tokens, written))
    beside_output = thought > (output or 0) if all_counted is None else all_counted > known
    return usage(
        fresh=sent,
        cache_read=read_tokens,
        cache_write=written,
        output=(output or 0) + thought if beside_output else output,
        reasoning=thought or None,
        model=model,
    )


FORMAT = Format(
    name="opencode",
    description="opencode: an export of a session, or a session's file in its storage (also Kilo)",
    looks_for="an object with messages of info and parts, or one with projectID (opencode)",
    detect=detect,
    read=read,
    beside=beside,
)
