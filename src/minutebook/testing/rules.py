"""What a strict provider checks in a request beside its messages. Pure.

The sources are the API references of Create chat completion, Create a model response, Create a
Message and models.generateContent, and the SDKs' parameter types, which are generated from them.
The messages themselves are checked by `providers.validate_…`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minutebook.providers import (
    validate_anthropic,
    validate_chat,
    validate_gemini,
    validate_responses,
)

OPENAI_KEYS = frozenset(
    (
        *("model", "messages", "stream", "stream_options", "n", "stop", "seed", "user", "store"),
        *("max_tokens", "max_completion_tokens", "temperature", "top_p", "logprobs"),
        *("top_logprobs", "logit_bias", "frequency_penalty", "presence_penalty", "metadata"),
        *("tools", "tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort"),
        *("modalities", "audio", "prediction", "service_tier", "verbosity", "safety_identifier"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"),
        *("web_search_options", "functions", "function_call", "moderation"),
    )
)
"""The parameters of Create chat completion; another is "Unrecognized request argument"."""

ANTHROPIC_KEYS = frozenset(
    (
        *("model", "messages", "max_tokens", "system", "stream", "stop_sequences", "metadata"),
        *("temperature", "top_p", "top_k", "tools", "tool_choice", "thinking", "service_tier"),
        *("cache_control", "container", "output_config", "inference_geo", "speed"),
    )
)
"""The parameters of Create a Message; another is "Extra inputs are not permitted"."""

RESPONSES_KEYS = frozenset(
    (
        *("model", "input", "instructions", "stream", "stream_options", "store", "metadata"),
        *("max_output_tokens", "max_tool_calls", "temperature", "top_p", "top_logprobs"),
        *("tools", "tool_choice", "parallel_tool_calls", "text", "reasoning", "include"),
        *("previous_response_id", "conversation", "background", "prompt", "truncation", "user"),
        *("service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"),
    )
)
"""The parameters of Create a model response."""

GEMINI_KEYS = frozenset(
    (
        *("contents", "systemInstruction", "tools", "toolConfig", "safetySettings"),
        *("generationConfig", "cachedContent", "store"),
    )
)
"""The fields of a request to models.generateContent; another is "Unknown name"."""

COUNT_KEYS = ANTHROPIC_KEYS - {"max_tokens", "stream", "temperature", "top_p", "top_k"}
"""Those of Count tokens in a Message."""

_OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ANTHROPIC_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def openai_violations(body: Mapping[str, Any], *, kimi: bool = False) -> list[str]:
    """List what is wrong with a request to Chat Completions; empty if nothing is."""
    found = list(_common(body, OPENAI_KEYS))
    found += _limit(body, "max_tokens")
    found += _limit(body, "max_completion_tokens")
    if body.get("stream_options") is not None and body.get("stream") is not True:
        # The API says that these options are only allowed with a stream.
        found.append("stream_options without stream")
    tools = body.get("tools")
    if tools is not None:
        found += _openai_tools(tools)
    elif body.get("tool_choice") is not None:
        # The API says that this is only allowed when there are tools.
        found.append("tool_choice without tools")
    return found + validate_chat.violations(_messages(body), kimi=kimi)


def anthropic_violations(body: Mapping[str, Any], *, counting: bool = False) -> list[str]:
    """List what is wrong with a request to Messages; *counting* for one that counts tokens."""
    found = list(_common(body, COUNT_KEYS if counting else ANTHROPIC_KEYS))
    if not counting:
        if "max_tokens" not in body:
            found.append("max_tokens: Field required")
        found += _limit(body, "max_tokens")
    tools = body.get("tools")
    if tools is not None:
        found += _anthropic_tools(tools)
    elif body.get("tool_choice") is not None:
        found.append("tool_choice without tools")
    messages = _messages(body)
    if not tools and _uses_tools(messages):
        # The API says that requests with such blocks must define tools.
        found.append("tool_use or tool_result blocks without tools")
    return found + validate_anthropic.violations(messages, system=body.get("system"))


def responses_violations(body: Mapping[str, Any]) -> list[str]:
    """List what is wrong with a request to the Responses API."""
    found = [f"{key} is no parameter" for key in sorted(set(body) - RESPONSES_KEYS)]
    if not isinstance(body.get("model"), str) or not body["model"]:
        found.append("model is missing")
    if not isinstance(body.get("stream", False), bool):
        found.append("stream is neither true nor false")
    found += _limit(body, "max_output_tokens")
    for tool in body.get("tools") or ():
        kind = tool.get("type") if isinstance(tool, Mapping) else None
        if kind == "function" and not _OPENAI_NAME.fullmatch(str(tool.get("name"))):
            found.append(f"function name {tool.get('name')!r} does not match")
    if isinstance(body.get("input"), str) and body["input"].strip():
        return found
    return found + validate_responses.violations(body)


def gemini_violations(body: Mapping[str, Any], *, signed: bool = False) -> list[str]:
    """List what is wrong with a request to Gemini; *signed* for a model that checks signatures."""
    found = [f"Unknown name {key!r}" for key in sorted(set(body) - GEMINI_KEYS)]
    return found + validate_gemini.violations(body, signed=signed)


def output_limit(body: Mapping[str, Any]) -> int:
    """Give the tokens that a request allows its reply; 0 if it doesn't say."""
    config = body.get("generationConfig")
    gemini = config.get("maxOutputTokens") if isinstance(config, Mapping) else None
    names = ("max_completion_tokens", "max_tokens", "max_output_tokens")
    value = next((body[name] for name in names if name in body), gemini)
    return value if isinstance(value, int) else 0


