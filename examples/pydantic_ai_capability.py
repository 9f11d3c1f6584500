"""A pydantic-ai agent whose requests fit, and whose every word is kept."""

import asyncio
import sys
from typing import Any

from pydantic_ai import Agent

from minutebook.integrations.pydantic_ai import compaction


def now() -> str:
    """Say what time it is."""
    return "It is noon."


async def work(task: str, *, folder: str = "sessions/pydantic", model: Any = "openai:gpt-5") -> str:
    """Do a task; the whole conversation is in the folder afterwards."""
    agent = Agent(model, tools=[now], capabilities=[compaction(folder, window=128_000)])
    done = await agent.run(task)
    return str(done.output)


if __name__ == "__main__":
    print(asyncio.run(work(sys.argv[1])))
