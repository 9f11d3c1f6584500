"""Anthropic's messages, and the histories of Cline, Roo and Kilo, to records."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.codec import encode_line
from minutebook.formats.anthropic_messages import beside, detect, read
from minutebook.formats.source import Source
from minutebook.formats.value import Reading
from minutebook.messages import Message, TextPart, ThinkPart, assistant, call, replace, tool, user
from minutebook.records import Checkpoint, SystemPrompt, Usage
from minutebook.turns import pair
from tests.formats.altered import altered, document_source, holds, texts
from tests.formats.transcripts import JSON_VALUES, use, words

KEYS = ["content", "ts", "isSummary", "condenseId", "condenseParent", "type", "usage", "metrics"]
STRANGE = st.builds(
    lambda role, rest: {"content": None, **rest, "role": role},
    st.sampled_from(["user", "assistant", "_batch"]),
    st.dictionaries(st.sampled_from(KEYS), st.one_of(JSON_VALUES, st.just(True)), max_size=4),
)


def source(*messages: Any, **around: Any) -> Source:
    value = {"messages": [*messages], **around} if around else [*messages]
    return Source(json.dumps(value).encode(), name="task")


def said(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [*blocks], **more}


def asked(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [*blocks], **more}


def result(call_id: str, text: str = "done") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": text}


@given(st.lists(STRANGE, min_size=1, max_size=5))
def test_any_values_are_read_and_can_be_written(messages: list[Any]) -> None:
    """Keys of unexpected types never raise, and everything is in one of the views."""
    reading = read(source(*messages), 0)

    for message in reading.everything:
        assert encode_line(message).startswith(b'{"role":')
        assert not message.role.startswith("_")
    assert len(reading.everything) == len(reading.sent) + len(reading.left_out)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=5))
def test_every_batch_of_calls_is_answered_behind_its_reply(rounds: list[tuple[int, bool]]) -> None:
    """Results become tool messages before the text of the same message (case C009)."""
    messages: list[Any] = []
    expected: list[Message] = []
    for number, (count, with_text) in enumerate(rounds):
        ids = [f"{number}-{at}" for at in range(count)]
        messages += [said(words("a"), *map(use, ids)), asked(words("b"), *map(result, ids))]
        if not with_text:
            messages[-1]["content"].pop(0)
        expected.append(
            assistant("a", tool_calls=[call(name, "Read", '{"path":"a b"}') for name in ids])
        )
        expected += [tool(name, "done") for name in ids]
        if with_text or not count:
            expected.append(Message(role="user", content="b" if with_text else ""))

    reading = read(source(*messages), 0)

    assert list(reading.sent) == expected
    assert not pair(reading.sent).orphans
    assert not pair(reading.sent).open


def test_a_system_prompt_stands_beside_or_before_the_messages() -> None:
    """A text, blocks, Cline's own key, or a first message of that role."""
    first = asked(words("hi"))
    expected = (
        SystemPrompt(content="be\nkind"),
        Checkpoint(id=0, content="checkpoint 0"),
        Message(role="user", content="hi"),
    )

    for around in ({"system": "be\nkind"}, {"system_prompt": [words("be"), words("kind")]}):
        assert read(source(first, **around), 0).records == expected
    assert read(source({"role": "system", "content": "be\nkind"}, first), 0).records == expected


def condensed(**of_summary: Any) -> Reading:
    return read(
        source(
            asked(words("task"), ts=1767323045000, condenseParent="X"),
            said(use("t1"), condenseParent="X"),
            asked(result("t1"), words("more"), condenseParent="X"),
            said(use("t2"), condenseParent="X"),
            asked(words("so far"), isSummary=True, condenseId="X", **of_summary),
            asked(result("t2"), words("go on")),
            said(words("ok"), ts=1767323050000),
        ),
        0,
    )


def test_a_condensation_hides_all_before_its_summary() -> None:
    """And the results whose call it hides; nothing of it is lost."""
    reading = condensed()

    assert texts(reading.sent) == ["so far", "go on", "ok"]
    assert [message.origin for message in reading.sent] == ["summary", None, "assistant"]
    assert texts(reading.earlier) == ["task", "", "done", "more", "", "done"]
    assert texts(reading.branch) == [
        "task", "", "done", "more", "", "so far", "done", "go on", "ok",
    ]  # fmt: skip
    assert reading.counts == {"compactions": 1}
    assert (reading.started, reading.updated) == (1767323045.0, 1767323050.0)


