"""How a view is spelled for OpenAI Chat Completions, and for Kimi."""

from typing import Any

import pytest
from hypothesis import given

from minutebook.messages import (
    AudioPart,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    TextPart,
    ThinkPart,
    VideoPart,
    assistant,
    call,
    replace,
    system,
    tool,
    user,
)
from minutebook.providers.chat import SHOWN_HERE
from minutebook.providers.stated import NEUTRAL_START, SHOWN_BELOW
from minutebook.providers.view import make_view
from tests.providers.histories import HISTORIES, PICTURE, SOUND, exhausted


def sent(*history: Message, prompt: str | None = None, model: str = "") -> list[dict[str, Any]]:
    """Give the messages of the request for a history."""
    return make_view(prompt, history).to_openai(model=model)


@given(HISTORIES)
def test_the_sdks_own_types_take_every_request(history: list[Message]) -> None:
    """Each message is one that the SDK would send."""
    types = pytest.importorskip("openai.types.chat", reason="the extra `openai` is not installed")
    pydantic = pytest.importorskip("pydantic", reason="the SDK's validator is not installed")
    adapter = pydantic.TypeAdapter(types.ChatCompletionMessageParam)

    for message in sent(*history, prompt="p"):
        assert exhausted(adapter.validate_python(message)) == message


def test_a_request_begins_with_the_system_prompt() -> None:
    """Without a prompt and without a message a neutral one stands, since none is refused."""
    assert sent(user("a"), prompt="Be kind.") == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "a"},
    ]
    assert sent(prompt="Be kind.") == [{"role": "system", "content": "Be kind."}]
    assert sent() == [{"role": "user", "content": NEUTRAL_START}]


