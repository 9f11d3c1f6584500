"""Windows of models, as far as they are known."""

from __future__ import annotations

from minutebook.models.windows import window_of


def test_a_known_model_has_its_window() -> None:
    """It comes from the table that genai-prices carries."""
    assert (window_of("claude-sonnet-4-5") or 0) >= 100_000


def test_an_unknown_model_has_none() -> None:
    """Nothing is guessed."""
    assert window_of("no-such-model-of-anybody") is None
