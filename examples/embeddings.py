"""What a compaction keeps, with and without embeddings of a focus. Nothing is changed.

`python examples/embeddings.py examples/session "the report that takes too long"`
"""

import asyncio
import sys

import minutebook
from minutebook.companions import Companions
from minutebook.models.embedding import sentence_embedder


async def lines(folder: str, focus: str, companions: Companions) -> set[str]:
    """Give the lines that a compaction to a window of 16 000 tokens would write."""
    async with minutebook.open(folder, mode="r", window=16_000, companions=companions) as session:
        proposed = await session.propose(focus)
    new = [message.text for message in proposed.plan.history if message.seq is None]
    return {line for text in new for line in text.split("\n")}


async def main(folder: str, focus: str) -> None:
    """Print what nearness in meaning brings in, and what gives way to it."""
    by_words = await lines(folder, focus, Companions())
    by_meaning = await lines(folder, focus, Companions(embed=sentence_embedder()))
    print(*(f"+ {line}" for line in sorted(by_meaning - by_words)), sep="\n")
    print(*(f"- {line}" for line in sorted(by_words - by_meaning)), sep="\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
