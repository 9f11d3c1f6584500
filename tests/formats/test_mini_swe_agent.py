"""mini-swe-agent's trajectories to records."""

from typing import Any

import pytest
from hypothesis import given

from minutebook.errors import FormatError
from minutebook.formats.mini_swe_agent import detect, read
from minutebook.formats.value import Reading
from minutebook.messages import TextPart, ThinkPart
from minutebook.records import SystemPrompt
from minutebook.tokens.spent import Spent
from tests.formats.altered import (
    altered,
    behind,
    document_source,
    holds,
    origins,
    texts,
    usages,
)

Entry = dict[str, Any]
CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 3,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 1},
}
MESSAGES = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": "task"},
    {
        "role": "assistant",
        "content": "ok",
        "tool_calls": [CALL],
        "reasoning_content": "hm",
        "extra": {"timestamp": 1767323045.0, "response": {"model": "m-1", "usage": USAGE}},
    },
    {
        "role": "tool",
        "content": "done",
        "tool_call_id": "c1",
        "extra": {"timestamp": 1767323046.0},
    },
    {"role": "user", "content": "wrong format"},
    {"role": "exit", "content": "patch"},
]
WHOLE = {
    "info": {"mini_version": "2.0", "config": {"model": {"model_name": "m-0"}}},
    "messages": MESSAGES,
    "trajectory_format": "mini-swe-agent-1.1",
    "instance_id": "i",
}
LIST = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": "task"},
    {"role": "assistant", "content": "ok\n```mswea_bash_command\nls\n```"},
    {"role": "user", "content": "<returncode>0</returncode>"},
]


def of(value: Any) -> Reading:
    reading = read(document_source(value, name="i.traj"), 0)
    holds(reading)
    return reading


@given(altered(WHOLE))
def test_any_values_are_read_or_are_no_trajectory(value: Any) -> None:
    """Keys of unexpected types never raise, whatever stands in their place."""
    source = document_source(value)
    if detect(source):
        holds(read(source, 0))


def test_a_trajectory_is_its_messages_and_the_raw_responses() -> None:
    """Usage and model are those of the responses; the last word is no message to the model."""
    reading = of(WHOLE)

    assert reading.records[0] == SystemPrompt(content="be kind")
    assert texts(reading.sent) == ["task", "ok", "done", "wrong format"]
    assert origins(reading.sent) == ["user", "assistant", "tool", "injection"]
    assert reading.sent[1].content == (ThinkPart("hm"), TextPart("ok"))
    assert behind(reading) == ["assistant"]
    assert [(item.input, item.reasoning, item.model) for item in usages(reading)] == [(6, 1, "m-1")]
    assert [(item.why, item.message.role) for item in reading.left_out] == [("unsent", "exit")]
    assert reading.counts == {"unsent": 1}
    assert reading.spent == Spent(calls=1, input=6, cache_read=4, output=3, reasoning=1)
    assert (reading.session_id, reading.model, reading.agent_version) == ("i", "m-1", "2.0")
    assert (reading.started, reading.updated) == (1767323045.0, 1767323046.0)


def test_the_first_version_is_a_bare_list() -> None:
    """Known by how commands and what came of them are marked."""
    reading = of(LIST)

    assert texts(reading.sent)[0] == "task"
    assert origins(reading.sent) == ["user", "assistant", "injection"]
    assert "mswea_bash_command" in reading.evidence
    assert "returncode" in str(detect(document_source(LIST[3:])))
    assert reading.session_id == "i"


def test_evidence_and_what_is_not_taken() -> None:
    """The form that it names, or the version; plain messages are not taken."""
    assert "trajectory_format" in of(WHOLE).evidence
    nameless = {key: value for key, value in WHOLE.items() if key != "trajectory_format"}
    assert "mini_version" in of(nameless).evidence
    assert of({**WHOLE, "messages": MESSAGES[:2]}).model == "m-0"
    assert detect(document_source(LIST[:2])) is None
    assert detect(document_source(5)) is None
    assert of({**WHOLE, "messages": None}).sent == ()
    with pytest.raises(FormatError, match="no conversation 1"):
        read(document_source(WHOLE), 1)
