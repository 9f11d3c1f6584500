"""Kimi Code's wire logs to records."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from minutebook.errors import FormatError
from minutebook.formats.kimi_code import beside, detect, read
from minutebook.formats.mapping import CLEARED_NOTICE
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.messages import (
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    TextPart,
    ThinkPart,
    VideoPart,
    tool,
)
from minutebook.records import SystemPrompt
from minutebook.tokens.spent import Spent
from tests.formats.altered import altered, behind, holds, line_source, origins, texts, usages

SAMPLES = Path(__file__).parents[2] / "../shared/samples/kimi-code"
Line = dict[str, Any]
COUNTS = {"inputOther": 1, "output": 2, "inputCacheRead": 30, "inputCacheCreation": 4}
METADATA = {"type": "metadata", "protocol_version": "1.4", "created_at": 1}


def line(kind: str, **keys: Any) -> Line:
    return {"type": kind, **keys, "time": 1767323045000}


def message(role: str, content: Any, kind: str = "user", **keys: Any) -> Line:
    said = {"role": role, "content": content, "toolCalls": [], "origin": {"kind": kind}, **keys}
    return line("context.append_message", message=said)


def event(kind: str, **keys: Any) -> Line:
    return line("context.append_loop_event", event={"type": kind, **keys})


def part(**keys: Any) -> Line:
    return event("content.part", stepUuid="s1", part=keys)


WHOLE = [
    METADATA,
    line("config.update", systemPrompt="be kind", modelAlias="m-0", cwd="/w"),
    message("user", [{"type": "text", "text": "task"}]),
    event("step.begin", uuid="s1"),
    part(type="think", think="hm", encrypted="e"),
    part(type="text", text="ok"),
    event("tool.call", stepUuid="s1", toolCallId="c1", name="Read", args={"path": "x"}),
    event("tool.result", toolCallId="c1", result={"output": "x" * 500, "note": "noted"}),
    event("step.end", uuid="s1", usage=COUNTS),
    line("usage.record", model="m-1", usage=COUNTS, usageScope="turn"),
    line("llm.request", model="m-1"),
    line("turn.cancel"),
    line("micro_compaction.apply", cutoff=9),
    message("user", "noted", "injection"),
    line("spine.open", id="1", openedAt=3),
    line("spine.close", id="1", closedAt=3, memory="what it was"),
    line("context.undo", count=9),
    line("context.apply_compaction", summary="raw", contextSummary="so far",
         keptUserMessageCount=1, tokensAfter=7),
    line("context.clear"),
]  # fmt: skip


def of(*lines: Line, **keys: Any) -> Reading:
    reading = read(line_source(lines, **keys), 0)
    holds(reading)
    return reading


@given(altered(WHOLE))
def test_any_lines_are_read_or_are_no_log(lines: Any) -> None:
    """Keys of unexpected types never raise, whatever stands in their place."""
    source = line_source(lines if isinstance(lines, list) else [lines])
    if detect(source):
        holds(read(source, 0))


def test_a_step_is_folded_into_one_reply() -> None:
    """Its parts, its calls, its usage, and what they gave; notes stand with their result."""
    reading = of(*WHOLE[:12])

    assert reading.records[0] == SystemPrompt(content="be kind")
    assert origins(reading.sent) == ["user", "assistant", "tool"]
    assert reading.sent[1].content == (ThinkPart("hm", "e"), TextPart("ok"))
    assert reading.sent[1].calls[0].arguments == '{"path":"x"}'
    assert reading.sent[2].content == (TextPart("x" * 500), TextPart("noted"))
    assert behind(reading) == ["assistant"]
    (counts,) = usages(reading)
    assert (counts.input, counts.cache_read, counts.cache_write, counts.output) == (1, 30, 4, 2)
    assert reading.spent == Spent(calls=1, input=1, output=2, cache_read=30, cache_write=4)
    assert (reading.model, reading.cwd, reading.started) == ("m-1", "/w", 1767323045.0)
    assert reading.counts == {"aborts": 1, "other_records": 1}


def test_old_results_are_blanked_and_closed_tasks_told() -> None:
    """Their whole forms, and what a task said, stay on the branch."""
    masked, told = of(*WHOLE[:13]), of(*WHOLE[:16])

    assert texts(masked.sent) == ["task", "ok", CLEARED_NOTICE]
    assert masked.branch[2].text == "x" * 500 + "\nnoted"
    assert (masked.counts["microcompactions"], masked.counts["blanked"]) == (1, 1)
    assert usages(masked) == []
    assert texts(told.sent)[3:] == ["what it was"]
    assert told.sent[3].origin == "summary"
    assert texts(told.earlier) == ["noted"]


def test_a_compaction_keeps_users_and_tells_the_rest() -> None:
    """The summary as it is sent, an estimate behind it; a clearing leaves all."""
    compacted, cleared = of(*WHOLE[:18]), of(*WHOLE)

    assert texts(compacted.sent) == ["task", "so far"]
    assert origins(compacted.sent) == ["user", "summary"]
    assert [(item.token_count, item.estimated) for item in usages(compacted)] == [(7, True)]
    assert compacted.counts["compactions"] == 1
    assert cleared.sent == ()
    assert len(cleared.everything) == len(compacted.everything)


def test_an_undo_leaves_what_it_cuts() -> None:
    """From the last user's message on."""
    reading = of(*WHOLE[:10], message("user", "more"), line("context.undo", count=1))

    assert texts(reading.sent)[:2] == ["task", "ok"]
    assert [item.message.text for item in reading.left_out] == ["more"]
    assert (reading.counts["reverts"], reading.counts["abandoned"]) == (1, 1)


