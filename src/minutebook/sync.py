"""The session without `await`: a thin proxy over a private event loop, and no second class."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from minutebook.flow import Home, WrongPlace, running_loop
from minutebook.opening import open_session

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from minutebook.session import Session


class SyncSession:
    """A `Session` whose coroutine methods run to their end before they return."""

    def __init__(self, session: Session, runner: asyncio.Runner) -> None:
        """Wrap a session that was opened in the runner's loop."""
        self._session = session
        self._runner = runner
        self._home = Home()

    def __getattr__(self, name: str) -> Any:
        """Give the session's attribute; a coroutine method comes as a plain one.

        A call of it raises `WrongPlace` inside of a running event loop, and in another thread.
        """
        found = getattr(self._session, name)
        if not inspect.iscoroutinefunction(found):
            return found

        @wraps(found)
        def call(*args: object, **kwargs: object) -> object:
            _refuse_inside_loop()
            self._home.check()
            return self._runner.run(found(*args, **kwargs))

        return call


@contextmanager
def open_sync(path: str | os.PathLike[str], **options: Any) -> Iterator[SyncSession]:
    """Open a session as `minutebook.open` does, for code without an event loop.

    Takes the same options and raises the same errors.

    Raises:
        WrongPlace: Inside of a running event loop, which has to go on running.
    """
    _refuse_inside_loop()
    with asyncio.Runner() as runner:
        opening = open_session(path, **options)
        session = runner.run(opening.__aenter__())
        try:
            yield SyncSession(session, runner)
        finally:
            runner.run(opening.__aexit__(None, None, None))


def _refuse_inside_loop() -> None:
    if running_loop() is not None:
        raise WrongPlace("inside of a running event loop use: async with minutebook.open(…)")
