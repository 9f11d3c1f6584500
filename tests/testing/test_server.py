"""The strict server: spoken to by the real SDKs, it checks, answers, fails, holds, and stops."""

import asyncio
import json
import socket
import threading
import urllib.error
import urllib.request
from typing import Any

import pytest

from minutebook.providers.overflow import classify
from minutebook.testing.scripted import Answer, Call, Failure, ScriptError
from minutebook.testing.server import ProviderServer, count_tokens

openai = pytest.importorskip("openai", reason="needs the extra openai")
anthropic = pytest.importorskip("anthropic", reason="needs the extra anthropic")

SAID: list[Any] = [{"role": "user", "content": "hi"}]
ANSWER = Answer(text="Hello there, friend.", thinking="hm", calls=(Call(name="run"),))


def openai_client(server: ProviderServer) -> Any:
    """Give OpenAI's client, without retries of its own."""
    return openai.AsyncOpenAI(base_url=server.openai_url, api_key="k", max_retries=0)


def anthropic_client(server: ProviderServer) -> Any:
    """Give Anthropic's client, without retries of its own."""
    return anthropic.AsyncAnthropic(base_url=server.anthropic_url, api_key="k", max_retries=0)


def post(url: str, data: bytes, **headers: str) -> tuple[int, Any]:
    """Send bytes as they are; give status and decoded body."""
    request = urllib.request.Request(url, data=data, headers=headers)
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


async def test_openai_whole_and_streamed() -> None:
    """The same answer both ways, and its usage where it is asked for."""
    with ProviderServer([ANSWER, ANSWER]) as server:
        async with openai_client(server) as client:
            whole = await client.chat.completions.create(model="m", messages=SAID)
            stream = await client.chat.completions.create(
                model="m", messages=SAID, stream=True, stream_options={"include_usage": True}
            )
            chunks = [chunk async for chunk in stream]
        server.check()

    said = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert whole.choices[0].message.content == said == ANSWER.text
    assert chunks[-1].usage == whole.usage
    assert whole.usage.prompt_tokens == server.received[0].tokens


async def test_anthropic_whole_and_streamed() -> None:
    """The same answer both ways, block for block."""
    with ProviderServer([ANSWER, ANSWER]) as server:
        async with anthropic_client(server) as client:
            whole = await client.messages.create(model="m", max_tokens=9, messages=SAID)
            async with client.messages.stream(model="m", max_tokens=9, messages=SAID) as stream:
                final = await stream.get_final_message()
        server.check()

    assert [block.type for block in final.content] == [block.type for block in whole.content]
    assert final.content[1].text == whole.content[1].text == ANSWER.text
    assert final.stop_reason == whole.stop_reason == "tool_use"
    assert final.usage.output_tokens == whole.usage.output_tokens


async def test_tokens_are_counted_without_a_step_of_the_script() -> None:
    """By the server's own estimate, the same as it holds against the window."""
    with ProviderServer() as server:
        async with anthropic_client(server) as client:
            counted = await client.messages.count_tokens(model="m", system="s", messages=SAID)

    assert (
        counted.input_tokens
        == server.received[0].tokens
        == count_tokens({"system": "s", "messages": SAID})
    )


async def test_a_request_that_breaks_a_rule_is_refused_and_takes_no_step() -> None:
    """In the provider's own shape; `check` raises for it."""
    blank: list[Any] = [{"role": "user", "content": " "}]
    with ProviderServer(["unused"]) as server:
        async with openai_client(server) as client:
            with pytest.raises(openai.BadRequestError, match="blank"):
                await client.chat.completions.create(model="m", messages=blank)
        async with anthropic_client(server) as client:
            with pytest.raises(anthropic.BadRequestError, match="blank"):
                await client.messages.create(model="m", max_tokens=9, messages=blank)
        with pytest.raises(
            ScriptError, match=r"blank.*blank.*1 steps of the script were not taken"
        ):
            server.check()

    assert [one.status for one in server.received] == [400, 400]


async def test_a_request_larger_than_the_window_is_refused_as_an_overflow() -> None:
    """Too much input, or input and reply together."""
    long: list[Any] = [{"role": "user", "content": "hello " * 2_000}]
    with ProviderServer(window_tokens=1_000) as server:
        async with openai_client(server) as client:
            with pytest.raises(openai.BadRequestError) as large:
                await client.chat.completions.create(model="m", messages=long)
        async with anthropic_client(server) as client:
            with pytest.raises(anthropic.BadRequestError) as greedy:
                await client.messages.create(model="m", max_tokens=999, messages=SAID)
        server.check()

    assert classify(large.value).kind == "context_overflow"
    assert classify(large.value).window_tokens == 1_000
    assert classify(greedy.value).kind == "output_reserve_too_big"


async def test_failures_come_as_the_script_says() -> None:
    """Status, headers and body, in the provider's shape or as they are."""
    script = [
        Failure(status=429, headers={"retry-after": "7"}),
        Failure(status=502, body="<html>bad gateway</html>"),
        Failure(status=400, body={"error": {"message": "prompt is too long"}}),
    ]
    errors = []
    with ProviderServer(script) as server:
        async with anthropic_client(server) as client:
            for _ in script:
                with pytest.raises(anthropic.APIStatusError) as raised:
                    await client.messages.create(model="m", max_tokens=9, messages=SAID)
                errors.append(raised.value)

    assert [classify(error).kind for error in errors] == [
        "rate_limit",
        "transient",
        "context_overflow",
    ]
    assert errors[0].response.headers["retry-after"] == "7"


