"""A whole agent, in one function."""

import json
import subprocess
import sys
from typing import Any

from openai import OpenAI

import minutebook

COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}}
SHELL: Any = {"type": "function", "function": {"name": "shell", "parameters": COMMAND}}


def work(task: str, *, folder: str = "sessions/first", model: str = "gpt-5") -> str:
    """Do a task. Called again, even after a crash, it goes on with all that it knew."""
    client = OpenAI()
    with minutebook.open_sync(folder, window=128_000, model=model, tools=[SHELL]) as session:
        session.set_system_prompt("You get things done in a shell.")
        session.append(minutebook.user(task))
        while True:
            messages = session.fit().to_openai()  # compacts first, if it is due
            answer = client.chat.completions.create(model=model, messages=messages, tools=[SHELL])
            reply = answer.choices[0].message.model_dump(exclude_none=True)
            session.append(reply, usage=answer.usage)
            if not reply.get("tool_calls"):
                return str(reply.get("content", ""))
            for call in reply["tool_calls"]:
                command = json.loads(call["function"]["arguments"])["command"]
                session.append(minutebook.tool(call["id"], subprocess.getoutput(command)))


if __name__ == "__main__":
    print(work(sys.argv[1]))
