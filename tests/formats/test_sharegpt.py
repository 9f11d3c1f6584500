"""ShareGPT's conversations to records."""

import json
from typing import Any

import pytest
from hypothesis import given

from minutebook.errors import FormatError
from minutebook.formats.sharegpt import detect, read
from minutebook.formats.value import Reading
from minutebook.messages import OtherPart, ThinkPart
from minutebook.records import SystemPrompt
from minutebook.turns import pair
from tests.formats.altered import altered, document_source, holds, line_source, origins, texts

Turn = dict[str, Any]


def turn(speaker: str, value: Any) -> Turn:
    return {"from": speaker, "value": value}


def called(*names: str) -> str:
    calls = [{"name": name, "arguments": {"x": 1}} for name in names]
    return json.dumps(calls[0] if len(calls) == 1 else calls)


TURNS = [
    turn("system", "be kind"),
    turn("human", "task"),
    turn("gpt", "let me see"),
    turn("function_call", called("f")),
    turn("observation", "done"),
    turn("gpt", "so"),
]
PARTS: list[Any] = [
    {"role": "user", "content": [{"type": "text", "value": "task"}]},
    {"role": "assistant", "content": [
        {"type": "reasoning", "value": "hm"},
        {"type": "tool_call", "value": called("f")},
        {"type": "tool_call", "value": "no call"},
        {"type": "odd"}, 5,
    ]},
    {"role": "tool", "content": [{"type": "text", "value": "done"}]},
]  # fmt: skip


def of(value: Any, index: int = 0) -> Reading:
    reading = read(document_source(value), index)
    holds(reading)
    return reading


@given(altered([{"conversations": TURNS, "system": "p"}, {"messages": PARTS}]))
def test_any_values_are_read_or_are_none(value: Any) -> None:
    """Keys of unexpected types never raise; a file with none left is refused."""
    source = document_source(value)
    if detect(source):
        holds(read(source, 0))


def test_calls_and_observations_are_paired_by_their_order() -> None:
    """A call belongs to the reply before it; it has no id and gets one, and so has its result."""
    reading = of({"id": "x1", "conversations": TURNS})

    assert reading.records[0] == SystemPrompt(content="be kind")
    assert texts(reading.sent) == ["task", "let me see", "done", "so"]
    assert origins(reading.sent) == [None, "assistant", "tool", "assistant"]
    assert [(call.name, call.arguments) for call in reading.sent[1].calls] == [("f", '{"x":1}')]
    assert len(pair(reading.sent).results) == 1
    assert reading.counts == {"made_up_ids": 1}
    assert reading.session_id == "x1"


def test_several_calls_share_an_observation() -> None:
    """A list of as many entries is their results; anything else answers the first."""
    turns = [turn("human", "a"), turn("function_call", called("f", "g"))]
    listed = of({"conversations": [*turns, turn("observation", '["one", {"y": 2}]')]})
    plain = of({"conversations": [*turns, turn("observation", "one")]})

    assert texts(listed.sent[2:]) == ["one", '{"y":2}']
    assert len(pair(listed.sent).results) == 2
    assert (len(pair(plain.sent).results), len(pair(plain.sent).open)) == (1, 1)


def test_contents_of_type_and_value_are_parts() -> None:
    """Reasoning, text, calls; what is no call or of no known kind is kept whole."""
    reading = of({"messages": PARTS})

    assert reading.sent[1].content == (
        ThinkPart("hm"),
        OtherPart(PARTS[1]["content"][2]),
        OtherPart({"type": "odd"}),
        OtherPart({"type": "unknown", "value": 5}),
    )
    assert len(pair(reading.sent).results) == 1
    assert "type and value" in reading.evidence


def test_odd_turns_are_kept() -> None:
    """A call that is no JSON, a speaker that is not known, a prompt beside, arguments as text."""
    reading = of({
        "system": "beside",
        "conversations": [
            turn("_x", "a"), turn("narrator", "b"), turn("function_call", "no json"),
            turn("function_call", '{"name": "f", "arguments": "raw"}'), turn("system", "late"),
            turn("gpt", None),
        ],
    })  # fmt: skip

    assert reading.records[0] == SystemPrompt(content="beside")
    assert [message.role for message in reading.sent] == [
        "unknown", "narrator", "assistant", "system", "assistant",
    ]  # fmt: skip
    assert reading.sent[2].content == "no json"
    assert reading.sent[2].calls[0].arguments == "raw"
    assert reading.sent[3].content == "late"


def test_a_file_may_hold_many() -> None:
    """As a list or one a line; entries that are none are problems."""
    both = [{"conversations": TURNS[1:2]}, 5, {"conversations": TURNS[:2]}]
    lines = line_source(both)

    reading = read(lines, 1)

    assert reading.records == of(both, 1).records
    assert reading.counts["conversations"] == 2
    assert [problem.kind for problem in reading.problems] == ["entry", "several"]
    with pytest.raises(FormatError, match="no conversation 2: the file holds 2"):
        read(lines, 2)


def test_evidence_and_what_is_not_taken() -> None:
    """From and value, or roles under conversations; other messages are not taken."""
    assert "from and value" in str(detect(document_source({"conversations": TURNS})))
    roles = {"conversations": [{"role": "user", "content": "a"}]}
    assert "key conversations" in str(detect(document_source(roles)))
    assert of(roles).sent[0].content == "a"
    assert detect(document_source({"conversations": [{"x": 1}]})) is None
    assert detect(document_source({"conversations": []})) is None
    assert detect(document_source({"messages": [{"role": "user", "content": "a"}]})) is None
    assert isinstance(of({"conversations": [turn("human", ["a"])]}).sent[0].content, str)
