"""The estimate of messages, tools and the system prompt: everything counts, and once."""

import json
import random
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.messages import (
    AudioPart,
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    Part,
    TextPart,
    ThinkPart,
    VideoPart,
    assistant,
    call,
    replace,
    tool,
    user,
)
from minutebook.tokens.estimate import (
    CALL_OVERHEAD_TOKENS,
    MESSAGE_OVERHEAD_TOKENS,
    NAME_OVERHEAD_TOKENS,
    RESULT_OVERHEAD_TOKENS,
    TOOL_OVERHEAD_TOKENS,
    estimate_call,
    estimate_json,
    estimate_message,
    estimate_part,
    estimate_system,
    estimate_text,
    estimate_tools,
)
from minutebook.tokens.media import AUDIO_TOKENS, IMAGE_TOKENS_UNKNOWN, VIDEO_TOKENS

CASES = Path(__file__).parents[2] / "../shared/cases"
TEXTS = st.text(max_size=40)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, TEXTS),
    st.builds(ThinkPart, TEXTS),
    st.builds(ImagePart, st.builds(MediaUrl, TEXTS)),
    st.builds(OtherPart, st.dictionaries(TEXTS, JSON_VALUES, max_size=3)),
)
CALLS = st.builds(call, TEXTS, TEXTS, st.none() | TEXTS)
WEATHER = {
    "name": "weather",
    "description": "Say what the weather is like at a place.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
}


@given(st.lists(PARTS, max_size=4), st.lists(CALLS, max_size=3), st.none() | TEXTS)
def test_a_message_costs_the_sum_of_what_is_in_it(
    parts: list[Part], calls: list[Any], name: str | None
) -> None:
    """Nothing is left out, nothing is counted twice, nothing is rounded on the way."""
    message = Message(
        role="assistant", content=tuple(parts), tool_calls=tuple(calls) or None, name=name
    )
    expected = MESSAGE_OVERHEAD_TOKENS + sum(map(estimate_part, parts))
    expected += sum(map(estimate_call, calls))
    if name:
        expected += NAME_OVERHEAD_TOKENS + estimate_text(name)
    assert estimate_message(message) == expected


@given(TEXTS)
def test_one_text_costs_the_same_as_a_string_and_as_a_part(text: str) -> None:
    """How content is stored does not change what it costs."""
    as_string = Message(role="user", content=text)
    as_part = Message(role="user", content=(TextPart(text),))
    assert estimate_message(as_string) == estimate_message(as_part)


@given(JSON_VALUES)
def test_a_json_value_costs_about_its_text(value: object) -> None:
    """An unknown part counts by the length of its JSON, to a few joints."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    joints = written.count("{") + written.count("[") + written.count(",") + 1
    assert abs(estimate_json(value) - estimate_text(written)) <= 2 * joints


@given(JSON_VALUES)
def test_no_unknown_part_makes_it_raise(value: object) -> None:
    """A part of any content is counted, and is not free."""
    assert estimate_part(OtherPart({"type": "new", "value": value})) > 0


def test_content_that_is_missing_costs_the_overhead() -> None:
    """A message with nothing in it is still a message on the wire."""
    assert estimate_message(Message(role="assistant", content=None)) == MESSAGE_OVERHEAD_TOKENS
    assert estimate_message(user("")) == MESSAGE_OVERHEAD_TOKENS


def test_a_tool_call_counts_name_and_arguments() -> None:
    """A longer name and longer arguments cost more; missing arguments cost nothing."""
    bare = estimate_call(call("1", "read", None))
    assert bare == CALL_OVERHEAD_TOKENS + estimate_text("read")
    assert estimate_call(call("1", "read_every_single_file", None)) > bare
    assert estimate_call(call("1", "read", '{"path": "src/main.py"}')) > bare + 5


def test_what_is_not_the_models_text_costs_nothing() -> None:
    """Numbers, times, origins and pins are ours, and a bare signature holds no thinking."""
    plain = Message(role="user", content="hello")
    ours = replace(plain, seq=70_000, at=1.5e9, origin="user", pin=True, elided="mask")
    assert estimate_message(ours) == estimate_message(plain)
    assert estimate_part(ThinkPart("so", "x" * 280)) == estimate_part(ThinkPart("so"))


def test_thinking_that_is_hidden_costs_what_its_cipher_stands_for() -> None:
    """A provider reads all of the thinking again, whatever it shows of it."""
    shown = "The tests pass; next the documentation has to say so. " * 40
    cipher = "x" * 10_196
    assert estimate_part(ThinkPart("", cipher)) == 1834
    assert estimate_part(ThinkPart("in short", cipher)) == 1834
    assert estimate_part(ThinkPart(shown, "x" * 600)) == estimate_text(shown)
    redacted = OtherPart({"type": "redacted_thinking", "data": cipher})
    assert estimate_part(redacted) == 1834
    assert estimate_part(OtherPart({"type": "redacted_thinking", "data": None})) > 0


def test_a_result_costs_more_than_its_text() -> None:
    """A tool's result carries who answers whom."""
    assert (
        estimate_message(tool("call-1", "done"))
        == estimate_message(user("done")) + RESULT_OVERHEAD_TOKENS
    )


