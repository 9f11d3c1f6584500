"""Scripted outcomes as both providers spell them: the SDKs' own types read them back."""

import json

import pytest

from minutebook.providers.overflow import classify
from minutebook.testing.scripted import Answer, Call
from minutebook.testing.wire import (
    anthropic_error,
    anthropic_events,
    anthropic_message,
    anthropic_overflow,
    error_event,
    openai_completion,
    openai_error,
    openai_events,
    openai_overflow,
    output_tokens,
)

ANSWER = Answer(
    text="Hello there, friend.",
    thinking="hm, well",
    calls=(Call(name="run", arguments='{"cmd": "ls -la"}'), Call(name="stop", id="own")),
)


def events_of(texts: list[str]) -> list[dict[str, object]]:
    """Decode the data of a stream's events."""
    rows = [line for text in texts for line in text.split("\n") if line.startswith("data: {")]
    return [json.loads(row.removeprefix("data: ")) for row in rows]


def test_openais_type_reads_a_completion() -> None:
    """Text, calls, reason, usage."""
    types = pytest.importorskip("openai.types.chat", reason="needs the extra openai")
    body = openai_completion(ANSWER, model="m", input_tokens=7, number=3)

    read = types.ChatCompletion.model_validate(body)

    choice = read.choices[0]
    assert choice.message.content == ANSWER.text
    assert [(one.id, one.function.name) for one in choice.message.tool_calls] == [
        ("call_3_0", "run"),
        ("own", "stop"),
    ]
    assert choice.finish_reason == "tool_calls"
    assert read.usage.prompt_tokens == 7
    assert read.usage.completion_tokens == output_tokens(ANSWER)


def test_openais_type_reads_a_stream_and_its_pieces_are_the_whole() -> None:
    """Joined, the pieces are text and arguments; the usage comes last, if it is asked for."""
    types = pytest.importorskip("openai.types.chat", reason="needs the extra openai")
    found = list(openai_events(ANSWER, model="m", input_tokens=7, number=3, with_usage=True))
    chunks = [types.ChatCompletionChunk.model_validate(event) for event in events_of(found)]

    deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    pieces = [call for delta in deltas for call in delta.tool_calls or ()]
    assert found[-1] == "data: [DONE]\n\n"
    assert "".join(delta.content or "" for delta in deltas) == ANSWER.text
    assert "".join(one.function.arguments for one in pieces if one.index == 0) == (
        ANSWER.calls[0].arguments
    )
    assert chunks[-1].usage.prompt_tokens == 7
    bare = list(openai_events(ANSWER, model="m", input_tokens=7, number=3, with_usage=False))
    assert all("usage" not in event for event in events_of(bare))


def test_anthropics_type_reads_a_message() -> None:
    """Thinking, text, calls, reason, usage."""
    types = pytest.importorskip("anthropic.types", reason="needs the extra anthropic")
    body = anthropic_message(ANSWER, model="m", input_tokens=7, number=3)

    read = types.Message.model_validate(body)

    assert [block.type for block in read.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert read.content[2].input == {"cmd": "ls -la"}
    assert [block.id for block in read.content[2:]] == ["toolu_3_0", "own"]
    assert read.stop_reason == "tool_use"
    assert read.usage.input_tokens == 7


def test_anthropics_stream_begins_and_ends_every_block() -> None:
    """Starts are empty, deltas add up, and the message ends with its reason and its usage."""
    found = events_of(list(anthropic_events(ANSWER, model="m", input_tokens=7, number=3)))
    kinds = [event["type"] for event in found]

    texts = [event["delta"] for event in found if event["type"] == "content_block_delta"]
    assert kinds[:2] == ["message_start", "ping"]
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 4
    assert "".join(one.get("text", "") for one in texts) == ANSWER.text  # type: ignore[attr-defined]
    assert json.loads("".join(one.get("partial_json", "") for one in texts)[:17]) == {  # type: ignore[attr-defined]
        "cmd": "ls -la"
    }


def test_an_answers_own_words_go_before_what_is_usual() -> None:
    """Reason and usage as the test gave them; an empty answer has no block."""
    said = Answer(finish="refusal", usage={"input_tokens": 1, "output_tokens": 0})
    message = anthropic_message(said, model="m", input_tokens=7, number=1)
    completion = openai_completion(said, model="m", input_tokens=7, number=1)

    assert (message["content"], message["stop_reason"]) == ([], "refusal")
    assert message["usage"] == completion["usage"] == said.usage
    assert completion["choices"][0]["message"]["content"] is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "bad_parameter"),
        (401, "no_access"),
        (404, "no_access"),
        (429, "rate_limit"),
        (500, "transient"),
        (503, "transient"),
        (529, "transient"),
    ],
)
def test_errors_mean_in_both_shapes_what_their_status_means(status: int, kind: str) -> None:
    """As the classifier reads them."""
    assert classify(openai_error(status, "?"), status=status).kind == kind
    assert classify(anthropic_error(status, "?"), status=status).kind == kind


def test_overflows_are_told_with_their_numbers() -> None:
    """Too much input, and too much room for the reply."""
    for spell in (openai_overflow, anthropic_overflow):
        large = classify(spell(9_000, 100, 8_000))
        greedy = classify(spell(7_000, 2_000, 8_000))
        assert (large.kind, large.window_tokens, large.input_tokens) == (
            "context_overflow",
            8_000,
            9_000,
        )
        assert (greedy.kind, greedy.output_tokens) == ("output_reserve_too_big", 2_000)


def test_an_error_in_a_stream_is_an_event() -> None:
    """Anthropic's has a name, OpenAI's has none."""
    body = anthropic_error(529, "Overloaded")

    assert error_event(body, anthropic=True).startswith("event: error\ndata: {")
    assert error_event(body, anthropic=False).startswith("data: {")
    assert classify(error_event(body, anthropic=True)).kind == "transient"