def test_an_old_summary_stands_in_the_place_of_a_reply() -> None:
    """Older versions wrote an assistant's message; what is sent begins there too."""
    reading = read(source(asked(words("task")), said(words("so far"), isSummary=True)), 0)

    assert reading.sent == (Message(role="assistant", content="so far", origin="summary"),)


def test_a_truncation_hides_what_names_its_marker() -> None:
    """The marker stays as a notice; a parent whose marker is gone hides nothing."""
    reading = read(
        source(
            asked(words("task")),
            said(words("a"), truncationParent="T"),
            asked(words("b"), truncationParent="gone"),
            asked(words("cut here"), isTruncationMarker=True, truncationId="T"),
            said(words("c")),
        ),
        0,
    )

    assert texts(reading.sent) == ["task", "b", "cut here", "c"]
    assert texts(reading.branch) == ["task", "a", "b", "cut here", "c"]
    assert reading.sent[2].origin == "notice"
    assert reading.counts == {"truncations": 1}


def test_reasoning_entries_belong_to_the_next_reply() -> None:
    """Roo stores them beside the messages; without a reply they are one of their own."""
    entry = {"type": "reasoning", "summary": [{"text": "hm"}, {}], "encrypted_content": "e"}
    plain = {"type": "reasoning", "text": "ah"}

    reading = read(
        source(asked(words("a")), entry, said(words("b")), plain, asked(words("c")), plain), 0
    )

    assert reading.sent[1] == assistant((ThinkPart("hm\n", "e"), TextPart("b")))
    assert reading.sent[2] == assistant((ThinkPart("ah"),))
    assert reading.sent[4] == assistant((ThinkPart("ah"),))


TASK = [
    asked(words("task"), ts=1),
    said(use("t1"), ts=2),
    asked(result("t1", "a long file"), ts=3),
    said(words("seen"), use("t2"), ts=4, usage={"input_tokens": 1, "output_tokens": 7}),
    asked(words("[Read for 'x'] Result:"), words("the same file"), words("more"), ts=5),
    said(words("done"), ts=6, usage={"input_tokens": 1, "output_tokens": 9}),
]
SCREEN = [{"type": "say", "conversationHistoryDeletedRange": [1, 2]}]
EDITS = [[4, [3, [[1, [[5, "text", ["read again below"], []]]]]]]]
ITEM = {"id": "task", "task": "the title", "parentTaskId": "above", "workspace": "/w"}
NEIGHBOURS = {
    "ui_messages.json": SCREEN,
    "context_history.json": EDITS,
    "history_item.json": ITEM,
}


def of_task(messages: Any, neighbours: dict[str, Any]) -> Source:
    files = {name: json.dumps(value).encode() for name, value in neighbours.items()}
    return document_source(messages, name="task", beside=files)


@given(altered([TASK, NEIGHBOURS]))
def test_any_task_is_read_with_whatever_stands_beside(value: Any) -> None:
    """Nothing raises, and the views hold."""
    messages, neighbours = value if isinstance(value, list) and len(value) == 2 else (value, {})
    task = of_task(messages, neighbours if isinstance(neighbours, dict) else {})

    if detect(task) is not None:
        holds(read(task, 0))


def test_what_stands_beside_says_what_is_hidden_and_replaced() -> None:
    """A range of entries is not sent; a text that took another's place is, in its place."""
    reading = read(of_task(TASK, NEIGHBOURS), 0)

    assert texts(reading.sent) == [
        "task", "seen", "[Read for 'x'] Result:\nread again below\nmore", "done",
    ]  # fmt: skip
    assert [message.role for message in reading.sent] == ["user", "assistant", "tool", "assistant"]
    assert texts(reading.earlier) == ["", "a long file"]
    assert texts(reading.branch)[4] == "[Read for 'x'] Result:\nthe same file\nmore"
    assert reading.counts == {"truncations": 1, "blanked": 1}
    assert (reading.title, reading.parent_session, reading.cwd) == ("the title", "above", "/w")
    assert read(of_task(TASK, {}), 0).counts == {}


