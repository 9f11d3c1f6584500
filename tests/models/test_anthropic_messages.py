"""The summariser on Anthropic's SDK, against a strict server on the loopback interface."""

import sys
from types import SimpleNamespace

import pytest

from minutebook.compaction.replies import SummaryReply, check
from minutebook.compaction.task import Capacity, request_for
from minutebook.errors import ConfigError
from minutebook.models.retry import Retries
from minutebook.testing.scripted import Answer, Call, Failure, Step
from minutebook.testing.server import ProviderServer
from minutebook.tokens.spent import Spent, spent
from tests.models.chains import GOOD, Clockwork, task_for, written

anthropic = pytest.importorskip("anthropic", reason="needs the extra anthropic")

from minutebook.models.anthropic_messages import AnthropicSummarizer, reply_of  # noqa: E402

TASK = task_for(2_000)
REQUEST = request_for(TASK, Capacity(window_tokens=50_000, output_tokens_max=4_000))


def summarizer(server: ProviderServer, *, window: int = 50_000) -> AnthropicSummarizer:
    """Make one that asks the server."""
    return AnthropicSummarizer(
        "m", base_url=server.anthropic_url, api_key="k", window=window, max_output=4_000
    )


async def answered(answer: Answer) -> SummaryReply:
    """Give the reply to one scripted answer."""
    with ProviderServer([answer]) as server:
        one = summarizer(server)
        try:
            return await one(REQUEST)
        finally:
            await one.close()


async def test_the_request_is_the_task_and_has_no_tools() -> None:
    """Case C031: a system text of its own, a user's message, a limit, and nothing else."""
    with ProviderServer([GOOD]) as server:
        one = summarizer(server)
        reply = await one(REQUEST)
        await one.close()
        server.check()

    assert check(reply, REQUEST) == GOOD
    assert server.received[0].body == {
        "model": "m",
        "max_tokens": REQUEST.output_tokens_max,
        "system": REQUEST.system,
        "messages": [{"role": "user", "content": REQUEST.user}],
    }
    assert server.received[0].headers["authorization"] == "Bearer k"


async def test_what_the_reply_says_is_read() -> None:
    """Text, reason to end, usage with its cache, thinking and calls."""
    said = Answer(
        text="t",
        thinking="hm",
        calls=(Call(name="run"),),
        finish="max_tokens",
        usage={"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": 5},
    )

    reply = await answered(said)

    assert (reply.text, reply.finish, reply.calls, reply.thinking) == (
        "t",
        "max_tokens",
        ("run",),
        "hm",
    )
    assert spent(reply.usage) == Spent(calls=1, input=9, output=2, cache_read=5)
    assert reply.model == "m"


async def test_case_c027_no_content_at_all_is_a_blank_reply() -> None:
    """Case C027: an empty list of blocks."""
    reply = await answered(Answer())

    assert reply.text == ""
    assert reply_of(SimpleNamespace()) == SummaryReply(text="")


async def test_failed_calls_are_seen_and_not_repeated_by_the_sdk() -> None:
    """The chain repeats them, and counts them."""
    clockwork = Clockwork()
    script: list[Step | str] = [
        Failure(status=529),
        Failure(status=429, headers={"retry-after": "2"}),
        GOOD,
    ]
    with ProviderServer(script) as server:
        one = summarizer(server)
        result = await written(TASK, one, clockwork=clockwork)
        await one.close()
        server.check()

    assert result.text == GOOD
    assert [attempt.kind for attempt in result.attempts] == ["transient", "rate_limit", ""]
    assert clockwork.waits == [1.0, pytest.approx(2.2)]


async def test_a_server_with_a_smaller_window_gets_smaller_requests() -> None:
    """Its own words teach the window; every message reaches it all the same."""

    def short(body: dict[str, list[dict[str, str]]]) -> Answer:
        return Answer(text=f"## Task\n- {len(body['messages'][0]['content'])} letters (record 1)")

    task = task_for(12_000)
    with ProviderServer(always=short, window_tokens=8_000) as server:
        one = summarizer(server, window=100_000)
        result = await written(task, one, retries=Retries(parallel_max=1))
        await one.close()
        server.check()

    sent = "".join(one.body["messages"][0]["content"] for one in server.received)
    assert result.text is not None
    assert result.digested == ()
    assert [one.status for one in server.received].count(400) == 1
    assert all(f"[{message.seq}] " in sent for message in task.messages)


async def test_a_long_reply_is_not_refused_by_the_sdk_for_not_being_streamed() -> None:
    """The stated time is what allows it."""
    long = request_for(
        TASK, Capacity(window_tokens=400_000, output_tokens_max=64_000), output_tokens_max=64_000
    )
    with ProviderServer([GOOD]) as server:
        one = summarizer(server)
        reply = await one(long)
        await one.close()

    assert reply.text == GOOD


async def test_a_client_of_the_callers_is_used_and_left_open() -> None:
    """It stays theirs to close."""
    with ProviderServer([GOOD]) as server:
        url = server.anthropic_url
        async with anthropic.AsyncAnthropic(base_url=url, api_key="k") as client:
            one = AnthropicSummarizer("m", window=9_000, client=client)
            await one(REQUEST)
            await one.close()
            assert not client.is_closed()


def test_a_missing_package_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not before a summariser is made."""
    monkeypatch.setitem(sys.modules, "anthropic", None)

    with pytest.raises(ConfigError, match=r"install minutebook\[anthropic\]"):
        AnthropicSummarizer("m", window=9_000, api_key="k")
