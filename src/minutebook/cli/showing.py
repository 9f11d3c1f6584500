"""`show`: a conversation as people read it, with nothing in it that could steer the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import replace

from minutebook.cli.harmless import harmless_line
from minutebook.cli.opening import Opened, check_only_conversation, is_session, reading
from minutebook.cli.options import ConversationOption, JsonOption, PartialOption, PathArgument
from minutebook.cli.rendering import LABEL, Page, emit_json, moment, number, plural, working
from minutebook.cli.surveying import store_for_reading, told
from minutebook.context import Context, Mark
from minutebook.following import follow
from minutebook.messages import (
    AudioPart,
    ImagePart,
    Message,
    OtherPart,
    TextPart,
    ThinkPart,
    ToolCall,
    VideoPart,
)
from minutebook.providers.view import make_view
from minutebook.records import Checkpoint, Clear, Compaction, Revert
from minutebook.store.files import FileStore
from minutebook.store.names import folder_of
from minutebook.survey import Marked, last_messages
from minutebook.turns import origin_of, pair

RESULT_LINES = 8
"""How many lines of a tool's result are shown when it is folded."""
TEXT_LINES = 60
THINKING_LINES = 4
FOLLOWED_LAST = 10
"""How many messages are shown before those that come, unless --last says it."""
LINE_CHARACTERS = 400
"""A folded line that is longer is cut there: one line may be a whole file."""
ARGUMENT_CHARACTERS = 200

STYLES = {"user": "bold cyan", "assistant": "bold green", "tool": "bold", "system": "bold"}
QUIET = "bold dim"


class Shown(Struct, frozen=True, kw_only=True):
    """What is to be printed: messages, and what is known of each."""

    prompt: str | None
    messages: tuple[Message, ...]
    pins: frozenset[int]
    tags: Mapping[int, Sequence[str]] = {}
    """The tags of messages, by their number."""
    marks: Mapping[int, Sequence[Mark | Marked]] = {}
    """The checkpoints that stand before a message, by its index; those at the end too."""
    left_out: int = 0
    """How many messages before the first one are not shown."""


UNMARKED = Shown(prompt=None, messages=(), pins=frozenset())
"""What is known of messages that have just come."""

FullOption = Annotated[
    bool, typer.Option("--full", help="Everything ever written, what is no longer sent too.")
]
ViewOption = Annotated[
    bool, typer.Option("--view", help="What is sent to the model, valid for its API.")
]
LastOption = Annotated[
    int | None,
    typer.Option(
        "--last", metavar="N", min=1, help="Only the last N messages.", show_default=False
    ),
]
UnfoldOption = Annotated[
    bool, typer.Option("--unfold", help="Long texts, arguments and results whole.")
]
FollowOption = Annotated[
    bool,
    typer.Option("--follow", help="Go on with what another program writes, until Ctrl-C."),
]


def show(
    path: PathArgument,
    *,
    full: FullOption = False,
    view: ViewOption = False,
    last: LastOption = None,
    unfold: UnfoldOption = False,
    follow: FollowOption = False,
    partial: PartialOption = False,
    conversation: ConversationOption = 0,
    json: JsonOption = False,
) -> None:
    """Print the conversation, for reading.

    Each message has its number, which pin takes, and each checkpoint its id, which revert
    takes. Long texts and results are folded, and control sequences are made harmless.
    """
    if full and view:
        raise typer.BadParameter("give --full or --view, not both", param_hint="--full, --view")
    if follow and (full or view or json):
        what = "--follow goes with none of --full, --view and --json"
        raise typer.BadParameter(what, param_hint="--follow")
    if follow:
        following(path, last=FOLLOWED_LAST if last is None else last, unfold=unfold)
        return
    if last is not None and not full and not view and is_session(path):
        check_only_conversation(path, conversation)
        shown = _end_of(path, last)
    else:
        with reading(path, conversation=conversation) as opened:
            shown = _chosen(opened, full=full, view=view, partial=partial)
        if last is not None:
            shown = _only_last(shown, last)
    if json:
        emit_json(
            {
                "path": str(path),
                "system_prompt": shown.prompt,
                "messages": [
                    message_facts(message, shown.pins, shown.tags) for message in shown.messages
                ],
            }
        )
    else:
        _print(shown, unfold=unfold)


