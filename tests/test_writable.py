"""What is said of a session's messages, and which model it goes on with."""

from pathlib import Path

import pytest

from minutebook.errors import ConfigError, InvalidMessage
from minutebook.messages import assistant, user
from minutebook.opening import open_session
from minutebook.store.memory import Shelf
from tests.playing import on_memory

WINDOW = 6_000


async def test_pins_and_tags_mark_messages() -> None:
    """They are replaced by later ones, and an unknown message cannot have any."""
    async with on_memory(Shelf()) as session:
        await session.append(user("a"), user("b", pin=True))
        await session.pin(1)
        await session.pin(2, pinned=False)
        await session.tag(1, "x", "y")
        await session.tag(1, "z")

        assert session.context.pins == {1}
        assert session.context.tags == {1: ("z",)}
        for mark in (session.pin(3), session.tag(3, "x"), session.pin(3, pinned=False)):
            with pytest.raises(InvalidMessage, match="no message 3"):
                await mark


async def test_another_model_counts_from_the_next_fit(tmp_path: Path) -> None:
    """With its own window, which need not be said; the session knows it when it is opened again."""
    async with open_session(tmp_path / "s", model="gpt-4o") as session:
        for number in range(20):
            await session.append(user(f"question {number} " * 60), assistant("yes " * 60))
        assert (await session.fit()).messages == session.context.history
        await session.overflowed(
            "This model's maximum context length is 100000 tokens, you asked for 120000"
        )
        session.set_model("small", window=WINDOW)
        assert session.settings.known_window() == WINDOW
        await session.fit()
        assert session.used < WINDOW
        session.set_model("claude-sonnet-4-5", max_output=1_000)
        assert session.settings.known_window() == 200_000
        assert session.settings.max_output == 1_000
        with pytest.raises(ConfigError, match="window"):
            session.set_model("small", window=0)
    async with open_session(tmp_path / "s") as session:
        assert session.settings.model == "claude-sonnet-4-5"
        assert session.settings.known_window() == 200_000
