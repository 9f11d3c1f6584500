"""What can be read of a session, without writing."""

from __future__ import annotations

import pytest

from minutebook.companions import Companions
from minutebook.errors import InvalidMessage
from minutebook.session import Session
from tests.test_compactor import session_with


async def compacted() -> Session:
    """Give a session that was compacted."""
    session = await session_with(Companions(), said=30)
    await session.compact()
    return session


async def test_a_summary_is_expanded_to_what_it_stands_for() -> None:
    """The originals come back in order, those that stayed whole left out."""
    session = await compacted()
    made = session.context.lineage[-1].made  # type: ignore[union-attr]  # a compaction

    originals = session.expand(made[0])

    seqs = [message.seq or 0 for message in originals]
    assert seqs == sorted(seqs)
    whole = {one.seq for one in session.context.history if not one.elided}
    assert not whole & set(seqs)
    assert {one.seq for one in session.context.history if one.elided} <= set(seqs)
    assert all(not message.elided for message in originals)


async def test_only_what_a_compaction_wrote_can_be_expanded() -> None:
    """Any other number is refused."""
    session = await compacted()

    with pytest.raises(InvalidMessage, match="not written by a compaction"):
        session.expand(1)


async def test_size_and_usage_say_the_same_where_nothing_was_counted() -> None:
    """Without a provider's word the size is the sum of the estimates by kind."""
    session = await session_with(Companions())

    assert session.used == session.size().tokens == sum(session.usage().values())
    assert session.size().source == "estimated"
    assert session.problems == ()
