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


async def test_a_rotation_that_is_there_and_cannot_be_read_is_reported(tmp_path: Path) -> None:
    """Though no record names it: nobody knows what is in it."""
    async with minutebook.open(tmp_path / "s") as session:
        await grown(session)
        (tmp_path / "s" / "context_8.jsonl.zst").write_bytes(b"noise")

        with pytest.raises(StoreError, match="rotation 8"):
            full_messages(session.store, session.context, partial=False)
        partial = full_messages(session.store, session.context, partial=True)

    assert [message.text for message in partial] == ["stays", "is undone"]


async def test_a_rotation_is_joined_to_the_next_one_that_holds_anything(tmp_path: Path) -> None:
    """Past empty ones, past those that were changed, and past those of the lineage."""
    folder = tmp_path / "s"
    async with minutebook.open(folder, retention=None) as session:
        await session.append(minutebook.user("first"))
        for _ in range(3):
            await session.clear()
        await session.append(minutebook.user("last"))
        for number, text in ((9, "ninth"), (10, "")):
            line = f'{{"role":"user","content":"{text}"}}\n' if text else ""
            (folder / f"context_{number}.jsonl").write_text(line)

        found = full_messages(session.store, session.context, partial=False)
        assert [message.text for message in found] == ["first", "ninth", "last"]

        (folder / "context_1.jsonl").rename(folder / "context_0.jsonl")
        (folder / "context_2.jsonl").write_text("changed")
        with pytest.raises(StoreError, match="rotation 2"):
            full_messages(session.store, session.context, partial=False)
        found = full_messages(session.store, session.context, partial=True)
        assert [message.text for message in found] == ["first", "ninth", "last"]


async def test_a_torn_end_of_a_rotation_is_not_kept(tmp_path: Path) -> None:
    """Its length is that of what is whole."""
    async with minutebook.open(tmp_path / "s", retention=None) as session:
        await grown(session)
        path = tmp_path / "s" / "context_1.jsonl"
        whole = path.read_bytes()
        path.write_bytes(whole + b'{"role":"us')

        context, keep = load_number(session.store, 1)

        assert (len(context.history), keep) == (2, len(whole))
