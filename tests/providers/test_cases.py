"""Public faults of other systems, by the number of their case, before every provider's rules."""

from typing import Any

import pytest

from minutebook.context import fold
from minutebook.lines import scan
from minutebook.messages import Message, ToolCall, assistant, call, tool, user
from minutebook.providers import (
    validate_anthropic,
    validate_chat,
    validate_gemini,
    validate_responses,
)
from minutebook.providers.view import make_view
from tests.cases import case

LOGGED = ["C001", "C003", "C005", "C009", "C092", "C094", "C096"]
"""The cases of tool pairing and of providers that hold a log."""


def violations(history: list[Message]) -> dict[str, list[str]]:
    """Give the rules that the view of a history breaks, for each provider that it breaks any of."""
    view = make_view("You are an agent.", history)
    body = view.to_anthropic(cache=True)
    found = {
        "openai": validate_chat.violations(view.to_openai()),
        "kimi": validate_chat.violations(view.to_openai(model="kimi-k2.6"), kimi=True),
        "anthropic": validate_anthropic.violations(body["messages"], system=body["system"]),
        "responses": validate_responses.violations(view.to_responses()),
        "gemini": validate_gemini.violations(view.to_gemini()),
        "gemini 3": validate_gemini.violations(view.to_gemini(model="gemini-3-pro"), signed=True),
    }
    return {provider: broken for provider, broken in found.items() if broken}


@pytest.mark.parametrize("case_id", LOGGED)
def test_a_case_is_sent_to_every_provider_wherever_it_is_cut(case_id: str) -> None:
    """C001, C003, C005, C009, C092, C094, C096: stopped at, or trimmed to, any message."""
    history = list(fold(scan(case(case_id).log())[0]).history)

    assert history
    for cut in range(len(history) + 1):
        assert violations(history[:cut]) == {}
        assert violations(history[cut:]) == {}


def test_case_c011_a_history_with_arguments_that_were_cut_off() -> None:
    """The poisoned history is sent to every provider, whatever it has been cut to."""
    history = [spelled(item) for item in case("C011").json("poisoned_history.json")]

    for cut in range(len(history) + 1):
        assert violations(history[:cut]) == {}
        assert violations(history[cut:]) == {}
    assert "ls -" not in str(make_view(None, history).to_gemini())


def spelled(item: dict[str, Any]) -> Message:
    """Give a message of Chat Completions as one of ours."""
    match item["role"]:
        case "user":
            return user(item["content"])
        case "tool":
            return tool(item["tool_call_id"], item["content"])
        case _:
            return assistant(tool_calls=[asked(one) for one in item["tool_calls"]])


def asked(one: dict[str, Any]) -> ToolCall:
    """Give a call of Chat Completions as one of ours."""
    return call(one["id"], one["function"]["name"], one["function"]["arguments"])
