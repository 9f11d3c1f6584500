"""The agent loop of the examples, run against a scripted server."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import minutebook
from minutebook.providers.validate_chat import violations
from tests.examples.chat_server import ScriptedServer, calling, saying, serving

pytest.importorskip("openai", reason="the example calls a model with the openai package")

from examples.agent_loop import work

LOOP = Path(__file__).parents[2] / "examples" / "agent_loop.py"


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[ScriptedServer, str], str]:
    """Give a call of the loop against a server, in a session of this test."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)

    def run(server: ScriptedServer, task: str) -> str:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        return work(task, folder=str(tmp_path / "session"), model="scripted")

    return run


def test_the_loop_runs_what_the_model_calls_and_gives_its_answer(
    ask: Callable[[ScriptedServer, str], str], tmp_path: Path
) -> None:
    """Commands are really run, their outputs go back, and the session holds all of it."""
    with serving(
        calling("echo one", "echo two; exit 3"), calling("echo three"), saying("All done.")
    ) as server:
        assert ask(server, "Count.") == "All done."

    with minutebook.open_sync(tmp_path / "session", mode="r") as session:
        history = session.context.history
        exact = session.context.token_count_is_exact
    assert [message.role for message in history] == [
        "user", "assistant", "tool", "tool", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert [message.text for message in history if message.role == "tool"] == [
        "one",
        "two",
        "three",
    ]
    assert exact


def test_every_request_is_valid_and_only_grows(
    ask: Callable[[ScriptedServer, str], str],
) -> None:
    """What is sent passes the strict validator, and each request begins with the one before."""
    with serving(calling("echo one"), calling("true"), saying("Done.")) as server:
        ask(server, "Go.")

    sent = [request["messages"] for request in server.requests]
    assert [violations(messages) for messages in sent] == [[], [], []]
    for before, after in pairwise(sent):
        assert after[: len(before)] == before


def test_the_same_folder_goes_on_where_it_was(ask: Callable[[ScriptedServer, str], str]) -> None:
    """A second call of the program sends the first one's messages again."""
    with serving(saying("It is blue.")) as server:
        ask(server, "What colour is the sky?")
    with serving(saying("You asked of the sky.")) as server:
        assert ask(server, "What did I ask?") == "You asked of the sky."

    texts = [message["content"] for message in server.requests[0]["messages"]]
    assert texts[1:] == ["What colour is the sky?", "It is blue.", "What did I ask?"]


def test_the_loop_is_short_enough_to_be_read_at_once() -> None:
    """The example keeps below 30 lines, empty ones aside."""
    lines = LOOP.read_text("utf-8").splitlines()

    assert len([line for line in lines if line.strip()]) < 30
