"""Settings: where the window comes from, and what the caller's words outrank."""

from __future__ import annotations

from typing import Any

import pytest

from minutebook.errors import ConfigError
from minutebook.reports import Settings, describe
from minutebook.store.metadata import Metadata


def settings(*, window: int | None = None, model: str | None = None) -> Settings:
    """Give settings as a caller says them."""
    return Settings.of(window=window, model=model, tools=(), max_output=None, preset_name="kimi")


def test_the_callers_words_outrank_what_the_session_says() -> None:
    """`session.json` fills in only what was not said."""
    known = Metadata(id="s", window=5_000, model="stored")

    assert settings().described_by(known).window == 5_000
    assert settings(window=7_000, model="said").described_by(known).window == 7_000
    assert settings(model="said").described_by(known).model == "said"


def test_the_window_comes_from_the_caller_the_error_or_the_model() -> None:
    """In that order, and what an error taught counts where it is less."""
    assert settings().window_and_source() == (None, "")
    assert settings(window=7_000).window_and_source() == (7_000, "said")
    learned = settings(window=7_000).but(learned_window=6_000)
    assert learned.window_and_source() == (6_000, "learned")
    assert learned.but(learned_window=8_000).window_and_source() == (7_000, "said")
    assert settings().but(learned_window=6_000).known_window() == 6_000
    window, source = settings(model="claude-sonnet-4-5").window_and_source()
    assert (source, window is not None and window >= 100_000) == ("model", True)


@pytest.mark.parametrize("name", ["window", "max_output"])
def test_numbers_that_make_no_sense_name_their_setting(name: str) -> None:
    """Zero and less is no number of tokens."""
    values: dict[str, Any] = {"window": None, "max_output": None, name: 0}

    with pytest.raises(ConfigError, match=name):
        Settings.of(model=None, tools=(), preset_name="default", **values)


def test_a_new_session_is_described_by_what_is_known() -> None:
    """Its id is the folder's name."""
    metadata = describe("somewhere/mine", settings(window=7_000, model="m"), created=1.23456)

    assert metadata == Metadata(id="mine", created=1.235, model="m", window=7_000)
