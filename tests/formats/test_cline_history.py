"""What stands beside a history of Cline, and what of it is sent."""

import json
from typing import Any

import pytest
from hypothesis import given

from minutebook.formats.cline_history import TASKS, Task, forms, task_of, with_results
from tests.formats.altered import altered
from tests.formats.transcripts import use, words

Entry = dict[str, Any]
SCREEN = [
    {"ts": 1, "type": "say", "conversationHistoryDeletedRange": [2, 5]},
    {"ts": 2, "type": "say", "conversationHistoryDeletedRange": [2, 9]},
    {"ts": 3, "type": "ask"},
]
EDITS = [[0, [1, [[1, [[5, "text", ["first"], []], [6, "text", ["last"], []]]]]]]]
ITEM = {"id": "t1", "task": "the task", "parentTaskId": "t0", "workspace": "/w"}
FILES = {"ui_messages.json": SCREEN, "context_history.json": EDITS, "history_item.json": ITEM}


def files(value: Any) -> dict[str, bytes]:
    return {name: json.dumps(found).encode() for name, found in value.items()}


@given(altered(FILES))
def test_whatever_stands_beside_is_read_or_counts_as_nothing(value: Any) -> None:
    """Keys of unexpected types never raise."""
    task = task_of(files(value) if isinstance(value, dict) else {"x": b"{"}, "t1")

    assert isinstance(task, Task)
    assert forms([{"role": "user", "content": "a"}], task.edits)[0][0]["role"] == "user"


def test_the_last_range_on_the_screen_counts() -> None:
    """Both ends included; the last text that a block was replaced by; whose task it is."""
    task = task_of(files(FILES), "t1")

    assert task.hidden == range(2, 10)
    assert task.edits == {(0, 1): "last"}
    assert (task.title, task.parent, task.cwd) == ("the task", "t0", "/w")


def test_the_list_of_tasks_tells_what_the_task_itself_does_not() -> None:
    """By the task's id; a range there counts where the screen has none."""
    listed = [5, {**ITEM, "id": "t9"},
              {**ITEM, "task": "listed", "conversationHistoryDeletedRange": [1, 2]}]  # fmt: skip

    assert task_of(files({TASKS: listed}), "t1").hidden == range(1, 3)
    assert task_of(files({TASKS: listed}), "t1").title == "listed"
    assert task_of(files({TASKS: listed, "history_item.json": ITEM}), "t1").title == "the task"
    assert task_of({}, "t1") == Task()


@pytest.mark.parametrize("value", [None, [1], [1, "2"], [-1, 2], "x"])
def test_a_range_that_is_none_hides_nothing(value: object) -> None:
    """Of another shape, or with numbers that cannot be."""
    screen = [{"conversationHistoryDeletedRange": value}]

    assert list(task_of(files({"ui_messages.json": screen}), "t").hidden) == []


def said(*blocks: Any) -> Entry:
    return {"role": "assistant", "content": [*blocks]}


def asked(*blocks: Any) -> Entry:
    return {"role": "user", "content": [*blocks]}


def test_results_that_are_texts_find_their_calls() -> None:
    """By the tool that they name, in order; the surroundings are no part of them."""
    first, second, around = (
        words("[Read for 'a b'] Result:"),
        words("[Read] Result:\nyes"),
        words("<environment_details>x"),
    )
    entries = [said(use("c1"), use("c2")), asked(first, words("no"), second, around)]

    found = with_results(entries)

    assert found[1]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": [first, words("no")]},
        {"type": "tool_result", "tool_use_id": "c2", "content": [second]},
        around,
    ]
    assert found[0] is entries[0]


def test_results_with_ids_and_texts_without_calls_stay() -> None:
    """Only what follows calls and answers none by id is looked at; unknown tools stay texts."""
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "x"}
    text = words("[Read] Result:")
    other = words("[Write] Result:")
    entries = [said(use("c1")), asked(result, text), asked(text), said(use("c2")), asked(other)]

    assert with_results(entries) == entries
    assert with_results([said(use("c1")), {"role": "user", "content": "[Read] Result: x"}])[1] == (
        asked({**result, "content": [words("[Read] Result: x")]})
    )


def test_edits_take_the_place_of_texts_also_in_results() -> None:
    """Both forms have results in the same places."""
    entries = [
        asked(words("a"), words("b")),
        said(use("c1")),
        asked(words("[Read] Result:"), words("long")),
        {"role": "user", "content": "plain"},
        {"role": "user"},
    ]
    edits = {(0, 1): "B", (2, 1): "short", (3, 0): "PLAIN", (9, 9): "none"}

    whole, sent = forms(entries, edits)

    assert whole[:3] == with_results(entries)[:3]
    assert whole[3] == asked(words("plain"))
    assert sent[0] == asked(words("a"), words("B"))
    assert sent[2]["content"][0]["content"] == [words("[Read] Result:"), words("short")]
    assert sent[3] == asked(words("PLAIN"))
    assert sent[4] == {"role": "user"}
    assert forms(entries, {})[0] == with_results(entries)
