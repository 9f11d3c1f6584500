from pathlib import Path
from typing import Any

import pytest

import minutebook
from minutebook.integrations.langchain import compaction

agents = pytest.importorskip("langchain.agents", reason="needs the extra langchain")

PAGE = "a line of the page\n" * 400


def make(folder: Path, replies: int, **options: Any) -> tuple[Any, list[list[Any]]]:
    """Make an agent that reads a page in every step but the last, and what its model is sent."""
    from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage

    sent: list[list[Any]] = []

    class Scripted(FakeMessagesListChatModel):  # type: ignore[misc,unused-ignore]
        def bind_tools(self, *args: Any, **given: Any) -> Any:
            return self

        def _generate(self, messages: Any, *args: Any, **given: Any) -> Any:
            sent.append(list(messages))
            return super()._generate(messages, *args, **given)

    def read() -> str:
        """Read the page."""
        return PAGE

    calls = [
        AIMessage("", tool_calls=[{"name": "read", "args": {}, "id": f"c{number}"}])
        for number in range(replies)
    ]
    model = Scripted(responses=[*calls, AIMessage("It is read.")])
    made = agents.create_agent(
        model, [read], system_prompt="You read.", middleware=[compaction(folder, **options)]
    )
    return made, sent


@pytest.mark.parametrize("is_async", [False, True])
async def test_what_is_sent_fits_and_the_state_has_everything(
    tmp_path: Path, is_async: bool
) -> None:
    """Each request is within the window; nothing of the state or of the log is shortened."""
    agent, sent = make(tmp_path, 8, window=6_000)
    asked = {"messages": [{"role": "user", "content": "Read it eight times."}]}

    done = await agent.ainvoke(asked) if is_async else agent.invoke(asked)

    tools = [message for message in done["messages"] if message.type == "tool"]
    assert [message.content for message in tools] == [PAGE] * 8
    assert len(sent) == 9
    assert sum(len(message.text) for message in sent[-1]) < len(PAGE) * 4
    async with minutebook.open(tmp_path, mode="r") as book:
        full = book.history(full=True)
    assert [message.text for message in full].count(PAGE) == 8
    assert full[-1].text == "It is read."


def test_a_short_conversation_is_sent_as_it_is(tmp_path: Path) -> None:
    """Without need nothing is touched: the very objects go on."""
    agent, sent = make(tmp_path, 1, window=100_000)

    done = agent.invoke({"messages": [{"role": "user", "content": "Read it."}]})

    assert [message.id for message in sent[-1][1:]] == [m.id for m in done["messages"][:-1]]
