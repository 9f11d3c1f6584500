"""Which model is asked, and what is missing to ask it."""

import pytest

from minutebook.chat.endpoint import AnthropicEndpoint, OpenAIEndpoint, make_endpoint
from minutebook.errors import ConfigError


@pytest.mark.parametrize(
    ("model", "url", "api", "environment", "word"),
    [
        (None, None, None, {}, "MINUTEBOOK_MODEL"),
        ("gpt-5", None, None, {}, "OPENAI_API_KEY"),
        ("claude-x", None, None, {}, "ANTHROPIC_API_KEY"),
        ("m", "http://127.0.0.1:1", "other", {}, "there are openai and anthropic"),
    ],
)
def test_what_is_missing_is_named(
    model: str | None, url: str | None, api: str | None, environment: dict[str, str], word: str
) -> None:
    """With what to set."""
    with pytest.raises(ConfigError, match=word):
        make_endpoint(model, url, api, environment)


async def test_the_models_name_says_whose_api_it_speaks() -> None:
    """Unless it is said."""
    pytest.importorskip("openai", reason="needs the extra openai")
    pytest.importorskip("anthropic", reason="needs the extra anthropic")
    url = "http://127.0.0.1:1"
    made = [
        make_endpoint("gpt-5", url, None, {}),
        make_endpoint("anthropic/claude-x", url, None, {}),
        make_endpoint("claude-x", url, "openai", {}),
        make_endpoint(None, url, None, {"MINUTEBOOK_MODEL": "claude-y"}),
    ]
    assert [type(one) for one in made] == [
        OpenAIEndpoint,
        AnthropicEndpoint,
        OpenAIEndpoint,
        AnthropicEndpoint,
    ]
    for one in made:
        await one.close()