def _common(body: Mapping[str, Any], keys: frozenset[str]) -> Iterator[str]:
    for key in sorted(set(body) - keys):
        yield f"{key} is no parameter"
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model is missing"
    if not isinstance(body.get("messages"), list):
        yield "messages is no list"
    if not isinstance(body.get("stream", False), bool):
        yield "stream is neither true nor false"


def _limit(body: Mapping[str, Any], key: str) -> Iterator[str]:
    value = body.get(key)
    if value is not None and (not isinstance(value, int) or value < 1):
        yield f"{key} must be at least 1"


def _messages(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = body.get("messages")
    return (
        [one for one in messages if isinstance(one, Mapping)] if isinstance(messages, list) else []
    )


def _openai_tools(tools: object) -> Iterator[str]:
    # Error: "[] is too short - 'tools'".
    if not isinstance(tools, list) or not tools:
        yield "tools is no list with tools"
        return
    functions = [tool.get("function") if isinstance(tool, Mapping) else None for tool in tools]
    for tool, function in zip(tools, functions, strict=True):
        if not isinstance(function, Mapping) or tool.get("type") != "function":
            yield "a tool is no function"
        elif not _OPENAI_NAME.fullmatch(str(function.get("name"))):
            yield f"function name {function.get('name')!r} does not match {_OPENAI_NAME.pattern}"
        elif not isinstance(function.get("parameters", {}), Mapping):
            yield f"the parameters of {function['name']} are no object"
    names = [one.get("name") for one in functions if isinstance(one, Mapping)]
    if len(set(names)) != len(names):
        yield "two functions share a name"


def _anthropic_tools(tools: object) -> Iterator[str]:
    if not isinstance(tools, list):
        yield "tools is no list"
        return
    for tool in tools:
        name = tool.get("name") if isinstance(tool, Mapping) else None
        if not isinstance(name, str) or not _ANTHROPIC_NAME.fullmatch(name):
            yield f"tool name {name!r} does not match {_ANTHROPIC_NAME.pattern}"
        elif "type" not in tool or tool["type"] == "custom":
            schema = tool.get("input_schema")
            if not isinstance(schema, Mapping) or schema.get("type") != "object":
                yield f"the input_schema of {name} is no object's"
    names = [tool.get("name") for tool in tools if isinstance(tool, Mapping)]
    if len(set(names)) != len(names):
        # The API says that the names of tools must be unique.
        yield "two tools share a name"


def _uses_tools(messages: Sequence[Mapping[str, Any]]) -> bool:
    return any(
        isinstance(block, Mapping) and block.get("type") in {"tool_use", "tool_result"}
        for message in messages
        if isinstance(message.get("content"), list)
        for block in message["content"]
    )