def _chosen(opened: Opened, *, full: bool, view: bool, partial: bool) -> Shown:
    """Choose what is shown: the context, what is sent of it, or everything."""
    context = opened.context
    if full:
        messages = opened.everything(partial=partial)
        return _shown(context, messages)
    if view:
        sent = make_view(context.system_prompt, context.history)
        return replace(_shown(context, sent.messages), prompt=sent.system_prompt)
    marks: dict[int, list[Mark]] = {}
    for mark in context.checkpoints:
        marks.setdefault(mark.messages, []).append(mark)
    return replace(_shown(context, context.history), marks=marks)


def _shown(context: Context, messages: tuple[Message, ...]) -> Shown:
    """Show messages with the marks that the context has for them."""
    return Shown(
        prompt=context.system_prompt, messages=messages, pins=context.pins, tags=context.tags
    )


def _end_of(path: Path, last: int) -> Shown:
    """Choose the last messages of a session of any size; the others only pass by."""
    with store_for_reading(path) as store, working(f"reading {path}") as say:
        if not store.size:
            # An empty session is shown as such, and one that lost its log is an error.
            with reading(path) as opened:
                return _chosen(opened, full=False, view=False, partial=False)
        found = last_messages(told(store, store.replay(), f"reading {path}", say), last)
    marks: dict[int, list[Marked]] = {}
    for mark in found.checkpoints:
        marks.setdefault(mark.messages - found.before, []).append(mark)
    return Shown(
        prompt=None if found.before else found.system_prompt,
        messages=found.messages,
        pins=found.pins,
        tags=found.tags,
        marks=marks,
        left_out=found.before,
    )


def following(path: Path, *, last: int, unfold: bool) -> None:
    """Print the end of a session, then each record that comes, until interrupted."""
    _print(_end_of(path, last), unfold=unfold)
    asyncio.run(_follow(path, Page(), unfold=unfold))


async def _follow(path: Path, page: Page, *, unfold: bool) -> None:
    """Print what another program writes; a record that came meanwhile is not missed."""
    store = await FileStore.open(folder_of(path), mode="r", create=False)
    names: dict[str, str] = {}
    try:
        async for record in follow(store):
            match record:
                case Message():
                    name = names.pop(record.tool_call_id or "", "")
                    names |= {call.id: call.name for call in record.calls}
                    _message(page, record, name, UNMARKED, unfold=unfold)
                case Checkpoint():
                    label = f" {record.label}" if record.label else ""
                    page.line(f"── checkpoint {record.id}{label}", style=LABEL)
                    page.blank()
                case Compaction() | Revert() | Clear():
                    page.line(f"── {record.content}", style=LABEL)
                    page.blank()
                case _:
                    pass
    finally:
        await store.close()


def _only_last(shown: Shown, last: int) -> Shown:
    skipped = max(len(shown.messages) - last, 0)
    return Shown(
        prompt=shown.prompt if not skipped else None,
        messages=shown.messages[skipped:],
        pins=shown.pins,
        tags=shown.tags,
        marks={index - skipped: marks for index, marks in shown.marks.items() if index >= skipped},
        left_out=skipped,
    )


def message_facts(
    message: Message, pins: frozenset[int], tags: Mapping[int, Sequence[str]]
) -> dict[str, Any]:
    """Describe a message as a JSON value."""
    return {
        "seq": message.seq,
        "role": message.role,
        "origin": origin_of(message),
        "at": message.at,
        "active": message.active,
        "pinned": message.seq in pins,
        "tags": list(tags.get(message.seq or 0, ())),
        "elided": message.elided or None,
        "text": message.text,
        "thinking": message.thinking,
        "media": [medium for medium in map(_medium, message.parts) if medium],
        "calls": [
            {"id": call.id, "name": call.name, "arguments": call.function.arguments or None}
            for call in message.calls
        ],
        "call_id": message.tool_call_id,
    }


