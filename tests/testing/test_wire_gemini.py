"""Answers in the shape of Gemini's."""

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from minutebook.providers.overflow import classify
from minutebook.providers.replies import from_gemini
from minutebook.testing.scripted import Answer, Call
from minutebook.testing.server import ProviderServer
from minutebook.testing.wire_gemini import candidate, error, overflow
from minutebook.tokens.usage import usage_record

ANSWER = Answer(text="Hello.", thinking="hm", calls=(Call(name="run"), Call(name="cat")))


def test_a_whole_reply_is_read_with_its_usage() -> None:
    """Only the first call is signed."""
    body = candidate(ANSWER, model="gemini-3", input_tokens=9, number=1)
    found = from_gemini(body)
    assert (found.text, [one.name for one in found.calls]) == ("Hello.", ["run", "cat"])
    parts = body["candidates"][0]["content"]["parts"]
    assert ["thoughtSignature" in part for part in parts] == [False, False, True, False]
    assert usage_record(body["usageMetadata"]).token_count >= 9
    cut = candidate(Answer(text="x", finish="length"), model="m", input_tokens=1, number=1)
    assert cut["candidates"][0]["finishReason"] == "MAX_TOKENS"


def test_errors_are_known_for_what_they_are() -> None:
    """An overflow is one; another is not."""
    assert classify(overflow(200, 0, 100), status=400).kind == "context_overflow"
    assert classify(error(429, "slow down"), status=429).kind != "context_overflow"


def post(url: str, body: Any, **headers: str) -> Any:
    """Send a request; give the answer."""
    told = {"content-type": "application/json", **headers}
    request = urllib.request.Request(url, data=json.dumps(body).encode(), headers=told)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def test_the_server_speaks_it() -> None:
    """With a key; a request that breaks a rule is refused in Gemini's own shape."""
    with ProviderServer([ANSWER]) as server:
        url = f"{server.anthropic_url}/v1beta/models/gemini-2.5-pro:generateContent"
        good = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
        assert from_gemini(post(url, good, **{"x-goog-api-key": "k"})).text == "Hello."
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(url, {"contents": []}, **{"x-goog-api-key": "k"})
        with caught.value:
            assert json.load(caught.value)["error"]["status"] == "INVALID_ARGUMENT"
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(url, good)
        caught.value.close()
