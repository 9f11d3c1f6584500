"""Case C003: a sub-agent's turn between the results of one batch."""

import json
from typing import Any

from minutebook.formats.claude_code import read
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.messages import Message
from minutebook.providers import validate_anthropic
from minutebook.providers.view import make_view
from minutebook.turns import pair
from tests.cases import case


def transcript(events: list[dict[str, Any]], *, side: bool) -> bytes:
    """Write a log of the cases as Claude Code does, the sub-agent's lines on a chain of its own."""
    last: dict[bool, str | None] = {True: None, False: None}
    lines = []
    for event in events:
        if event["type"] != "message":
            continue
        aside = "agent" in event
        if side and not aside:
            continue
        message = {"role": event["role"], "content": event["content"]}
        if event["role"] == "assistant":
            message |= {"id": event["id"], "usage": {"input_tokens": 10, "output_tokens": 5}}
        lines.append(
            {
                "type": event["role"],
                "uuid": event["id"],
                "parentUuid": last[aside],
                "isSidechain": aside and not side,
                "sessionId": "s",
                "timestamp": event["ts"],
                "message": message,
            }
        )
        last[aside] = event["id"]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def read_back(events: list[dict[str, Any]], *, side: bool = False) -> Reading:
    """Read it."""
    return read(Source(transcript(events, side=side)), 0)


def test_case_c003_a_sub_agents_turn_is_no_part_of_the_main_conversation() -> None:
    """The batch is answered whole and in one message; of the sub-agent nothing is sent."""
    events = [json.loads(line) for line in case("C003").raw().splitlines()]

    found = read_back(events)

    body = make_view(None, found.sent).to_anthropic()
    assert validate_anthropic.violations(body["messages"], system=None) == []
    text = json.dumps(body)
    assert "call_sub1" not in text
    assert "sub:" not in text
    batch = next(
        index
        for index, message in enumerate(body["messages"])
        if any(block["type"] == "tool_use" for block in message["content"])
    )
    answers = body["messages"][batch + 1]["content"]
    assert [block.get("tool_use_id") for block in answers[:3]] == [
        "tu_main1",
        "tu_main2",
        "tu_main3",
    ]
    assert "beta: 0 hits" in json.dumps(answers)
    assert "Good, do step one." in json.dumps(body["messages"][-1])
    assert found.counts["sidechain"] == 3


def test_case_c003_the_sub_agents_own_transcript_is_valid_by_itself() -> None:
    """It holds its call with its result, in a file of its own, as Claude Code keeps it."""
    events = [json.loads(line) for line in case("C003").raw().splitlines()]

    found = read_back(events, side=True)

    messages: tuple[Message, ...] = found.sent
    assert [call.id for message in messages for call in message.calls] == ["call_sub1"]
    assert len(pair(messages).results) == 1
    body = make_view(None, messages).to_anthropic()
    assert validate_anthropic.violations(body["messages"], system=None) == []
