"""The session without `await`."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

import minutebook
from minutebook.errors import InvalidMessage, SessionLocked, StoreError
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


def test_the_proxy_is_no_second_class(tmp_path: Path) -> None:
    """What it has is what the session has, whatever is added there."""
    with minutebook.open_sync(tmp_path / "s", window=9_000) as session:
        session.append(minutebook.user("hello"))
        for name in dir(minutebook.Session):
            if not name.startswith("_"):
                assert hasattr(session, name)
        with pytest.raises(AttributeError):
            _ = session.nothing_of_that_name
        assert len(session.fit().messages) == 1


def test_another_thread_is_refused(tmp_path: Path) -> None:
    """The private loop belongs to the thread that opened the session."""
    refused: list[bool] = []
    with minutebook.open_sync(tmp_path / "s") as session:

        def visit() -> None:
            for call in (lambda: session.append(minutebook.user("x")), session.history):
                with pytest.raises(WrongPlace, match="thread"):
                    call()
                refused.append(True)

        thread = threading.Thread(target=visit)
        thread.start()
        thread.join()
        session.append(minutebook.user("hello"))

        assert refused == [True, True]
        assert [message.text for message in session.history()] == ["hello"]


def test_a_loop_that_runs_meanwhile_is_not_stopped(tmp_path: Path) -> None:
    """A call inside of one is refused and leaves nothing that was never awaited."""
    with minutebook.open_sync(tmp_path / "s") as session:

        async def visit() -> None:
            with pytest.raises(WrongPlace, match="async with"):
                session.append(minutebook.user("x"))

        asyncio.run(visit())
        session.append(minutebook.user("hello"))

        assert len(session.history()) == 1


def test_leaving_twice_and_closing_by_hand_do_no_harm(tmp_path: Path) -> None:
    """Closing is idempotent, and what is asked afterwards is refused."""
    with minutebook.open_sync(tmp_path / "s") as session:
        session.append(minutebook.user("hello"))
        session.close()
        with pytest.raises(StoreError, match="closed"):
            session.append(minutebook.user("x"))
