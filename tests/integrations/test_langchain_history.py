from pathlib import Path
from typing import Any

import pytest

import minutebook
from minutebook.integrations.langchain_history import chat_history
from tests.integrations.support import everything

core = pytest.importorskip("langchain_core.messages", reason="needs the extra langchain")


def texts(messages: list[Any]) -> list[str]:
    return [str(message.text) for message in messages]


async def test_what_is_added_is_given_back(tmp_path: Path) -> None:
    """By a new history too, in either colour; with calls and their results."""
    call = {"name": "read", "args": {"path": "a"}, "id": "c1"}
    history = chat_history(tmp_path)
    history.add_messages([core.HumanMessage("Read a."), core.AIMessage("", tool_calls=[call])])
    await history.aadd_messages([core.ToolMessage("its text", tool_call_id="c1")])

    given: list[Any] = await chat_history(tmp_path).aget_messages()

    assert [one.type for one in given] == ["human", "ai", "tool"]
    assert given[1].tool_calls[0]["args"] == {"path": "a"}
    assert texts(given) == texts(history.messages)


async def test_a_long_history_fits_and_the_log_keeps_it(tmp_path: Path) -> None:
    """What is given is within the window; every message is still in the log."""
    history = chat_history(tmp_path, window=4_000)
    for number in range(12):
        question, answer = f"What is in page {number}?", f"Page {number}: " + "a line. " * 200
        history.add_messages([core.HumanMessage(question), core.AIMessage(answer)])

    assert sum(map(len, texts(history.messages))) < 4_000 * 4

    written = await everything(tmp_path)
    assert all(any(text.startswith(f"Page {one}: ") for text in written) for one in range(12))


async def test_a_clear_deletes_nothing(tmp_path: Path) -> None:
    """The history is empty; the words are in a rotation. Each read has set a checkpoint."""
    history = chat_history(tmp_path)
    history.add_messages([core.HumanMessage("Keep this.")])
    assert texts(history.messages) == ["Keep this."]
    async with minutebook.open(tmp_path, mode="r") as book:
        assert len(book.context.checkpoints) == 1

    await history.aclear()

    assert history.messages == []
    assert "Keep this." in await everything(tmp_path)
