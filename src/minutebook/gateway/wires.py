"""Which API a path belongs to, and how each API spells an error. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

Api = Literal["chat", "responses", "messages"]

CHAT_PATH = "/v1/chat/completions"
RESPONSES_PATH = "/v1/responses"
MESSAGES_PATH = "/v1/messages"
COUNT_PATH = "/v1/messages/count_tokens"

_ANTHROPIC_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}


class Route(Struct, frozen=True, kw_only=True):
    """What a path asks for."""

    api: Api
    """Whose shape an error has."""
    recorded: bool = False
    """Whether a POST is a model call that belongs to a session."""
    counting: bool = False
    """Whether it only asks how many tokens a call would take."""


_ROUTES = {
    CHAT_PATH: Route(api="chat", recorded=True),
    RESPONSES_PATH: Route(api="responses", recorded=True),
    MESSAGES_PATH: Route(api="messages", recorded=True),
    COUNT_PATH: Route(api="messages", counting=True),
}


def route_of(path: str, *, anthropic: bool = False) -> Route:
    """Give the route of a path; *anthropic* says whose client it is where the path does not."""
    known = _ROUTES.get(path)
    if known is not None:
        return known
    if path.startswith(MESSAGES_PATH) or anthropic:
        return Route(api="messages")
    return Route(api="responses" if path.startswith(RESPONSES_PATH) else "chat")


def error_body(api: Api, status: int, message: str) -> bytes:
    """Give the body of an error of ours in the shape of the API."""
    if api == "messages":
        kind = _ANTHROPIC_KINDS.get(status, "api_error")
        return msgspec.json.encode({"type": "error", "error": {"type": kind, "message": message}})
    kind = "invalid_request_error" if status < 500 else "server_error"
    error = {"message": message, "type": kind, "param": None, "code": None}
    return msgspec.json.encode({"error": error})
