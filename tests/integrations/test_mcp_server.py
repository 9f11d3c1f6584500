import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import minutebook
from minutebook.integrations.mcp_server import PATH, listen, make_server
from minutebook.integrations.shelf import Shelf
from minutebook.records import Compaction
from tests.integrations.support import WINDOW, make_session

mcp = pytest.importorskip("mcp", reason="needs the extra mcp")

Connecting = Callable[[Path], AbstractAsyncContextManager[Any]]
COMMAND = ("-m", "minutebook", "mcp")


@asynccontextmanager
async def over_stdio(root: Path) -> AsyncIterator[Any]:
    """Start the command as a client does, and talk over its pipes."""
    words = [*COMMAND, str(root), "--window", str(WINDOW)]
    async with mcp.Client(mcp.StdioServerParameters(command=sys.executable, args=words)) as client:
        yield client


@asynccontextmanager
async def over_http(root: Path) -> AsyncIterator[Any]:
    """Start the command on a free port of the loopback interface, and talk to the address."""
    words = [*COMMAND, str(root), "--http", "127.0.0.1:0", "--window", str(WINDOW)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        said = (await process.stderr.readline()).decode()
        url = said.split()[-1]
        assert url.endswith(PATH), said
        async with mcp.Client(url) as client:
            yield client
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def in_process(root: Path) -> AsyncIterator[Any]:
    """Talk to the server without a transport."""
    async with mcp.Client(make_server(Shelf(root, window=WINDOW))) as client:
        yield client


@pytest.fixture
async def root(tmp_path: Path) -> Path:
    await make_session(tmp_path / "one")
    return tmp_path


async def ask(client: Any, tool: str, **arguments: object) -> Any:
    """Call a tool that has to succeed; give its value."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    value = answer.structured_content
    return value["result"] if set(value) == {"result"} else value


@pytest.mark.parametrize("connect", [over_stdio, over_http])
async def test_a_client_looks_compacts_and_goes_back(connect: Connecting, root: Path) -> None:
    """Over either transport a client can do all that the server offers."""
    async with connect(root) as client:
        listed = await ask(client, "list_sessions")
        status = await ask(client, "context_status", session="one")
        found = await ask(client, "search_sessions", query="part_4")
        marked = await ask(client, "checkpoint", session="one", label="before")
        done = await ask(client, "compact", session="one", target=0.2)
        read = await ask(client, "read_records", session="one", records=[1])
        async with minutebook.open(root / "one", mode="r") as session:
            compaction = session.context.lineage[-1]
        assert isinstance(compaction, Compaction)
        expanded = await ask(client, "expand_summary", session="one", record=compaction.made[0])
        reverted = await ask(client, "revert", session="one", to=marked["checkpoint"])

    assert [row["session"] for row in listed] == ["one"]
    assert status["tokens"] > WINDOW
    assert "part_4" in found
    assert marked["checkpoint"] == 6
    assert done["changed"]
    assert "part_0" in read
    assert "stands for" in expanded
    assert reverted["reverted_to"] == 6


async def test_each_tool_says_what_it_does_to_a_session(root: Path) -> None:
    """Reading tools are marked as such; of those that write only the revert is destructive."""
    async with in_process(root) as client:
        tools = (await client.list_tools()).tools
    hints = {tool.name: tool.annotations for tool in tools}

    assert {name for name, hint in hints.items() if hint.read_only_hint} == {
        "list_sessions",
        "search_sessions",
        "read_records",
        "expand_summary",
        "context_status",
    }
    assert {name for name, hint in hints.items() if hint.destructive_hint} == {"revert"}
    assert all(tool.description for tool in tools)


async def test_an_error_is_told_in_our_words_and_changes_nothing(root: Path) -> None:
    """A missing session, a missing checkpoint and a held lock are answers, not crashes."""
    log = root / "one" / "context.jsonl"
    before = log.read_bytes()
    async with in_process(root) as client:
        missing = await client.call_tool("context_status", {"session": "two"})
        outside = await client.call_tool("context_status", {"session": "../two"})
        checkpoint = await client.call_tool("revert", {"session": "one", "to": 99})

    assert all(answer.is_error for answer in (missing, outside, checkpoint))
    assert "no checkpoint 99" in checkpoint.content[0].text
    assert "not below" in outside.content[0].text
    assert log.read_bytes() == before


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.org", ""])
def test_only_the_loopback_interface_is_served(host: str) -> None:
    """Whoever reaches the port may revert sessions, so no other machine may."""
    with pytest.raises(minutebook.ConfigError, match="loopback"):
        listen(host, 0)


def test_a_free_port_is_listened_on() -> None:
    """Clients may connect from the moment that the address is known."""
    with listen("127.0.0.1", 0) as listening:
        socket.create_connection(listening.getsockname()).close()