def test_calls_and_results_keep_ids_and_arguments_as_they_were_written() -> None:
    """Nothing that is valid is touched, not even the spaces of a JSON text."""
    messages = sent(
        user("go"),
        assistant("", tool_calls=[call("Shell:0", "Shell", '{"command" : "ls"}')]),
        tool("Shell:0", (TextPart("<system>ok</system>"), TextPart("a.py"))),
    )

    assert messages[1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "Shell:0",
                    "type": "function",
                    "function": {"name": "Shell", "arguments": '{"command" : "ls"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "Shell:0", "content": "<system>ok</system>\na.py"},
    ]


def test_long_ids_are_cut_and_stay_different() -> None:
    """OpenAI takes 40 characters; two ids that differ behind them do not become one."""
    long = [f"{'x' * 50}{number}" for number in range(2)]

    messages = sent(
        assistant("", tool_calls=[call(call_id, "f") for call_id in long]), tool(long[1], "second")
    )

    asked = [item["id"] for item in messages[0]["tool_calls"]]
    assert [len(call_id) for call_id in asked] == [40, 40]
    assert asked[0] != asked[1]
    assert [message["tool_call_id"] for message in messages[1:]] == asked
    assert messages[2]["content"] == "second"


def test_what_tools_show_stands_behind_the_whole_batch() -> None:
    """Results are text here; a picture follows in a user message that names its call."""
    messages = sent(
        assistant("", tool_calls=[call("a", "shot"), call("b", "play"), call("c", "ls")]),
        tool("a", (ImagePart(MediaUrl(PICTURE)),)),
        tool("b", (TextPart("played"), AudioPart(MediaUrl(SOUND)), VideoPart(MediaUrl("x")))),
        tool("c", "a.py"),
        user("and now?"),
    )

    assert [message.get("content") for message in messages[1:4]] == [
        SHOWN_BELOW,
        "played\n[film left out: x]",
        "a.py",
    ]
    assert messages[4] == {
        "role": "user",
        "content": [
            {"type": "text", "text": SHOWN_HERE.format(call="a")},
            {"type": "image_url", "image_url": {"url": PICTURE}},
            {"type": "text", "text": SHOWN_HERE.format(call="b")},
            {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        ],
    }
    assert messages[5] == {"role": "user", "content": "and now?"}


def test_what_a_tool_shows_at_the_very_end_is_shown() -> None:
    """The batch may be the last thing there is."""
    shown = sent(
        assistant("", tool_calls=[call("a", "shot")]), tool("a", (ImagePart(MediaUrl(PICTURE)),))
    )[-1]

    assert (shown["role"], len(shown["content"])) == ("user", 2)


def test_thinking_is_left_out() -> None:
    """It is the model's own, and the API has no place for it."""
    reply = assistant(
        (
            ThinkPart("hm", "sig"),
            OtherPart({"type": "redacted_thinking", "data": "x"}),
            TextPart("a"),
            TextPart("b"),
        )
    )

    assert sent(reply) == [{"role": "assistant", "content": "a\nb"}]


@pytest.mark.parametrize("model", ["kimi-k2.6", "moonshotai/Kimi-K2-Thinking", "moonshot-v1-8k"])
def test_a_kimi_model_gets_its_thinking_back(model: str) -> None:
    """Moonshot's API refuses calls of a thinking model without it."""
    reply = assistant("", tool_calls=[call("a", "$web_search")], thinking="hm")

    message = sent(reply, model=model)[0]

    assert message["reasoning_content"] == "hm"
    assert message["tool_calls"][0]["function"]["name"] == "$web_search"
    assert "reasoning_content" not in sent(assistant("a"), model=model)[0]
    assert "reasoning_content" not in sent(reply, model="gpt-kimi")[0]


def test_system_and_developer_messages_stay_where_they_are() -> None:
    """Kimi knows no developer, so there it is the system that speaks."""
    history = [user("a"), system("be brief"), Message("developer", "in French")]

    assert sent(*history)[1:] == [
        {"role": "system", "content": "be brief"},
        {"role": "developer", "content": "in French"},
    ]
    assert sent(*history, model="kimi-k2")[2]["role"] == "system"


def test_a_users_parts_are_sent_or_named() -> None:
    """Pictures of the four types or by http, wav and mp3; the rest is a text."""
    parts = (
        TextPart("see"),
        ImagePart(MediaUrl("https://example.org/a.png", "id-1")),
        ImagePart(MediaUrl("data:image/svg+xml;base64,PHN2Zz4=")),
        AudioPart(MediaUrl("data:audio/mpeg;base64,SUQz")),
        AudioPart(MediaUrl("https://example.org/a.mp3")),
        VideoPart(MediaUrl("data:video/mp4;base64,AAAA")),
        ImagePart(MediaUrl("ms://file-1")),
    )

    assert sent(user(parts))[0]["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "text", "text": "[picture left out: image/svg+xml]"},
        {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}},
        {"type": "text", "text": "[sound left out: https://example.org/a.mp3]"},
        {"type": "text", "text": "[film left out: video/mp4]"},
        {"type": "text", "text": "[picture left out: ms://file-1]"},
    ]


def test_kimi_gets_films_and_its_own_files() -> None:
    """What was uploaded there has an address of its own."""
    films = [
        VideoPart(MediaUrl(url))
        for url in (
            "ms://file-1",
            "data:video/mp4;base64,AAAA",
            "https://example.org/a.mp4",
            "a.mp4",
        )
    ]

    content = sent(user((ImagePart(MediaUrl("ms://file-2")), *films)), model="kimi-k2")[0]

    assert [part["type"] for part in content["content"]] == [
        "image_url",
        "video_url",
        "video_url",
        "video_url",
        "text",
    ]


def test_a_name_is_sent_where_the_api_takes_it() -> None:
    """A name of other letters is left out, and a result has none."""
    history = [
        replace(user("a"), name="bob"),
        replace(user("b"), name="b o b"),
        replace(assistant("", tool_calls=[call("x", "f")]), name="agent-1"),
        replace(tool("x", "out"), name="f"),
    ]

    assert [message.get("name") for message in sent(*history)] == ["bob", None, "agent-1", None]


def test_tool_names_are_of_the_allowed_letters() -> None:
    """A name that the API refuses would make every later request fail."""
    calls = [call("a", "my tool"), call("b", ""), call("c", "n" * 200), call("d", "$web_search")]

    names = [
        item["function"]["name"] for item in sent(assistant("", tool_calls=calls))[0]["tool_calls"]
    ]

    assert names == ["my_tool", "unknown", "n" * 64, "_web_search"]
