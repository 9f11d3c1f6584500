"""A view as a request of Gemini's."""

import json
from typing import Any

import pytest

from minutebook.context import fold
from minutebook.lines import scan
from minutebook.messages import (
    ImagePart,
    MediaUrl,
    Message,
    TextPart,
    ThinkPart,
    assistant,
    call,
    system,
    tool,
    user,
)
from minutebook.providers.gemini import (
    FROM_RESULT,
    NEUTRAL_END,
    NEUTRAL_REPLY,
    NO_SIGNATURE,
)
from minutebook.providers.stated import NEUTRAL_START, SHOWN_BELOW
from minutebook.providers.validate_gemini import violations
from minutebook.providers.view import make_view
from tests.cases import case
from tests.providers.histories import PICTURE

SHOWN = ImagePart(MediaUrl(PICTURE))
ASKED = [
    user("look"),
    assistant("I do", tool_calls=[call("a", "ls"), call("b", "1st name", '{"x":1}')]),
    tool("a", "a.py"),
    tool("b", "<system>ERROR: no</system>"),
]


def contents(*history: Message, model: str = "") -> list[dict[str, Any]]:
    """Give the contents of the request for a history."""
    body = make_view(None, history).to_gemini(model=model)
    assert violations(body, signed="3" in model) == []
    found: list[dict[str, Any]] = body["contents"]
    return found


def test_each_kind_of_message_has_its_content() -> None:
    """Results of a batch alone in one content, in the order of the calls, errors as such."""
    body = make_view("Be kind.", [*ASKED, assistant("done"), user("on")]).to_gemini()
    assert body == {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "look"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "I do"},
                    {"functionCall": {"name": "ls", "args": {}}},
                    {"functionCall": {"name": "_1st_name", "args": {"x": 1}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "ls", "response": {"output": "a.py"}}},
                    {
                        "functionResponse": {
                            "name": "_1st_name",
                            "response": {"error": "<system>ERROR: no</system>"},
                        }
                    },
                ],
            },
            {"role": "model", "parts": [{"text": "done"}]},
            {"role": "user", "parts": [{"text": "on"}]},
        ],
    }


def test_neighbours_are_one_content_and_the_ends_are_the_users() -> None:
    """What a user says behind results stands apart from them."""
    found = contents(*ASKED, system("be brief"), user("and now?"))
    assert [content["role"] for content in found] == ["user", "model", "user", "model", "user"]
    assert found[3]["parts"] == [{"text": NEUTRAL_REPLY}]
    assert found[4]["parts"] == [{"text": "<system>be brief</system>"}, {"text": "and now?"}]
    assert contents(assistant("hello"))[0]["parts"] == [{"text": NEUTRAL_START}]
    assert contents(user("a"), assistant("b"))[-1]["parts"] == [{"text": NEUTRAL_END}]


def test_a_reply_behind_a_reply_leaves_what_was_sent() -> None:
    """The neutral end that stood behind the first of them stays where it was."""
    before = contents(user("a"), assistant("b"))
    after = contents(user("a"), assistant("b"), assistant("c"))
    assert after[: len(before)] == before
    assert [content["role"] for content in after] == ["user", "model", "user", "model", "user"]


def test_media_of_results_are_shown_behind_the_batch() -> None:
    """As data; an address is named, since the API fetches none."""
    far = ImagePart(MediaUrl("https://example.org/a.png"))
    found = contents(
        user((TextPart("see"), far)),
        assistant("", tool_calls=[call("a", "shot")]),
        tool("a", (SHOWN,)),
        user("well?"),
    )
    assert "example.org" in found[0]["parts"][1]["text"]
    assert found[2]["parts"][0]["functionResponse"]["response"] == {"output": SHOWN_BELOW}
    assert found[4]["parts"][0] == {"text": FROM_RESULT.format(tool="shot")}
    assert "inlineData" in found[4]["parts"][1]
    assert found[4]["parts"][2] == {"text": "well?"}
    uploaded = "https://generativelanguage.googleapis.com/v1beta/files/abc"
    (content,) = contents(user((ImagePart(MediaUrl(uploaded)),)))
    assert content["parts"] == [{"fileData": {"fileUri": uploaded}}]


@pytest.mark.parametrize("model", ["gemini-3-pro-preview", "google/gemini-3.1-pro"])
def test_a_signature_goes_back_where_it_came_from(model: str) -> None:
    """And stands for a missing one at the first call, where the model checks."""
    own = Message("assistant", (ThinkPart("", "gemini:c2ln"),), tool_calls=(call("a", "ls"),))
    spoken = Message("assistant", (ThinkPart("", "gemini:dGV4dA=="), TextPart("so")))
    foreign = assistant("", tool_calls=[call("b", "ls"), call("c", "ls")])
    found = contents(
        user("go"),
        own,
        tool("a", "x"),
        foreign,
        tool("b", "y"),
        tool("c", "z"),
        spoken,
        model=model,
    )
    assert found[1]["parts"][0]["thoughtSignature"] == "c2ln"
    assert [part.get("thoughtSignature") for part in found[3]["parts"]] == [NO_SIGNATURE, None]
    assert found[5]["parts"][0]["thoughtSignature"] == "dGV4dA=="
    older = contents(user("go"), foreign, tool("b", "y"), tool("c", "z"), model="gemini-2.5-pro")
    assert "thoughtSignature" not in str(older)


def of_case() -> list[Message]:
    """Read the case's messages."""
    return list(fold(scan(case("C094").log())[0]).history)


def test_case_c094_the_order_holds_wherever_the_history_is_cut() -> None:
    """It begins with the user, calls follow the user, results stand together and alone."""
    whole = of_case()
    for start in range(len(whole)):
        found = contents(*whole[start:])
        assert found[0]["role"] == "user"
    found = contents(*whole)
    batch = next(c for c in found if "functionResponse" in c["parts"][0])
    assert len(batch["parts"]) == 2
    place = found.index(batch)
    assert "note beside" in json.dumps(found[place + 2])


def test_case_c094_an_open_call_is_closed_before_anything_else() -> None:
    """No neutral content stands behind a call without its result."""
    whole = of_case()
    calls = next(index for index, message in enumerate(whole) if message.calls)
    found = contents(*whole[: calls + 1])
    assert "functionResponse" in found[-1]["parts"][0]
    said = contents(user("a"), user("b"), assistant("c"))
    assert said[0]["parts"] == [{"text": "a"}, {"text": "b"}]
    assert said[-1]["role"] == "user"


def test_case_c098_neighbours_and_system_messages_are_taken_by_every_provider() -> None:
    """Two users' messages, a system message in the middle, a developer's: all words arrive."""
    history = [
        user("one"),
        user("two"),
        system("in the middle"),
        Message("developer", "of the developer"),
        assistant("yes"),
        assistant("and yes"),
    ]
    view = make_view("p", history)
    for request in (
        view.to_openai(),
        view.to_anthropic(),
        view.to_responses(),
        view.to_gemini(),
    ):
        for word in ("one", "two", "in the middle", "of the developer", "and yes"):
            assert word in str(request)
