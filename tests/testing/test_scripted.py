"""The scripted model: it says what it is told to, and notices what a test must not miss."""

import pytest
from msgspec import structs

from minutebook.compaction.replies import SummaryReply
from minutebook.compaction.task import Capacity, request_for, task_of
from minutebook.messages import user
from minutebook.models.summarizer import Summarizer
from minutebook.providers.overflow import classify
from minutebook.testing.scripted import (
    Answer,
    Call,
    Failure,
    ProviderError,
    Script,
    ScriptedModel,
    ScriptError,
)
from tests.compaction.conversations import lines

TASK = task_of([user(lines(40))], 300)
REQUEST = request_for(TASK, Capacity(window_tokens=50_000, output_tokens_max=1_000))


async def test_it_answers_in_the_order_of_its_script() -> None:
    """Texts, answers, functions of the request; then what comes always."""
    model = ScriptedModel(
        ["one", lambda request: Answer(text=str(len(request.task.messages)))], always="on"
    )

    assert isinstance(model, Summarizer)
    assert [(await model(REQUEST)).text for _ in range(4)] == ["one", "1", "on", "on"]
    assert model.requests == [REQUEST] * 4
    assert model.script.left == 0


async def test_an_answer_is_spelled_as_a_reply() -> None:
    """Every field has its place."""
    said = Answer(
        text="t", thinking="h", calls=(Call(name="run"),), finish="x", usage={"input_tokens": 1}
    )

    assert await ScriptedModel([said], name="m")(REQUEST) == SummaryReply(
        text="t",
        thinking="h",
        calls=("run",),
        finish="x",
        usage={"input_tokens": 1},
        model="m",
    )


async def test_a_failure_is_raised_as_a_client_would() -> None:
    """With status, body and headers; without a body in the common shape."""
    model = ScriptedModel(
        [Failure(status=429, headers={"retry-after": "3"}), Failure(status=400, body="too long")]
    )

    with pytest.raises(ProviderError) as first:
        await model(REQUEST)
    with pytest.raises(ProviderError) as second:
        await model(REQUEST)

    assert classify(first.value).kind == "rate_limit"
    assert first.value.headers == {"retry-after": "3"}
    assert first.value.body == {"error": {"message": "scripted failure"}}
    assert second.value.body == "too long"


async def test_a_call_beyond_the_script_fails_the_test() -> None:
    """Through every handler of `Exception`."""
    model = ScriptedModel(["one"])
    await model(REQUEST)

    with pytest.raises(ScriptError, match="beyond the end"):
        await model(REQUEST)
    assert not issubclass(ScriptError, Exception)
    with pytest.raises(ScriptError):
        Script().next(REQUEST)


async def test_a_request_that_is_too_large_fails_the_test() -> None:
    """By the count that the test chose; the reply's room counts too."""
    small = ScriptedModel(always="x", window_tokens=900, output_tokens_max=500)

    with pytest.raises(ScriptError, match="tokens for a window of 900; a reply of 600 tokens"):
        await small(request_for(TASK, Capacity(window_tokens=50_000, output_tokens_max=600)))
    counted = ScriptedModel(always="x", count=lambda text: 10**6)
    assert counted.violations(REQUEST)[0].startswith("2000000 + ")


async def test_a_request_that_a_provider_would_refuse_fails_the_test() -> None:
    """Blank texts, for both of them."""
    blank = structs.replace(REQUEST, user=" ")

    with pytest.raises(ScriptError, match=r"blank.*blank"):
        await ScriptedModel(always="x")(blank)
