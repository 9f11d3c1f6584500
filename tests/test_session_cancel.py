"""Every public method may be cancelled at any await and leaves a whole session."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from minutebook.messages import Message, user
from minutebook.session import Session
from minutebook.store.disk import Disk
from minutebook.store.files import Durability
from tests.grown import ACTS, AtOnce, Grown, on_disk, opened
from tests.playing import values

STEPS_MAX = 300


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    """Make the session once for all tests here."""
    return Grown(tmp_path_factory.mktemp("cancelled"))


async def cancelled_after(task: asyncio.Future[Any], steps: int) -> bool:
    """Cancel a task after some turns of the loop; tell whether it was still at work."""
    for _ in range(steps):
        await asyncio.sleep(0)
    working = not task.done()
    task.cancel()
    await asyncio.wait([task])
    return working


def texts(messages: tuple[Message, ...]) -> list[str]:
    """Give what was said."""
    return [message.text for message in messages]


@pytest.mark.parametrize("durability", ["process", "disk"])
@pytest.mark.parametrize("name", ACTS)
async def test_a_cancel_at_any_await_leaves_a_whole_session(
    name: str, durability: Durability, grown: Grown
) -> None:
    """What a new reader sees is what the session has, and appends of others are not disturbed."""
    for steps in range(STEPS_MAX):
        folder = grown.copy()
        session = await opened(folder, Disk(), durability, AtOnce())
        before = asyncio.ensure_future(session.append(user("before")))
        task = asyncio.ensure_future(ACTS[name](session))
        after = asyncio.ensure_future(session.append(user("after")))
        working = await cancelled_after(task, steps)
        seqs = [(await done)[0].seq for done in (before, after)]

        assert seqs[0] != seqs[1]
        said = texts(session.history(full=True))
        assert (said.count("before"), said.count("after")) == (1, 1)
        live = values(session.context)
        await session.append(user("later"))
        assert session.context.history[-1].text == "later"
        live = values(session.context)
        assert await on_disk(folder) == live, steps
        await session.close()
        assert await on_disk(folder) == live, steps
        if not working:
            assert not task.cancelled()
            assert steps > 0
            return
    pytest.fail("it takes more turns than expected")


@pytest.mark.parametrize("durability", ["process", "disk"])
async def test_a_cancelled_append_is_written_whole_or_not_at_all(
    durability: Durability, grown: Grown
) -> None:
    """Once its lines are written it stays, and the context has it when the cancel comes."""
    seen = set()
    for steps in range(STEPS_MAX):
        folder = grown.copy()
        session = await opened(folder, Disk(), durability, AtOnce())
        size, count = session.store.size, len(session.context.history)
        task = asyncio.ensure_future(session.append(user("a"), user("b"), usage=77))
        working = await cancelled_after(task, steps)

        written = session.store.size > size
        seen.add((written, task.cancelled()))
        assert len(session.context.history) == count + (2 if written else 0)
        assert (session.context.token_count == 77) is written
        await session.close()
        if not working:
            break

    assert (False, True) in seen
    assert (True, False) in seen
    assert (False, False) not in seen


@pytest.mark.parametrize("name", ["revert", "undo", "restore", "clear", "compact"])
async def test_a_rewrite_cancelled_while_it_waits_does_not_happen(name: str, grown: Grown) -> None:
    """Only what was begun on disk is finished."""
    session = await opened(grown.copy(), Disk(), "disk", AtOnce())
    before = asyncio.ensure_future(session.append(user("before")))
    await asyncio.sleep(0)
    rotations = len(session.rotations())
    task = asyncio.ensure_future(ACTS[name](session))
    await asyncio.sleep(0)
    task.cancel()
    await before
    await asyncio.wait([task])

    assert task.cancelled()
    assert len(session.rotations()) == rotations
    assert session.context.history[-1].text == "before"
    await session.close()


async def test_closing_may_be_cancelled_and_closes_all_the_same(grown: Grown) -> None:
    """The lock is free and the last append safe, at whichever await the cancel comes."""
    for steps in range(STEPS_MAX):
        folder = grown.copy()
        session = await opened(folder, Disk(), "disk", AtOnce())
        append = asyncio.ensure_future(session.append(user("last")))
        await asyncio.sleep(0)
        task = asyncio.ensure_future(session.close())
        working = await cancelled_after(task, steps)
        await append
        if task.cancelled() and not session.store._closed:  # type: ignore[attr-defined]
            # Cancelled before it had begun at all.
            assert steps == 0
            await session.close()

        again = await opened(folder, Disk(), "disk")
        assert again.context.history[-1].text == "last"
        await again.close()
        if not working:
            return
    pytest.fail("it takes more turns than expected")


async def test_concurrent_appends_keep_the_order_of_their_calls(grown: Grown) -> None:
    """Also those that wait for a rewrite, and those that come when it is just done."""
    for steps in range(0, 60, 3):
        folder = grown.copy()
        session = await opened(folder, Disk(), "disk", AtOnce())

        async def say(number: int, session: Session = session) -> int | None:
            return (await session.append(user(f"n{number}")))[0].seq

        tasks = [asyncio.ensure_future(say(number)) for number in range(3)]
        rewrite = asyncio.ensure_future(session.clear())
        for _ in range(steps):
            await asyncio.sleep(0)
            tasks.append(asyncio.ensure_future(say(len(tasks))))
        await rewrite
        tasks.append(asyncio.ensure_future(say(len(tasks))))
        numbers = await asyncio.gather(*tasks)

        assert numbers == sorted(numbers, key=lambda number: number or 0)
        live = values(session.context)
        await session.close()
        assert await on_disk(folder) == live


async def test_ten_appends_share_a_sync(tmp_path: Path) -> None:
    """Group commit: those that wait when it starts are acknowledged together."""
    session = await opened(tmp_path / "s", Disk(), "disk", AtOnce())
    await session.append(user("first"))
    syncs = 0

    def sync() -> None:
        nonlocal syncs
        syncs += 1

    session.store._durable._commit._sync = sync  # type: ignore[attr-defined]
    found = await asyncio.gather(*(session.append(user(str(number))) for number in range(10)))

    assert syncs == 1
    assert [messages[0].seq for messages in found] == list(range(2, 12))
    await session.close()
