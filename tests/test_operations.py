"""Operations that look into the store first: undo, fork, what gc may take."""

from __future__ import annotations

from pathlib import Path

import pytest

import minutebook
from minutebook.errors import InvalidMessage, StoreError
from minutebook.lineage import NothingToUndo
from minutebook.operations import (
    checkpoint_marker,
    fixed_tokens,
    needed_rotations,
    noticed,
    remember_window,
)
from minutebook.providers.overflow import classify
from minutebook.session import Session
from minutebook.store.files import FileStore

OVERFLOW = {
    "error": {
        "message": "This model's maximum context length is 4000 tokens. However, your messages "
        "resulted in 9000 tokens. Please reduce the length of the messages.",
        "type": "invalid_request_error",
        "code": "context_length_exceeded",
    }
}


async def reverted(session: Session) -> int:
    """Give a session one rotation, and its number."""
    mark = await session.checkpoint()
    await session.append(minutebook.user("is undone"))
    return (await session.revert(mark)).number


async def test_an_undo_needs_its_rotation(tmp_path: Path) -> None:
    """Without it nothing is changed, and the remedy is named."""
    async with minutebook.open(tmp_path / "s") as session:
        with pytest.raises(NothingToUndo):
            await session.undo()
        number = await reverted(session)
        before = (tmp_path / "s" / "context.jsonl").read_bytes()
        (tmp_path / "s" / f"context_{number}.jsonl").unlink()

        with pytest.raises(StoreError, match="missing or was changed"):
            await session.undo()

    assert (tmp_path / "s" / "context.jsonl").read_bytes() == before


async def test_what_the_full_history_needs_is_named(tmp_path: Path) -> None:
    """Rotations of the lineage, and unnamed ones that the log does not begin with."""
    async with minutebook.open(tmp_path / "s") as session:
        number = await reverted(session)
        log = (tmp_path / "s" / "context.jsonl").read_bytes()
        (tmp_path / "s" / "context_7.jsonl").write_bytes(log[:10])
        (tmp_path / "s" / "context_8.jsonl").write_bytes(b'{"role":"user","content":"x"}\n')

        assert needed_rotations(session.store, session.context) == {number, 8}


async def test_what_an_error_taught_of_the_window_is_kept(tmp_path: Path) -> None:
    """The next opening knows it; any other error teaches nothing."""
    assert classify(OVERFLOW).kind == "context_overflow"
    async with minutebook.open(tmp_path / "s", window=100_000) as session:
        for number in range(60):
            await session.append(minutebook.user("go on"), minutebook.assistant(f"{number} " * 60))

        assert not await session.overflowed(ValueError("no"))
        assert await session.overflowed(OVERFLOW)
        assert session.settings.known_window() == 4_000
        assert session.used < 4_000

    async with minutebook.open(tmp_path / "s", mode="r") as session:
        assert session.settings.known_window() == 4_000
        store = session.store
        assert isinstance(store, FileStore)
        remember_window(store, 5)
        assert store.metadata.learned_window == 4_000


def test_what_every_request_takes_is_prompt_and_tools() -> None:
    """Both count, and nothing costs nothing."""
    tool = {"type": "function", "function": {"name": "ls", "parameters": {}}}

    assert fixed_tokens(None, ()) == 0
    assert fixed_tokens("be brief", (tool,)) > fixed_tokens("be brief", ()) > 0


def test_notes_and_markers_are_told_apart_by_their_origin() -> None:
    """Neither is a person's message; a note has to be a text."""
    assert (noticed("gone").origin, checkpoint_marker(3).origin) == ("notice", "checkpoint")
    assert "CHECKPOINT 3" in checkpoint_marker(3).text
    with pytest.raises(InvalidMessage, match="a note is a text"):
        noticed(5)  # type: ignore[arg-type]
