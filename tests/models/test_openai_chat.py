"""The summariser on OpenAI's SDK, against a strict server on the loopback interface."""

import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from minutebook.compaction.replies import SummaryReply, check
from minutebook.compaction.task import Capacity, SummaryRequest, request_for
from minutebook.errors import ConfigError
from minutebook.models.retry import Retries
from minutebook.testing.scripted import Answer, Call, Failure, Step
from minutebook.testing.server import ProviderServer
from minutebook.tokens.spent import spent
from tests.models.chains import GOOD, Clockwork, task_for, written

openai = pytest.importorskip("openai", reason="needs the extra openai")

from minutebook.models.openai_chat import OpenAISummarizer, reply_of  # noqa: E402

TASK = task_for(2_000)
REQUEST = request_for(TASK, Capacity(window_tokens=50_000, output_tokens_max=4_000))


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with no variable that says where a model is."""
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "MINUTEBOOK_SUMMARY_API_KEY",
        "MINUTEBOOK_SUMMARY_BASE_URL",
        "MINUTEBOOK_SUMMARY_MODEL",
    ):
        monkeypatch.delenv(name, raising=False)


def summarizer(server: ProviderServer, *, window: int = 50_000) -> OpenAISummarizer:
    """Make one that asks the server."""
    return OpenAISummarizer(
        "m", base_url=server.openai_url, api_key="k", window=window, max_output=4_000
    )


async def answered(answer: Answer | Failure, request: SummaryRequest = REQUEST) -> SummaryReply:
    """Give the reply to one scripted answer."""
    with ProviderServer([answer]) as server:
        one = summarizer(server)
        try:
            return await one(request)
        finally:
            await one.close()


async def test_the_request_is_the_task_and_has_no_tools() -> None:
    """Case C031: a system text, a user's message, a limit, and nothing else."""
    with ProviderServer([GOOD]) as server:
        one = summarizer(server)
        reply = await one(REQUEST)
        await one.close()
        server.check()

    assert check(reply, REQUEST) == GOOD
    assert server.received[0].body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": REQUEST.system},
            {"role": "user", "content": REQUEST.user},
        ],
        "max_tokens": REQUEST.output_tokens_max,
    }
    assert server.received[0].headers["authorization"] == "Bearer k"


