"""OpenAI's chat messages to records."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from minutebook.codec import encode_line
from minutebook.formats.openai_chat import detect, read
from minutebook.formats.source import Source
from minutebook.messages import (
    AudioPart,
    Function,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    TextPart,
    ThinkPart,
    ToolCall,
    VideoPart,
    assistant,
    call,
    replace,
    tool,
    user,
)
from minutebook.records import Checkpoint, SystemPrompt, Usage
from tests.formats.transcripts import JSON_VALUES, TEXTS

ARGUMENTS = st.sampled_from(["{}", '{"a":1}', "{broken", ""])
HISTORIES = st.lists(
    st.one_of(
        st.builds(user, TEXTS),
        st.builds(assistant, TEXTS),
        st.builds(
            lambda said, given: assistant(
                said, tool_calls=[call(f"c{n}", "f", text) for n, text in enumerate(given)]
            ),
            TEXTS,
            st.lists(ARGUMENTS, max_size=3),
        ),
        st.builds(tool, st.sampled_from(["c0", "c1"]), TEXTS),
    ),
    min_size=1,
    max_size=6,
)
KEYS = ["content", "tool_calls", "function_call", "name", "refusal", "usage", "reasoning_content"]
STRANGE = st.builds(
    lambda role, rest: {"content": None, **rest, "role": role},
    st.sampled_from(["system", "user", "assistant", "tool", "function", "_usage", "x"]),
    st.dictionaries(st.sampled_from(KEYS), JSON_VALUES, max_size=4),
)


def source(*messages: Any, **around: Any) -> Source:
    value = {"messages": [*messages], **around} if around else [*messages]
    return Source(json.dumps(value).encode(), name="f")


def one(**message: Any) -> Message:
    """Read one message, which must not be the first."""
    return read(source({"role": "user", "content": "a"}, message), 0).sent[1]


def as_openai(message: Message) -> dict[str, Any]:
    """Write a message of text and calls as OpenAI's API has it."""
    value: dict[str, Any] = {"role": message.role, "content": message.text or None}
    if message.calls:
        value["tool_calls"] = [
            {
                "id": item.id,
                "type": "function",
                "function": {"name": item.name, "arguments": item.arguments},
            }
            for item in message.calls
        ]
    if message.tool_call_id:
        value["tool_call_id"] = message.tool_call_id
    return value


@given(HISTORIES)
def test_messages_calls_and_results_come_back(history: list[Message]) -> None:
    """What is written in the API's form is read as the same messages, broken arguments too."""
    messages = [
        replace(item, origin=None if item.role == "user" else item.origin) for item in history
    ]

    reading = read(source(*map(as_openai, messages)), 0)

    assert list(reading.sent) == messages
    assert reading.problems == ()


@given(st.lists(STRANGE, min_size=1, max_size=4))
def test_any_values_are_read_and_can_be_written(messages: list[Any]) -> None:
    """Keys of unexpected types never raise, and no message is taken for a special record."""
    reading = read(source(*messages), 0)

    for message in reading.sent:
        assert encode_line(message).startswith(b'{"role":')
        assert not message.role.startswith("_")


def test_the_first_system_message_is_the_prompt() -> None:
    """A developer's too; a later one stays in the history."""
    first = {"role": "developer", "content": [{"type": "text", "text": "be kind"}]}
    reading = read(
        source(first, {"role": "user", "content": "a"}, {"role": "system", "content": "now"}), 0
    )

    assert reading.records == (
        SystemPrompt(content="be kind"),
        Checkpoint(id=0, content="checkpoint 0"),
        Message(role="user", content="a"),
        Message(role="system", content="now"),
    )


def test_old_function_calls_are_calls() -> None:
    """A call without an id and its result get one; the result keeps its name."""
    reading = read(
        source(
            {
                "role": "assistant",
                "content": None,
                "function_call": {"name": "f", "arguments": "{}"},
            },
            {"role": "function", "name": "f", "content": "done"},
        ),
        0,
    )

    assert reading.sent == (
        assistant("", tool_calls=[call("made-up-1", "f")]),
        replace(tool("made-up-1", "done"), name="f"),
    )
    assert reading.counts == {"made_up_ids": 1}