def test_results_of_every_form() -> None:
    """Failed ones are marked; one that no call waited for, or whose call is gone, is not sent."""
    reading = of(
        METADATA,
        event("tool.result", toolCallId="c0", result={"output": "stray"}),
        message("assistant", "", toolCalls=[
            {"id": "c1", "function": {"name": "f", "arguments": "{}"}},
            {"id": "c2", "name": "g", "arguments": None},
        ]),
        message("tool", [{"type": "text", "text": "no"}], toolCallId="c1"),
        message("tool", "lost", toolCallId="c9"),
        event("step.begin", uuid="s1"),
        event("tool.call", stepUuid="s1", toolCallId="c3", name="f", args="raw"),
        event("tool.result", toolCallId="c3", result={"output": [], "isError": True}),
    )  # fmt: skip

    assert [len(found.calls) for found in reading.sent] == [2, 0, 1, 0]
    assert reading.sent[0].calls[1].function.arguments is None
    assert reading.sent[2].calls[0].arguments == "raw"
    assert reading.sent[3].text == tool("c3", "", error=True).text.rstrip()
    assert [(item.why, item.message.text) for item in reading.left_out] == [
        ("unsent", "stray"),
        ("compacted", "lost"),
    ]


def test_parts_of_every_kind() -> None:
    """Media by their addresses; those in files of their own, and others, are kept whole."""
    blob = {"type": "image_url", "imageUrl": {"url": "blobref:image/png;aa"}}
    content = [
        {"type": "image_url", "imageUrl": {"url": "http://x"}},
        {"type": "video_url", "video_url": {"url": "http://y"}},
        blob,
        {"type": "odd"},
        "text",
        5,
    ]
    (found,) = of(METADATA, message("user", content)).sent

    assert found.content == (
        ImagePart(MediaUrl("http://x")),
        VideoPart(MediaUrl("http://y")),
        OtherPart(blob),
        OtherPart({"type": "odd"}),
        TextPart("text"),
        OtherPart({"type": "unknown", "value": 5}),
    )


