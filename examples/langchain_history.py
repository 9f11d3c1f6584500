"""A LangChain chat whose history fits, and whose every word is kept."""

import sys
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.messages import HumanMessage

from minutebook.integrations.langchain_history import chat_history


def say(text: str, *, folder: str = "sessions/chat", model: Any = None) -> str:
    """Say something; said again, even after a crash, the model knows what was said before."""
    history = chat_history(folder, window=128_000)
    history.add_messages([HumanMessage(text)])
    answer = (model or init_chat_model("openai:gpt-5")).invoke(history.messages)
    history.add_messages([answer])
    return str(answer.text)


if __name__ == "__main__":
    print(say(sys.argv[1]))
