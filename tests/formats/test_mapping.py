"""Other agents' values to ours: times, counts, checkpoints, call ids."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.formats.mapping import (
    MOMENT_LIMIT,
    compact_json,
    counted,
    leading_text,
    moment,
    role_of,
    stored,
    table,
    text,
    tools_in,
    usage,
    whole,
    with_call_ids,
    with_checkpoints,
)
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
    tool,
    user,
)
from minutebook.records import Checkpoint, SystemPrompt, Usage
from minutebook.turns import is_real_user, pair
from tests.formats.transcripts import JSON_VALUES

IDS = st.sampled_from(["", "", "a", "b", "made-up-1"])
MESSAGES = st.one_of(
    st.builds(user, st.sampled_from(["do it", "<system>CHECKPOINT 1</system>"])),
    st.builds(
        lambda ids: assistant("x", tool_calls=[call(call_id, "f") for call_id in ids]),
        st.lists(IDS, max_size=3),
    ),
    st.builds(tool, IDS, st.just("done")),
)


@given(st.lists(MESSAGES, max_size=8))
def test_a_checkpoint_stands_before_each_real_user_turn(history: list[Message]) -> None:
    """Checkpoints number the turns from 0, and nothing else changes."""
    records = with_checkpoints(history)

    marks = [record for record in records if isinstance(record, Checkpoint)]
    behind = [records[records.index(mark) + 1] for mark in marks]
    assert [record for record in records if isinstance(record, Message)] == history
    assert [mark.id for mark in marks] == list(range(len(marks)))
    assert behind == [item for item in history if is_real_user(item)]
    assert all(mark.content for mark in marks)


def test_given_checkpoints_stay_alone() -> None:
    """A log that has checkpoints gets no more."""
    records = (user("a"), Checkpoint(id=4, content="x"), user("b"))

    assert with_checkpoints(records) == records


@given(st.lists(MESSAGES, max_size=10))
def test_every_call_gets_an_id_and_results_keep_their_calls(history: list[Message]) -> None:
    """No id is empty afterwards, none that was there changes, and made-up ones are unique."""
    named, made = with_call_ids(history)

    calls = [item for message in named if isinstance(message, Message) for item in message.calls]
    before = [item for message in history for item in message.calls]
    assert all(item.id for item in calls)
    assert made == sum(not item.id for item in before)
    assert [item.id for item in calls if item.id in {"a", "b"}] == [
        item.id for item in before if item.id in {"a", "b"}
    ]
    fresh = [new.id for new, old in zip(calls, before, strict=True) if not old.id]
    assert len(set(fresh)) == len(fresh)
    assert not set(fresh) & {item.id for item in before}


def test_c007_a_call_without_an_id_keeps_its_result() -> None:
    """Case C007: empty and missing ids are made up, unique, and paired by position."""
    history = [
        assistant("", tool_calls=[call("", "write"), call("b", "read"), call("", "list")]),
        tool("b", "second"),
        tool("", "first"),
        tool("", "third"),
        assistant("", tool_calls=[call("", "write")]),
        tool("", "again"),
    ]

    named, made = with_call_ids(history)
    messages = [record for record in named if isinstance(record, Message)]

    assert made == 3
    assert pair(messages).results == {(0, 0): 2, (0, 1): 1, (0, 2): 3, (4, 0): 5}


def test_a_result_without_a_call_stays_as_it_is() -> None:
    """Nothing is made up for an orphan."""
    assert with_call_ids([tool("", "late"), SystemPrompt(content="p")]) == (
        [tool("", "late"), SystemPrompt(content="p")],
        0,
    )


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2026-01-02T03:04:05.500Z", 1767323045.5),
        ("2026-01-02T03:04:05", 1767323045.0),
        ("2026-01-02T05:04:05+02:00", 1767323045.0),
        (1767323045, 1767323045.0),
        (1767323045500, 1767323045.5),
        (0.5, 0.5),
        ("yesterday", None),
        ("0001-01-01T00:00:00+23:00", None),
        (True, None),
        (None, None),
        (-1, None),
        (math.inf, None),
        (math.nan, None),
        (10**400, None),
        (MOMENT_LIMIT * 1000, None),
    ],
)
def test_time_stamps_are_seconds_since_1970(value: object, seconds: float | None) -> None:
    """Texts and numbers of either unit give the same moment; what is no time gives none."""
    assert moment(value) == seconds


@given(JSON_VALUES)
def test_compact_json_is_the_value_again(value: Any) -> None:
    """What is written reads back, without spaces, every character as itself."""
    assert json.loads(compact_json(value)) == value
    assert compact_json({"ä": [1, "b"]}) == '{"ä":[1,"b"]}'


def test_compact_json_takes_everything() -> None:
    """What the encoder refuses is written all the same."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    assert json.loads(compact_json({"\ud800": 1}))
    assert json.loads(compact_json(deep)) == {"unreadable": "nested too deeply"}


def test_values_of_another_type_count_as_missing() -> None:
    """A number is no text, a text is no table, and a boolean is no number."""
    assert (text("a"), text(1)) == ("a", "")
    assert (table({"a": 1}), table([1])) == ({"a": 1}, {})
    assert [whole(item) for item in (3, True, -1, 1.5, 1 << 60, "3")] == [3] + [None] * 5
    assert [role_of({"role": role}) for role in ("user", "", None, ["x"], "_usage")] == [
        "user",
        *["unknown"] * 4,
    ]


def test_content_is_stored_in_its_shortest_form() -> None:
    """No part is empty text, one text part is a string, anything else is a list."""
    thought = ThinkPart("hm")

    assert stored([]) == ""
    assert stored([TextPart("a")]) == "a"
    assert stored([thought, TextPart("a")]) == (thought, TextPart("a"))
    assert [
        leading_text(item) for item in (None, "a", (TextPart("b"), thought), (thought,), ())
    ] == [
        "",
        "a",
        "b",
        "",
        "",
    ]


def test_usage_counts_all_that_was_sent_and_received() -> None:
    """The token count is the sum of the disjoint counts; nothing counted is no record."""
    assert usage(fresh=2, output=3, cache_read=5, cache_write=7, model="m") == Usage(
        token_count=17,
        content="17 tokens",
        input=2,
        output=3,
        cache_read=5,
        cache_write=7,
        model="m",
    )
    assert usage(fresh=None, output=0) is None


def test_media_are_counted_by_kind() -> None:
    """Zero counts are left out."""
    where = MediaUrl("http://x")
    parts = (ImagePart(where), ImagePart(where), AudioPart(where), VideoPart(where))
    message = Message(role="user", content=(*parts, OtherPart({"type": "x"}), TextPart("t")))

    assert counted([message, user("plain")], more=0, other=2) == {
        "images": 2,
        "sounds": 1,
        "films": 1,
        "unknown_parts": 1,
        "other": 2,
    }


def test_tools_beside_messages_are_counted() -> None:
    """A list, or its JSON text; anything else is none."""
    assert tools_in({"tools": [{}, {}]}) == 2
    assert tools_in({"tools": '[{"name": "f"}]'}) == 1
    strange: list[Any] = [None, {}, "x", "{}", 3]
    assert [tools_in({"tools": value}) for value in strange] == [0] * 5
    assert tools_in({}) == 0
