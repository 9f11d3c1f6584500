"""The examples run, are short, and do what they say."""

from pathlib import Path

import pytest

import minutebook
from minutebook.integrations.claude_agent import MinutebookStore
from tests.integrations.scripted import agents_model, langchain_model
from tests.integrations.support import make_session

EXAMPLES = Path(__file__).parents[2] / "examples"
LINES_MAX = 30


NAMES = (
    "openai_agents_session",
    "mcp_client",
    "langchain_agent",
    "langchain_history",
    "claude_agent_store",
    "pydantic_ai_capability",
)


def test_an_example_is_read_at_a_glance() -> None:
    """Under thirty lines each."""
    for name in NAMES:
        assert len((EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()) < LINES_MAX


async def test_the_agent_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Its second task is sent with the first."""
    pytest.importorskip("agents", reason="needs the extra agents")
    from examples.openai_agents_session import work

    model = agents_model(["done", "as I said: done"])

    assert await work("Count to three.", folder=str(tmp_path / "s"), model=model) == "done"
    assert await work("Again?", folder=str(tmp_path / "s"), model=model) == "as I said: done"
    assert "Count to three." in str(model.inputs[1])


async def test_the_client_finds_words_in_all_sessions(tmp_path: Path) -> None:
    """The answer names the session."""
    pytest.importorskip("mcp", reason="needs the extra mcp")
    from examples.mcp_client import find

    await make_session(tmp_path / "one")

    assert (await find("part_3", str(tmp_path))).startswith("Session one")


def test_the_langchain_agent_keeps_the_conversation(tmp_path: Path) -> None:
    """The task and the answer are in the session afterwards."""
    pytest.importorskip("langchain", reason="needs the extra langchain")
    from examples.langchain_agent import work

    assert work("What time is it?", folder=str(tmp_path), model=langchain_model(["noon"])) == "noon"
    with minutebook.open_sync(tmp_path, mode="r") as book:
        texts = [message.text for message in book.context.history]
    assert texts == ["What time is it?", "noon"]


def test_the_langchain_history_goes_on(tmp_path: Path) -> None:
    """What was said before stands in the session, in order."""
    pytest.importorskip("langchain", reason="needs the extra langchain")
    from examples.langchain_history import say

    model = langchain_model(["one", "two"])
    assert say("First?", folder=str(tmp_path), model=model) == "one"
    assert say("Second?", folder=str(tmp_path), model=model) == "two"
    with minutebook.open_sync(tmp_path, mode="r") as book:
        texts = [message.text for message in book.context.history]
    assert texts == ["First?", "one", "Second?", "two"]


async def test_the_pydantic_ai_agent_keeps_the_conversation(tmp_path: Path) -> None:
    """The task, the call, its result and the answer are in the session afterwards."""
    pytest.importorskip("pydantic_ai", reason="needs the extra pydantic-ai")
    from pydantic_ai.models.test import TestModel

    from examples.pydantic_ai_capability import work

    model = TestModel(custom_output_text="noon")
    assert await work("What time is it?", folder=str(tmp_path), model=model) == "noon"
    async with minutebook.open(tmp_path, mode="r") as book:
        history = [m for m in book.context.history if m.origin != "checkpoint"]
    assert [m.text for m in history] == ["What time is it?", "", "It is noon.", "noon"]
    assert [call.name for call in history[1].tool_calls or ()] == ["now"]


async def test_the_store_tells_what_was_said(tmp_path: Path) -> None:
    """The entries that it was handed are there to read."""
    pytest.importorskip("claude_agent_sdk", reason="needs the extra claude-agent")
    from examples.claude_agent_store import told

    number = "00000000-0000-4000-8000-000000000001"
    message = {"role": "user", "content": "Count to three."}
    entry = {"type": "user", "uuid": number, "sessionId": number, "message": message}
    store = MinutebookStore(tmp_path)
    await store.append({"project_key": "-w", "session_id": number}, [entry])

    assert await told(number, "-w", store=store) == "user: Count to three."
