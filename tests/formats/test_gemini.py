"""Gemini CLI's sessions to records."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import FormatError
from minutebook.formats.gemini import detect, read
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.messages import (
    AudioPart,
    ImagePart,
    MediaUrl,
    OtherPart,
    TextPart,
    ThinkPart,
    VideoPart,
    call,
    tool,
)
from minutebook.records import Usage
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

Value = dict[str, Any]
HEADER = {
    "sessionId": "s1",
    "projectHash": "h",
    "startTime": "2026-01-02T03:04:05Z",
    "lastUpdated": "2026-01-02T03:05:05Z",
    "directories": ["/w"],
    "summary": "the title",
}
TOKENS = {"input": 10, "cached": 4, "output": 3, "thoughts": 2, "tool": 1, "total": 16}


def user(name: str, text: Any) -> Value:
    return {"id": name, "timestamp": "2026-01-02T03:04:05Z", "type": "user", "content": text}


def reply(name: str, text: Any = "ok", **keys: Any) -> Value:
    return {"id": name, "type": "gemini", "content": text, "model": "m-1", **keys}


def ran(call_id: str, said: Any, **keys: Any) -> Value:
    answer = {"functionResponse": {"id": call_id, "name": "f", "response": said}}
    return {"id": call_id, "name": "f", "args": {"path": "x"}, "result": [answer], **keys}


WHOLE = [
    user("m1", [{"text": "task"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]),
    reply(
        "m2",
        thoughts=[{"subject": "Hm", "description": "ah"}],
        toolCalls=[ran("c1", {"output": "done"}, timestamp="2026-01-02T03:04:06Z")],
        tokens=TOKENS,
    ),
    {"id": "m3", "type": "info", "content": "Request cancelled."},
    user("m4", "/stats"),
]


def lines(*values: Value) -> Reading:
    reading = read(line_source([HEADER, *values]), 0)
    holds(reading)
    return reading


def of(*messages: Value) -> Reading:
    reading = read(document_source({**HEADER, "messages": [*messages]}), 0)
    holds(reading)
    return reading


@given(altered([HEADER, *WHOLE, {"$set": {"messages": WHOLE[:2]}}, {"$rewindTo": "m2"}]))
def test_any_lines_are_read_or_are_no_session(values: Any) -> None:
    """Keys of unexpected types never raise, whatever stands in their place."""
    source = line_source(values if isinstance(values, list) else [values])
    if detect(source):
        holds(read(source, 0))


@given(altered({**HEADER, "messages": WHOLE}))
def test_any_document_is_read_or_is_no_session(value: Any) -> None:
    """The older form, the same."""
    source = document_source(value)
    if detect(source):
        holds(read(source, 0))


def test_a_session_is_its_messages_without_what_only_users_see() -> None:
    """A call has its result with it; notes are left out, commands to the program unsent."""
    reading = of(*WHOLE)

    assert origins(reading.sent) == ["user", "assistant", "tool"]
    assert reading.sent[0].content == (
        TextPart("task"),
        ImagePart(MediaUrl("data:image/png;base64,AA")),
    )
    assert reading.sent[1].content == (ThinkPart("Hm\nah"), TextPart("ok"))
    assert reading.sent[1].calls == (call("c1", "f", '{"path":"x"}'),)
    assert (reading.sent[2].text, reading.sent[2].at) == ("done", 1767323046.0)
    assert behind(reading) == ["assistant"]
    assert usages(reading) == [
        Usage(
            token_count=16,
            content="16 tokens",
            input=7,
            cache_read=4,
            output=5,
            reasoning=2,
            model="m-1",
        )
    ]
    assert [(item.why, item.message.text) for item in reading.left_out] == [("unsent", "/stats")]
    assert reading.counts == {"images": 1, "unsent": 1, "only_shown": 1, "message_ids": 4}
    assert (reading.session_id, reading.cwd, reading.title) == ("s1", "/w", "the title")
    assert (reading.model, reading.started, reading.updated) == (
        "m-1", 1767323045.0, 1767323105.0,
    )  # fmt: skip


def test_both_forms_give_the_same() -> None:
    """One object, or a header and a line for each message."""
    assert lines(*WHOLE).records == of(*WHOLE).records


def test_a_message_that_is_written_again_counts_once() -> None:
    """With its last version: calls, results and tokens come in one after the other."""
    reading = lines(WHOLE[0], reply("m2"), WHOLE[1])

    assert reading.records == of(*WHOLE[:2]).records
    assert reading.counts["duplicates"] == 1


def test_masked_outputs_are_sent_short() -> None:
    """Their whole form is on the branch, and the counts of before are gone."""
    masked = reply("m2", thoughts=WHOLE[1]["thoughts"], toolCalls=[ran("c1", {"output": "…"})])
    reading = lines(*WHOLE[:2], {"$set": {"messages": [WHOLE[0], masked]}}, reply("m5"))

    assert texts(reading.sent) == ["task", "ok", "…", "ok"]
    assert texts(reading.branch) == ["task", "ok", "done", "ok"]
    assert (reading.counts["microcompactions"], reading.counts["blanked"]) == (1, 1)
    assert usages(reading) == []


def test_a_compression_leaves_a_state_and_the_rest() -> None:
    """The state is a summary; what it replaced is older."""
    state = user("n1", [{"text": "<state_snapshot>so far</state_snapshot>"}])
    reading = lines(*WHOLE[:2], {"$set": {"messages": [state]}}, user("m5", "go on"))

    assert origins(reading.sent) == ["summary", "user"]
    assert texts(reading.earlier) == ["task", "ok", "done"]
    assert reading.counts["compactions"] == 1


def test_a_rewind_abandons_what_it_drops() -> None:
    """The message that it names, and all after it."""
    reading = lines(*WHOLE[:2], {"$rewindTo": "m2"}, user("m5", "other"))

    assert texts(reading.sent) == ["task", "other"]
    assert texts(reading.everything) == ["task", "ok", "done", "other"]
    assert (reading.counts["reverts"], reading.counts["abandoned"]) == (1, 2)


def test_results_of_every_form() -> None:
    """Texts, errors, values, parts beside the response, and none at all."""
    picture = {"inlineData": {"mimeType": "image/png", "data": "AA"}}
    calls = [
        ran("c1", {"error": "no"}),
        ran("c2", {"x": 1}),
        {**ran("c3", {"output": ""}), "result": "plain"},
        {**ran("c4", {}), "result": [picture]},
        {"id": "c5", "name": "f", "args": "{"},
    ]
    reading = of(reply("m1", "", toolCalls=calls))

    assert [message.content for message in reading.sent[1:]] == [
        tool("c1", "no", error=True).content,
        '{"x":1}',
        "plain",
        (ImagePart(MediaUrl("data:image/png;base64,AA")),),
    ]
    assert reading.sent[0].calls[4].arguments == "{"


def test_calls_that_the_content_repeats_count_once() -> None:
    """By id, or by name and arguments; another one is a call too."""
    content = [
        "text",
        {"functionCall": {"id": "c1", "name": "f", "args": {}}},
        {"functionCall": {"name": "f", "args": {"path": "x"}}},
        {"functionCall": {"name": "g", "args": {}}},
    ]
    reading = of(reply("m1", content, toolCalls=[ran("c1", {})]))

    assert [found.name for found in reading.sent[0].calls] == ["f", "g"]
    assert reading.sent[0].text == "text"


def test_parts_of_every_kind() -> None:
    """Media by their type; what has no place in ours is kept whole."""

    def media(kind: str) -> Value:
        return {"fileData": {"mimeType": kind, "fileUri": "u"}}

    code = {"executableCode": {"code": "1"}}
    content = [media("audio/wav"), media("video/mp4"), media("text/x"), code, 5,
               {"text": "hm", "thought": True}]  # fmt: skip
    (message,) = of(user("m1", content)).sent

    assert message.content == (
        AudioPart(MediaUrl("u")),
        VideoPart(MediaUrl("u")),
        OtherPart(media("text/x")),
        OtherPart(code),
        OtherPart({"type": "unknown", "value": 5}),
        ThinkPart("hm"),
    )
    assert of(user("m1", "<session_context>here")).sent[0].origin == "injection"


def test_a_chats_checkpoint_is_in_the_form_that_is_sent() -> None:
    """Roles user and model, calls and results among the parts."""
    messages = [
        {"role": "user", "parts": [{"text": "task"}]},
        {"role": "model", "parts": [{"text": "ok"}, {"functionCall": {"name": "f", "args": {}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "f", "response": {"output": "done"}}}],
        },
    ]
    bare, wrapped = document_source(messages), document_source({"history": messages})

    reading = read(bare, 0)

    holds(reading)
    assert texts(reading.sent) == ["task", "ok", "done"]
    assert reading.counts == {"made_up_ids": 1}
    assert reading.records == read(wrapped, 0).records
    assert "with the key parts" in str(detect(bare))


@given(st.integers(0, 3))
def test_a_torn_file_gives_what_is_whole(cut: int) -> None:
    """Lines that are none are problems, and nothing else is lost."""
    data = line_source([HEADER, *WHOLE[:cut]]).data + b'{"x":1}\n{"id":"m9","ty'

    reading = read(Source(data), 0)

    assert reading.records == lines(*WHOLE[:cut]).records
    assert [problem.kind for problem in reading.problems] == ["entry", "torn"]


@pytest.mark.parametrize(
    ("values", "evidence"),
    [
        ([HEADER, WHOLE[0]], "sessionId and projectHash"),
        ([{"$rewindTo": "a"}, {}], "$rewindTo"),
        ([{"$set": {"messages": WHOLE}}, {}], "$set"),
        ([WHOLE[1], {}], "an id and the type gemini"),
        ([{"sessionId": "s", "messages": WHOLE}], "messages of the type user or gemini"),
    ],
)
def test_the_evidence_is_what_decided(values: list[Any], evidence: str) -> None:
    """Each mark by itself."""
    source = line_source(values) if len(values) > 1 else document_source(values[0])

    assert evidence in str(detect(source))


def test_other_files_are_not_taken() -> None:
    """Objects with a session's id alone, and other lines."""
    assert detect(document_source({"sessionId": "s"})) is None
    assert detect(line_source([{"type": "user"}, {"$set": 5}])) is None
    assert detect(Source(json.dumps([]).encode())) is None
    with pytest.raises(FormatError, match="no conversation 1"):
        read(line_source([HEADER]), 1)
