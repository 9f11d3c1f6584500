"""An agent of the Claude Agent SDK whose transcripts are sessions, and what they say."""

import asyncio
import sys
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, query

from minutebook.integrations.claude_agent import MinutebookStore


async def work(task: str, *, store: Any) -> None:
    """Do a task; the transcript is in the store afterwards."""
    async for message in query(prompt=task, options=ClaudeAgentOptions(session_store=store)):
        print(message)


async def told(session: str, project: str, *, store: Any) -> str:
    """Give what was said in a session, one entry a line."""
    entries = await store.load({"project_key": project, "session_id": session}) or []
    return "\n".join(f"{one['type']}: {one['message']['content']}" for one in entries)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], store=MinutebookStore("sessions/claude")))
