"""The stated texts of requests."""

from minutebook.providers import stated
from minutebook.providers.view import make_view


def test_they_are_told_apart_from_what_anybody_said() -> None:
    """Each is marked as the system's, and no two are alike."""
    texts = [value for name, value in vars(stated).items() if name.isupper()]
    assert len(texts) == len(set(texts)) == 3
    assert all(text.startswith("<system>") for text in texts)


def test_an_empty_history_is_a_request_all_the_same() -> None:
    """Of every provider."""
    view = make_view(None, [])
    for request in (
        view.to_openai(),
        view.to_anthropic()["messages"],
        view.to_responses()["input"],
        view.to_gemini()["contents"],
    ):
        assert stated.NEUTRAL_START in str(request)
        assert len(request) == 1
