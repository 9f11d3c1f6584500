"""The four APIs as the strict server speaks them: rules, answers and errors of each. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from minutebook.testing import rules, wire, wire_gemini, wire_responses
from minutebook.testing.scripted import Answer

CHAT_PATH = "/v1/chat/completions"
RESPONSES_PATH = "/v1/responses"
MESSAGES_PATH = "/v1/messages"
COUNT_PATH = "/v1/messages/count_tokens"
_GEMINI_PATH = re.compile(r"/v1(?:beta)?/models/([^/:]+):generateContent")

Body = dict[str, Any]


class Dialect(Struct, frozen=True, kw_only=True):
    """How one API is spoken."""

    violations: Callable[[Body, bool], list[str]]
    """Takes a body, and whether Moonshot's additions are allowed."""
    error: Callable[[int, str], Body]
    overflow: Callable[[int, int, int], Body]
    whole: Callable[..., Body]
    events: Callable[..., Iterator[str]] | None
    """None where only whole replies are spoken."""
    key_headers: tuple[str, ...]
    """One of these has the key."""
    model: str = ""
    """As the path names it; empty where the body does."""


def _events(spell: Callable[..., Iterator[str]]) -> Callable[..., Iterator[str]]:
    """Give what spells events whatever the body asks for."""

    def events(answer: Answer, *, body: Mapping[str, Any], **known: Any) -> Iterator[str]:  # noqa: ARG001
        return spell(answer, **known)

    return events


def _chat_events(answer: Answer, *, body: Mapping[str, Any], **known: Any) -> Iterator[str]:
    options = body.get("stream_options") or {}
    return wire.openai_events(answer, **known, with_usage=bool(options.get("include_usage")))


CHAT = Dialect(
    violations=lambda body, kimi: rules.openai_violations(body, kimi=kimi),
    error=wire.openai_error,
    overflow=wire.openai_overflow,
    whole=wire.openai_completion,
    events=_chat_events,
    key_headers=("authorization",),
)
RESPONSES = Dialect(
    violations=lambda body, _kimi: rules.responses_violations(body),
    error=wire.openai_error,
    overflow=wire.openai_overflow,
    whole=wire_responses.response,
    events=_events(wire_responses.events),
    key_headers=("authorization",),
)
MESSAGES = Dialect(
    violations=lambda body, _kimi: rules.anthropic_violations(body),
    error=wire.anthropic_error,
    overflow=wire.anthropic_overflow,
    whole=wire.anthropic_message,
    events=_events(wire.anthropic_events),
    key_headers=("x-api-key", "authorization"),
)


def dialect_of(path: str) -> Dialect | None:
    """Give the dialect that is spoken at a path; None at a path that is none."""
    known = {
        CHAT_PATH: CHAT,
        RESPONSES_PATH: RESPONSES,
        MESSAGES_PATH: MESSAGES,
        COUNT_PATH: MESSAGES,
    }
    found = _GEMINI_PATH.fullmatch(path)
    if found is None:
        return known.get(path)
    model = found[1]
    signed = re.fullmatch(r"gemini-(?:[3-9]|\d\d).*", model) is not None
    return Dialect(
        violations=lambda body, _kimi: rules.gemini_violations(body, signed=signed),
        error=wire_gemini.error,
        overflow=wire_gemini.overflow,
        whole=wire_gemini.candidate,
        events=None,
        key_headers=("x-goog-api-key", "authorization"),
        model=model,
    )