@pytest.mark.parametrize(
    ("given_call", "expected"),
    [
        ({"id": "a", "function": {"name": "f"}}, Function("f", UNSET)),
        ({"id": "a", "function": {"name": "f", "arguments": None}}, Function("f", None)),
        ({"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}, Function("f", '{"x":1}')),
        ({"id": "a", "name": "f", "arguments": "{}"}, Function("f", "{}")),
        ({"id": "a", "custom": {"name": "f", "input": "ls"}}, Function("f", "ls")),
    ],
)
def test_calls_of_every_shape(given_call: dict[str, Any], expected: Function) -> None:
    """Missing, null and decoded arguments, flat calls, and custom tools."""
    message = one(role="assistant", content="", tool_calls=[given_call, "no call"])

    assert message.calls == (ToolCall(type="function", id="a", function=expected),)


@pytest.mark.parametrize(
    ("item", "part"),
    [
        ({"type": "text", "text": "a"}, TextPart("a")),
        ({"type": "input_text", "text": "a"}, TextPart("a")),
        ({"type": "refusal", "refusal": "no"}, TextPart("no")),
        ({"type": "think", "think": "hm"}, ThinkPart("hm")),
        ({"type": "think", "think": "hm", "encrypted": "e"}, ThinkPart("hm", "e")),
        ({"type": "image_url", "image_url": {"url": "u"}}, ImagePart(MediaUrl("u"))),
        ({"type": "image_url", "image_url": "u"}, ImagePart(MediaUrl("u"))),
        ({"type": "audio_url", "audio_url": {"url": "u"}}, AudioPart(MediaUrl("u"))),
        ({"type": "video_url", "video_url": {"url": "u"}}, VideoPart(MediaUrl("u"))),
        (
            {"type": "input_audio", "input_audio": {"data": "AA", "format": "mp3"}},
            AudioPart(MediaUrl("data:audio/mp3;base64,AA")),
        ),
        (
            {"type": "file", "file": {"file_id": "x"}},
            OtherPart({"type": "file", "file": {"file_id": "x"}}),
        ),
    ],
)
def test_content_lists(item: dict[str, Any], part: Any) -> None:
    """Each kind of content has its part; what has none is kept whole."""
    assert one(role="user", content=["first", item]).parts == (TextPart("first"), part)


def test_a_refusal_is_what_the_model_said() -> None:
    """It stands as text behind the content."""
    assert one(role="assistant", content=None, refusal="I can't").content == "I can't"


def test_thinking_is_taken_once() -> None:
    """Of the copies that servers write, the blocks with the signature."""
    block = {"type": "thinking", "thinking": "hm", "signature": "s"}

    both = one(role="assistant", content="a", thinking_blocks=[block], reasoning_content="hm")
    plain = one(role="assistant", content="a", reasoning_content="hm", reasoning="hm")

    assert both.parts == (ThinkPart("hm", "s"), TextPart("a"))
    assert plain.parts == (ThinkPart("hm"), TextPart("a"))
    assert one(role="assistant", content="a", reasoning="ah").thinking == "ah"


def test_usage_is_split_into_disjoint_counts() -> None:
    """What was read from the cache is part of the prompt's count, and is taken out of it."""
    reported = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    reply = {"role": "assistant", "content": "a", "usage": reported, "model": "m"}

    counts = read(source(reply), 0).records[1]

    assert counts == Usage(
        token_count=120,
        content="120 tokens",
        input=40,
        cache_read=60,
        output=20,
        reasoning=5,
        model="m",
    )
    reported["prompt_tokens_details"] = {"cached_tokens": 1000}
    assert read(source(reply), 0).records[1] == Usage(
        token_count=120, content="120 tokens", input=100, output=20, reasoning=5, model="m"
    )


def test_what_is_around_the_messages_names_the_session() -> None:
    """Times are the first and the last, in whichever key a message has one."""
    reading = read(
        source(
            {"role": "user", "content": "a", "timestamp": "2026-01-02T03:04:05Z"},
            {"role": "assistant", "content": "b", "created": 1767323050},
            model="m",
            id="s-9",
            title="t",
        ),
        0,
    )

    assert (reading.model, reading.session_id, reading.title) == ("m", "s-9", "t")
    assert (reading.started, reading.updated) == (1767323045.0, 1767323050.0)


@pytest.mark.parametrize(
    ("message", "evidence"),
    [
        ({"role": "assistant", "content": None, "tool_calls": []}, "the key tool_calls"),
        ({"role": "system", "content": "a"}, "of the role system"),
        ({"role": "user", "content": "a"}, "nothing that another form would have"),
    ],
)
def test_the_evidence_is_what_decided(message: dict[str, Any], evidence: str) -> None:
    """A key or a role that only this form has, or the want of anything else."""
    assert evidence in str(detect(source(message)))


def test_other_files_are_not_taken() -> None:
    """A list of something else, and a file without JSON."""
    assert detect(source({"info": {}})) is None
    assert detect(Source(b"hello")) is None
