"""Messages and their parts: the vocabulary of a conversation. Values only, no I/O.

The JSON shape is the one that Kimi CLI writes: `content` is a string when it is one
text part, else a list; a tool call's `arguments` is a JSON string and may be missing or
null. The struct holds what we understand; the bytes of a line are kept by the log, so
keys that are not named here survive every rewrite.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field, structs

from minutebook.errors import InvalidMessage

Origin = Literal[
    "user", "assistant", "tool", "summary", "notice", "dmail", "injection", "checkpoint", "import"
]
"""Who really wrote a message; a message without it is judged by its text (see `turns`)."""


class TextPart(Struct, frozen=True, gc=False, tag_field="type", tag="text"):
    """Plain text."""

    text: str


class ThinkPart(Struct, frozen=True, gc=False, tag_field="type", tag="think"):
    """A model's thinking, with the provider's signature or cipher text where it gave one."""

    think: str
    encrypted: str | UnsetType | None = UNSET
    """Opaque to us: goes back to the provider that made it, unchanged."""


class MediaUrl(Struct, frozen=True, gc=False):
    """Where a picture, sound or film is: an http address or a data URI."""

    url: str
    id: str | UnsetType | None = UNSET


class ImagePart(Struct, frozen=True, gc=False, tag_field="type", tag="image_url"):
    """A picture."""

    image_url: MediaUrl


class AudioPart(Struct, frozen=True, gc=False, tag_field="type", tag="audio_url"):
    """A sound."""

    audio_url: MediaUrl


class VideoPart(Struct, frozen=True, gc=False, tag_field="type", tag="video_url"):
    """A film."""

    video_url: MediaUrl


class OtherPart(Struct, frozen=True, gc=False, tag_field="type", tag="_other"):
    """A part of a kind that is not known here, kept whole. The view leaves it out."""

    data: dict[str, Any]
    """The JSON object as it was read, its `type` included."""


Part = TextPart | ThinkPart | ImagePart | AudioPart | VideoPart | OtherPart
Content = str | tuple[Part, ...] | None


class Function(Struct, frozen=True, gc=False):
    """What a tool call calls."""

    name: str
    arguments: str | UnsetType | None = UNSET
    """A JSON text as the model wrote it; may be null, missing, or broken JSON."""


class ToolCall(Struct, frozen=True, gc=False):
    """One call of a tool by the model."""

    type: str
    id: str
    function: Function

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.function.name

    @property
    def arguments(self) -> str:
        """The arguments' JSON text; empty when the line has none."""
        return self.function.arguments or ""


class Message(Struct, frozen=True, gc=False, omit_defaults=True):
    """One message of the conversation, frozen. Make it with `user`, `assistant`, `tool`, `system`.

    `gc=False`: parts and calls cannot form cycles, and a history of a hundred thousand
    messages must not cost a garbage collection walk.
    """

    role: str
    """system, user, assistant, tool, or a role that is not known here (kept, not sent)."""
    content: Content
    name: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    tool_call_id: str | None = None
    at: float | None = None
    """When it was written, in seconds since 1970 (UTC). Never used for order."""
    origin: str | None = None
    """Who really wrote it (`Origin`)."""
    pin: bool = False
    """Written as pinned. `Context.pins` also knows what was pinned later."""
    elided: str = ""
    """The step that shortened this copy (`mask`, `clip`); the original is in a rotation."""
    seq: int | None = None
    """The message's number in its session, from 1; given at append, never used twice."""
    active: bool = field(default=True, name="_active")
    """False for a message of the full history that the context no longer holds. Never written."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as parts, whatever its form; no part for empty content."""
        content = self.content
        if isinstance(content, str):
            return (TextPart(content),) if content else ()
        return content or ()

    @property
    def text(self) -> str:
        """All text parts, joined by newlines; thinking and media left out."""
        content = self.content
        if isinstance(content, str):
            return content
        return "\n".join(part.text for part in content or () if isinstance(part, TextPart))

    @property
    def thinking(self) -> str:
        """All thinking parts, joined by newlines."""
        return "\n".join(part.think for part in self.parts if isinstance(part, ThinkPart))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls; an empty tuple when there are none."""
        return self.tool_calls or ()


Input = str | Part | tuple[Part, ...] | list[Part]
"""What the constructors take as content."""


def user(content: Input, *, name: str | None = None, pin: bool = False) -> Message:
    """Make a user's message."""
    return Message(role="user", content=as_content(content), name=name, pin=pin, origin="user")


def assistant(
    content: Input = "",
    *,
    tool_calls: tuple[ToolCall, ...] | list[ToolCall] = (),
    thinking: str = "",
) -> Message:
    """Make a model's reply: text or parts, tool calls, and thinking before them."""
    value = as_content(content)
    if thinking:
        rest = (TextPart(value),) if isinstance(value, str) and value else value or ()
        value = (ThinkPart(thinking), *rest)
    return Message(
        role="assistant",
        content=value,
        tool_calls=tuple(tool_calls) or None,
        origin="assistant",
    )


def tool(call_id: str, content: Input, *, error: bool = False) -> Message:
    """Make the result of the call *call_id*; *error* marks it as failed, in Kimi CLI's way."""
    value = as_content(content)
    if error:
        rest = (TextPart(value),) if isinstance(value, str) else value or ()
        value = (TextPart("<system>ERROR: the tool failed.</system>"), *rest)
    return Message(role="tool", content=value, tool_call_id=call_id, origin="tool")


def system(content: Input) -> Message:
    """Make a system message inside the history. The system prompt is set on the session."""
    return Message(role="system", content=as_content(content))


def call(call_id: str, name: str, arguments: str | None = "{}") -> ToolCall:
    """Make a tool call; *arguments* is a JSON text."""
    return ToolCall(type="function", id=call_id, function=Function(name=name, arguments=arguments))


def as_content(content: Input) -> str | tuple[Part, ...]:
    """Bring content into its stored form: a string for one text, else a tuple of parts.

    Raises:
        InvalidMessage: If it is neither text nor parts.
    """
    if isinstance(content, str):
        return content
    parts = (content,) if isinstance(content, Struct) else tuple(content)
    for part in parts:
        if not isinstance(part, Part):
            raise InvalidMessage(f"content takes text or parts, not {type(part).__name__}")
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].text
    return parts


def replace(message: Message, **changes: object) -> Message:
    """Give a copy of *message* with other field values."""
    return structs.replace(message, **changes)