def _print(shown: Shown, *, unfold: bool) -> None:
    page = Page()
    if shown.prompt is None and not shown.messages:
        page.line("no messages", style=LABEL)
    if shown.prompt is not None:
        page.heading("system prompt", plural(len(shown.prompt), "character"))
        _text(page, shown.prompt, TEXT_LINES, unfold=unfold)
        page.blank()
    if shown.left_out:
        page.line(f"… {plural(shown.left_out, 'message')} before", style=LABEL)
        page.blank()
    names = _names_of_results(shown.messages)
    for index, message in enumerate(shown.messages):
        _marks(page, shown.marks.get(index, ()))
        _message(page, message, names.get(index, ""), shown, unfold=unfold)
    _marks(page, shown.marks.get(len(shown.messages), ()))


def _marks(page: Page, marks: Sequence[Mark | Marked]) -> None:
    for mark in marks:
        label = f" {mark.label}" if mark.label else ""
        page.line(f"── checkpoint {mark.id}{label}", style=LABEL)
    if marks:
        page.blank()


def _names_of_results(messages: Sequence[Message]) -> dict[int, str]:
    """Give for each result, by its index, the name of the tool that was called."""
    return {
        result: messages[index].calls[call].name
        for (index, call), result in pair(messages).results.items()
    }


def _message(page: Page, message: Message, tool: str, shown: Shown, *, unfold: bool) -> None:
    origin = origin_of(message)
    who = message.role if origin in {message.role, "user"} else f"{origin} ({message.role})"
    notes = [
        tool,
        moment(message.at),
        "pinned" if message.seq in shown.pins else "",
        ", ".join(f"#{harmless_line(tag)}" for tag in shown.tags.get(message.seq or 0, ())),
        f"shortened by {message.elided}" if message.elided else "",
        "" if message.active else "no longer sent",
    ]
    style = STYLES.get(message.role, QUIET) if origin in STYLES else QUIET
    number_of = f"{message.seq} " if message.seq is not None else ""
    page.heading(f"{number_of}{who}", " · ".join(filter(None, notes)), style=style)
    lines = RESULT_LINES if message.role == "tool" else TEXT_LINES
    for part in message.parts:
        match part:
            case TextPart(text=text):
                _text(page, text, lines, unfold=unfold)
            case ThinkPart(think=text):
                _text(page, text, THINKING_LINES, unfold=unfold, style="dim", lead="│ ")
            case _:
                page.line(f"[{_medium(part)}]", style=LABEL, indent=2)
    for call in message.calls:
        page.line(f"→ {_call(call, unfold=unfold)}", indent=2)
    page.blank()


def _text(
    page: Page, text: str, most: int, *, unfold: bool, style: str = "", lead: str = ""
) -> None:
    """Print text, indented; of a long one the beginning, and how much more there is."""
    lines = text.strip("\n").split("\n")
    if not unfold:
        rest = len(lines) - most
        # One line more takes no more room than saying that there is one.
        if rest > 1:
            lines = lines[:most]
        lines = [_cut(line, LINE_CHARACTERS) for line in lines]
        if rest > 1:
            lines.append(f"… {plural(rest, 'more line')}")
    page.block("\n".join(lines), style=style, indent=2, lead=lead)


def _call(call: ToolCall, *, unfold: bool) -> str:
    """Write a call on one line."""
    arguments = harmless_line(call.arguments)
    if not unfold:
        arguments = _cut(arguments, ARGUMENT_CHARACTERS)
    return f"{call.name} {arguments}"


def _cut(line: str, most: int) -> str:
    if len(line) <= most + 40:
        return line
    return f"{line[:most]} … {number(len(line) - most)} more characters"


def _medium(part: object) -> str:
    """Name a part that is neither text nor thinking, with the beginning of its address."""
    match part:
        case ImagePart(image_url=link):
            return f"image {_address(link.url)}"
        case AudioPart(audio_url=link):
            return f"audio {_address(link.url)}"
        case VideoPart(video_url=link):
            return f"video {_address(link.url)}"
        case OtherPart(data=data):
            return f"part of the type {data.get('type')!r}"
        case _:
            return ""


def _address(url: str) -> str:
    """Give an address; of a data URI its type and size."""
    if url.startswith("data:"):
        return f"{url[5:].partition(',')[0][:60]}, {plural(len(url), 'character')}"
    return _cut(url, ARGUMENT_CHARACTERS)
