"""OpenHands' conversations since version 1 to records."""

import json
from typing import Any

import pytest
from hypothesis import given

from minutebook.errors import FormatError
from minutebook.formats.openhands import beside, detect, read
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.messages import ImagePart, MediaUrl, OtherPart, TextPart, ThinkPart, call, tool
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
STATE = {
    "id": "conv",
    "agent": {"llm": {"model": "m-1"}},
    "workspace": {"working_dir": "/w"},
    "execution_status": "idle",
    "stats": {
        "usage_to_metrics": {
            "agent": {
                "accumulated_token_usage": {"prompt_tokens": 50, "completion_tokens": 9},
                "token_usages": [
                    {
                        "response_id": "r1",
                        "prompt_tokens": 40,
                        "cache_read_tokens": 30,
                        "cache_write_tokens": 4,
                        "completion_tokens": 5,
                        "model": "m-1",
                    },
                    {"response_id": "", "prompt_tokens": 1},
                ],
            }
        }
    },
}


def event(kind: str, own: str, **keys: Any) -> Event:
    stamp = "2026-01-02T03:04:05"
    return {"id": own, "timestamp": stamp, "source": "agent", "kind": kind, **keys}


def words(text: str) -> Event:
    return {"type": "text", "text": text}


def asked(own: str, text: str, **keys: Any) -> Event:
    message = {"role": "user", "content": [words(text)]}
    return event("MessageEvent", own, llm_message=message, **keys)


def acted(own: str, call_id: str, response: str = "r1", **keys: Any) -> Event:
    made = {"id": call_id, "name": "run", "arguments": "{}"}
    return event("ActionEvent", own, tool_name="run", tool_call_id=call_id, tool_call=made,
                 llm_response_id=response, **keys)  # fmt: skip


def observed(own: str, call_id: str, text: str, **keys: Any) -> Event:
    observation = {"content": [words(text)], **keys}
    return event("ObservationEvent", own, tool_call_id=call_id, observation=observation)


PROMPT = event("SystemPromptEvent", "e0", system_prompt=words("be kind"),
               dynamic_context=words("here"))  # fmt: skip
WHOLE = [
    PROMPT,
    asked("e1", "task", extended_content=[words("skill")]),
    acted("e2", "c1", thought=[words("ok")], reasoning_content="hm"),
    acted("e3", "c2"),
    observed("e4", "c1", "one"),
    observed("e5", "c2", "two", is_error=True),
    event("Condensation", "e6", forgotten_event_ids=["e2", "e3", "e4", "e5"], summary="so far",
          summary_offset=2),
    event("PauseEvent", "e7"),
    asked("e8", "go on"),
]  # fmt: skip


def of(*events: Event, state: Event | None = None) -> Reading:
    if state is None:
        reading = read(line_source(events), 0)
    else:
        files = {
            f"events/event-{number:05d}-{found['id']}.json": json.dumps(found).encode()
            for number, found in enumerate(events)
        }
        reading = read(document_source(state, beside=files), 0)
    holds(reading)
    return reading


@given(altered(WHOLE))
def test_any_events_are_read_or_are_none(events: Any) -> None:
    """Keys of unexpected types never raise, in a list and one a line."""
    for source in (
        document_source(events),
        line_source(events if isinstance(events, list) else []),
    ):
        if detect(source):
            holds(read(source, 0))


@given(altered(STATE))
def test_any_state_is_read_or_is_none(state: Any) -> None:
    """The same for the state that stands beside the events."""
    source = document_source(state, beside={"events/event-0.json": json.dumps(WHOLE[2]).encode()})
    if detect(source):
        holds(read(source, 0))


def test_events_of_one_response_are_one_reply() -> None:
    """With what the model thought and said, its calls, and its usage where the state has it."""
    reading = of(*WHOLE[:6], state=STATE)

    assert reading.records[0] == SystemPrompt(content="be kind\nhere")
    assert origins(reading.sent) == ["user", "assistant", "tool", "tool"]
    assert reading.sent[0].text == "task\nskill"
    assert reading.sent[1].content == (ThinkPart("hm"), TextPart("ok"))
    assert reading.sent[1].calls == (call("c1", "run"), call("c2", "run"))
    assert reading.sent[3].content == tool("c2", "two", error=True).content
    assert behind(reading) == ["assistant"]
    (counts,) = usages(reading)
    assert (counts.input, counts.cache_read, counts.cache_write, counts.output) == (6, 30, 4, 5)
    assert reading.spent == Spent(calls=2, input=50, output=9)
    assert (reading.session_id, reading.cwd, reading.model) == ("conv", "/w", "m-1")
    assert reading.started == 1767323045.0
    assert reading.counts == {"message_ids": 5}


def test_a_condensation_forgets_and_tells() -> None:
    """The summary stands where it says, the system prompt counted; later ones follow it."""
    reading = of(*WHOLE, state=STATE)

    assert texts(reading.sent) == ["task\nskill", "so far", "go on"]
    assert origins(reading.sent) == ["user", "summary", "user"]
    assert texts(reading.earlier) == ["ok", "one", "<system>ERROR: the tool failed.</system>\ntwo"]
    assert reading.counts == {"compactions": 1, "message_ids": 6, "other_records": 1}
    assert usages(reading) == []


def test_a_condensation_may_tell_nothing_or_forget_half_a_reply() -> None:
    """Without a summary nothing is put in; a reply keeps the calls that are left."""
    first = event("Condensation", "e6", forgotten_event_ids=["e3", "e5", 7, "gone"])
    reading = of(*WHOLE[:6], first)

    assert [len(message.calls) for message in reading.sent] == [0, 1, 0]
    assert reading.counts["blanked"] == 1
    assert [len(message.calls) for message in reading.branch][1] == 2


