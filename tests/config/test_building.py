"""The summarisers that a configuration names are made, with keys from the environment."""

import pytest

from minutebook.config.building import make_summarizers, missing_keys, small_windows
from minutebook.config.values import Config, SummarizerSettings
from minutebook.errors import ConfigError

LOCAL = SummarizerSettings(
    kind="openai",
    model="small-model",
    base_url="http://localhost:8080/v1",
    key_env="LOCAL_KEY",
    window=32_000,
    max_output=2_000,
)
CLAUDE = SummarizerSettings(kind="anthropic", model="other-model", window=64_000, key_env="KEY")
CONFIG = Config(summarizers=(LOCAL, CLAUDE))


async def test_each_is_made_in_its_order() -> None:
    """With its model and its window."""
    pytest.importorskip("openai", reason="the extra openai is not installed")
    pytest.importorskip("anthropic", reason="the extra anthropic is not installed")

    made = make_summarizers(CONFIG, {"LOCAL_KEY": "x", "KEY": "y"})

    assert [one.name for one in made] == ["small-model", "other-model"]
    assert [one.capacity.window_tokens for one in made] == [32_000, 64_000]
    assert made[0].capacity.output_tokens_max == 2_000
    for one in made:
        await one.close()


def test_a_key_that_is_not_there_is_named() -> None:
    """The variable, of course, not the key."""
    with pytest.raises(ConfigError, match="the variable KEY is not set"):
        make_summarizers(CONFIG, {"LOCAL_KEY": "x", "KEY": ""})

    assert missing_keys(CONFIG, {}) == ["LOCAL_KEY", "KEY"]


def test_without_any_nothing_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the built-in digest writes, and no extra is needed."""
    monkeypatch.setenv("LOCAL_KEY", "x")

    assert make_summarizers(Config()) == ()
    assert missing_keys(Config(summarizers=(SummarizerSettings(kind="openai"),)), {}) == []


def test_what_an_entry_leaves_out_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a model and without the variable for it, the error says what to do."""
    monkeypatch.delenv("MINUTEBOOK_SUMMARY_MODEL", raising=False)

    with pytest.raises(ConfigError, match="MINUTEBOOK_SUMMARY_MODEL"):
        make_summarizers(Config(summarizers=(SummarizerSettings(kind="openai"),)), {})


def test_case_c023_a_window_that_is_too_small_is_said_once() -> None:
    """Smaller than what is to be compacted; nothing is said where a window is not known."""
    main = Config(window=128_000, summarizers=(LOCAL, LOCAL, CLAUDE))
    (local, claude) = small_windows(main)
    assert "small-model has a window of 32000 tokens" in local
    assert "other-model has a window of 64000 tokens" in claude
    assert small_windows(Config(window=30_000, summarizers=(LOCAL,))) == []
    assert small_windows(Config(summarizers=(LOCAL,))) == []
    nameless = SummarizerSettings(kind="openai", key_env="K")
    assert small_windows(Config(model="gpt-4o", summarizers=(nameless,))) == []
