from pathlib import Path
from typing import Any

import pytest

import minutebook
from minutebook.integrations.pydantic_ai import compaction

pydantic_ai = pytest.importorskip("pydantic_ai", reason="needs the extra pydantic-ai")

PAGE = "a line of the page\n" * 400


def make(folder: Path, replies: int, **options: Any) -> tuple[Any, list[list[Any]]]:
    """Make an agent that reads a page in every step but the last, and what its model is sent."""
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    sent: list[list[Any]] = []

    def answer(messages: list[Any], _info: Any) -> Any:
        sent.append(list(messages))
        if len(sent) > replies:
            return ModelResponse(parts=[TextPart("It is read.")])
        call = ToolCallPart("read", {}, tool_call_id=f"c{len(sent)}")
        return ModelResponse(parts=[TextPart("I look."), call])

    def read() -> str:
        """Read the page."""
        return PAGE

    agent = pydantic_ai.Agent(
        FunctionModel(answer),
        system_prompt="You read.",
        instructions="Be brief.",
        tools=[read],
        capabilities=[compaction(folder, **options)],
    )
    return agent, sent


def said(messages: list[Any]) -> int:
    """Give how many characters results have in a request."""
    return sum(
        len(str(part.content))
        for message in messages
        for part in message.parts
        if part.part_kind == "tool-return"
    )


async def test_what_is_sent_fits_and_the_history_has_everything(tmp_path: Path) -> None:
    """Each request is within the window; nothing of the run or of the log is shortened."""
    agent, sent = make(tmp_path, 8, window=6_000)

    done = await agent.run("Read it eight times.")

    assert done.output == "It is read."
    assert said(done.all_messages()) == 8 * len(PAGE)
    assert len(sent) == 9
    assert said(sent[-1]) < 4 * len(PAGE)
    async with minutebook.open(tmp_path, mode="r") as book:
        full = book.history(full=True)
        assert book.context.system_prompt == "Be brief."
        assert len(book.context.checkpoints) >= 1
    assert [message.text for message in full].count(PAGE) == 8
    assert full[-1].text == "It is read."


async def test_a_second_run_goes_on_from_the_first(tmp_path: Path) -> None:
    """What nothing shortened are the run's own objects."""
    agent, sent = make(tmp_path, 1, window=100_000)
    first = await agent.run("Read it.")
    second = await agent.run("And now?", message_history=first.all_messages())

    assert second.output == "It is read."
    assert all(any(one is theirs for theirs in second.all_messages()) for one in sent[-1])
    async with minutebook.open(tmp_path, mode="r") as book:
        texts = [m.text for m in book.context.history if m.origin != "checkpoint"]
    assert texts == [
        "You read.",
        "Read it.",
        "I look.",
        PAGE,
        "It is read.",
        "And now?",
        "It is read.",
    ]


async def test_pictures_and_retries_are_kept(tmp_path: Path) -> None:
    """A picture as its address or data; other media by their kind."""
    from pydantic_ai import BinaryContent, ImageUrl, ModelRetry
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    steps = [
        ModelResponse(parts=[ToolCallPart("look", {}, tool_call_id="a")]),
        ModelResponse(parts=[TextPart("I see.")]),
    ]

    def look() -> str:
        """Look."""
        raise ModelRetry("look again")

    agent = pydantic_ai.Agent(
        FunctionModel(lambda _messages, _info: steps.pop(0)),
        tools=[look],
        capabilities=[compaction(tmp_path, window=100_000)],
    )

    await agent.run(
        [
            "what is it?",
            ImageUrl("https://example.org/a.png"),
            BinaryContent(b"\x89PNG", media_type="image/png"),
            BinaryContent(b"x", media_type="audio/wav"),
        ]
    )

    async with minutebook.open(tmp_path, mode="r") as book:
        asked, _called, retried, told = book.context.history
    assert [type(part).__name__ for part in asked.parts] == [
        "TextPart",
        "ImagePart",
        "ImagePart",
        "TextPart",
    ]
    assert "look again" in retried.text
    assert told.text == "I see."
