"""What is read of real files, against a count that knows nothing of the readers.

Each count here goes through the plain JSON of a file in the shortest way there is: how many
calls, results and replies it holds, and what users said. It must be what the view of everything
ever written has, since that view leaves nothing out.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from minutebook.formats.reading import read

SAMPLES = Path(__file__).parents[2] / "../shared/samples"


class Count(NamedTuple):
    """What a file holds; -1 where it cannot be counted without knowing more."""

    calls: int
    results: int
    replies: int
    asked: int


def objects(path: Path) -> Iterator[Any]:
    """Give the values of JSON Lines, glued ones too."""
    decode = json.JSONDecoder().raw_decode
    for line in path.read_text(encoding="utf-8").split("\n"):
        rest = line.strip()
        while rest:
            value, end = decode(rest)
            yield value
            rest = rest[end:].lstrip()


def codex(path: Path) -> Count:
    """Items by their types; several make one reply, so those are not counted."""
    items = [line["payload"] for line in objects(path) if line["type"] == "response_item"]
    kinds = [item["type"] for item in items]
    roles = [item["role"] for item in items if item["type"] == "message"]
    # Each tells the surroundings anew; all else in its list was written before.
    compactions = sum(line["type"] == "compacted" for line in objects(path))
    return Count(
        sum(kind in {"function_call", "custom_tool_call"} for kind in kinds),
        sum(kind in {"function_call_output", "custom_tool_call_output"} for kind in kinds),
        -1,
        roles.count("user") + compactions,
    )


def pi(path: Path) -> Count:
    """Messages by their roles; commands of the user and summaries are told to the model too."""
    lines = list(objects(path))
    messages = [line["message"] for line in lines if line["type"] == "message"]
    roles = [message["role"] for message in messages]
    calls = sum(
        block["type"] == "toolCall"
        for message in messages
        if message["role"] == "assistant"
        for block in message["content"]
    )
    told = roles.count("user") + roles.count("bashExecution")
    summaries = sum(line["type"] == "compaction" for line in lines)
    return Count(calls, roles.count("toolResult"), roles.count("assistant"), told + summaries)


def gemini(path: Path) -> Count:
    """A reply holds its calls, and these their results."""
    messages = json.loads(path.read_bytes())["messages"]
    calls = [made for message in messages for made in message.get("toolCalls", [])]
    kinds = [message["type"] for message in messages]
    return Count(
        len(calls),
        sum(bool(made["result"]) for made in calls),
        kinds.count("gemini"),
        kinds.count("user"),
    )


def opencode(path: Path) -> Count:
    """A reply holds its calls, and these what came of them."""
    messages = json.loads(path.read_bytes())["messages"]
    tools = [part for item in messages for part in item["parts"] if part["type"] == "tool"]
    ended = [part for part in tools if part["state"]["status"] in {"completed", "error"}]
    roles = [item["info"]["role"] for item in messages]
    return Count(len(tools), len(ended), roles.count("assistant"), roles.count("user"))


def kimi_code(path: Path) -> Count:
    """Events of the loop; a step that said or called something is a reply."""
    lines = list(objects(path))
    events = [line["event"] for line in lines if line["type"] == "context.append_loop_event"]
    kinds = [event["type"] for event in events]
    steps = {
        event["stepUuid"] for event in events if event["type"] in {"content.part", "tool.call"}
    }
    whole = [line["message"] for line in lines if line["type"] == "context.append_message"]
    roles = [message["role"] for message in whole]
    # A closed task of the spine is told by a note, and so is a compaction.
    notes = sum(line["type"] in {"spine.close", "spine.next"} for line in lines)
    summaries = sum(line["type"] == "context.apply_compaction" for line in lines)
    asked = roles.count("user") + notes + summaries
    return Count(
        kinds.count("tool.call"),
        kinds.count("tool.result"),
        len(steps) + roles.count("assistant"),
        asked,
    )


def openhands(path: Path) -> Count:
    """Actions are calls and observations results; each action here is a reply of its own."""
    kinds = [event["kind"] for event in objects(path)]
    acted = kinds.count("ActionEvent")
    return Count(acted, kinds.count("ObservationEvent"), acted, kinds.count("MessageEvent"))


def openhands_v0(path: Path, index: int) -> Count:
    """Actions with a call, observations with one; a recall is told to the model as a user's."""
    history = [value for value in objects(path) if "history" in value][index]["history"]
    called = [event for event in history if event.get("tool_call_metadata")]
    acted = [event for event in called if "action" in event]
    asked = [event for event in history if event.get("action") == "message"]
    told = [
        event for event in history if "observation" in event and not event.get("tool_call_metadata")
    ]
    answers = {event["tool_call_metadata"]["model_response"]["id"] for event in acted}
    return Count(len(acted), len(called) - len(acted), len(answers), len(asked) + len(told))


def chat(path: Path, key: str) -> Count:
    """Messages by their roles, as in a request; what has another role is not sent."""
    value = json.loads(path.read_bytes())
    messages = value[key] if isinstance(value, dict) else value
    roles = [message["role"] for message in messages]
    calls = sum(len(message.get("tool_calls") or []) for message in messages)
    return Count(calls, roles.count("tool"), roles.count("assistant"), roles.count("user"))


