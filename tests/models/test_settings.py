"""Where the ready summarisers find their model, address and key."""

import pytest

from minutebook.errors import ConfigError
from minutebook.models.settings import Endpoint, endpoint, missing
from minutebook.models.summarizer import OUTPUT_TOKENS_UNKNOWN

VARIABLES = (
    "MINUTEBOOK_SUMMARY_MODEL",
    "MINUTEBOOK_SUMMARY_BASE_URL",
    "MINUTEBOOK_SUMMARY_API_KEY",
)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with none of our variables."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def found(
    *,
    model: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    window: int | None = 9_000,
    max_output: int | None = None,
) -> Endpoint:
    """Ask for an endpoint."""
    return endpoint(
        model=model, base_url=base_url, api_key=api_key, window=window, max_output=max_output
    )


def test_arguments_come_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each setting by itself."""
    for name in VARIABLES:
        monkeypatch.setenv(name, f"from {name[-3:]}")

    given = found(model="m", base_url="http://a", api_key="k", max_output=7)
    asked = found()

    assert (given.model, given.base_url, given.api_key) == ("m", "http://a", "k")
    assert given.capacity.output_tokens_max == 7
    assert (asked.model, asked.base_url, asked.api_key) == ("from DEL", "from URL", "from KEY")
    assert asked.capacity.output_tokens_max == OUTPUT_TOKENS_UNKNOWN


def test_what_nobody_says_is_left_to_the_sdk() -> None:
    """Address and key have variables of the SDK's own."""
    left = found(model="m")

    assert left.base_url is None
    assert left.api_key is None


def test_a_known_model_has_a_known_window() -> None:
    """The table of prices knows it."""
    assert found(model="gpt-4o-mini", window=None).capacity.window_tokens == 128_000


def test_no_model_and_an_unknown_window_are_errors_that_name_the_setting() -> None:
    """Each says what to do."""
    with pytest.raises(ConfigError, match="MINUTEBOOK_SUMMARY_MODEL"):
        found()
    with pytest.raises(ConfigError, match="summarizer window: that of nobody-1 is unknown"):
        found(model="nobody-1", window=None)
    with pytest.raises(ConfigError, match="summarizer window: 0 tokens"):
        found(model="m", window=0)


def test_a_missing_extra_is_named_with_how_to_get_it() -> None:
    """The error says the package and the extra."""
    error = missing("openai", ImportError(name="openai"))

    assert "the package openai is missing; install minutebook[openai]" in str(error)
