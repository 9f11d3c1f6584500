"""Models of the frameworks that say what a script tells them to. No network."""

from collections.abc import Sequence
from typing import Any


def agents_model(replies: Sequence[str]) -> Any:
    """Make a model of the OpenAI Agents SDK that says these texts and keeps what it was sent."""
    import agents
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    agents.set_tracing_disabled(True)

    class Scripted(agents.Model):  # type: ignore[misc,unused-ignore]  # Any without the package
        def __init__(self) -> None:
            self.inputs: list[Any] = []

        async def get_response(self, *args: Any, **given: Any) -> Any:
            self.inputs.append(given["input"])
            text = replies[len(self.inputs) - 1]
            part = ResponseOutputText(type="output_text", text=text, annotations=[])
            message = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[part]
            )
            return agents.ModelResponse(output=[message], usage=agents.Usage(), response_id=None)

        def stream_response(self, *args: Any, **given: Any) -> Any:
            raise NotImplementedError

    return Scripted()


def langchain_model(replies: Sequence[str]) -> Any:
    """Make a chat model of LangChain that says these texts, whatever tools it is bound to."""
    from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage

    class Scripted(FakeMessagesListChatModel):  # type: ignore[misc,unused-ignore]
        def bind_tools(self, *args: Any, **given: Any) -> Any:
            return self

    return Scripted(responses=[AIMessage(text) for text in replies])
