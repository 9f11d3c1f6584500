"""What a written session does not hold."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.formats.value import Reading
from minutebook.formats.writers.losses import losses
from minutebook.messages import (
    AudioPart,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    TextPart,
    ThinkPart,
    VideoPart,
    assistant,
    call,
    replace,
    tool,
    user,
)
from minutebook.records import Checkpoint, Record, SystemPrompt, Tag, Usage
from tests.strategies import RECORDS

LINK = MediaUrl("https://example.org/x")


def compared(given_records: list[Record], kept: list[Record]) -> dict[str, int]:
    return losses(given_records, Reading(format="x", evidence="y", records=tuple(kept)))


@given(st.lists(RECORDS, max_size=10), st.lists(RECORDS, max_size=10))
def test_any_two_sessions_can_be_compared(first: list[Record], second: list[Record]) -> None:
    """Nothing raises, and only what is lost has a count."""
    assert all(count > 0 for count in compared(first, second).values())


@given(st.lists(RECORDS, max_size=10))
def test_nothing_is_lost_of_the_same(records: list[Record]) -> None:
    """But for what no other format has: pins, labels, and records of our own kinds."""
    found = compared(records, records)

    assert set(found) <= {"pins", "checkpoints", "other_records"}


@given(st.lists(RECORDS, min_size=1, max_size=8), st.data())
def test_a_message_that_is_gone_is_counted(records: list[Record], draw: st.DataObject) -> None:
    """Whichever it is."""
    messages = [record for record in records if isinstance(record, Message)]
    if not messages:
        return
    gone = draw.draw(st.integers(0, len(messages) - 1))

    found = compared([*messages], [*messages[:gone], *messages[gone + 1 :]])

    assert found["messages"] >= 1


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        (user("a b"), user("a c"), "texts"),
        (user((TextPart("a"), TextPart("b"))), user("b"), "texts"),
        (assistant("a", thinking="hm"), assistant("a"), "thinking"),
        (assistant((ThinkPart("hm", "s"),)), assistant((ThinkPart("hm"),)), "signatures"),
        (user((TextPart("a"), ImagePart(LINK))), user("a"), "images"),
        (user((TextPart("a"), AudioPart(LINK))), user("a"), "sounds"),
        (user((TextPart("a"), VideoPart(LINK))), user("a"), "films"),
        (user((TextPart("a"), OtherPart({"type": "x"}))), user("a"), "unknown_parts"),
        (assistant("a", tool_calls=[call("c", "f")]), assistant("a"), "calls"),
        (
            assistant("a", tool_calls=[call("c", "f", '{"x": 1}')]),
            assistant("a", tool_calls=[call("c", "f", '{"x": 2}')]),
            "arguments",
        ),
        (
            assistant("a", tool_calls=[call("c", "f")]),
            assistant("a", tool_calls=[call("d", "f")]),
            "call_ids",
        ),
        (
            assistant("a", tool_calls=[call("c", "f")]),
            assistant("a", tool_calls=[call("c", "g")]),
            "tool_names",
        ),
        (tool("c", "x"), tool("d", "x"), "call_ids"),
        (Message("system", "a"), Message("user", "a"), "roles"),
        (user("a", name="n"), user("a"), "names"),
        (replace(user("a"), origin="injection"), Message("user", "a"), "origins"),
        (replace(user("a"), at=1.0), user("a"), "times"),
        (replace(user("a"), at=1.0), replace(user("a"), at=1.01), "times"),
        (user("a", pin=True), user("a", pin=True), "pins"),
        (
            user((TextPart("a"), ImagePart(LINK))),
            user((ImagePart(LINK), TextPart("a"))),
            "order",
        ),
    ],
)
def test_each_loss_has_its_name(before: Message, after: Message, name: str) -> None:
    """And no other one."""
    assert compared([before], [after]) == {name: 1}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (user("a"), replace(user("a"), at=2.0)),
        (Message("user", "a"), user("a")),
        (replace(user("a"), at=1.0), replace(user("a"), at=1.0004)),
        (user((TextPart("a"),)), user("a")),
        (
            assistant("", tool_calls=[call("c", "f", '{"x":  1}')]),
            assistant("", tool_calls=[call("c", "f", '{"x":1}')]),
        ),
        (
            assistant("", tool_calls=[call("c", "f", None)]),
            assistant("", tool_calls=[call("c", "f", "{}")]),
        ),
    ],
)
def test_another_spelling_is_no_loss(before: Message, after: Message) -> None:
    """Nor is what was added."""
    assert compared([before], [after]) == {}


def test_records_beside_messages() -> None:
    """The prompt, usages, checkpoints, and kinds that no other format has."""
    counts = Usage(token_count=9, input=4, output=5)
    all_in_one = Usage(token_count=9, input=9)
    reply = assistant("a")

    assert compared([SystemPrompt(content="p")], []) == {"system_prompt": 1}
    assert compared([reply, counts], [reply]) == {"usages": 1}
    assert compared([reply, counts], [reply, Usage(token_count=8)]) == {"usages": 1}
    assert compared([reply, counts], [reply, all_in_one]) == {"usage_parts": 1}
    assert compared([counts], []) == {"usages": 1}
    assert compared([counts, counts], [counts, counts]) == {}
    assert compared([Checkpoint(id=0), Checkpoint(id=1)], [Checkpoint(id=0)]) == {"checkpoints": 1}
    assert compared([Checkpoint(id=0, label="l")], [Checkpoint(id=0)]) == {"checkpoints": 1}
    assert compared([Tag(seq=1)], []) == {"other_records": 1}


def test_what_became_another_is_found_between_its_neighbours() -> None:
    """So that its text is lost, and not the message; what was added is counted."""
    messages: list[Any] = [user("a"), assistant("b"), user("c"), assistant("d")]
    kept: list[Any] = [user("start"), user("a"), assistant("changed"), user("c"), assistant("d")]

    assert compared(messages, kept) == {"texts": 1, "added": 1}
    assert compared([assistant("a")], [user("a")]) == {"messages": 1, "added": 1}
