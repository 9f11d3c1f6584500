"""Windows as the list of prices knows them; no network, and a name that nobody knows is None."""

import socket
import subprocess
import sys
from typing import Any

import pytest

from minutebook.models import windows
from minutebook.models.windows import OURS, window_of


@pytest.mark.parametrize(
    ("model", "least"),
    [("gpt-4o", 128_000), ("claude-sonnet-4-5", 200_000)],
)
def test_windows_of_well_known_models(model: str, least: int) -> None:
    """They are what their makers say, or more by now."""
    found = window_of(model)

    assert found is not None
    assert least <= found < 100_000_000


@pytest.mark.parametrize("model", list(OURS))
def test_ours_are_only_those_that_the_package_lacks(model: str, monkeypatch: Any) -> None:
    """A row that it has by now is to go."""
    assert window_of(model) == OURS[model]
    monkeypatch.setattr(windows, "OURS", {})
    window_of.cache_clear()
    assert window_of(model) is None
    window_of.cache_clear()


@pytest.mark.parametrize(
    "model",
    [
        "gemini-2.5-pro",
        "gemini-3.1-pro-preview",
        "google/gemini-2.5-pro",
        "kimi-k2",
        "moonshotai/kimi-k2.5",
        "anthropic/claude-sonnet-4-5",
        "openai/gpt-4o",
    ],
)
def test_a_window_is_found_by_whoever_serves_the_model(model: str) -> None:
    """Though its maker's entry has none, or the name has a provider before it."""
    found = window_of(model)
    assert found is not None
    assert found >= 128_000


@pytest.mark.parametrize("model", ["", "no-such-model", "gpt-4o\n", "\udc00", "x" * 10_000])
def test_an_unknown_model_has_no_known_window(model: str) -> None:
    """Whatever the name is made of."""
    assert window_of(model) is None


def test_nothing_is_asked_of_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list is the one that was installed."""

    def refuse(*_: object) -> None:
        raise AssertionError

    window_of.cache_clear()
    monkeypatch.setattr(socket.socket, "connect", refuse)

    assert window_of("gpt-4o")


def test_the_list_is_loaded_only_when_it_is_asked() -> None:
    """Its import takes longer than all of ours."""
    code = (
        "import sys, minutebook.models.windows as w; before = 'genai_prices' in sys.modules; "
        "w.window_of('gpt-4o'); print(before, 'genai_prices' in sys.modules)"
    )

    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout

    assert printed.split() == ["False", "True"]