def blocks(path: Path) -> Count:
    """Content blocks by their types; a message of results alone is none of a user's."""
    messages = json.loads(path.read_bytes())["messages"]
    kinds = [
        [block["type"] for block in item["content"]] if isinstance(item["content"], list) else [""]
        for item in messages
    ]
    flat = [kind for found in kinds for kind in found]
    roles = [item["role"] for item in messages]
    asked = [
        found
        for found, role in zip(kinds, roles, strict=True)
        if role == "user" and set(found) != {"tool_result"}
    ]
    return Count(
        flat.count("tool_use"), flat.count("tool_result"), roles.count("assistant"), len(asked)
    )


def turns_of(path: Path, index: int) -> Count:
    """Turns by who speaks; a call is one of a reply that ends at an observation or a user."""
    values = list(objects(path)) if path.suffix == ".jsonl" else json.loads(path.read_bytes())
    value = values[index]
    if "conversations" in value:
        speakers = [turn["from"] for turn in value["conversations"]]
        calls = speakers.count("function_call")
        # Replies follow each other without a break only where a call follows a text.
        merged = sum(pair == ("gpt", "function_call") for pair in pairwise(speakers))
        replies = speakers.count("gpt") + calls - merged
        return Count(calls, speakers.count("observation"), replies, speakers.count("human"))
    roles = [message["role"] for message in value["messages"]]
    kinds = [part["type"] for message in value["messages"] for part in message["content"]]
    return Count(
        kinds.count("tool_call"),
        roles.count("tool"),
        roles.count("assistant"),
        roles.count("user"),
    )


def counted(path: Path, index: int) -> Count:
    """Count a sample by the folder it is in."""
    name = path.relative_to(SAMPLES).as_posix()
    folder = name.partition("/")[0]
    if folder == "openhands" and "v0" in name:
        return openhands_v0(path, index)
    if folder == "sharegpt":
        return turns_of(path, index)
    if folder in {"swe-agent", "mini-swe-agent"}:
        return chat(path, "history" if folder == "swe-agent" else "messages")
    simple = {
        "codex": codex,
        "pi": pi,
        "gemini-cli": gemini,
        "opencode": opencode,
        "kimi-code": kimi_code,
        "openhands": openhands,
        "cline-sdk": blocks,
    }
    return simple[folder](path)


FILES = (
    "cline-sdk/agentic.compaction.json",
    "cline-sdk/basic.compaction.json",
    "cline-sdk/session.messages.json",
    "codex/rollout_forked_two-session_meta.jsonl",
    "codex/rollout_short.jsonl",
    "codex/rollout_v0.118_two-compactions_aborts_glued.jsonl",
    "codex/rollout_v0.119_compacted_websearch.jsonl",
    "gemini-cli/session_json_2026-01.json",
    "gemini-cli/session_json_displayContent.json",
    "gemini-cli/session_json_small.json",
    "gemini-cli/session_json_tools.json",
    "kimi-code/agent-sessions_fixture/assistant_tools.jsonl",
    "kimi-code/agent-sessions_fixture/small.jsonl",
    "kimi-code/agent-sessions_fixture/subagent_agent-0.jsonl",
    "kimi-code/vis_fixtures/sample-compaction/agents/main/wire.jsonl",
    "kimi-code/vis_fixtures/sample-main/agents/main/wire.jsonl",
    "kimi-code/wire_v1.4_legacy-open-close.jsonl",
    "kimi-code/wire_v1.4_legacy-root-compact.jsonl",
    "kimi-code/wire_v1.4_legacy-undo-divergence.jsonl",
    "mini-swe-agent/v1_list_github_issue.traj.json",
    "mini-swe-agent/v1_list_local.traj.json",
    "mini-swe-agent/v2.2.7_deepseek-reasoner_error-exit.traj.json",
    "mini-swe-agent/v2.3.0_astropy-12907.traj.json",
    "opencode/export_child-session.json",
    "opencode/export_compaction.json",
    "opencode/export_new-info_cost-tokens.json",
    "openhands/v1_goal_events.jsonl",
    "pi/before-compaction.jsonl",
    "pi/large-session.jsonl",
    "swe-agent/ctf_web.traj",
    "swe-agent/function_calling.traj",
    "swe-agent/function_calling_replace_from_source.traj",
    "swe-agent/old_gpt4_pydicom.traj",
    "swe-agent/xml_window100.traj",
)
SEVERAL = {
    "openhands/v0_eval_output.jsonl": range(3),
    "sharegpt/dummy_conversation.json": range(0, 500, 50),
    "sharegpt/glaive_toolcall_en_demo.json": range(0, 300, 30),
    "sharegpt/reason_tool_use_demo_50.jsonl": range(0, 50, 5),
}
"""Files of several conversations, and which of them are counted."""
CASES = [(name, 0) for name in FILES] + [
    (name, index) for name, indexes in SEVERAL.items() for index in indexes
]


@pytest.mark.parametrize(("name", "index"), CASES)
def test_everything_that_was_written_is_read(name: str, index: int) -> None:
    """Calls, results, replies and what was asked are as many as the file holds."""
    path = SAMPLES / name
    if not path.exists():
        pytest.skip("../shared/samples is not beside the repository")

    found = read(path, index=index).everything
    roles = [message.role for message in found]
    expected = counted(path, index)

    assert (
        Count(
            sum(len(message.calls) for message in found),
            roles.count("tool"),
            roles.count("assistant") if expected.replies >= 0 else -1,
            roles.count("user"),
        )
        == expected
    )
