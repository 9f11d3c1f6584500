"""What a provider's error means, by its true and its false forms."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.providers.overflow import classify
from tests.cases import case

ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=40),
        st.binary(max_size=40),
        st.sampled_from(["prompt is too long", "code", "429", "rate limit", "max_tokens: 5 > 3"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "status", "x"]),
            inner,
            max_size=4,
        ),
        st.builds(ValueError, inner),
    ),
    max_leaves=12,
)


class StatusError(Exception):
    """An error as the SDKs raise one: with a status, a body and a message."""

    def __init__(self, status_code: int, body: object, message: str = "") -> None:
        self.status_code = status_code
        self.body = body
        super().__init__(message or f"Error code: {status_code} - {body}")


class ContextWindowExceededError(StatusError):
    """As LiteLLM names it."""


class ReadTimeout(Exception):
    """As httpx names it."""


class ClientError(Exception):
    """As boto3 raises it."""

    def __init__(self, code: str, message: str, status: int) -> None:
        self.response = {
            "Error": {"Code": code, "Message": message},
            "ResponseMetadata": {"HTTPStatusCode": status},
        }
        super().__init__(
            f"An error occurred ({code}) when calling the Converse operation: {message}"
        )


def test_case_c025_every_response_gets_its_class() -> None:
    """Case C025: each of the twelve, as the value that its `want` names."""
    responses = case("C025").json("errors.json")

    assert len(responses) == 12
    assert {one["id"]: classify(one).kind for one in responses} == {
        one["id"]: one["want"] for one in responses
    }


def test_case_c025_the_numbers_of_the_table_are_read() -> None:
    """Case C025: windows and sizes where the texts tell them."""
    found = {one["id"]: classify(one) for one in case("C025").json("errors.json")}

    windows = {name: fault.window_tokens for name, fault in found.items() if fault.window_tokens}
    inputs = {name: fault.input_tokens for name, fault in found.items() if fault.input_tokens}
    assert windows == {"E1": 200_000, "E2": 32_768, "E3": 32_768, "E4": 1_048_576, "E7": 200_000}
    assert inputs == {"E1": 205_001, "E2": 36_016, "E3": 32_769, "E4": 1_200_345, "E7": 190_000}


ERRORS = [
    json.loads(line)
    for line in (Path(__file__).parent / "errors.jsonl").read_text("utf-8").splitlines()
]
"""Errors as servers and clients word them: what each is, and the numbers that it tells."""


@pytest.mark.parametrize("case_of", ERRORS, ids=lambda one: f"{one['want']} {one['error']!s:.40}")
def test_true_and_false_forms_are_what_they_are(case_of: dict[str, Any]) -> None:
    """Only what means too many tokens starts a compaction; its numbers are read, others' aren't."""
    fault = classify(case_of["error"], status=case_of.get("status"))

    assert fault.kind == case_of["want"]
    assert fault.window_tokens == case_of.get("window")
    if case_of["want"] != "rate_limit":
        assert fault.input_tokens == case_of.get("input")
    if "output" in case_of:
        assert fault.output_tokens == case_of["output"]


@pytest.mark.parametrize(
    "case_of",
    [one for one in ERRORS if isinstance(one["error"], str) and one.get("status") != 200],
    ids=lambda one: f"{one['want']} {one['error']:.40}",
)
def test_a_text_means_the_same_in_whatever_it_is_wrapped(case_of: dict[str, Any]) -> None:
    """In a body, in a body's text, as an SDK's message, and in the body that an SDK's error has."""
    text, status = case_of["error"], case_of.get("status")
    body = {"error": {"message": text, "type": "error", "code": None}}

    for error in (body, json.dumps(body), RuntimeError(text)):
        assert classify(error, status=status).kind == case_of["want"]
    if status is not None:
        assert classify(StatusError(status, body)).kind == case_of["want"]


def test_numbers_of_a_body_are_read() -> None:
    """llama.cpp tells size and window as fields."""
    fault = classify(
        {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 14429, "n_ctx": 8192}}
    )

    assert (fault.window_tokens, fault.input_tokens) == (8_192, 14_429)


