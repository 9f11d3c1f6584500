"""How a view is spelled for Anthropic Messages."""

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
    system,
    tool,
    user,
)
from minutebook.providers.stated import NEUTRAL_START
from minutebook.providers.view import UNKNOWN_OUTCOME, make_view
from tests.providers.histories import HISTORIES, PICTURE, exhausted


def sent(*history: Message, prompt: str | None = None) -> list[dict[str, Any]]:
    """Give the messages of the request for a history."""
    messages = make_view(prompt, history).to_anthropic()["messages"]
    assert isinstance(messages, list)
    return messages


def blocks_of(*history: Message) -> list[dict[str, Any]]:
    """Give the blocks of the last message of the request for a history."""
    blocks = sent(*history)[-1]["content"]
    assert isinstance(blocks, list)
    return blocks


def result_of(*parts: TextPart | ImagePart | AudioPart | VideoPart) -> dict[str, Any]:
    """Give the block of a result that holds these parts."""
    return blocks_of(assistant("", tool_calls=[call("a", "f")]), tool("a", parts))[0]


@given(HISTORIES)
def test_the_sdks_own_types_take_every_request(history: list[Message]) -> None:
    """Each message is one that the SDK would send."""
    types = pytest.importorskip("anthropic.types", reason="the extra `anthropic` is not installed")
    pydantic = pytest.importorskip("pydantic", reason="the SDK's validator is not installed")
    adapter = pydantic.TypeAdapter(types.MessageParam)

    for message in sent(*history):
        assert exhausted(adapter.validate_python(message)) == message


def test_the_system_prompt_is_a_parameter_of_its_own() -> None:
    """It is there only if there is one."""
    assert make_view("Be kind.", [user("a")]).to_anthropic() == {
        "system": "Be kind.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
    }
    assert "system" not in make_view(None, [user("a")]).to_anthropic()


def test_results_and_what_the_user_says_next_are_one_message() -> None:
    """Results first, each with its id, then the text: case C009."""
    messages = sent(
        user("old question"),
        assistant("I look.", tool_calls=[call("tu_1", "search", '{"q": "x"}'), call("tu_2", "ls")]),
        tool("tu_2", "a.py"),
        tool("tu_1", "42 rows"),
        user("RULE: never touch table billing"),
    )

    assert messages[1]["content"] == [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "tu_1", "name": "search", "input": {"q": "x"}},
        {"type": "tool_use", "id": "tu_2", "name": "ls", "input": {}},
    ]
    assert messages[2] == {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "tu_1",
                "content": [{"type": "text", "text": "42 rows"}],
            },
            {
                "type": "tool_result",
                "tool_use_id": "tu_2",
                "content": [{"type": "text", "text": "a.py"}],
            },
            {"type": "text", "text": "RULE: never touch table billing"},
        ],
    }


def test_a_request_begins_with_a_user() -> None:
    """Where a reply would be first, and where there is nothing, a neutral message stands."""
    neutral = {"role": "user", "content": [{"type": "text", "text": NEUTRAL_START}]}

    assert sent(assistant("hm"), user("a"))[0] == neutral
    assert sent() == [neutral]


def test_system_messages_are_wrapped_so_that_they_are_plainly_no_users() -> None:
    """The role is not allowed here."""
    blocks = blocks_of(user("a"), system("be brief"), Message("developer", "in French"))

    assert [block["text"] for block in blocks] == [
        "a",
        "<system>be brief</system>",
        "<system>in French</system>",
    ]


def test_ids_are_of_the_allowed_letters_and_stay_different() -> None:
    """Two ids that differ only in what is not allowed do not become one."""
    messages = sent(
        assistant("", tool_calls=[call("Shell:0", "f"), call("Shell.0", "f"), call("ok-1", "f")]),
        tool("Shell.0", "second"),
    )

    asked = [block["id"] for block in messages[1]["content"]]
    assert asked == ["Shell_0", "Shell_0-2", "ok-1"]
    assert [block["tool_use_id"] for block in messages[2]["content"]] == asked
    assert messages[2]["content"][1]["content"] == [{"type": "text", "text": "second"}]


