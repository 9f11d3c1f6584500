"""The session without `await`."""

from __future__ import annotations

from pathlib import Path

import pytest

import minutebook
from minutebook.errors import InvalidMessage, SessionLocked
from minutebook.flow import WrongPlace


def names(folder: Path) -> list[str]:
    """List a folder."""
    return [path.name for path in folder.iterdir()]


def test_every_method_runs_to_its_end(tmp_path: Path) -> None:
    """Coroutine methods come as plain ones, the rest as it is."""
    with minutebook.open_sync(tmp_path / "s") as session:
        session.set_system_prompt("be brief")
        (message,) = session.append(minutebook.user("hello"))
        mark = session.checkpoint()
        session.append(minutebook.assistant("hi"))
        session.revert(mark)

        assert message.seq == 1
        assert session.context.system_prompt == "be brief"
        assert [one.text for one in session.history()] == ["hello"]
        assert session.append.__doc__ == minutebook.Session.append.__doc__


def test_errors_come_through_and_the_session_is_closed(tmp_path: Path) -> None:
    """What a method raises is raised, and the lock is free afterwards."""

    def fail() -> None:
        with minutebook.open_sync(tmp_path / "s") as session:
            with pytest.raises(SessionLocked), minutebook.open_sync(tmp_path / "s"):
                pytest.fail("it opened")
            session.append({"role": "_usage"})

    with pytest.raises(InvalidMessage):
        fail()

    with minutebook.open_sync(tmp_path / "s") as session:
        session.append(minutebook.user("hello"))


async def test_inside_a_running_loop_it_says_what_to_use(tmp_path: Path) -> None:
    """It cannot stop the loop that it is called in."""
    with pytest.raises(WrongPlace, match="async with"), minutebook.open_sync(tmp_path / "s"):
        pytest.fail("it opened")

    assert names(tmp_path) == []
