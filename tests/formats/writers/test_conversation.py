"""Records as a conversation that another agent takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.formats.writers.conversation import (
    Said,
    maker_of,
    prompt_of,
    said,
    settled,
    shown,
    stamp,
)
from minutebook.messages import (
    AudioPart,
    Function,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    TextPart,
    ThinkPart,
    ToolCall,
    assistant,
    call,
    tool,
    user,
)
from minutebook.records import Checkpoint, SystemPrompt, Usage
from minutebook.turns import pair
from tests.strategies import MESSAGES, RECORDS


@given(st.lists(MESSAGES, max_size=8))
def test_every_call_is_answered_once_and_directly(messages: list[Message]) -> None:
    """Whatever the history: ids are unique, and nothing that was said is gone but orphans."""
    found = [item.message for item in settled([Said(message) for message in messages])]
    pairing = pair(found)
    ids = [made.id for message in found for made in message.calls]

    assert not pairing.open
    assert not pairing.orphans
    assert len(set(ids)) == len(ids)
    spoken = [message.content for message in messages if message.role != "tool"]
    assert [message.content for message in found if message.role != "tool"] == spoken
    for at, message in enumerate(found):
        if message.calls:
            behind = found[at + 1 : at + 1 + len(message.calls)]
            assert {item.tool_call_id for item in behind} == {made.id for made in message.calls}


@given(st.lists(MESSAGES, max_size=6))
def test_a_conversation_that_is_settled_stays_as_it_is(messages: list[Message]) -> None:
    """Settling twice is settling once."""
    once = list(settled([Said(message) for message in messages]))

    assert list(settled(once)) == once


@given(st.lists(RECORDS, max_size=10))
def test_each_message_is_there_once(records: list[object]) -> None:
    """In order; a usage belongs to a reply or to none."""
    found = said(records)  # type: ignore[arg-type]  # (the strategy's own type is wider)

    messages = [record for record in records if isinstance(record, Message)]
    assert [item.message for item in found] == messages
    assert all(item.message.role == "assistant" for item in found if item.usage is not None)


def test_a_usage_belongs_to_the_reply_before_it() -> None:
    """Behind its results too; the last one counts. A user between them ends that."""
    one, two = Usage(token_count=1), Usage(token_count=2)
    reply = assistant("a", tool_calls=[call("c", "f")])
    done = tool("c", "done")

    assert said([one, reply, done, two]) == [Said(reply, two), Said(done)]
    assert said([reply, one, two]) == [Said(reply, two)]
    assert said([reply, user("b"), one]) == [Said(reply), Said(user("b"))]
    assert said([reply, Usage(token_count=3, estimated=True)]) == [Said(reply)]


def test_answers_come_in_the_order_in_which_they_came() -> None:
    """Missing ones last; a call whose arguments were cut off was not run."""
    calls = [call("a", "f"), call("b", "f", '{"x": 1'), call("c", "f")]

    found = list(settled([Said(assistant("x", tool_calls=calls)), Said(user("y")),
                          Said(tool("c", "third")), Said(tool("gone", "z"))]))  # fmt: skip

    messages = [item.message for item in found]
    assert [message.tool_call_id for message in messages] == [None, "c", "a", "b", None]
    assert "outcome is unknown" in messages[2].text
    assert "was not run" in messages[3].text
    assert messages[0].calls[1].arguments == "{}"


def test_ids_are_made_unique_and_custom_input_stays() -> None:
    """A missing id is made of the call's place."""
    patch = ToolCall("custom", "c", Function("patch", "*** no JSON"))

    (first, *_), (second, *_) = (
        list(settled([Said(assistant("x", tool_calls=calls))]))
        for calls in ([call("", "f"), call(" ", "f")], [patch, call("c", "f")])
    )

    assert [made.id for made in first.message.calls] == ["call_0_0", "call_0_1"]
    assert [made.id for made in second.message.calls] == ["c", "c-2"]
    assert second.message.calls[0].arguments == "*** no JSON"


def test_the_last_prompt_counts() -> None:
    """A blank one is none."""
    assert prompt_of([SystemPrompt(content="a"), SystemPrompt(content="b\ud800")]) == "b\ufffd"
    assert prompt_of([SystemPrompt(content="a"), SystemPrompt(content=" ")]) == ""
    assert prompt_of([Checkpoint(id=0)]) == ""


def test_only_users_and_results_show_media() -> None:
    """Others name them; thinking and unknown parts are a reply's alone; blank texts are gone."""
    picture = ImagePart(MediaUrl("https://example.org/a.png"))
    sound = AudioPart(MediaUrl("data:audio/wav;base64,AA=="))
    other = OtherPart({"type": "x"})
    parts = (TextPart(" "), TextPart("a"), picture, sound, ThinkPart("hm"), other)

    seen = shown(Message("user", parts))
    replied = shown(Message("assistant", parts))

    assert [type(part) for part in seen] == [TextPart, ImagePart, TextPart]
    assert [type(part) for part in replied] == [TextPart, TextPart, TextPart, ThinkPart, OtherPart]
    assert shown(Message("tool", (picture,), tool_call_id="c")) == [picture]


@pytest.mark.parametrize(
    ("cipher", "model", "maker", "expected"),
    [
        ("gAAAAABo", "claude-x", "anthropic", "openai"),
        ("EqRk", "claude-x", "", "anthropic"),
        ("EqRk", "anthropic/claude-x", "", "anthropic"),
        ("EqRk", "gpt-5", "anthropic", "openai"),
        ("EqRk", "m", "anthropic", "anthropic"),
        ("EqRk", "", "", ""),
        ("", "claude-x", "anthropic", ""),
        (None, "claude-x", "anthropic", ""),
    ],
)
def test_whose_a_signature_is(cipher: str | None, model: str, maker: str, expected: str) -> None:
    """By its own form, then by the reply's model, then by what is said of the session."""
    assert maker_of(ThinkPart("hm", cipher), model, maker) == expected


@given(st.floats(0, 4e9))
def test_a_moment_is_written_in_milliseconds(seconds: float) -> None:
    """In UTC, always of one length."""
    assert len(stamp(seconds)) == len("2026-01-02T03:04:05.000Z")
    assert stamp(1767323045.5) == "2026-01-02T03:04:05.500Z"


@pytest.mark.parametrize("seconds", [1e300, -1e300, float("nan"), float("inf")])
def test_a_moment_that_no_calendar_has_is_the_first(seconds: float) -> None:
    """Rather than an error in the middle of writing."""
    assert stamp(seconds) == "1970-01-01T00:00:00.000Z"