async def test_what_the_reply_says_is_read() -> None:
    """Text, reason to end, usage, thinking and calls."""
    said = Answer(
        text="t",
        thinking="hm",
        calls=(Call(name="run"),),
        finish="length",
        usage={"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
    )

    reply = await answered(said)

    assert (reply.text, reply.finish, reply.calls, reply.thinking) == (
        "t",
        "length",
        ("run",),
        "hm",
    )
    assert (spent(reply.usage).input, spent(reply.usage).output) == (9, 2)
    assert reply.model == "m"


async def test_nothing_is_a_reply_too() -> None:
    """An empty answer is one without text."""
    reply = await answered(Answer())

    assert reply.text == ""
    assert reply.finish == "stop"


def test_any_field_of_a_compatible_servers_reply_may_be_missing() -> None:
    """No choice, no message, content in parts, a call of the old kind, a refusal."""
    old = SimpleNamespace(
        content=[{"type": "text", "text": "a"}, {"type": "x"}, 7],
        function_call=SimpleNamespace(name="old"),
        refusal="no",
    )
    reply = reply_of(SimpleNamespace(choices=[SimpleNamespace(message=old)]))

    assert reply_of(SimpleNamespace()) == SummaryReply(text="")
    assert reply_of(SimpleNamespace(choices=[])) == SummaryReply(text="")
    assert (reply.text, reply.calls, reply.refused) == ("a", ("old",), "no")


async def test_failed_calls_are_seen_and_not_repeated_by_the_sdk() -> None:
    """The chain repeats them, and counts them."""
    clockwork = Clockwork()
    script: list[Step | str] = [
        Failure(status=429, headers={"retry-after": "2"}),
        Failure(status=500),
        GOOD,
    ]
    with ProviderServer(script) as server:
        one = summarizer(server)
        result = await written(TASK, one, clockwork=clockwork)
        await one.close()
        server.check()

    assert result.text == GOOD
    assert [attempt.kind for attempt in result.attempts] == ["rate_limit", "transient", ""]
    assert clockwork.waits == [pytest.approx(2.2), 2.0]
    assert result.spent.calls == 3


async def test_a_server_with_a_smaller_window_gets_smaller_requests() -> None:
    """Its own words teach the window; every message reaches it all the same."""

    def short(body: dict[str, list[dict[str, str]]]) -> Answer:
        return Answer(text=f"## Task\n- {len(body['messages'][1]['content'])} letters (record 1)")

    task = task_for(12_000)
    with ProviderServer(always=short, window_tokens=8_000) as server:
        one = summarizer(server, window=100_000)
        result = await written(task, one, retries=Retries(parallel_max=1))
        await one.close()
        server.check()

    sent = "".join(one.body["messages"][1]["content"] for one in server.received)
    assert result.text is not None
    assert result.digested == ()
    assert [one.status for one in server.received].count(400) == 1
    assert all(f"[{message.seq}] " in sent for message in task.messages)


@pytest.mark.parametrize("broken", [Answer(text=GOOD, broken_after=20), Failure(body="<html>")])
async def test_a_broken_answer_is_a_bad_moment(broken: Answer | Failure) -> None:
    """Cut off in the middle, or no JSON at all."""
    with ProviderServer([broken, GOOD]) as server:
        one = summarizer(server)
        result = await written(TASK, one)
        await one.close()

    assert result.text == GOOD
    assert result.attempts[0].kind == "transient"


async def test_the_name_of_the_limit_is_learned() -> None:
    """A server that knows only the newer name is asked once more, and then always by it."""
    refusal = Failure(
        status=400,
        message="Unsupported parameter: 'max_tokens' is not supported"
        " with this model. Use 'max_completion_tokens' instead.",
    )
    with ProviderServer([refusal, GOOD, GOOD]) as server:
        one = summarizer(server)
        await one(REQUEST)
        await one(REQUEST)
        await one.close()

    assert ["max_tokens" in each.body for each in server.received] == [True, False, False]
    assert server.received[1].body["max_completion_tokens"] == REQUEST.output_tokens_max


async def test_another_bad_request_is_raised() -> None:
    """A value that is wrong is not asked for under another name."""
    with pytest.raises(openai.BadRequestError):
        await answered(Failure(status=400, message="max_tokens is too large: 9. At most 3."))


async def test_openai_itself_is_asked_by_its_own_name_of_the_limit() -> None:
    """Without an address it is OpenAI's."""
    own = OpenAISummarizer("gpt-4o-mini", api_key="k")

    assert own.capacity.window_tokens == 128_000
    assert own._limit_name == "max_completion_tokens"
    await own.close()


async def test_a_client_of_the_callers_is_used_and_left_open() -> None:
    """It stays theirs to close."""
    with ProviderServer([GOOD]) as server:
        async with openai.AsyncOpenAI(base_url=server.openai_url, api_key="k") as client:
            one = OpenAISummarizer("m", window=9_000, client=client)
            await one(REQUEST)
            await one.close()
            assert not client.is_closed()


def test_a_missing_key_is_an_error_that_says_what_to_do() -> None:
    """Also that a local server takes any."""
    with pytest.raises(ConfigError, match="MINUTEBOOK_SUMMARY_API_KEY"):
        OpenAISummarizer("m", window=9_000, base_url="http://127.0.0.1:1")


def test_a_missing_package_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not before a summariser is made."""
    monkeypatch.setitem(sys.modules, "openai", None)

    with pytest.raises(ConfigError, match=r"install minutebook\[openai\]"):
        OpenAISummarizer("m", window=9_000, api_key="k")


@pytest.fixture
def hosts() -> Iterator[ProviderServer]:
    """Give a server for a test of the environment."""
    with ProviderServer([GOOD]) as server:
        yield server


async def test_the_environment_says_where_the_model_is(
    hosts: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our variables, without any argument."""
    monkeypatch.setenv("MINUTEBOOK_SUMMARY_MODEL", "gpt-4o-mini")
    monkeypatch.setenv("MINUTEBOOK_SUMMARY_BASE_URL", hosts.openai_url)
    monkeypatch.setenv("MINUTEBOOK_SUMMARY_API_KEY", "ours")

    one = OpenAISummarizer()
    await one(REQUEST)
    await one.close()

    assert hosts.received[0].body["model"] == "gpt-4o-mini"
    assert hosts.received[0].headers["authorization"] == "Bearer ours"
