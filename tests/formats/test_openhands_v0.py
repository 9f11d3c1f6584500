"""OpenHands' trajectories up to version 1 to records."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given

from minutebook.errors import FormatError
from minutebook.formats.openhands_v0 import beside, detect, read
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.messages import ImagePart, MediaUrl, OtherPart, TextPart, ThinkPart
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

Event = dict[str, Any]


def action(number: int, kind: str, source: str = "agent", **keys: Any) -> Event:
    return {"id": number, "timestamp": "2026-01-02T03:04:05", "source": source, "message": "m",
            "action": kind, **keys}  # fmt: skip


def observation(number: int, kind: str, content: str, **keys: Any) -> Event:
    return {"id": number, "source": "agent", "message": "m", "observation": kind,
            "content": content, **keys}  # fmt: skip


def answered(number: int, call_id: str, *calls: str, response: str = "r1", **keys: Any) -> Event:
    """Make an action that carries the response with its calls."""
    made = [{"id": name, "function": {"name": "run", "arguments": "{}"}} for name in calls]
    message = {"content": "ok", "tool_calls": made, **keys}
    usage = {"prompt_tokens": 10, "completion_tokens": 3,
             "prompt_tokens_details": {"cached_tokens": 4}}  # fmt: skip
    found = {"id": response, "model": "m-1", "choices": [{"message": message}], "usage": usage}
    return action(number, "run", args={"command": "ls", "thought": "ok"},
                  tool_call_metadata={"tool_call_id": call_id,
                                      "model_response": found})  # fmt: skip


def result(number: int, call_id: str, text: str) -> Event:
    return observation(number, "run", text, tool_call_metadata={"tool_call_id": call_id})


SYSTEM = action(0, "system", args={"content": "be kind", "openhands_version": "0.35"})
TASK = action(1, "message", "user", args={"content": "task", "image_urls": ["http://x", 5]})
WHOLE = [
    SYSTEM,
    TASK,
    action(2, "recall", "user", args={"query": "q"}),
    observation(3, "recall", "Added", cause=2, extras={"recall_type": "x"}),
    answered(4, "c1", "c1", "c2", reasoning_content="hm"),
    result(5, "c1", "one"),
    answered(6, "c2", "c1", "c2", reasoning_content="hm"),
    result(7, "c2", "two"),
    observation(8, "null", ""),
    action(9, "condensation",
           args={"forgotten_events_start_id": 4, "forgotten_events_end_id": 7,
                 "summary": "so far", "summary_offset": 4}),
    action(10, "message", args={"content": "bye"}),
]  # fmt: skip


def of(*events: Event) -> Reading:
    reading = read(document_source([*events]), 0)
    holds(reading)
    return reading


@given(altered(WHOLE))
def test_any_events_are_read_or_are_none(events: Any) -> None:
    """Keys of unexpected types never raise: as a list, one a line, under a history."""
    rows = [{"history": events}, {"history": WHOLE}]
    for source in (
        document_source(events),
        line_source(events if isinstance(events, list) else [events]),
        line_source(rows),
    ):
        if detect(source):
            with suppress(FormatError):
                holds(read(source, 0))


def test_a_reply_is_the_response_that_its_actions_carry() -> None:
    """Once, with all its calls; its usage behind it, and what each call gave."""
    reading = of(*WHOLE[:8])

    assert reading.records[0] == SystemPrompt(content="be kind")
    assert origins(reading.sent) == ["user", "injection", "assistant", "tool", "tool"]
    assert reading.sent[0].content == (TextPart("task"), ImagePart(MediaUrl("http://x")))
    assert reading.sent[1].content == (
        TextPart("Added"),
        OtherPart({"recall_type": "x", "type": "recall"}),
    )
    assert reading.sent[2].content == (ThinkPart("hm"), TextPart("ok"))
    assert [call.id for call in reading.sent[2].calls] == ["c1", "c2"]
    assert texts(reading.sent[3:]) == ["one", "two"]
    assert behind(reading) == ["assistant"]
    (counts,) = usages(reading)
    assert (counts.input, counts.cache_read, counts.output, counts.model) == (6, 4, 3, "m-1")
    assert (reading.agent_version, reading.model, reading.started) == ("0.35", "m-1", 1767323045.0)
    assert reading.spent == Spent(calls=1, input=6, cache_read=4, output=3)
    assert reading.counts == {"images": 1, "unknown_parts": 1, "other_records": 1}


def test_a_condensation_hides_a_span_and_tells_of_it() -> None:
    """The summary stands where it says, among the events that the agent looks at."""
    reading = of(*WHOLE)

    assert texts(reading.sent) == ["task", "Added", "so far", "bye"]
    assert origins(reading.sent)[2] == "summary"
    assert texts(reading.earlier) == ["ok", "one", "two"]
    assert usages(reading) == []
    assert reading.counts["compactions"] == 1


def test_condensations_add_up() -> None:
    """All that any of them forgets is hidden, and the last summary is the one that counts."""
    first = action(9, "condensation", args={"forgotten_event_ids": [4, "x"], "summary": "one",
                                            "summary_offset": 4})  # fmt: skip
    second = action(11, "condensation", args={"forgotten_event_ids": [5, 6, 7, 9]})
    reading = of(*WHOLE[:9], first, WHOLE[10], second)

    assert texts(reading.sent) == ["task", "Added", "one", "bye"]


def test_half_a_reply_can_be_forgotten() -> None:
    """The other call stays; one without an action of its own goes with the first."""
    gone = action(9, "condensation", args={"forgotten_event_ids": [4, 5]})
    one = of(*WHOLE[:8], gone)
    extra = answered(4, "c1", "c1", "c3")
    both = of(SYSTEM, TASK, extra, result(5, "c1", "one"), gone)

    assert [[call.id for call in message.calls] for message in one.sent][2] == ["c2"]
    assert one.counts.get("blanked") is None
    assert [len(message.calls) for message in one.branch] == [0, 0, 2, 0, 0]
    assert texts(both.sent) == ["task"]
    assert [call.id for call in both.earlier[0].calls] == ["c1", "c3"]


def test_an_action_without_a_response_is_a_call_of_its_name() -> None:
    """What it thought is the text, what answers it is found by its number."""
    reading = of(
        action(1, "run", args={"command": "ls", "thought": "look"}),
        observation(2, "run", "a b", cause=1),
        observation(3, "error", "no such"),
        action(4, "run", "user", args={"command": "pwd"}),
        action(5, "finish", args={"final_thought": "done"}),
    )

    assert reading.sent[0].text == "look"
    assert [(call.id, call.name, call.arguments) for call in reading.sent[0].calls] == [
        ("action-1", "run", '{"command":"ls"}')
    ]
    assert reading.sent[1].tool_call_id == "action-1"
    assert origins(reading.sent) == ["assistant", "tool", "injection", "injection", "assistant"]
    assert reading.sent[3].text == '{"action":"run","command":"pwd"}'
    assert reading.sent[4].text == "done"


def test_thinking_blocks_and_odd_responses() -> None:
    """Blocks are preferred; a response without an id, a choice or a call is still a reply."""
    block = {"type": "thinking", "thinking": "hm", "signature": "s"}
    bare = {"tool_call_id": "c9", "model_response": {"x": 1}}
    reading = of(
        answered(1, "c1", "c1", thinking_blocks=[block], reasoning_content="hm"),
        action(2, "run", tool_call_metadata=bare),
        action(3, "run", tool_call_metadata=bare),
        observation(4, "browse", "page", extras={"image_urls": ["http://y", 5]},
                    tool_call_metadata={"tool_call_id": "c1"}),
    )  # fmt: skip

    assert reading.sent[0].content == (ThinkPart("hm", "s"), TextPart("ok"))
    assert [message.role for message in reading.sent] == [
        "assistant", "assistant", "assistant", "tool",
    ]  # fmt: skip
    assert reading.sent[3].content == (TextPart("page"), ImagePart(MediaUrl("http://y")))


def test_an_evaluations_output_has_many() -> None:
    """One a line under history, old ones as pairs; what stands around names it."""
    around = {"instance_id": "i", "metadata": {"llm_config": {"model": "m-9"}},
              "metrics": {"accumulated_token_usage": {"prompt_tokens": 70,
                                                      "completion_tokens": 8}}}  # fmt: skip
    pairs = [[WHOLE[4], WHOLE[5]]]
    source = line_source([{**around, "history": WHOLE[:2]}, {"history": pairs}])

    first, second = read(source, 0), read(source, 1)

    assert first.counts["conversations"] == 2
    assert (first.session_id, first.model) == ("i", "m-9")
    assert first.spent == Spent(calls=0, input=70, output=8)
    assert texts(second.sent) == ["ok", "one"]
    assert [problem.kind for problem in first.problems] == ["several"]
    with pytest.raises(FormatError, match="no conversation 2: the file holds 2"):
        read(source, 2)


def test_one_events_file_takes_in_its_neighbours() -> None:
    """In the order of their numbers; broken ones are problems."""
    files = {"0.json": json.dumps(SYSTEM).encode(), "2.json": b"{",
             "10.json": json.dumps(action(10, "message", args={"content": "b"})).encode(),
             "9.json": json.dumps(
                 action(9, "message", args={"content": "a"})).encode()}  # fmt: skip
    source = document_source(TASK, beside=files)

    reading = read(source, 0)

    assert beside(source) == ("[0-9]*.json",)
    assert texts(reading.sent) == ["task", "a", "b"]
    assert [problem.kind for problem in reading.problems] == ["bad"]


def test_lines_of_events_are_one_trajectory() -> None:
    """A torn one loses its last event; the evidence names what decided."""
    data = line_source(WHOLE).data

    assert read(Source(data), 0).records == of(*WHOLE).records
    assert [problem.kind for problem in read(Source(data[:-9]), 0).problems] == ["torn"]
    assert "key action" in str(detect(line_source([{"history": WHOLE}])))
    assert "source and observation" in str(detect(document_source([WHOLE[3]])))
    assert beside(document_source(WHOLE)) == ()
    assert detect(document_source([{"action": "run"}])) is None
    for source in (document_source(WHOLE), document_source(TASK), line_source(WHOLE)):
        with pytest.raises(FormatError, match="no conversation 1"):
            read(source, 1)