def test_media_cost_by_rule_and_add_up() -> None:
    """C047: base64 is never text, and two pictures cost twice one."""
    url = MediaUrl(
        "data:image/png;base64," + b64encode(random.Random(1).randbytes(90_000)).decode()
    )
    one, two = user([ImagePart(url)]), user([ImagePart(url), ImagePart(url)])
    assert estimate_message(one) == MESSAGE_OVERHEAD_TOKENS + IMAGE_TOKENS_UNKNOWN
    assert estimate_message(two) - estimate_message(one) == IMAGE_TOKENS_UNKNOWN
    assert estimate_part(AudioPart(url)) == AUDIO_TOKENS
    assert estimate_part(VideoPart(url)) == VIDEO_TOKENS


def test_a_payload_in_an_unknown_part_is_not_text() -> None:
    """C047: a picture in another provider's form costs what a picture costs."""
    raw = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02\x80\x00\x00\x02\x80\x08\x02\x00\x00\x00"
    data = b64encode(raw + random.Random(2).randbytes(1_200_000)).decode()
    part = OtherPart(
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    )
    assert 529 < estimate_part(part) < 529 + 40


def test_an_unknown_part_may_be_nested_without_end() -> None:
    """Depth costs no recursion."""
    value: object = "deep"
    for _ in range(50_000):
        value = [value]
    assert estimate_json(value) > 0


def test_what_json_has_no_form_for_is_counted_as_text() -> None:
    """Lone surrogates, numbers that are none, and objects in a schema do not raise."""
    assert estimate_json({"a": "\ud800", "b": float("nan"), "c": {1, 2}, 4: b"x"}) > 5


def test_an_empty_system_prompt_costs_nothing() -> None:
    """It is not sent; any other is a message."""
    assert estimate_system(None) == estimate_system("") == 0
    assert estimate_system("Be brief.") == estimate_message(user("Be brief."))


def test_every_part_of_a_schema_counts() -> None:
    """C051: name, description and parameters each make a tool dearer."""
    whole = estimate_tools([WEATHER])["weather"]
    assert whole > TOOL_OVERHEAD_TOKENS + 20
    for key in ("description", "parameters"):
        less = {name: value for name, value in WEATHER.items() if name != key}
        assert estimate_tools([less])["weather"] < whole - 5
    longer = {**WEATHER, "name": "weather_at_any_place_and_time"}
    assert sum(estimate_tools([longer]).values()) > whole


def test_both_providers_forms_cost_about_the_same() -> None:
    """OpenAI's form, nested or flat, and Anthropic's hold the same text."""
    nested = {"type": "function", "function": WEATHER}
    flat = {"type": "function", **WEATHER}
    other = {
        "name": "weather",
        "description": WEATHER["description"],
        "input_schema": WEATHER["parameters"],
        "cache_control": {"type": "ephemeral"},
    }
    counts = [estimate_tools([form])["weather"] for form in (nested, flat, other)]
    assert max(counts) - min(counts) <= 6


@pytest.mark.parametrize(
    "form",
    [
        {**WEATHER, "defer_loading": True},
        {"type": "function", "function": WEATHER, "defer_loading": True},
        {"type": "function", "function": {**WEATHER, "defer_loading": True}},
    ],
)
def test_a_deferred_tool_costs_nothing_and_is_still_named(form: dict[str, Any]) -> None:
    """C051: a tool that is not in the request is not counted."""
    assert estimate_tools([form]) == {"weather": 0}


def test_tools_without_a_name_or_with_the_same_are_all_counted() -> None:
    """A provider's own tool is named by its type, and a repeated name adds up."""
    assert list(estimate_tools([{"type": "web_search"}, {}])) == ["web_search", ""]
    one = estimate_tools([WEATHER])["weather"]
    assert estimate_tools([WEATHER, WEATHER]) == {"weather": 2 * one}


def test_thirty_large_tools_are_counted_one_by_one() -> None:
    """C051: 48 000 characters of schemas are at least 8 000 tokens, larger ones larger."""
    path = CASES / "C051/tools.json"
    if not path.exists():
        pytest.skip("the collected cases are not beside the repository")
    tools = json.loads(path.read_text("utf-8"))
    tokens = estimate_tools(tools)
    assert len(tokens) == len(tools)
    assert 8_000 <= sum(tokens.values()) <= 16_000
    sizes = {form["name"]: len(json.dumps(form)) for form in tools}
    largest, smallest = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
    assert tokens[largest] >= tokens[smallest]


@given(st.lists(st.builds(lambda text: assistant(text, thinking=text), TEXTS), max_size=5))
def test_a_history_costs_the_sum_of_its_messages(history: list[Message]) -> None:
    """Counting by increments and counting anew give the same."""
    running = 0
    for message in history:
        running += estimate_message(message)
    assert running == sum(map(estimate_message, history))
    assert running == sum(map(estimate_message, reversed(history)))
