"""The breakdown adds up to the estimate exactly, and the share of a window never lies."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.messages import (
    ImagePart,
    MediaUrl,
    Message,
    OtherPart,
    TextPart,
    ThinkPart,
    assistant,
    call,
    replace,
    system,
    tool,
    user,
)
from minutebook.tokens.breakdown import KINDS, PINNED, Share, by_kind, share
from minutebook.tokens.estimate import (
    estimate_call,
    estimate_message,
    estimate_part,
    estimate_system,
    estimate_tools,
)

CASES = Path(__file__).parents[2] / "../shared/cases"
TEXTS = st.text(max_size=30)
PARTS = st.one_of(
    st.builds(TextPart, TEXTS),
    st.builds(ThinkPart, TEXTS),
    st.builds(ImagePart, st.builds(MediaUrl, TEXTS)),
    st.builds(lambda text: OtherPart({"type": "new", "text": text}), TEXTS),
)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool", "system", "critic"]),
    content=st.none() | TEXTS | st.lists(PARTS, max_size=4).map(tuple),
    name=st.none() | TEXTS,
    tool_calls=st.none() | st.lists(st.builds(call, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple),
    origin=st.sampled_from([None, "user", "summary", "notice", "dmail", "import"]),
    seq=st.none() | st.integers(1, 9),
)
TOOLS = st.lists(st.builds(lambda name: {"name": name, "parameters": {}}, TEXTS), max_size=3)
COUNTS = st.integers(-(10**6), 10**7)


@given(st.none() | TEXTS, TOOLS, st.lists(MESSAGES, max_size=6), st.sets(st.integers(1, 9)))
def test_the_parts_add_up_to_the_whole(
    prompt: str | None, tools: list[dict[str, Any]], history: list[Message], pins: set[int]
) -> None:
    """The kinds are a split of the estimate: nothing lost, nothing twice, nothing negative."""
    parts = by_kind(prompt, tools, history, pins)
    whole = estimate_system(prompt) + sum(estimate_tools(tools).values())
    assert sum(parts.values()) == whole + sum(map(estimate_message, history))
    assert min(parts.values()) >= 0
    assert list(parts) == [*KINDS, *([PINNED] if pins else [])]


@given(st.lists(MESSAGES, max_size=5), st.lists(MESSAGES, max_size=5))
def test_two_histories_break_down_to_the_sum_of_both(
    first: list[Message], second: list[Message]
) -> None:
    """A message's kinds do not depend on its neighbours."""
    one, two, both = (by_kind(None, (), part) for part in (first, second, first + second))
    assert both == {kind: one[kind] + two[kind] for kind in KINDS}


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (user("fix it"), "user"),
        (replace(user("read this"), origin="import"), "user"),
        (Message(role="user", content="typed elsewhere"), "user"),
        (assistant("done"), "assistant"),
        (tool("1", "42 passed"), "tool_results"),
        (system("be brief"), "other"),
        (Message(role="critic", content="hm"), "other"),
        (replace(user("left out"), origin="notice"), "other"),
        (replace(user("from later"), origin="dmail"), "other"),
        (Message(role="user", content="<system>CHECKPOINT 3</system>"), "other"),
        (replace(user("so far"), origin="summary"), "summary"),
        (replace(assistant("so far"), origin="summary"), "summary"),
    ],
)
def test_a_message_of_text_stands_under_its_kind(message: Message, kind: str) -> None:
    """Who said it decides; what nobody said is `other`."""
    parts = by_kind(None, (), [message])
    assert parts == {**dict.fromkeys(KINDS, 0), kind: estimate_message(message)}


def test_a_reply_is_split_into_text_thinking_and_calls() -> None:
    """Thinking, pictures, calls and unknown parts are shown apart from the text."""
    think, picture = ThinkPart("let me look"), ImagePart(MediaUrl("https://example.org/a.png"))
    other = OtherPart({"type": "new", "data": 1})
    asked = call("1", "read", '{"path": "a"}')
    message = assistant([think, TextPart("Reading."), picture, other], tool_calls=[asked])
    parts = by_kind(None, (), [message])
    assert parts["thinking"] == estimate_part(think)
    assert parts["media"] == estimate_part(picture)
    assert parts["other"] == estimate_part(other)
    assert parts["tool_calls"] == estimate_call(asked)
    assert parts["assistant"] == estimate_message(assistant("Reading."))


def test_prompt_and_tools_have_kinds_of_their_own() -> None:
    """C051: what is sent beside the messages is part of the whole, and named."""
    tools = [{"name": "read", "description": "Read a file."}, {"name": "run"}]
    parts = by_kind("Be brief.", tools, [])
    assert parts["system"] == estimate_system("Be brief.")
    assert parts["tools"] == sum(estimate_tools(tools).values())


def test_pinned_messages_are_shown_apart_when_pins_are_given() -> None:
    """A person whose pins fill the window sees that it is the pins."""
    kept = replace(user("never touch main"), seq=1)
    history = [kept, replace(user("go on"), seq=2)]
    parts = by_kind(None, (), history, {1})
    assert parts[PINNED] == estimate_message(kept)
    assert parts["user"] == estimate_message(history[1])


@given(COUNTS, st.none() | COUNTS, COUNTS)
def test_a_share_never_raises_and_never_goes_below_zero(
    used: int, window: int | None, reserve: int
) -> None:
    """Whatever the numbers, the ratio is true and nothing is negative or divided by zero."""
    filled = share(used, window, reserve)
    assert filled.used >= 0
    if filled.window is None:
        assert window is None or window <= 0
        assert (filled.percent, filled.remaining, filled.over) == (None, None, False)
    else:
        assert filled.percent is not None
        assert filled.remaining is not None
        assert filled.percent >= 0
        assert filled.over == (filled.percent > 100)
        assert filled.remaining >= 0


@pytest.mark.parametrize(
    ("used", "window", "reserve", "percent", "remaining", "over"),
    [
        (0, 0, 0, None, None, False),
        (21_000, 20_000, 2_000, 105.0, 0, True),
        (20_000, 20_000, 0, 100.0, 0, False),
        (18_500, 20_000, 2_000, 92.5, 0, False),
        (5, None, 0, None, None, False),
        (100, 20_000, 25_000, 0.5, 0, False),
    ],
)
def test_the_table_of_shares(
    used: int,
    window: int | None,
    reserve: int,
    percent: float | None,
    remaining: int | None,
    over: bool,
) -> None:
    """C057: over 100 % stays visible, an unknown window gives no percentage."""
    assert share(used, window, reserve) == Share(
        used=used, window=window or None, percent=percent, remaining=remaining, over=over
    )


def test_the_collected_table_of_shares() -> None:
    """C057: the table of the case itself."""
    path = CASES / "C057/table.json"
    if not path.exists():
        pytest.skip("the collected cases are not beside the repository")
    for row in json.loads(path.read_text("utf-8")):
        filled = share(row["used"], row["window"], row["reserve"])
        assert (filled.percent, filled.remaining) == (row["pct"], row["remaining"])
        assert filled.over == row.get("over", False)
