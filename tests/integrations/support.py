"""What the tests of the integrations share."""

import json
from pathlib import Path

import minutebook

WINDOW = 4_000
"""The window that `make_session` states: its messages are a few times larger."""


async def make_session(folder: Path, *, turns: int = 6, window: int | None = WINDOW) -> Path:
    """Make a session with a checkpoint before each of its turns, four messages in each."""
    async with minutebook.open(folder, window=window, durability="process") as session:
        for turn in range(turns):
            await session.checkpoint()
            path = f"src/part_{turn}.py"
            await session.append(
                minutebook.user(f"Please mend the function in {path}."),
                minutebook.assistant(
                    tool_calls=[minutebook.call(f"c{turn}", "read", json.dumps({"path": path}))],
                ),
                minutebook.tool(f"c{turn}", f"def part_{turn}(): return {turn}  # a line\n" * 60),
                minutebook.assistant(f"The function in {path} is mended."),
            )
    return folder


async def everything(folder: Path) -> list[str]:
    """Give the text of every message ever written."""
    async with minutebook.open(folder, mode="r") as session:
        return [message.text for message in session.history(full=True)]