async def test_an_error_inside_a_stream_that_began_with_200() -> None:
    """Both SDKs raise it, and the classifier reads it (case C025)."""
    failure = Failure(
        status=400, message="prompt is too long: 9000 tokens > 8000 maximum", in_stream=True
    )
    with ProviderServer([failure, failure]) as server:
        async with openai_client(server) as client:
            stream = await client.chat.completions.create(model="m", messages=SAID, stream=True)
            with pytest.raises(openai.APIError) as first:
                _ = [chunk async for chunk in stream]
        async with anthropic_client(server) as client:
            with pytest.raises(anthropic.APIError) as second:
                async with client.messages.stream(model="m", max_tokens=9, messages=SAID) as begun:
                    await begun.get_final_message()

    assert classify(first.value).window_tokens == 8_000
    assert classify(second.value).kind == "context_overflow"


async def test_a_stream_or_a_body_may_be_cut_off() -> None:
    """The connection ends early; what came is what there is."""
    cut = Answer(text="Hello there, friend.", broken_after=2)
    with ProviderServer([cut, cut]) as server:
        async with openai_client(server) as client:
            stream = await client.chat.completions.create(model="m", messages=SAID, stream=True)
            chunks = [chunk async for chunk in stream]
            with pytest.raises(openai.APIConnectionError) as broken:
                await client.chat.completions.create(model="m", messages=SAID)

    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None, None]
    assert classify(broken.value).kind == "transient"


async def test_an_answer_is_held_until_the_test_lets_it_go() -> None:
    """No clock: an event."""
    hold = threading.Event()
    with ProviderServer([Answer(text="late", hold=hold)]) as server:
        async with openai_client(server) as client:
            asked = asyncio.create_task(client.chat.completions.create(model="m", messages=SAID))
            await asyncio.to_thread(server.wait, 1)
            assert not asked.done()
            hold.set()
            assert (await asked).choices[0].message.content == "late"


async def test_it_stops_by_itself_whoever_is_held_or_connected() -> None:
    """No thread and no listening socket is left, and a client that waits is told."""
    async with openai.AsyncOpenAI(base_url="http://unused", api_key="k", max_retries=0) as idle:
        with ProviderServer([Failure(hold=threading.Event())]) as server:
            client = idle.with_options(base_url=server.openai_url)
            asked = asyncio.create_task(client.chat.completions.create(model="m", messages=SAID))
            await asyncio.to_thread(server.wait, 1)
            port = int(server.anthropic_url.rpartition(":")[2])
        with pytest.raises(openai.APIError):
            await asked

    left = [thread.name for thread in threading.enumerate()]
    assert not [name for name in left if "process_request" in name or "serve_forever" in name]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


async def test_a_call_beyond_the_script_is_an_error_that_says_so() -> None:
    """The client gets it as the server's."""
    with ProviderServer() as server:
        async with openai_client(server) as client:
            with pytest.raises(openai.InternalServerError, match="beyond the end of the script"):
                await client.chat.completions.create(model="m", messages=SAID)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"{", "the body is no JSON"),
        (b"[]", "the body is no object"),
        (b'{"model": "m", "messages": [], "temperature": NaN}', "NaN is no JSON number"),
        (b'{"model": "\xff", "messages": []}', "the body is no JSON"),
        (b'{"model": "m", "messages": ["hi"]}', "messages is empty"),
    ],
)
def test_a_body_that_is_no_request_is_refused(data: bytes, what: str) -> None:
    """Strict UTF-8 JSON, and an object."""
    with ProviderServer() as server:
        status, body = post(f"{server.openai_url}/chat/completions", data, authorization="k")

    assert status == 400
    assert what in body["error"]["message"]


def test_a_key_and_a_version_are_required() -> None:
    """As the providers do."""
    body = json.dumps({"model": "m", "messages": SAID, "max_tokens": 9}).encode()
    with ProviderServer() as server:
        _, chat = post(f"{server.openai_url}/chat/completions", body)
        _, messages = post(f"{server.anthropic_url}/v1/messages", body)

    assert chat["error"]["message"] == "no key"
    assert messages["error"]["message"] == "anthropic-version: header is required; no key"


def test_there_is_nothing_else() -> None:
    """An unknown path is a 404."""
    with ProviderServer() as server:
        assert post(f"{server.openai_url}/embeddings", b"{}")[0] == 404
        with pytest.raises(urllib.error.HTTPError) as missing:
            urllib.request.urlopen(f"{server.openai_url}/models")
        missing.value.close()


async def test_kimis_own_fields_are_allowed_where_it_is_kimi() -> None:
    """And refused where it is OpenAI."""
    thought: list[Any] = [
        *SAID,
        {"role": "assistant", "content": "a", "reasoning_content": "b"},
        *SAID,
    ]
    with ProviderServer(["x"], kimi=True) as server:
        async with openai_client(server) as client:
            await client.chat.completions.create(model="kimi", messages=thought)
        server.check()
    with ProviderServer(["x"]) as server:
        async with openai_client(server) as client:
            with pytest.raises(openai.BadRequestError, match="reasoning_content"):
                await client.chat.completions.create(model="m", messages=thought)


def test_media_count_by_rule_and_not_by_length() -> None:
    """A picture is no text."""
    url = "data:image/png;base64," + "A" * 100_000
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}

    assert count_tokens({"messages": [picture]}) < 6_000
    assert count_tokens({}) == 0
