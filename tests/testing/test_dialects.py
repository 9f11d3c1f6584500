"""Which API is spoken at which path."""

import pytest

from minutebook.testing.dialects import CHAT, COUNT_PATH, MESSAGES, RESPONSES, dialect_of


def test_paths_say_which_api_is_spoken() -> None:
    """Gemini's has the model in it."""
    assert dialect_of("/v1/chat/completions") is CHAT
    assert dialect_of("/v1/responses") is RESPONSES
    assert dialect_of("/v1/messages") is MESSAGES
    assert dialect_of(COUNT_PATH) is MESSAGES
    gemini = dialect_of("/v1beta/models/gemini-2.5-pro:generateContent")
    assert gemini is not None
    assert gemini.model == "gemini-2.5-pro"
    assert gemini.events is None
    assert dialect_of("/v1beta/models/x:streamGenerateContent") is None
    assert dialect_of("/") is None


@pytest.mark.parametrize(("model", "count"), [("gemini-2.5-pro", 0), ("gemini-3-pro-preview", 1)])
def test_a_gemini_of_the_third_generation_checks_signatures(model: str, count: int) -> None:
    """As the real one does."""
    call = {"functionCall": {"name": "ls", "args": {}}}
    result = {"functionResponse": {"name": "ls", "response": {}}}
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
    ]
    spoken = dialect_of(f"/v1beta/models/{model}:generateContent")
    assert spoken is not None
    assert len(spoken.violations({"contents": contents}, False)) == count
    assert spoken.violations({"contents": contents, "odd": 1}, False)[0] == "Unknown name 'odd'"
