"""A LangChain agent whose requests fit, and whose every word is kept."""

import sys
from typing import Any

from langchain.agents import create_agent

from minutebook.integrations.langchain import compaction


def now() -> str:
    """Say what time it is."""
    return "It is noon."


def work(task: str, *, folder: str = "sessions/langchain", model: Any = "openai:gpt-5") -> str:
    """Do a task; the whole conversation is in the folder afterwards."""
    agent: Any = create_agent(model, [now], middleware=[compaction(folder, window=128_000)])
    done = agent.invoke({"messages": [{"role": "user", "content": task}]})
    return str(done["messages"][-1].text)


if __name__ == "__main__":
    print(work(sys.argv[1]))
