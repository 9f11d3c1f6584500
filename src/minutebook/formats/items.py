"""Items of OpenAI's Responses API, which Codex stores too. Pure.

A reply is several items: reasoning, text, calls. They become one message, as long as nothing
else stands between them. What has no place in our model (a web search that the provider ran, a
compaction that only it can read) stays whole as a part of its kind.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from minutebook.formats.blocks import part_of as block_part
from minutebook.formats.mapping import compact_json, role_of, stored, table, text
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
)

COMPACTIONS = frozenset({"compaction", "compaction_summary", "context_compaction"})
"""Kinds of items that stand for a history which only the provider can read."""
SNAPSHOTS = frozenset({"ghost_snapshot"})
"""Kinds of items that are no part of a conversation: the state of the files, for an undo."""
_OUTPUT = "_output"
_CALLS = {
    "function_call": "function",
    "custom_tool_call": "custom",
    "local_shell_call": "function",
    "tool_search_call": "function",
    "mcp_approval_request": "function",
}
"""Kinds of items that are calls which the client answers, and our type of them."""
RESULTS = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
        "tool_search_output",
        "mcp_tool_call_output",
        "mcp_approval_response",
    }
)
"""Kinds of items that answer a call."""
CLUES = frozenset(_CALLS) | RESULTS | COMPACTIONS | {"web_search_call", "file_search_call"}
"""Kinds of items that no other form of conversation has."""


class Piece(Struct, frozen=True, kw_only=True):
    """One item: a message of its own, or a piece of a reply."""

    role: str
    parts: tuple[Part, ...] = ()
    call: ToolCall | None = None
    call_id: str | None = None
    """Of a result: the call that it answers."""
    origin: str | None = None
    key: Hashable = None
    """Equal for equal items; none for one that has no copies."""
    at: float | None = None

    @property
    def of_reply(self) -> bool:
        """Whether it is a piece of a reply, which neighbours may belong to."""
        return self.role == "assistant"


def piece_of(item: dict[str, Any], *, at: float | None = None) -> Piece | None:
    """Make a piece of an item; none of one that is no part of the conversation."""
    kind = text(item.get("type")) or ("message" if "role" in item else "")
    if kind in SNAPSHOTS:
        return None
    if kind == "message":
        role = role_of(item)
        parts = tuple(content_parts(item.get("content")))
        return Piece(role=role, parts=parts, key=(role, compact_json(parts)), at=at)
    if kind == "reasoning":
        thought = _thought(item)
        return Piece(
            role="assistant", parts=(thought,), key=("think", compact_json(thought)), at=at
        )
    if kind in _CALLS:
        call = _call(item, kind)
        return Piece(role="assistant", call=call, key=("call", call.id or None), at=at)
    if kind in RESULTS:
        call_id = text(item.get("call_id")) or text(item.get("approval_request_id"))
        parts = tuple(content_parts(_output(item)))
        return Piece(role="tool", parts=parts, call_id=call_id, key=("result", call_id), at=at)
    origin = "summary" if kind in COMPACTIONS else None
    other = OtherPart(item)
    return Piece(role="assistant", parts=(other,), origin=origin, key=compact_json(item), at=at)


def content_parts(content: object) -> list[Part]:
    """Make parts of the content of a message or a result."""
    if isinstance(content, str):
        return [TextPart(content)] if content else []
    if content is None:
        return []
    return [_part(item) for item in (content if isinstance(content, list) else [content])]


def _part(item: object) -> Part:
    """Make a part of one item of a content list; what has no place in ours is kept whole."""
    match item:
        case {"type": "input_text" | "output_text" | "summary_text", "text": str(words)}:
            return TextPart(words)
        case {"type": "refusal", "refusal": str(words)}:
            return TextPart(words)
        case {"type": "input_image" | "output_image", "image_url": {"url": str(url)} | str(url)}:
            return ImagePart(MediaUrl(url))
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind)}}:
            return AudioPart(MediaUrl(f"data:audio/{kind};base64,{data}"))
        case _:
            return block_part(item)


def _thought(item: dict[str, Any]) -> ThinkPart:
    """Make a part of a reasoning item: its own text where it has one, else its summary."""
    said = _texts(item.get("content")) or _texts(item.get("summary"))
    encrypted = item.get("encrypted_content")
    return ThinkPart("\n".join(said), encrypted if isinstance(encrypted, str) else UNSET)


def _texts(entries: object) -> list[str]:
    """Give the texts of a list of entries that each have one."""
    return [
        said
        for entry in (entries if isinstance(entries, list) else ())
        if (said := text(table(entry).get("text")))
    ]


def _call(item: dict[str, Any], kind: str) -> ToolCall:
    """Make a call. What a shell or a search is asked stands under keys of their own."""
    given = next((item[key] for key in ("arguments", "input", "action") if key in item), UNSET)
    arguments: str | UnsetType | None
    if given is None or isinstance(given, str | UnsetType):
        arguments = given
    else:
        arguments = compact_json(given)
    name = text(item.get("name")) or kind.removesuffix("_call")
    space = text(item.get("namespace")).rstrip("_")
    return ToolCall(
        type=_CALLS[kind],
        id=text(item.get("call_id")) or text(item.get("id")),
        function=Function(name=f"{space}__{name}" if space else name, arguments=arguments),
    )


def _output(item: dict[str, Any]) -> object:
    """Give what a result says; of one that lists tools or decides, that as JSON text."""
    if "output" in item:
        output = item["output"]
        if isinstance(output, dict):
            # As Codex held it in memory once: the text, and whether the call succeeded.
            return output["content"] if "content" in output else compact_json(output)
        return output
    rest = {key: value for key, value in item.items() if key not in {"type", "call_id", "id"}}
    return compact_json(rest)


def joined(pieces: Sequence[Piece]) -> Message:
    """Make one message of the pieces of a reply, or of the one piece of another message.

    Raises `IndexError` for none.
    """
    first = pieces[0]
    parts = [part for piece in pieces for part in piece.parts]
    calls = tuple(piece.call for piece in pieces if piece.call is not None)
    origin = next((piece.origin for piece in pieces if piece.origin is not None), None)
    if origin is None and first.role in {"assistant", "tool"}:
        origin = first.role
    role = "system" if first.role == "developer" else first.role
    return Message(
        role=role,
        content=stored(parts),
        tool_calls=calls or None,
        tool_call_id=first.call_id if role == "tool" else None,
        at=first.at,
        origin=origin,
    )


def groups(pieces: Iterable[Piece | None]) -> list[list[int]]:
    """Give which pieces stand together in one message, by index.

    A none among them is a place at which a reply ends. A reply that has become a summary
    stands alone, since it belongs to no other.
    """
    found: list[list[int]] = []
    open_reply = False
    for index, piece in enumerate(pieces):
        if piece is None:
            open_reply = False
            continue
        alone = not piece.of_reply or piece.origin == "summary"
        if open_reply and not alone:
            found[-1].append(index)
        else:
            found.append([index])
        open_reply = not alone
    return found
