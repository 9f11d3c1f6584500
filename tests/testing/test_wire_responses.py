"""Answers in the shape of OpenAI's Responses API."""

import json
from typing import Any

import pytest

from minutebook.providers.replies import from_responses
from minutebook.testing.scripted import Answer, Call
from minutebook.testing.server import ProviderServer
from minutebook.testing.wire_responses import events, response

ANSWER = Answer(text="Hello.", thinking="hm", calls=(Call(name="run"),))
KNOWN: dict[str, Any] = {"model": "m", "input_tokens": 9, "number": 1}


def test_the_sdk_reads_a_whole_response() -> None:
    """Every item, and so do we."""
    types = pytest.importorskip("openai.types.responses", reason="needs the extra openai")
    body = response(ANSWER, **KNOWN)
    assert types.Response.model_validate(body).output_text == "Hello."
    found = from_responses(body)
    assert (found.text, found.thinking, [one.name for one in found.calls]) == (
        "Hello.",
        "hm",
        ["run"],
    )
    cut = response(Answer(text="Hel", finish="length"), **KNOWN)
    assert (cut["status"], cut["incomplete_details"]["reason"]) == (
        "incomplete",
        "max_output_tokens",
    )


def test_a_stream_ends_with_the_whole() -> None:
    """In order, numbered."""
    told = [json.loads(one.partition("data: ")[2]) for one in events(ANSWER, **KNOWN)]
    assert [one["sequence_number"] for one in told] == list(range(len(told)))
    assert told[0]["type"] == "response.created"
    assert told[-1]["response"] == response(ANSWER, **KNOWN)


async def test_the_real_sdk_talks_to_the_server() -> None:
    """Whole and streamed; what breaks a rule is refused."""
    openai = pytest.importorskip("openai", reason="needs the extra openai")
    with ProviderServer([ANSWER, ANSWER]) as server:
        async with openai.AsyncOpenAI(
            base_url=server.openai_url, api_key="k", max_retries=0
        ) as client:
            whole = await client.responses.create(model="m", input="hi")
            assert whole.output_text == "Hello."
            stream = await client.responses.create(model="m", input="hi", stream=True)
            kinds = [event.type async for event in stream]
            assert kinds[-1] == "response.completed"
            output = {"type": "function_call_output", "call_id": "a", "output": "x"}
            with pytest.raises(openai.BadRequestError, match="no call before"):
                await client.responses.create(model="m", input=[output])
