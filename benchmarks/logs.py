"""Made-up logs to measure on: always the same, of texts as agents have them."""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import minutebook
from minutebook.codec import encode_line
from minutebook.messages import replace

SOURCE = Path(argparse.__file__).read_text("utf-8")
"""What the texts are cut out of: code and prose, with line ends and quotes to be escaped."""
CHINESE = "写入磁盘的每一行都不再修改，发送给模型的内容由此计算得出。"
STEPS_PER_TURN = 12
TEXT_CHARACTERS_MAX = 20_000
SPREAD = 1.7
"""Chosen with the medians below so that lines are as long as those of 315 messages that Kimi CLI
wrote (in bytes: median 499, three quarters 1 099, nine tenths 2 526, mean 1 611)."""
SYSTEM_PROMPT = SOURCE[:2_000]
TOOLS: tuple[dict[str, Any], ...] = tuple(
    {
        "type": "function",
        "function": {
            "name": name,
            "description": SOURCE[3_000:3_200],
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
    }
    for name in ("shell", "read_file", "write_file", "edit_file")
)
USAGE = {"prompt_tokens": 12_345, "completion_tokens": 321}
WINDOW_TOKENS = 200_000

Step = tuple[minutebook.Message, ...]
"""A user's message alone, or a reply with the results of its calls."""


def steps(count: int, seed: int = 7) -> Iterator[Step]:
    """Give steps of *count* messages in all: turns of a dozen steps, one or two calls each."""
    draw = random.Random(seed)
    number = 0
    made = 0
    while made < count:
        left = count - made
        if number % (STEPS_PER_TURN + 1) == 0 or left == 1:
            step: Step = (minutebook.user(_text(draw, 150)),)
        else:
            calls = 1 if left == 2 else draw.choice((1, 1, 2))
            step = _working(draw, number, calls)
        yield step
        made += len(step)
        number += 1


def messages(count: int, seed: int = 7) -> Iterator[minutebook.Message]:
    """Give *count* messages, as `steps` has them."""
    return (message for step in steps(count, seed) for message in step)


def _working(draw: random.Random, number: int, calls: int) -> Step:
    ids = [f"call_{number}_{index}" for index in range(calls)]
    made = [
        minutebook.call(
            name,
            "edit_file",
            json.dumps({"path": f"src/module_{number % 40}.py", "old": _text(draw, 50)}),
        )
        for name in ids
    ]
    thinking = _text(draw, 60) if draw.random() < 0.5 else ""
    reply = minutebook.assistant(_text(draw, 60), tool_calls=made, thinking=thinking)
    return (reply, *(minutebook.tool(name, _text(draw, 450)) for name in ids))


def _text(draw: random.Random, median: int) -> str:
    """Cut out a text; lengths are spread as in real sessions, many short and a few very long."""
    size = min(TEXT_CHARACTERS_MAX, round(draw.lognormvariate(math.log(median), SPREAD)))
    start = draw.randrange(len(SOURCE) - size)
    text = SOURCE[start : start + size]
    return text + CHINESE if draw.random() < 0.05 else text


async def write_agent_log(folder: Path, count: int) -> int:
    """Write a session of *count* messages through the library; give its last checkpoint but 1 %.

    As an agent writes it: a checkpoint before each reply, which is one batch with its usage,
    and the results of its calls in another.
    """
    at = 0
    wanted = count * 99 // 100
    async with open_session(folder, durability="process") as session:
        await session.set_system_prompt(SYSTEM_PROMPT)
        made = 0
        for step in steps(count):
            number = await session.checkpoint()
            if made <= wanted:
                at = number
            if len(step) == 1:
                await session.append(*step)
            else:
                await session.append(step[0], usage=USAGE)
                await session.append(*step[1:])
            made += len(step)
    return at


def write_plain_log(folder: Path, count: int) -> None:
    """Write a log of *count* messages and nothing else, a line each, as other programs do."""
    folder.mkdir(parents=True)
    with (folder / "context.jsonl").open("wb") as log:
        for seq, message in enumerate(messages(count), 1):
            log.write(encode_line(replace(message, seq=seq)))


def open_session(folder: Path, **options: Any) -> Any:
    """Open a session with what every request here carries."""
    return minutebook.open(folder, window=WINDOW_TOKENS, tools=TOOLS, **options)


def copy_session(source: Path, target: Path) -> None:
    """Copy a session's folder."""
    shutil.copytree(source, target)


def log_of(folder: Path) -> Path:
    """Give the path of a session's log."""
    return folder / "context.jsonl"
