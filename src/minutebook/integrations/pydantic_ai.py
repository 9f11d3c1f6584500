"""pydantic-ai: a capability that compacts what is sent, and leaves the run's history alone.

Agent(model, capabilities=[compaction("sessions/first", window=200_000)])
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from minutebook.integrations.extras import needing
from minutebook.integrations.mirror import Mirror

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from pydantic_ai.capabilities import AbstractCapability

Plain = dict[str, Any]


def compaction(path: str | os.PathLike[str], **options: Any) -> AbstractCapability[Any]:
    """Make a capability that keeps the conversation in a session and sends what fits.

    One for each conversation. *options* are those of `minutebook.open`, `window` first.

    Raises:
        ConfigError: If pydantic-ai is not installed.
    """
    with needing("pydantic-ai"):
        from pydantic_ai.capabilities import AbstractCapability
    mirror = Mirror(path, **options)

    class MinutebookCapability(
        AbstractCapability[Any]  # type: ignore[misc,unused-ignore]  # Any without pydantic-ai
    ):
        """Sends what fits, before each call of the model; keeps the reply after it."""

        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            """Give the request with what fits; the run's own history stays whole."""
            parts = _parts(ctx.messages)
            sent = await mirror.fitted(
                [plain for _, _, plain in parts], system=ctx.messages[-1].instructions
            )
            return replace(request_context, messages=_joined(ctx.messages, parts, sent))

        async def after_model_request(
            self, ctx: Any, *, request_context: Any, response: Any
        ) -> Any:
            """Keep what the model answered."""
            del request_context
            await mirror.kept([plain for _, _, plain in _parts([*ctx.messages, response])])
            return response

    return MinutebookCapability()


def _parts(messages: Sequence[Any]) -> list[tuple[int, Any, Plain]]:
    """Give each part of requests, and each response, with its message's place and as OpenAI has it.

    A request of pydantic-ai's holds several messages of ours: prompts and results side by side.
    """
    found: list[tuple[int, Any, Plain]] = []
    for place, message in enumerate(messages):
        if message.kind == "response":
            found.append((place, message, _response(message)))
        else:
            found += [(place, part, _request_part(part)) for part in message.parts]
    return found


def _request_part(part: Any) -> Plain:
    match part.part_kind:
        case "system-prompt":
            return {"role": "system", "content": part.content}
        case "tool-return":
            return _result(part.tool_call_id, part.model_response_str())
        case "retry-prompt" if part.tool_name is not None:
            return _result(part.tool_call_id, part.model_response())
        case "retry-prompt":
            return {"role": "user", "content": part.model_response()}
        case _:
            return {"role": "user", "content": _content(part.content)}


def _result(call_id: str, text: str) -> Plain:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def _content(content: Any) -> str | list[Plain]:
    """Give what a user says: a text, or texts and pictures; other media by their kind."""
    if isinstance(content, str):
        return content
    parts: list[Plain] = []
    for one in content or ():
        if isinstance(one, str):
            parts.append({"type": "text", "text": one})
        elif getattr(one, "kind", "") == "image-url":
            parts.append({"type": "image_url", "image_url": {"url": one.url}})
        elif getattr(one, "is_image", False):
            parts.append({"type": "image_url", "image_url": {"url": one.data_uri}})
        else:
            parts.append({"type": "text", "text": f"[{getattr(one, 'kind', type(one).__name__)}]"})
    return parts


def _response(message: Any) -> Plain:
    text = "".join(part.content for part in message.parts if part.part_kind == "text")
    plain: Plain = {"role": "assistant", "content": text}
    calls = [
        {
            "type": "function",
            "id": part.tool_call_id,
            "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
        }
        for part in message.parts
        if part.part_kind == "tool-call"
    ]
    return {**plain, "tool_calls": calls} if calls else plain


def _joined(
    messages: Sequence[Any],
    parts: Sequence[tuple[int, Any, Plain]],
    sent: Sequence[int | Mapping[str, Any]],
) -> list[Any]:
    """Give what is sent as pydantic-ai's messages: its own objects wherever they are whole."""
    names = {
        call["id"]: call["function"]["name"]
        for _, _, plain in parts
        for call in plain.get("tool_calls", ())
    }
    joined: list[tuple[int | None, list[Any]]] = []
    for one in sent:
        place, part = parts[one][:2] if isinstance(one, int) else (None, _made(one, names))
        whole = getattr(part, "kind", "") in {"request", "response"}
        if not whole and place is not None and joined and joined[-1][0] == place:
            joined[-1][1].append(part)
        else:
            joined.append((place, [part]))
    return [_message(messages, place, held) for place, held in joined]


def _message(messages: Sequence[Any], place: int | None, held: list[Any]) -> Any:
    """Give a message: one of the run's if it is whole, else with the parts that are left."""
    if place is None or held[0] is messages[place]:
        return held[0]
    original = messages[place]
    same = len(held) == len(original.parts)
    return original if same else replace(original, parts=held)


def _made(plain: Mapping[str, Any], names: Mapping[str, str]) -> Any:
    """Make a message of one that minutebook wrote or shortened."""
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

    text = str(plain.get("content") or "")
    match plain["role"]:
        case "assistant":
            made: list[Any] = [TextPart(text)] if text else []
            for call in plain.get("tool_calls", ()):
                function = call["function"]
                made.append(ToolCallPart(function["name"], function["arguments"], call["id"]))
            return ModelResponse(parts=made)
        case "tool":
            call_id = plain["tool_call_id"]
            name = names.get(call_id, "unknown")
            return ModelRequest(parts=[ToolReturnPart(name, text, tool_call_id=call_id)])
        case "system":
            return ModelRequest(parts=[SystemPromptPart(text)])
        case _:
            return ModelRequest(parts=[UserPromptPart(text)])