def test_an_error_inside_a_stream_that_began_with_200_is_read() -> None:
    """As the text of its events, as bytes, and as an event's object; the real status counts."""
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    stream = f"event: message_start\ndata: {{}}\n\nevent: error\ndata: {json.dumps(body)}\n\n"

    for error in (stream, stream.encode(), {"status": 200, "sse": stream}, body):
        assert classify(error).kind == "transient"
    assert classify(stream, status=200).status == 200
    assert classify({"status": 200, "error": {"code": 429}}).status == 429


def test_errors_of_clients_are_read() -> None:
    """boto3's response, LiteLLM's class, httpx's class, a wrapped error, a group of errors."""
    throttled = ClientError("ThrottlingException", "Too many tokens, please wait", 429)
    too_long = ClientError("ValidationException", "Input is too long for requested model.", 400)
    wrapped = RuntimeError("the agent failed")
    wrapped.__cause__ = too_long

    assert classify(throttled).kind == "rate_limit"
    assert classify(too_long).kind == "context_overflow"
    assert classify(ContextWindowExceededError(400, None, "?")).kind == "context_overflow"
    assert classify(ReadTimeout()).kind == "transient"
    assert classify(TimeoutError()).kind == "transient"
    assert classify(ConnectionResetError()).kind == "transient"
    assert classify(wrapped).kind == "context_overflow"
    assert classify(ExceptionGroup("several", [ValueError("x"), too_long])).kind == (
        "context_overflow"
    )


def test_what_led_to_an_error_counts_only_if_it_says_nothing_itself() -> None:
    """A plain error raised while an old one was handled isn't that one, if it hides it."""
    limit = StatusError(429, {"error": {"type": "rate_limit_error"}})
    other = StatusError(400, {"error": {"message": "prompt is too long"}})
    other.__context__ = limit
    silent = ValueError("x")
    silent.__context__ = limit
    hiding = ValueError("x")
    hiding.__context__ = limit
    hiding.__suppress_context__ = True

    assert classify(other).kind == "context_overflow"
    assert classify(silent).kind == "rate_limit"
    assert classify(hiding).kind == "unknown"


def test_waiting_helps_unless_the_request_alone_is_over_the_limit() -> None:
    """A rate limit that is smaller than the request is no matter of time."""
    limit = "on tokens per min (TPM): Limit 30000, Used 28000, Requested 4000"
    over = "on tokens per minute (TPM): Limit 6000, Requested 12000"

    assert classify(limit).waiting_helps
    assert not classify(over).waiting_helps
    assert classify(over).limit_tokens == 6_000
    assert classify("Overloaded", status=529).waiting_helps
    assert not classify("prompt is too long").waiting_helps


@pytest.mark.parametrize(
    "text",
    [
        "prompt is too long: 213462 tokens > 12 maximum",
        "maximum context length is 200000 tokens, and your messages resulted in 150000",
    ],
)
def test_a_window_that_cannot_be_one_is_not_believed(text: str) -> None:
    """Too small to be one, or larger than the request that it refused."""
    fault = classify(text)

    assert fault.kind == "context_overflow"
    assert fault.window_tokens is None


def test_only_the_beginning_of_an_errors_words_is_kept() -> None:
    """An error may hold the whole request; people need its first sentence."""
    assert classify("prompt is too long " + "x" * 10_000).told.startswith("prompt is too long xxx")
    assert len(classify("prompt is too long " + "x" * 10_000).told) == 300


class Odd:
    """An object whose every attribute and text raises."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError("text")


class OddError(Exception):
    """An error whose text raises."""

    def __str__(self) -> str:
        raise RuntimeError("text")


class OddMapping(Mapping[str, Any]):
    """A mapping that cannot be read."""

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("iter")

    def __len__(self) -> int:
        return 1


def test_odd_objects_are_unknown() -> None:
    """Nothing that can be handed over makes it raise, endless ones included."""
    circle: dict[str, object] = {}
    circle["error"] = circle
    deep: object = "prompt is too long"
    for _ in range(1_000):
        deep = {"error": deep}

    for odd in (
        None,
        0,
        True,
        1.5,
        (),
        {},
        object(),
        Odd(),
        OddError(),
        OddMapping(),
        circle,
        deep,
    ):
        assert classify(odd).kind == "unknown"
    assert classify(b"\xff\xfe prompt is too long").kind == "context_overflow"
    assert classify("[" * 5_000).kind == "unknown"


@given(ANYTHING)
def test_anything_is_classified(error: object) -> None:
    """It never raises, and gives equal answers to equal questions."""
    assert classify(error) == classify(error)
