"""Items of the Responses API in plain files to records."""

from typing import Any

import pytest
from hypothesis import given

from minutebook.errors import FormatError
from minutebook.formats.openai_responses import detect, read
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.messages import OtherPart, TextPart, ThinkPart
from minutebook.records import SystemPrompt
from minutebook.tokens.spent import Spent
from tests.formats.altered import (
    altered,
    behind,
    document_source,
    holds,
    line_source,
    origins,
    texts,
    usages,
)

Item = dict[str, Any]
ITEMS: list[Any] = [
    {"type": "message", "role": "developer", "content": "be kind"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "task"}]},
    {"type": "reasoning", "summary": [{"text": "hm"}], "encrypted_content": "e"},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "ok"}],
    },
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "done"},
    {"type": "compaction", "encrypted_content": "zz"},
    {"role": "user", "content": "go on"},
]
RESPONSE = {
    "id": "r1",
    "object": "response",
    "created_at": 1767323045,
    "model": "m-1",
    "instructions": "be short",
    "previous_response_id": "r0",
    "output": ITEMS[2:5],
    "usage": {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 1},
    },
}
REQUEST = {"model": "m-0", "input": ITEMS[:2]}


def of(source: Source) -> Reading:
    reading = read(source, 0)
    holds(reading)
    return reading


@given(altered([*ITEMS, RESPONSE, {"request": REQUEST, "response": RESPONSE}]))
def test_any_items_are_read_or_are_none(value: Any) -> None:
    """Keys of unexpected types never raise, in a list and one a line."""
    for source in (document_source(value), line_source(value if isinstance(value, list) else [])):
        if detect(source):
            of(source)


def test_items_become_messages() -> None:
    """The first developer's message is the prompt; a compaction stays opaque and is said to be."""
    reading = of(document_source(ITEMS))

    assert reading.records[0] == SystemPrompt(content="be kind")
    assert origins(reading.sent) == [None, "assistant", "tool", "summary", None]
    assert reading.sent[1].content == (ThinkPart("hm", "e"), TextPart("ok"))
    assert reading.sent[3].content == (OtherPart(ITEMS[6]),)
    assert reading.counts == {"compactions": 1, "opaque": 1, "unknown_parts": 1}
    assert of(line_source(ITEMS)).records == reading.records
    assert of(document_source({"items": ITEMS})).records == reading.records


def test_a_response_has_its_usage_behind_the_reply() -> None:
    """And says which model, when, and after which other one."""
    reading = of(document_source(RESPONSE))

    assert reading.records[0] == SystemPrompt(content="be short")
    assert behind(reading) == ["assistant"]
    (counts,) = usages(reading)
    assert (counts.input, counts.cache_read, counts.output, counts.reasoning) == (6, 4, 3, 1)
    assert (reading.model, reading.session_id, reading.parent_session) == ("m-1", "r1", "r0")
    assert reading.started == 1767323045.0
    assert reading.spent == Spent(calls=1, input=6, cache_read=4, output=3, reasoning=1)


def test_an_exchange_is_what_went_in_and_what_came_out() -> None:
    """As one object, as lines of them, or as a request alone whose input is a text."""
    exchange = {"request": REQUEST, "response": RESPONSE}
    two = of(line_source([exchange, {"input": "more", "items": ITEMS[4:5]}]))

    assert texts(of(document_source(exchange)).sent) == ["be kind", "task", "ok"]
    assert texts(two.sent) == ["be kind", "task", "ok", "more", ""]
    assert behind(two) == ["assistant"]
    assert of(document_source(REQUEST)).model == "m-0"


def test_a_conversation_names_its_session() -> None:
    """By its id, as a text or in an object; a response with nothing is one too."""
    data = {"data": ITEMS, "conversation": {"id": "conv_1"}}

    assert of(document_source(data)).session_id == "conv_1"
    empty = document_source({"object": "response", "output": [], "conversation": "conv_2"})
    assert of(empty).session_id == "conv_2"
    assert "a response" in str(detect(empty))


def test_what_is_no_item_is_a_problem() -> None:
    """A snapshot is counted; more cached than sent is not believed; no reply, no anchor."""
    odd = {
        "output": [{"type": "ghost_snapshot"}],
        "usage": {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 9}},
    }
    reading = of(line_source([{"x": 1}, ITEMS[1], odd]))

    assert [problem.kind for problem in reading.problems] == ["entry"]
    assert reading.counts == {"snapshots": 1}
    assert [(item.input, item.cache_read) for item in usages(reading)] == [(1, None)]


@pytest.mark.parametrize(
    ("value", "evidence"),
    [(ITEMS[4:5], "function_call"), (ITEMS[1:2], "input_text"), (ITEMS[3:4], "output_text")],
)
def test_the_evidence_is_what_decided(value: list[Item], evidence: str) -> None:
    """A kind of item, or of content."""
    assert evidence in str(detect(document_source(value)))


def test_plain_messages_are_not_taken() -> None:
    """Chats, Anthropic's messages, reasoning entries of Roo, and other values."""
    assert detect(document_source([{"role": "user", "content": "a"}])) is None
    assert detect(document_source([{"type": "reasoning", "summary": []}])) is None
    assert detect(document_source({"messages": ITEMS})) is None
    assert detect(Source(b"5")) is None
    with pytest.raises(FormatError, match="no conversation 1"):
        read(document_source(ITEMS), 1)
