import msgspec
import pytest

from minutebook.gateway.wires import error_body, route_of


@pytest.mark.parametrize(
    ("path", "api", "recorded", "counting"),
    [
        ("/v1/chat/completions", "chat", True, False),
        ("/v1/responses", "responses", True, False),
        ("/v1/responses/compact", "responses", False, False),
        ("/v1/messages", "messages", True, False),
        ("/v1/messages/count_tokens", "messages", False, True),
        ("/v1/messages/batches", "messages", False, False),
        ("/v1/models", "chat", False, False),
        ("/anything", "chat", False, False),
    ],
)
def test_a_path_says_what_is_asked(path: str, api: str, recorded: bool, counting: bool) -> None:
    """Model calls are recorded, counting is fitted, all else passes."""
    route = route_of(path)

    assert (route.api, route.recorded, route.counting) == (api, recorded, counting)


def test_a_shared_path_belongs_to_the_api_of_the_client() -> None:
    """/v1/models is both providers' own."""
    assert route_of("/v1/models", anthropic=True).api == "messages"


def test_an_error_has_the_shape_of_the_api() -> None:
    """OpenAI's and Anthropic's clients find the message where they look for it."""
    openai = msgspec.json.decode(error_body("chat", 503, "busy"))
    anthropic = msgspec.json.decode(error_body("messages", 413, "large"))

    assert openai["error"]["message"] == "busy"
    assert openai["error"]["type"] == "server_error"
    assert anthropic == {
        "type": "error",
        "error": {"type": "request_too_large", "message": "large"},
    }
