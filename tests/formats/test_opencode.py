"""opencode's exports and its storage to records."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from minutebook.errors import FormatError
from minutebook.formats.mapping import CLEARED_NOTICE
from minutebook.formats.opencode import COMPACTION_NOTICE, beside, detect, read
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.messages import ImagePart, MediaUrl, OtherPart, TextPart, ThinkPart, tool
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

Value = dict[str, Any]
SESSION = {
    "id": "ses_1",
    "projectID": "p",
    "parentID": "ses_0",
    "directory": "/w",
    "title": "the title",
    "version": "1.2",
    "time": {"created": 1767323045000, "updated": 1767323050000},
}
TOKENS = {"input": 5, "output": 3, "reasoning": 2, "cache": {"read": 40, "write": 1}}


def part(kind: str, **keys: Any) -> Value:
    return {"type": kind, **keys}


def words(text: str, **keys: Any) -> Value:
    return part("text", text=text, **keys)


def ran(call_id: str, status: str = "completed", **state: Any) -> Value:
    return part("tool", callID=call_id, tool="read",
                state={"status": status, "input": {"path": "x"}, **state})  # fmt: skip


def user(name: str, *parts: Value, **keys: Any) -> Value:
    info = {"id": name, "role": "user", "time": {"created": 1767323045000}, **keys}
    return {"info": info, "parts": [*parts]}


def reply(name: str, *parts: Value, **keys: Any) -> Value:
    info = {"id": name, "role": "assistant", "modelID": "m-1", **keys}
    return {"info": info, "parts": [*parts]}


WHOLE = [
    user("m1", words("task")),
    reply(
        "m2",
        part("step-start", snapshot="h"),
        part("reasoning", text="hm", metadata={"anthropic": {"signature": "s"}}),
        words("ok"),
        ran("c1", output="done", time={"end": 1767323046000}),
        part("patch", hash="h", files=[]),
        tokens=TOKENS,
    ),
    user("m3", part("compaction", auto=True, tail_start_id="m2")),
    reply("m4", words("so far"), summary=True, finish="stop", parentID="m3", tokens=TOKENS),
    user("m5", words("go on", synthetic=True)),
]


def of(*messages: Value, **keys: Any) -> Reading:
    info = {**SESSION, **keys}
    reading = read(document_source({"info": info, "messages": [*messages]}), 0)
    holds(reading)
    return reading


@given(altered({"info": {**SESSION, "revert": {"messageID": "m2"}}, "messages": WHOLE}))
def test_any_values_are_read_or_are_no_session(value: Any) -> None:
    """Keys of unexpected types never raise, whatever stands in their place."""
    source = document_source(value)
    if detect(source):
        holds(read(source, 0))


def test_a_step_is_a_reply_with_its_results_behind_it() -> None:
    """Thinking with what is opaque of it, calls and results of one part, usage behind the reply."""
    reading = of(*WHOLE[:2])

    assert origins(reading.sent) == ["user", "assistant", "tool"]
    assert reading.sent[1].content == (ThinkPart("hm", "s"), TextPart("ok"))
    assert reading.sent[1].calls[0].arguments == '{"path":"x"}'
    assert (reading.sent[2].text, reading.sent[2].at) == ("done", 1767323046.0)
    assert behind(reading) == ["assistant"]
    assert usages(reading)[0].model == "m-1"
    assert reading.counts == {"snapshots": 1, "message_ids": 2}
    assert (reading.session_id, reading.parent_session, reading.cwd) == ("ses_1", "ses_0", "/w")
    assert (reading.title, reading.agent_version, reading.model) == ("the title", "1.2", "m-1")
    assert (reading.started, reading.updated) == (1767323045.0, 1767323045.0)


def test_after_a_compaction_its_request_and_summary_are_sent_first() -> None:
    """Then what it keeps, and what follows; the counts of before are of no use."""
    reading = of(*WHOLE)

    assert texts(reading.sent) == [COMPACTION_NOTICE, "so far", "ok", "done", "go on"]
    assert origins(reading.sent) == ["notice", "summary", "assistant", "tool", "injection"]
    assert texts(reading.earlier) == ["task"]
    assert usages(reading) == []
    assert reading.counts["compactions"] == 1
    assert reading.spent == Spent(calls=2, input=10, output=6, reasoning=4, cache_read=80,
                                  cache_write=2)  # fmt: skip


@pytest.mark.parametrize("keys", [{"finish": None}, {"error": {"name": "X"}}, {"parentID": "m9"}])
def test_a_compaction_that_was_not_finished_hides_nothing(keys: Value) -> None:
    """Nor does a failed one. One whose request is lost begins at its summary."""
    lines = [*WHOLE[:3], {**WHOLE[3], "info": {**WHOLE[3]["info"], **keys}}, WHOLE[4]]

    reading = of(*lines)

    lost = "parentID" in keys
    assert reading.sent[0].text == ("so far" if lost else "task")


def test_a_pruned_result_is_sent_as_a_notice() -> None:
    """Its whole form is on the branch."""
    reading = of(reply("m1", ran("c1", output="long", time={"compacted": 5})))

    assert texts(reading.sent) == ["", CLEARED_NOTICE]
    assert texts(reading.branch) == ["", "long"]
    assert reading.sent[1].elided == "mask"
    assert reading.counts["blanked"] == 1


def test_a_revert_hides_a_message_and_what_follows() -> None:
    """Until the next prompt; they are abandoned."""
    reading = of(*WHOLE[:2], user("m3", words("more")), revert={"messageID": "m2"})

    assert texts(reading.sent) == ["task"]
    assert texts(reading.everything) == ["task", "ok", "done", "more"]
    assert (reading.counts["reverts"], reading.counts["abandoned"]) == (1, 3)


def test_a_revert_to_a_part_shortens_its_message() -> None:
    """The parts before it are sent; results of later ones are hidden."""
    message = reply("m1", words("a", id="p1"), {**ran("c1", output="x"), "id": "p2"})
    kept = of(user("m0", words("task")), message, revert={"messageID": "m1", "partID": "p2"})
    first = of(user("m0", words("task")), message, revert={"messageID": "m1", "partID": "p1"})

    assert [(found.text, len(found.calls)) for found in kept.sent] == [("task", 0), ("a", 0)]
    assert [(item.why, item.message.text) for item in kept.left_out] == [
        ("abandoned", "x"),
        ("blanked", "a"),
    ]
    assert texts(first.sent) == ["task"]
    assert texts(of(user("m0"), revert={"messageID": "gone"}).sent) == [""]


def test_failed_replies_are_kept_back() -> None:
    """But one that was cut off after it had said something is sent."""
    aborted = {"name": "MessageAbortedError"}
    reading = of(
        reply("m1", words("a"), error={"name": "APIError"}, tokens=TOKENS),
        reply("m2", part("step-start"), part("reasoning", text="hm"), error=aborted),
        reply("m3", words("half"), error=aborted),
    )

    assert texts(reading.sent) == ["half"]
    assert reading.counts["unsent"] == 2
    assert usages(reading) == []
    assert texts(reading.branch) == ["a", "", "half"]


def test_results_of_every_state() -> None:
    """Failed ones are marked, running ones have none, attachments stay with theirs."""
    picture = part("file", mime="image/png", url="data:image/png;base64,AA")
    reading = of(
        reply(
            "m1",
            ran("c1", "error", error="no"),
            ran("c2", "running"),
            ran("c3", output="", attachments=[picture, 5]),
            ran("c4", output="x", input="raw"),
            part("tool", callID="c5", tool="f"),
        )
    )

    assert [message.tool_call_id for message in reading.sent[1:]] == ["c1", "c3", "c4"]
    assert reading.sent[1].content == tool("c1", "no", error=True).content
    assert reading.sent[2].content == (ImagePart(MediaUrl("data:image/png;base64,AA")),)
    assert reading.sent[0].calls[3].arguments == "raw"
    assert reading.sent[0].calls[4].function.arguments is UNSET


def test_parts_of_a_user_and_parts_of_no_kind_that_is_sent() -> None:
    """Pictures are sent, what is ignored or named only is kept whole."""
    ignored = words("secret", ignored=True)
    file = part("file", mime="text/plain", url="file:///a")
    (message,) = of(user("m1", words(""), ignored, file, words("hi"))).sent

    assert message.content == (OtherPart(ignored), OtherPart(file), TextPart("hi"))


@pytest.mark.parametrize(
    ("tokens", "output", "thought"),
    [
        ({"total": 10, "input": 5, "output": 3, "reasoning": 2}, 5, 2),
        ({"total": 8, "input": 5, "output": 3, "reasoning": 2}, 3, 2),
        ({"input": 5, "output": 3, "reasoning": 2}, 3, 2),
        ({"input": 5, "output": 1, "reasoning": 2}, 3, 2),
        ({"input": 5, "output": 1}, 1, None),
    ],
)
def test_thinking_is_counted_once(tokens: Value, output: int, thought: int | None) -> None:
    """Where the total says that it stands beside the output, or it cannot be in it, it is added."""
    (found,) = usages(of(reply("m1", words("a"), tokens=tokens)))

    assert (found.output, found.reasoning) == (output, thought)
    assert found.token_count == 5 + output


def stored(messages: list[Value]) -> Source:
    """Split a session into the files of the storage."""
    files: dict[str, bytes] = {}
    for message in messages:
        name = message["info"]["id"]
        info = {key: value for key, value in message["info"].items() if key != "id"}
        files[f"../../message/ses_1/{name}.json"] = json.dumps(info).encode()
        for number, found in enumerate(message["parts"]):
            files[f"../../part/{name}/prt_{number}.json"] = json.dumps(found).encode()
    return document_source(SESSION, path="s/p/ses_1.json", name="ses_1", beside=files)


@given(st.integers(0, len(WHOLE)))
def test_the_storage_gives_what_its_export_gives(length: int) -> None:
    """One file for each message and part; ids are those of the paths."""
    source = stored(WHOLE[:length])

    reading = read(source, 0)

    assert reading.records == of(*WHOLE[:length]).records
    assert reading.left_out == of(*WHOLE[:length]).left_out
    assert "key projectID" in str(detect(source))


def test_the_storage_is_asked_for_messages_and_then_for_their_parts() -> None:
    """By ids that are plain names; an export needs nothing."""
    source = stored(WHOLE[:1])
    bare = document_source(SESSION, name="ses_1")
    strange = document_source(SESSION, name="../x")

    assert beside(bare) == ("../../message/ses_1/*.json",)
    assert beside(source) == ("../../message/ses_1/*.json", "../../part/m1/*.json")
    assert beside(strange) == ()
    assert beside(document_source({"messages": WHOLE})) == ()


def test_broken_and_orphaned_files_are_problems() -> None:
    """The rest is read."""
    files = {
        "../../message/ses_1/m1.json": b'{"role":"user"}',
        "../../message/ses_1/m2.json": b"{",
        "../../part/m1/p1.json": b'{"type":"text","text":"a"}',
        "../../part/m9/p1.json": b'{"type":"text","text":"lost"}',
    }
    source = document_source(SESSION, name="ses_1", beside=files)

    reading = read(source, 0)

    assert texts(reading.sent) == ["a"]
    assert [problem.kind for problem in reading.problems] == ["bad", "orphans"]


def test_evidence_and_what_is_not_taken() -> None:
    """An export, an empty one, a session of the storage; nothing else."""
    assert "info and parts" in str(detect(document_source({"messages": WHOLE})))
    assert "projectID" in str(detect(document_source({"info": SESSION, "messages": []})))
    assert detect(document_source({"messages": [{"info": {}}]})) is None
    assert detect(document_source([])) is None
    assert of(model={"id": "m-9"}).model == "m-9"
    with pytest.raises(FormatError, match="no conversation 1"):
        read(document_source({"messages": WHOLE}), 1)
