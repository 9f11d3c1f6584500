"""An agent of the OpenAI Agents SDK that goes on where it stopped, with all that fits."""

import asyncio
import sys
from typing import Any

from agents import Agent, Runner

import minutebook
from minutebook.integrations.openai_agents import MinutebookSession


async def work(task: str, *, folder: str = "sessions/agents", model: Any = "gpt-5") -> str:
    """Do a task. Called again, even after a crash, it goes on with all that it knew."""
    agent = Agent(name="helper", instructions="You help with small tasks.", model=model)
    async with minutebook.open(folder, window=128_000) as book:
        result = await Runner.run(agent, task, session=MinutebookSession(book))
    return str(result.final_output)


if __name__ == "__main__":
    print(asyncio.run(work(sys.argv[1])))