def test_what_all_replies_cost_is_added_up() -> None:
    """Those of hidden entries too."""
    screen = [{"conversationHistoryDeletedRange": [1, 4]}]

    reading = read(of_task(TASK, {"ui_messages.json": screen}), 0)

    assert [record.token_count for record in reading.records if isinstance(record, Usage)] == [10]
    assert reading.spent is not None
    assert (reading.spent.calls, reading.spent.output) == (2, 16)


@pytest.mark.parametrize("name", ["api_conversation_history.json", "claude_messages.json"])
def test_only_a_history_has_neighbours(name: str) -> None:
    """Files of another name stand alone."""
    assert "ui_messages.json" in beside(Source(b"[]", path=f"a/{name}"))
    assert "ui_messages.json" in beside(Source(b"[]", path=f"a\\{name}"))
    assert beside(Source(b"[]", path=f"{name}/other.json")) == ()


def test_usage_is_taken_in_each_agents_form() -> None:
    """Anthropic's counts are disjoint; Cline's input includes what came from the cache."""
    own = {
        "input_tokens": 2,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 10,
        "output_tokens": 5,
    }
    metrics = {"inputTokens": 50, "outputTokens": 5, "cacheReadTokens": 30, "cacheWriteTokens": 8}
    tokens = {"prompt": 50, "completion": 5, "cached": 30}

    def usage_of(**keys: Any) -> Any:
        return read(source(said(words("a"), **keys)), 0).records[1]

    assert usage_of(usage=own, model="m") == Usage(
        token_count=47,
        content="47 tokens",
        input=2,
        cache_read=30,
        cache_write=10,
        output=5,
        model="m",
    )
    assert usage_of(metrics=metrics, modelInfo={"modelId": "c"}) == Usage(
        token_count=55,
        content="55 tokens",
        input=12,
        cache_read=30,
        cache_write=8,
        output=5,
        model="c",
    )
    assert usage_of(metrics={"tokens": tokens}).input == 20


def test_the_model_is_that_of_the_last_entry_that_names_one() -> None:
    """In whichever key; else that of the object around."""
    last = said(words("b"), modelInfo={"id": "x", "provider": "p"})

    assert read(source(said(words("a"), model="m"), last), 0).model == "x"
    assert read(source(asked(words("a")), model="m", sessionId="s"), 0).model == "m"
    assert read(source(asked(words("a")), sessionId="s"), 0).session_id == "s"
    assert read(source(asked(words("a"))), 0).session_id == "task"


@pytest.mark.parametrize(
    ("messages", "evidence"),
    [
        ([asked(words("a")), said(use("t"))], "of the type tool_use"),
        ([asked(words("a"), ts=1)], "the key ts"),
        ([asked(words("a")), {"type": "reasoning"}], "of the type reasoning"),
        ([asked(words("a"))] * 99 + [said(result("t"))], "of the type tool_result"),
    ],
)
def test_the_evidence_is_what_decided(messages: list[Any], evidence: str) -> None:
    """A kind of block, or a key that an agent adds."""
    assert evidence in str(detect(source(*messages)))


def test_evidence_may_stand_far_behind_or_around() -> None:
    """The key of a result anywhere in the file, or a prompt beside the messages."""
    plain = {"role": "user", "content": "a"}
    lines = [json.dumps(plain)] * 99 + [json.dumps(asked(result("t")))]

    assert "tool_use_id" in str(detect(Source("\n".join(lines).encode())))
    assert "key system" in str(detect(source(plain, system="x")))


def test_plain_messages_and_openais_are_not_taken() -> None:
    """Roles that Anthropic's API does not have, and lists without a mark."""
    assert detect(source({"role": "user", "content": "a"})) is None
    assert detect(source({"role": "system", "content": "a"}, asked(words("b"), ts=1))) is None
    assert detect(Source(b"[]")) is None


def test_a_user_message_has_no_origin_of_its_own() -> None:
    """Agents put their own texts there too, so its text decides (see turns)."""
    reading = read(
        source(asked(words("<system-reminder>x</system-reminder>")), asked(words("a"))), 0
    )

    assert [type(record) for record in reading.records] == [Message, Checkpoint, Message]
    assert reading.sent[1] == replace(user("a"), origin=None)
