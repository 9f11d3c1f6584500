"""The made-up logs: always the same, as long as asked, and whole."""

from pathlib import Path

import pytest

from benchmarks.logs import messages, open_session, steps, write_agent_log, write_plain_log
from minutebook.turns import open_calls, turns


@pytest.mark.parametrize("count", [1, 2, 3, 14, 200])
def test_there_are_as_many_messages_as_asked_and_every_call_is_answered(count: int) -> None:
    """Steps are never cut in the middle."""
    made = list(messages(count))

    assert len(made) == count
    assert made == [message for step in steps(count) for message in step]
    assert open_calls(made) == ()


def test_equal_seeds_give_equal_messages() -> None:
    """What is measured is the same on every run."""
    assert list(messages(50)) == list(messages(50))
    assert list(messages(50)) != list(messages(50, seed=8))


async def test_both_logs_hold_the_same_messages(tmp_path: Path) -> None:
    """One as other programs write it, one as an agent does, with a checkpoint at 99 %."""
    write_plain_log(tmp_path / "plain", 200)
    at = await write_agent_log(tmp_path / "agent", 200)

    async with open_session(tmp_path / "plain", mode="r") as session:
        plain = [message.content for message in session.context.history]
    async with open_session(tmp_path / "agent", mode="r") as session:
        agent = [message.content for message in session.context.history]
        before = session.context.mark(at).messages
        assert session.problems == ()

    assert plain == agent
    assert 190 <= before <= 198
    assert len(turns(list(messages(200)))) > 5
