"""Reading retired logs: only the file that a record names counts."""

from __future__ import annotations

from pathlib import Path

import pytest

import minutebook
from minutebook.errors import StoreError
from minutebook.records import Rotated
from minutebook.retired import full_messages, load_lineage, load_number, load_rotation
from minutebook.session import Session


async def grown(session: Session) -> Rotated:
    """Give a session one rotation with a message of its own."""
    await session.append(minutebook.user("stays"))
    mark = await session.checkpoint()
    await session.append(minutebook.user("is undone"))
    return await session.revert(mark)


async def test_a_rotation_is_the_one_that_was_named(tmp_path: Path) -> None:
    """Another length, another sum and a missing file are all not it."""
    async with minutebook.open(tmp_path / "s") as session:
        named = await grown(session)
        store = session.store

        found = load_rotation(store, named)
        assert found is not None
        assert [message.text for message in found.history] == ["stays", "is undone"]
        assert load_number(store, named.number)[1] == named.bytes
        ancestry = load_lineage(store, named)
        assert ancestry is not None
        assert ancestry.lineage == ()

        for other in (
            Rotated(number=named.number, bytes=1, hash=named.hash),
            Rotated(number=named.number, bytes=named.bytes, hash="crc32:00000000"),
            Rotated(number=99),
        ):
            assert load_rotation(store, other) is None
            assert load_lineage(store, other) is None


async def test_a_missing_rotation_is_reported_never_passed_over(tmp_path: Path) -> None:
    """The full history names it, and gives what is there only if asked to."""
    async with minutebook.open(tmp_path / "s") as session:
        named = await grown(session)
        (tmp_path / "s" / f"context_{named.number}.jsonl").unlink()

        with pytest.raises(StoreError, match=f"rotation {named.number}"):
            full_messages(session.store, session.context, partial=False)
        with pytest.raises(StoreError, match="no rotation"):
            load_number(session.store, named.number)
        partial = full_messages(session.store, session.context, partial=True)

    assert [message.text for message in partial] == ["stays"]
