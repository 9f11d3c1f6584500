"""Records what real clients send, as data for `test_book_recorded`; run it by hand.

`python -m tests.gateway.record` runs the SDKs, and Kimi CLI where MINUTEBOOK_KIMI names its
Python, against a scripted provider. Kept is what tells a history: no headers, no system prompt
of theirs, of their tools the names alone, no paths.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anthropic
import openai

from minutebook.testing.server import ProviderServer
from tests.gateway.support import user
from tests.gateway.test_book_recorded import RECORDED, answered
from tests.kimi.kimi import PYTHON
from tests.kimi.test_gateway import kimi

CHANGES = ("other", "once more")
"""What is answered to a changed history, which Kimi CLI has none of without somebody at it."""
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}
SCRIPT: list[dict[str, Any]] = [
    {"text": "first", "call": "c1"},
    {"text": "read it"},
    {"status": 500},
    {"text": "second"},
    {"text": "other"},
    {"text": "once more"},
    {"text": "anew"},
]
"""What the provider answers; the client asks again after the fault."""


async def openai_sdk(url: str) -> None:
    """A call, a fault, a changed message, asked once more, a new conversation; streaming."""
    tools: list[Any] = [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}]
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=1) as client:

        async def ask(messages: list[Any]) -> None:
            async with client.chat.completions.stream(
                model="m", messages=messages, tools=tools
            ) as stream:
                reply = (await stream.get_final_completion()).choices[0].message
            kept = reply.model_dump(exclude_none=True, include={"role", "content", "tool_calls"})
            for call in kept.get("tool_calls", ()):
                call["function"].pop("parsed_arguments", None)
                call.pop("index", None)
            messages.append(kept)

        messages: list[Any] = [user("Read the page.")]
        await ask(messages)
        call = messages[-1]["tool_calls"][0]["id"]
        messages.append({"role": "tool", "tool_call_id": call, "content": "words"})
        await ask(messages)
        changed = [*messages, user("And else?")]
        messages.append(user("And then?"))
        await ask(messages)
        again = list(changed)
        await ask(changed)
        await ask(again)
        await ask([user("Something new.")])


async def anthropic_sdk(url: str) -> None:
    """The same; cache marks move to the newest message, as agents do it."""
    tools: list[Any] = [{"name": "read", "input_schema": SCHEMA}]
    async with anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=1) as client:

        async def ask(messages: list[Any]) -> None:
            *before, last = messages
            marked = {**last["content"][-1], "cache_control": {"type": "ephemeral"}}
            sent: list[Any] = [*before, {**last, "content": [*last["content"][:-1], marked]}]
            async with client.messages.stream(
                model="m", messages=sent, tools=tools, max_tokens=50
            ) as stream:
                reply = await stream.get_final_message()
            content = [block.model_dump(exclude_none=True) for block in reply.content]
            for block in content:
                block.pop("parsed_output", None)
            messages.append({"role": "assistant", "content": content})

        messages = [blocks("Read the page.")]
        await ask(messages)
        call = messages[-1]["content"][-1]["id"]
        result = {"type": "tool_result", "tool_use_id": call, "content": "words"}
        messages.append({"role": "user", "content": [result]})
        await ask(messages)
        changed = [*messages, blocks("And else?")]
        messages.append(blocks("And then?"))
        await ask(messages)
        again = list(changed)
        await ask(changed)
        await ask(again)
        await ask([blocks("Something new.")])


async def kimi_cli(url: str) -> None:
    """A turn, a second one in a new process, and a new session."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "work").mkdir()
        (folder / "work" / "page.txt").write_text("words")
        await kimi(folder, url, "--prompt", "Read the page.")
        await kimi(folder, url, "--continue", "--prompt", "And then?")
        await kimi(folder, url, "--prompt", "Something new.")


def blocks(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def made_small(body: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is the client's own: its prompt, and all of its tools but their names."""
    small = {name: value for name, value in body.items() if name != "system"}
    plain = {"type": "object"}
    small["tools"] = [
        {**one, "function": {"name": one["function"]["name"], "parameters": plain}}
        if "function" in one
        else {"name": one["name"], "input_schema": plain}
        for one in body["tools"]
    ]
    small["messages"] = [
        {**one, "content": "You are an agent."} if one["role"] == "system" else one
        for one in body["messages"]
    ]
    for one in small["messages"]:
        for part in one["content"] if isinstance(one["content"], list) else ():
            if part.get("text", "").startswith("<system>"):
                part["text"] = "<system>read</system>"
    return small


async def record(
    name: str, client: Callable[[str], Awaitable[None]], script: list[dict[str, Any]], tool: str
) -> None:
    """Run one client and write what it sent, beside what it was answered."""
    answers = [{**one, "tool": tool} for one in script]
    with ProviderServer([answered(one) for one in answers]) as upstream:
        await client(upstream.anthropic_url)
        sent = upstream.received
    assert len(sent) == len(answers), name
    lines = [
        json.dumps(
            {
                "path": one.path,
                "answer": answer,
                "body": made_small(dict(one.body)),
            }
        )
        for one, answer in zip(sent, answers, strict=True)
    ]
    (RECORDED / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


async def main() -> None:
    """Record every client that is here."""
    RECORDED.mkdir(exist_ok=True)
    await record("openai-sdk", openai_sdk, SCRIPT, "read")
    await record("anthropic-sdk", anthropic_sdk, SCRIPT, "read")
    if PYTHON:
        without_change = [one for one in SCRIPT if one.get("text") not in CHANGES]
        await record("kimi-cli", kimi_cli, without_change, "ReadFile")


if __name__ == "__main__":
    asyncio.run(main())
