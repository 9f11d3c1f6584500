"""Where requests to Anthropic are marked for the prompt cache."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from minutebook.messages import Message, ThinkPart, assistant, call, tool, user
from minutebook.providers import validate_anthropic
from minutebook.providers.cache_marks import LOOKBACK_BLOCKS
from minutebook.providers.view import make_view, marked
from tests.providers.histories import HISTORIES, REPLIES, numbered, valid_histories


def blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Give all blocks of the messages."""
    return [block for message in body["messages"] for block in message["content"]]


def marks(body: dict[str, Any]) -> list[int]:
    """Give the places of the marks."""
    return [place for place, block in enumerate(blocks(body)) if "cache_control" in block]


def without(value: Any) -> Any:
    """Give a request without its marks."""
    if isinstance(value, dict):
        return {key: without(inner) for key, inner in value.items() if key != "cache_control"}
    return [without(inner) for inner in value] if isinstance(value, list) else value


@given(st.sampled_from([None, "Be kind."]), st.one_of(HISTORIES, REPLIES))
def test_marks_change_nothing_else_and_are_at_most_four(
    prompt: str | None, history: list[Message]
) -> None:
    """The request is valid with them, and without them what it was."""
    view = make_view(prompt, history)
    plain, body = view.to_anthropic(), view.to_anthropic(cache=True)
    assert without(body["messages"]) == plain["messages"]
    assert validate_anthropic.violations(body["messages"], system=body.get("system")) == []
    if prompt:
        assert without(body["system"]) == [{"type": "text", "text": prompt}]
    assert len(marks(body)) + ("system" in body) <= 4
    assert all(
        block["type"] not in {"thinking", "redacted_thinking"}
        for block in blocks(body)
        if "cache_control" in block
    )


@given(st.sampled_from([None, "p"]), st.one_of(HISTORIES, REPLIES).map(numbered))
def test_marks_move_only_forward_whatever_is_appended(
    prompt: str | None, history: list[Message]
) -> None:
    """From message to message of any history, given what was sent for missing results."""
    before: list[int] = []
    settled: frozenset[tuple[int, str]] = frozenset()
    for stop in range(len(history) + 1):
        view = make_view(prompt, history[:stop], settled=settled)
        settled = marked(view)
        now = marks(view.to_anthropic(cache=True))
        assert len(now) >= len(before)
        assert all(old <= new for old, new in zip(before[::-1], now[::-1], strict=False))
        before = now


@given(valid_histories(), st.integers(1, 40))
def test_marks_move_only_forward_and_the_next_request_finds_what_was_kept(
    history: list[Message], copies: int
) -> None:
    """From call to call, however long it gets."""
    whole = [message for _ in range(copies) for message in history]
    before: list[int] = []
    for stop in (len(whole) // 3, len(whole) // 2, len(whole)):
        view = make_view("p", whole[:stop])
        now = marks(view.to_anthropic(cache=True))
        assert len(now) >= len(before)
        for old, new in zip(before, now[-len(before) :] if before else [], strict=True):
            assert new >= old
        before = now


def test_a_step_of_many_blocks_is_still_found() -> None:
    """No more than twenty blocks lie between what one request keeps and a mark of the next."""
    history: list[Message] = [user("go")]
    ends: list[int] = []
    for number in range(6):
        calls = [call(f"c{number}-{at}", "ls") for at in range(14)]
        history += [assistant("", tool_calls=calls), *(tool(one.id, "x") for one in calls)]
        body = make_view("p", history).to_anthropic(cache=True)
        if ends:
            assert any(0 <= mark - ends[-1] <= LOOKBACK_BLOCKS for mark in marks(body))
        ends.append(len(blocks(body)) - 1)


def test_thinking_is_never_marked() -> None:
    """The block before it is."""
    history = [
        user("go"),
        Message("assistant", (ThinkPart("hm", "s"),), tool_calls=(call("a", "f"),)),
    ]
    body = make_view(None, history).to_anthropic(cache=True)
    assert [blocks(body)[place]["type"] for place in marks(body)] == ["tool_result"]
