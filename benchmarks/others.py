"""The same beside what people keep an agent's memory in today, those that are installed here.

Loading a conversation, and appending one message to it; the cost is ours, the floor is the other
system, so a ratio below 1 is where we are ahead. `.venv/integrations-…/bin/python -m benchmarks
--only others` has the packages, after `make test-integrations`.

- one JSON file of the standard library's, written whole on each append
- OpenAI Agents SDK, `SQLiteSession`, on a file: `get_items` and `add_items`
- LangChain's messages in one JSON file, written whole on each append, as its file history does
- pydantic-ai's messages in one JSON file, likewise
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from time import perf_counter_ns
from typing import Any, NamedTuple

from benchmarks.bench import Bench
from benchmarks.logs import messages, open_session
from benchmarks.rows import Row
from benchmarks.timing import median_us

MESSAGES = 10_000
LOADS, APPENDS = 3, 20


class Other(NamedTuple):
    """One other system, filled with the messages."""

    name: str
    load: Callable[[], Awaitable[int]]
    """Gives how many messages it has loaded."""
    append: Callable[[dict[str, Any]], Awaitable[None]]


async def run(bench: Bench) -> list[Row]:
    """Measure ours beside each of the others."""
    count = 500 if bench.quick else MESSAGES
    items = [{"role": "user", "content": message.text or "x"} for message in messages(count)]
    rows = []
    for make in (_json_file, _agents, _langchain, _pydantic_ai):
        try:
            other = await make(bench, items)
        except ImportError as error:
            print(f"{make.__name__[1:]} is not measured: {error.name} is missing", file=sys.stderr)
            continue
        async with _ours(bench, items) as ours:
            costs, floors = await _in_turns(ours, other, items)
        for what, cost, floor in zip(("load", "append"), costs, floors, strict=True):
            rows.append(
                Row(
                    group="others",
                    what=f"{what}: {other.name}",
                    messages=count,
                    cost=cost,
                    floor=floor,
                    limit=None if make is _json_file else floor,
                    target="" if make is _json_file else "≤ 1 ×",
                )
            )
    return rows


async def _in_turns(
    ours: Other, theirs: Other, items: list[dict[str, Any]]
) -> tuple[list[float], list[float]]:
    """Give for load and append what each takes in microseconds: the least load, a median append."""
    loads: tuple[list[int], list[int]] = ([], [])
    appends: tuple[list[int], list[int]] = ([], [])
    for _ in range(LOADS):
        for side, taken in zip((ours, theirs), loads, strict=True):
            begun = perf_counter_ns()
            assert await side.load() >= len(items)
            taken.append(perf_counter_ns() - begun)
    for item in items[:APPENDS]:
        for side, taken in zip((ours, theirs), appends, strict=True):
            begun = perf_counter_ns()
            await side.append(item)
            taken.append(perf_counter_ns() - begun)
    costs = [[min(loads[side]) / 1_000, median_us(appends[side])] for side in (0, 1)]
    return costs[0], costs[1]


@asynccontextmanager
async def _ours(bench: Bench, items: list[dict[str, Any]]) -> AsyncIterator[Other]:
    folder = bench.new_folder("ours")
    async with open_session(folder, durability="process") as session:
        await session.append(*items)

    async def load() -> int:
        async with open_session(folder, mode="r") as session:
            return len(session.context.history)

    async with open_session(folder) as session:

        async def append(item: dict[str, Any]) -> None:
            await session.append(item)

        yield Other("minutebook", load, append)


async def _json_file(bench: Bench, items: list[dict[str, Any]]) -> Other:
    file = bench.new_folder("whole.json")

    def read() -> list[Any]:
        found: list[Any] = json.loads(file.read_text("utf-8"))
        return found

    def write(found: list[Any]) -> None:
        file.write_text(json.dumps(found), "utf-8")

    write(items)

    async def load() -> int:
        return len(read())

    async def append(item: dict[str, Any]) -> None:
        write([*read(), item])

    return Other("one JSON file", load, append)


async def _agents(bench: Bench, items: list[dict[str, Any]]) -> Other:
    from agents import SQLiteSession

    folder = bench.new_folder("agents")
    folder.mkdir()
    session = SQLiteSession("s", folder / "sessions.db")
    await session.add_items(items)

    async def load() -> int:
        return len(await session.get_items())

    async def append(item: dict[str, Any]) -> None:
        await session.add_items([item])

    return Other("OpenAI Agents SDK, SQLiteSession", load, append)


async def _langchain(bench: Bench, items: list[dict[str, Any]]) -> Other:
    from langchain_core.messages import messages_from_dict, messages_to_dict
    from langchain_core.messages.utils import convert_to_messages

    file = bench.new_folder("langchain.json")

    def read() -> list[Any]:
        with suppress(FileNotFoundError):
            return list(messages_from_dict(json.loads(file.read_text("utf-8"))))
        return []

    def write(found: list[Any]) -> None:
        file.write_text(json.dumps(messages_to_dict(found)), "utf-8")

    write(convert_to_messages(items))

    async def load() -> int:
        return len(read())

    async def append(item: dict[str, Any]) -> None:
        write([*read(), *convert_to_messages([item])])

    return Other("LangChain's messages in a JSON file", load, append)


async def _pydantic_ai(bench: Bench, items: list[dict[str, Any]]) -> Other:
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart

    file = bench.new_folder("pydantic-ai.json")

    def request(item: dict[str, Any]) -> Any:
        return ModelRequest(parts=[UserPromptPart(content=item["content"])])

    def read() -> list[Any]:
        found: list[Any] = ModelMessagesTypeAdapter.validate_json(file.read_bytes())
        return found

    def write(found: list[Any]) -> None:
        file.write_bytes(ModelMessagesTypeAdapter.dump_json(found))

    write([request(item) for item in items])

    async def load() -> int:
        return len(read())

    async def append(item: dict[str, Any]) -> None:
        write([*read(), request(item)])

    return Other("pydantic-ai's messages in a JSON file", load, append)