def test_origins_say_who_wrote_a_message() -> None:
    """A missing one is judged by the text; a command that a user typed is the user's."""
    skill = {"kind": "skill_activation", "trigger": "user-slash"}
    bare = message("user", "a")
    del bare["message"]["origin"]
    reading = of(
        METADATA,
        bare,
        message("user", "b", origin=skill),
        message("user", "c", "system_trigger"),
        message("user", "d", "compaction_summary"),
        message("x", "e"),
    )

    assert origins(reading.sent) == [None, "user", "injection", "summary", None]


def test_a_summary_may_be_a_message_and_a_profile_a_prompt() -> None:
    """As older and newer logs have them."""
    reading = of(
        METADATA,
        line("profile.bind", systemPrompt="p", environmentDisclosure={"cwd": "/x"}),
        line("context.apply_compaction", summary={"role": "user", "content": "so far"}, count=1),
        event("odd"),
    )

    assert reading.records[0] == SystemPrompt(content="p")
    assert texts(reading.sent) == ["so far"]
    assert reading.cwd == "/x"
    assert reading.spent is None


def test_a_log_knows_its_session_by_its_path() -> None:
    """And its title and folder by the state above; a sub-agent knows its parent."""
    state = {"../../state.json": b'{"title":"t","workDir":"/v"}'}
    main = of(*WHOLE, path="w/s9/agents/main/wire.jsonl", beside=state)
    helper = of(*WHOLE, path="w/s9/agents/agent-0/wire.jsonl")

    assert (main.session_id, main.title, main.cwd) == ("s9", "t", "/v")
    assert (helper.session_id, helper.parent_session) == ("s9/agent-0", "s9")
    assert beside(line_source(WHOLE, path="w/s9/agents/main/wire.jsonl")) == ("../../state.json",)
    assert beside(line_source(WHOLE)) == ()


def test_evidence_and_what_is_not_taken() -> None:
    """A record of the context, or any record with a time behind the metadata."""
    assert "context.append_message" in str(detect(line_source(WHOLE[2:3])))
    assert "protocol_version" in str(detect(line_source(WHOLE[:2])))
    kimi_cli = [METADATA, {"timestamp": 1, "message": {"type": "TurnBegin"}}]
    assert detect(line_source(kimi_cli)) is None
    assert detect(line_source([WHOLE[1]])) is None
    with pytest.raises(FormatError, match="no conversation 1"):
        read(line_source(WHOLE), 1)


def as_asked(sent: tuple[Message, ...], *, spine: bool) -> int:
    """Count messages as the agent does before it asks: users' in a row are one."""
    count = 0
    joined = False
    for found in sent:
        real = found.role == "user" and found.origin in {None, "user"}
        count += not (real and joined and not spine)
        joined = real
    # In the tree of tasks a line on where the model stands is added at the end.
    return count + spine


@pytest.mark.parametrize(
    ("name", "every"),
    [
        ("wire_v1.4_legacy-open-close.jsonl", 1),
        ("wire_v1.4_legacy-root-compact.jsonl", 1),
        ("wire_v1.4_legacy-undo-divergence.jsonl", 13),
        ("agent-sessions_fixture/assistant_tools.jsonl", 1),
        ("agent-sessions_fixture/small.jsonl", 1),
        ("agent-sessions_fixture/subagent_agent-0.jsonl", 1),
    ],
)
def test_what_is_sent_has_as_many_messages_as_the_agent_counted(name: str, every: int) -> None:
    """Each request in the log says how many messages it had: the agent's own count."""
    path = SAMPLES / name
    if not path.exists():
        pytest.skip("../shared/samples is not beside the repository")
    data = path.read_bytes()
    spine = b'"name":"spine_open"' in data
    requests: list[tuple[int, int]] = []
    position = 0
    for raw in data.split(b"\n"):
        if b'"type":"llm.request","kind":"loop"' in raw:
            requests.append((position, json.loads(raw)["messageCount"]))
        position += len(raw) + 1

    asked = requests[::every]
    ours = [as_asked(read(Source(data[:at]), 0).sent, spine=spine) for at, _ in asked]

    assert ours
    assert ours == [count for _, count in asked]
