import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import FormatError
from minutebook.gateway.asking import read_request, text_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
NAMES = st.sampled_from(["model", "messages", "input", "stream", "tools", "system", "max_tokens"])


@given(st.sampled_from(["chat", "messages", "responses"]), st.dictionaries(NAMES, JSON))
def test_any_json_is_read_or_refused(api: Any, body: dict[str, Any]) -> None:
    """Nothing but FormatError comes of a strange body."""
    try:
        asked = read_request(api, json.dumps(body).encode())
    except FormatError:
        return

    assert json.loads(asked.body()) == body


@given(st.binary(max_size=30))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Broken JSON is a FormatError."""
    with pytest.raises(FormatError):
        read_request("chat", data)


def test_a_chat_begins_with_its_system_messages() -> None:
    """They stay as they came; what follows are the messages."""
    body = {
        "model": "m",
        "stream": True,
        "max_tokens": 9,
        "messages": [
            {"role": "system", "content": "a"},
            {"role": "developer", "content": [{"type": "text", "text": "b"}]},
            {"role": "user", "content": "c"},
            {"role": "system", "content": "d"},
        ],
    }

    asked = read_request("chat", json.dumps(body).encode())

    assert (asked.system, len(asked.head), len(asked.items)) == ("a\nb", 2, 2)
    assert (asked.model, asked.stream, asked.max_output) == ("m", True, 9)


def test_other_messages_leave_every_other_field_as_it_is() -> None:
    """The spacing of what is not ours stays too."""
    raw = b'{"z": {"a":  1}, "messages": [{"role":"system","content":"s"},{"role":"user"}]}'

    made = read_request("chat", raw).with_messages([{"role": "user", "content": "x"}]).body()

    assert made == (
        b'{"z":{"a":  1},"messages":'
        b'[{"role":"system","content":"s"},{"role":"user","content":"x"}]}'
    )


def test_usage_is_asked_for_beside_other_options() -> None:
    """What the client wanted stays."""
    asked = read_request("chat", b'{"messages":[],"stream_options":{"x":1}}')

    assert not asked.has_usage
    assert json.loads(asked.asking_usage())["stream_options"] == {"x": 1, "include_usage": True}


def test_a_text_as_input_is_a_users_message() -> None:
    """The Responses API takes a string."""
    asked = read_request(
        "responses", b'{"input":"hi","instructions":"be","previous_response_id":"r"}'
    )

    assert json.loads(asked.items[0]) == {"role": "user", "content": "hi"}
    assert (asked.system, asked.previous) == ("be", "r")


def test_the_last_cache_mark_is_found() -> None:
    """It stands in a block of a message."""
    mark = {"type": "ephemeral"}
    block = {"type": "text", "text": "x", "cache_control": mark}
    body = {
        "messages": [{"role": "user", "content": [block]}, {"role": "assistant", "content": "y"}]
    }

    assert read_request("messages", json.dumps(body).encode()).last_mark == mark


def test_the_text_of_a_content() -> None:
    """A string, or the texts of its blocks."""
    assert text_of([{"type": "text", "text": "a"}, {"type": "image"}, 3]) == "a"
    assert text_of(None) == ""


def test_tools_and_choices() -> None:
    """Tools are objects; more than one answer is another kind of request."""
    asked = read_request("chat", b'{"messages":[],"tools":[{"a":1},2],"n":2}')

    assert asked.tools == ({"a": 1},)
    assert not asked.is_plain