def test_branches_end_at_the_head() -> None:
    """Which the state names, else at the last event; a parent that is no event is the root."""
    one, two = "a" * 32, "b" * 32
    events = [
        asked(one, "first", parent_id="root"),
        asked(two, "left", parent_id=one),
        asked("c" * 32, "other", parent_id=one),
        event("PauseEvent", "d" * 32),
    ]

    assert texts(of(*events).sent) == ["first", "other"]
    assert texts(of(*events).everything) == ["first", "left", "other"]
    assert of(*events).counts["abandoned"] == 1
    assert texts(of(*events, state={**STATE, "leaf_event_id": two}).sent) == ["first", "left"]


def test_a_lost_parent_is_the_event_before() -> None:
    """And a problem."""
    reading = of(asked("a" * 32, "one"), asked("b" * 32, "two", parent_id="f" * 32))

    assert texts(reading.sent) == ["one", "two"]
    assert [problem.kind for problem in reading.problems] == ["parent"]


def test_results_of_every_kind() -> None:
    """Refused and failed ones are errors; old observations have an output, or other keys."""
    reading = of(
        acted("e1", "c1"),
        event("AgentErrorEvent", "e2", tool_call_id="c1", error="no"),
        event("UserRejectObservation", "e3", tool_call_id="c2", rejection_reason="nope"),
        event("ObservationEvent", "e4", tool_call_id="c3", observation={"output": "out"}),
        event("ObservationEvent", "e5", tool_call_id="c4", observation={"x": 1}),
        event("CondensationSummaryEvent", "e6", summary="so far"),
        event("NewEvent", "e7"),
    )

    assert texts(reading.sent) == [
        "",
        tool("c1", "no", error=True).text,
        tool("c2", "nope", error=True).text,
        "out",
        '{"x":1}',
        "so far",
    ]
    assert reading.counts["unknown_records"] == 1


def test_messages_of_every_kind() -> None:
    """Pictures one by one, thinking blocks whole, a role that is missing by its source."""
    block = {"type": "thinking", "thinking": "hm", "signature": "s"}
    picture = {"type": "image", "image_urls": ["http://x", 5, "http://y"]}
    item = {"summary": ["a", "b"], "encrypted_content": "e"}
    odd = {"type": "odd"}
    reading = of(
        event("MessageEvent", "e1", llm_message={"role": "assistant", "content": [picture, odd],
                                                 "thinking_blocks": [block]}),
        event("MessageEvent", "e2", llm_message={"content": "plain"}),
        event("MessageEvent", "e3", source="user", llm_message={"content": [words("")]}),
        acted("e4", "c1", thought=[], responses_reasoning_item=item),
        event("ActionEvent", "e5", tool_call_id="c2", action={"kind": "Run"}),
    )  # fmt: skip

    assert reading.sent[0].content == (
        ThinkPart("hm", "s"), ImagePart(MediaUrl("http://x")), ImagePart(MediaUrl("http://y")),
        OtherPart(odd),
    )  # fmt: skip
    assert [message.role for message in reading.sent] == [
        "assistant", "assistant", "user", "assistant", "assistant",
    ]  # fmt: skip
    assert reading.sent[3].content == (ThinkPart("a\nb", "e"),)
    assert reading.sent[4].calls[0].arguments == '{"kind":"Run"}'


def test_running_totals_may_come_as_events() -> None:
    """Where there is no state, the last of them counts; of how many calls is not said."""
    totals = {"usage_to_metrics": {"x": {"model_name": "m-2", "accumulated_token_usage": {
        "prompt_tokens": 7, "completion_tokens": 2}}}}  # fmt: skip
    reading = of(
        asked("e1", "a"), event("ConversationStateUpdateEvent", "e2", key="stats", value=totals)
    )

    assert reading.spent == Spent(calls=0, input=7, output=2)
    assert reading.model == "m-2"


def test_one_events_file_takes_in_its_neighbours() -> None:
    """And the state above; what is broken among them is a problem."""
    files = {
        "event-0.json": json.dumps(WHOLE[1]).encode(),
        "event-1.json": json.dumps(WHOLE[2]).encode(),
        "event-2.json": b"{",
        "../base_state.json": json.dumps(STATE).encode(),
    }
    source = document_source(WHOLE[1], beside=files)

    reading = read(source, 0)

    assert beside(source) == ("event-*.json", "../base_state.json")
    assert texts(reading.sent) == ["task\nskill", "ok"]
    assert reading.session_id == "conv"
    assert [problem.kind for problem in reading.problems] == ["bad"]
    assert texts(read(document_source(WHOLE[1]), 0).sent) == ["task\nskill"]


def test_evidence_and_what_is_asked_for() -> None:
    """A state asks for its events, a list for nothing; other objects are not taken."""
    state, listed = document_source(STATE), document_source(WHOLE)

    assert "a base state" in str(detect(state))
    assert beside(state) == ("events/event-*.json",)
    assert "kind SystemPromptEvent" in str(detect(listed))
    assert beside(listed) == ()
    assert "kind MessageEvent" in str(detect(document_source(WHOLE[1])))
    assert detect(document_source({"kind": "NewEvent"})) is None
    assert detect(document_source([])) is None
    with pytest.raises(FormatError, match="no conversation 1"):
        read(listed, 1)


def test_lines_that_are_no_events_are_problems() -> None:
    """And the rest is read."""
    reading = read(Source(line_source([WHOLE[1]]).data + b"[1]\n{"), 0)

    assert texts(reading.sent) == ["task\nskill"]
    assert [problem.kind for problem in reading.problems] == ["entry", "torn"]
