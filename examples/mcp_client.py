"""A program that looks through sessions by the MCP server of minutebook."""

import asyncio
import sys

from mcp import Client, StdioServerParameters


async def find(words: str, root: str = "sessions") -> str:
    """Give the messages of all sessions below a folder that have the words in them."""
    server = StdioServerParameters(command=sys.executable, args=["-m", "minutebook", "mcp", root])
    async with Client(server) as client:
        answer = await client.call_tool("search_sessions", {"query": words})
    return "\n".join(getattr(part, "text", "") for part in answer.content)


if __name__ == "__main__":
    print(asyncio.run(find(sys.argv[1])))