def test_tool_names_are_of_the_allowed_letters() -> None:
    """A name that the API refuses would make every later request fail."""
    names = [
        block["name"]
        for block in sent(
            assistant("", tool_calls=[call("a", "my tool"), call("b", ""), call("c", "n" * 200)])
        )[1]["content"]
    ]

    assert names == ["my_tool", "unknown", "n" * 128]


def test_a_reply_with_thinking_is_sent_block_by_block() -> None:
    """Case C092: signed and redacted thinking, text and call, unchanged and in place."""
    reply = assistant(
        (
            ThinkPart("step B", "sigB=="),
            OtherPart({"type": "redacted_thinking", "data": "UkVEQUNU"}),
            ThinkPart("", "sigC=="),
            ThinkPart("unsigned"),
            TextPart("nearly"),
        ),
        tool_calls=[call("tu_2", "calc", '{"e": "2+2"}')],
    )

    assert sent(user("solve it"), reply, tool("tu_2", "4"))[1]["content"] == [
        {"type": "thinking", "thinking": "step B", "signature": "sigB=="},
        {"type": "redacted_thinking", "data": "UkVEQUNU"},
        {"type": "thinking", "thinking": "", "signature": "sigC=="},
        {"type": "text", "text": "nearly"},
        {"type": "tool_use", "id": "tu_2", "name": "calc", "input": {"e": "2+2"}},
    ]


def test_thinking_of_older_turns_stays() -> None:
    """Leaving it out when a new turn begins would change what was sent before."""
    reply = assistant((ThinkPart("hm", "sig"), TextPart("done")))

    assert sent(user("a"), reply, user("b"))[1]["content"][0]["thinking"] == "hm"


def test_thinking_at_the_end_of_a_reply_is_left_out() -> None:
    """The API refuses it; before a call it stays."""
    parts = (TextPart("so"), ThinkPart("hm", "sig"))
    with_call = assistant(parts, tool_calls=[call("a", "f")])

    assert blocks_of(user("a"), assistant(parts)) == [{"type": "text", "text": "so"}]
    assert [block["type"] for block in sent(user("a"), with_call)[1]["content"]] == [
        "text",
        "thinking",
        "tool_use",
    ]


def test_pictures_are_carried_or_fetched_and_all_else_is_named() -> None:
    """Four types as base64, http by address; the rest as a text that says what it was."""
    parts = (
        ImagePart(MediaUrl(PICTURE)),
        ImagePart(MediaUrl("data:image/jpg;base64,iVBORw0KGgo=")),
        ImagePart(MediaUrl("https://example.org/a.png")),
        ImagePart(MediaUrl("data:image/svg+xml;base64,PHN2Zz4=")),
        AudioPart(MediaUrl("https://example.org/a.wav")),
        VideoPart(MediaUrl("ms://file-1")),
    )
    data = "iVBORw0KGgo="

    blocks = blocks_of(user(parts))

    assert blocks[:3] == [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": data},
        },
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/jpeg", "data": data},
        },
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    ]
    assert [block["text"] for block in blocks[3:]] == [
        "[picture left out: image/svg+xml]",
        "[sound left out: https://example.org/a.wav]",
        "[film left out: ms://file-1]",
    ]
    assert result_of(*parts)["content"] == blocks


def test_a_failed_result_is_flagged_and_keeps_its_text() -> None:
    """Kimi CLI marks failures in the first text; a marked result is one."""
    failed = (TextPart("<system>ERROR: exit code 1</system>"), TextPart("no such file"))

    assert result_of(*failed)["is_error"] is True
    assert result_of(*failed)["content"][1]["text"] == "no such file"
    assert "is_error" not in result_of(TextPart("fine"))
    assert "is_error" not in result_of(*failed, ImagePart(MediaUrl(PICTURE)))
    marked = blocks_of(assistant("", tool_calls=[call("a", "f")]))[0]
    assert (marked["is_error"], marked["content"][0]["text"]) == (True, UNKNOWN_OUTCOME)


def test_a_reply_at_the_very_end_has_no_white_space_behind_it() -> None:
    """The API refuses such a prefill; anywhere else the text stays as it is."""
    assert sent(user("a "), assistant("Say: "))[-1]["content"][0]["text"] == "Say:"
    assert sent(user("a"), assistant("Say: "), user("b"))[1]["content"][0]["text"] == "Say: "
    assert sent(user("a "))[-1]["content"][0]["text"] == "a "
