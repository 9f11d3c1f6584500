"""Who may pass when: appends together, a rewrite alone, a cancel when the work is done."""

import asyncio
import os
import threading
import warnings

import pytest

from minutebook.flow import Gate, Home, WrongPlace, finish_first


def test_a_home_refuses_another_thread() -> None:
    """What belongs to one thread is not used in another."""
    home, refused = Home(), []

    def visit() -> None:
        with pytest.raises(WrongPlace, match="thread"):
            home.check()
        refused.append(True)

    thread = threading.Thread(target=visit)
    thread.start()
    thread.join()

    home.check()
    assert refused == [True]


def test_a_home_refuses_a_forked_child() -> None:
    """A child that inherited the session would write with the same descriptor."""
    home = Home()
    with warnings.catch_warnings():
        # Newer Pythons warn of a fork in a process with threads; this child only looks.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        try:
            home.check()
        except WrongPlace:
            os._exit(7)
        os._exit(0)

    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 7


def test_a_home_refuses_another_loop() -> None:
    """What waits in one event loop is not woken in another."""

    async def settle() -> Home:
        return Home()

    async def visit(home: Home) -> None:
        home.check()

    home = asyncio.run(settle())

    with pytest.raises(WrongPlace, match="loop"):
        asyncio.run(visit(home))


def test_a_home_is_at_home_between_two_calls_of_its_loop() -> None:
    """Code without a running loop, in the same thread, does no harm."""

    async def settle() -> Home:
        return Home()

    async def visit(home: Home) -> None:
        home.check()

    with asyncio.Runner() as runner:
        home = runner.run(settle())
        home.check()
        runner.run(visit(home))


async def turns(count: int = 12) -> None:
    """Let the loop go round, more often than any wake-up here takes."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_an_open_gate_lets_pass_at_once() -> None:
    """Nobody waits while nobody is alone inside."""
    gate = Gate()
    assert not gate.is_closed
    await gate.opened()
    gate.enter()
    gate.leave()
    assert not gate.is_closed


async def test_who_is_alone_waits_for_those_inside_and_keeps_others_out() -> None:
    """A rewrite begins when the last append is done, and appends wait for its end."""
    gate, seen = Gate(), []
    gate.enter()
    gate.enter()

    async def rewrite() -> None:
        async with gate.alone():
            seen.append("alone")
            await turns(3)
            seen.append("done")

    async def pass_by() -> None:
        await gate.opened()
        seen.append("passed")

    tasks = [asyncio.ensure_future(rewrite())]
    await turns()
    tasks.append(asyncio.ensure_future(pass_by()))
    await turns()
    assert gate.is_closed
    assert seen == []
    gate.leave()
    await turns()
    assert seen == []
    gate.leave()
    await asyncio.gather(*tasks)

    assert seen == ["alone", "done", "passed"]
    assert not gate.is_closed


async def test_two_who_want_to_be_alone_come_one_after_the_other() -> None:
    """In the order in which they asked."""
    gate, seen = Gate(), []

    async def rewrite(name: str) -> None:
        async with gate.alone():
            seen.append(name)
            await turns(3)
            seen.append(name)

    await asyncio.gather(rewrite("a"), rewrite("b"))

    assert seen == ["a", "a", "b", "b"]


async def test_those_who_waited_pass_before_one_who_came_as_the_gate_opened() -> None:
    """Appends keep the order of their calls, also around a rewrite."""
    gate, seen = Gate(), []
    leave = asyncio.Event()

    async def rewrite() -> None:
        async with gate.alone():
            await leave.wait()
        await pass_by("late")

    async def pass_by(name: str) -> None:
        if gate.is_closed:
            await gate.opened()
        seen.append(name)

    tasks = [asyncio.ensure_future(rewrite())]
    await turns()
    tasks += [asyncio.ensure_future(pass_by(name)) for name in "abc"]
    await turns()
    tasks[2].cancel()
    await turns()
    leave.set()
    await asyncio.wait(tasks)

    assert seen == ["a", "c", "late"]


async def test_a_gate_opens_again_after_an_error_and_after_a_cancel() -> None:
    """However a rewrite ends, also while it waits for its turn, others go on."""
    gate = Gate()

    async def fail() -> None:
        async with gate.alone():
            raise ValueError

    with pytest.raises(ValueError):
        await fail()
    assert not gate.is_closed

    gate.enter()

    async def wait() -> None:
        async with gate.alone():
            raise AssertionError

    first = asyncio.ensure_future(wait())
    second = asyncio.ensure_future(wait())
    await turns()
    assert gate.is_closed
    second.cancel()
    first.cancel()
    await turns()
    assert (first.cancelled(), second.cancelled()) == (True, True)
    assert not gate.is_closed
    gate.leave()
    async with gate.alone():
        assert gate.is_closed


async def test_what_must_be_finished_is_finished_before_the_cancel_comes_through() -> None:
    """However often the caller is cancelled."""
    done = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(finish_first(done))
    await turns()
    for _ in range(3):
        task.cancel()
        await turns()
        assert not task.done()

    done.set_result(5)
    await turns()

    assert task.cancelled()


async def test_a_result_or_an_error_comes_through() -> None:
    """Without a cancel a future is simply awaited."""
    loop = asyncio.get_running_loop()
    good, bad = loop.create_future(), loop.create_future()
    good.set_result(5)
    waiting = asyncio.ensure_future(finish_first(bad))
    await turns()
    bad.set_exception(ValueError("no"))

    assert await finish_first(good) == 5
    with pytest.raises(ValueError, match="no"):
        await waiting


async def test_a_cancel_comes_before_an_error_of_what_was_finished() -> None:
    """The caller asked to go, and goes; the error is not lost in a warning either."""
    bad = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(finish_first(bad))
    await turns()
    task.cancel()
    await turns()
    bad.set_exception(ValueError("no"))
    await turns()

    assert task.cancelled()


async def test_a_cancel_of_the_work_itself_comes_through() -> None:
    """A future that somebody else cancelled ends the wait."""
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(finish_first(future))
    await turns()
    future.cancel()
    await turns()

    assert task.cancelled()
