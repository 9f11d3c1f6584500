"""What a session lives through while the power may fail."""

import errno
import os
from collections.abc import Awaitable, Callable
from random import Random

from minutebook.codec import frame
from minutebook.errors import StoreError
from minutebook.testing.memory_disk import EMPTY, State
from minutebook.testing.store import line
from tests.crash.survey import Home, on_disk

Scenario = Callable[[Home], Awaitable[None]]
SCENARIOS: dict[str, tuple[Scenario, State]] = {}
TORN = b'{"role":"user","content":"torn'


def scenario(start: State = EMPTY) -> Callable[[Scenario], Scenario]:
    """List a scenario, with what the disk holds when it begins."""

    def add(function: Scenario) -> Scenario:
        SCENARIOS[function.__name__] = (function, start)
        return function

    return add


@scenario()
async def described(home: Home) -> None:
    """`session.json` is replaced, again and again."""
    await home.open()
    await home.append(home.new())
    home.describe("one")
    home.describe("two")
    await home.append(home.new())


@scenario()
async def first_append(home: Home) -> None:
    """The folder and the one above it are made, then a record is written."""
    await home.open()
    await home.append(home.new())
    await home.append(home.new())


@scenario()
async def appends(home: Home) -> None:
    """One after the other, small and large."""
    await home.open()
    for size in (10, 300, 5_000, 10):
        await home.append(home.new(1, size))


@scenario()
async def concurrent_appends(home: Home) -> None:
    """Several share a sync."""
    await home.open()
    await home.append(home.new(), home.new(2), home.new(1, 3_000))
    await home.append(home.new(1, 2_000), home.new(3, 600))


@scenario()
async def batches(home: Home) -> None:
    """Lines that count together or not at all, within a page."""
    await home.open()
    await home.append(home.new(2))
    await home.append(home.new(3, 200))
    await home.append(home.new(2))


@scenario()
async def batches_across_pages(home: Home) -> None:
    """Batches that begin in one page and end in another."""
    await home.open()
    await home.append(home.new(1, 3_500))
    await home.append(home.new(5, 300))
    await home.append(home.new(3, 4_000))


@scenario()
async def reopened(home: Home) -> None:
    """Closed and opened again between appends."""
    await home.open()
    for count in (1, 2, 1):
        await home.append(home.new(count))
        await home.reopen()


@scenario()
async def rewrite_keeping_a_part(home: Home) -> None:
    """As a revert does."""
    await home.open()
    for _ in range(3):
        await home.append(home.new())
    await home.rewrite(keep=1, tail=home.new())
    await home.append(home.new())


@scenario()
async def rewrite_keeping_nothing(home: Home) -> None:
    """As a compaction and a clear do."""
    await home.open()
    await home.append(home.new(2, 3_000))
    await home.rewrite(keep=0, tail=home.new(3))
    await home.rewrite(keep=0, tail=home.new(1))


@scenario()
async def rewrite_with_a_head(home: Home) -> None:
    """As the first system prompt of a log does."""
    await home.open()
    await home.append(home.new())
    await home.rewrite(keep=1, head=home.new(), tail=[])


@scenario()
async def rewrite_from_a_rotation(home: Home) -> None:
    """As a restore and an undo do."""
    await home.open()
    await home.append(home.new())
    await home.append(home.new())
    await home.rewrite(keep=0, tail=home.new())
    await home.append(home.new())
    await home.rewrite(source=1, keep=2, tail=home.new())
    await home.append(home.new())


@scenario()
async def rewrite_of_an_empty_session(home: Home) -> None:
    """The first write of all."""
    await home.open()
    await home.rewrite(keep=0, tail=home.new())


@scenario()
async def rewrite_without_links(home: Home) -> None:
    """The rotation is a copy."""

    def refuse(name: str, path: str) -> None:
        if name == "link":
            raise OSError(errno.EPERM, os.strerror(errno.EPERM), path)

    home.disk.fault = refuse
    await home.open()
    await home.append(home.new(1, 5_000))
    await home.rewrite(keep=0, tail=home.new())
    await home.append(home.new())


@scenario(on_disk(line(801) + TORN))
async def torn_tail(home: Home) -> None:
    """What a crash left is set aside before the first append."""
    home.given(lines=[line(801)], kept=[TORN])
    await home.open()
    await home.append(home.new())
    await home.append(home.new())


@scenario(on_disk(line(801) + frame([line(802), line(803, "y" * 90), line(804)])[:-70]))
async def torn_batch(home: Home) -> None:
    """A batch that is not whole is set aside as one, also by a rewrite."""
    home.given(lines=[line(801)], kept=[line(802)])
    await home.open()
    await home.append(home.new())
    await home.rewrite(keep=1, tail=home.new())


@scenario(on_disk((line(801) + line(802))[:-1]))
async def unfinished_last_line(home: Home) -> None:
    """A whole record that lacks its newline."""
    home.given(lines=[line(801), line(802)])
    await home.open()
    await home.append(home.new())


@scenario(
    State(
        {3: line(801), 4: b"half of a new l", 5: line(800)},
        {
            0: {"a": 1},
            1: {"s": 2},
            2: {"context.jsonl": 3, "context_2.jsonl": 3, ".context.jsonl.new": 4},
        },
    )
)
async def leftovers(home: Home) -> None:
    """A rewrite was cut short before: its spare link and its new file are there."""
    home.given(lines=[line(801)])
    await home.open()
    await home.append(home.new())
    await home.rewrite(keep=1, tail=home.new())


@scenario()
async def failed_sync(home: Home) -> None:
    """What the disk refused may never be there; the log goes on on fresh blocks."""
    await home.open()
    await home.append(home.new())
    failing = True

    def fault(name: str, path: str) -> None:
        if failing and name == "fdatasync":
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    home.disk.fault = fault
    before = home.lines
    try:
        await home.append(home.new(1, 3_000))
    except StoreError:
        failing = False
    assert home.lines == before
    await home.append(home.new())
    await home.append(home.new())


async def twenty(home: Home, seed: int) -> None:
    """Twenty operations drawn at random."""
    random = Random(seed)
    await home.open()
    for _ in range(20):
        match random.choice(["append", "append", "batch", "several", "rewrite", "back", "reopen"]):
            case "append":
                await home.append(home.new(1, random.choice([5, 60])))
            case "batch":
                await home.append(home.new(random.randint(2, 3)))
            case "several":
                await home.append(home.new(), home.new(2))
            case "rewrite":
                await home.rewrite(keep=0, tail=home.new(random.randint(0, 2)))
            case "back" if home.rotations:
                number = random.choice(sorted(home.rotations))
                await home.rewrite(source=number, keep=0, tail=home.new())
            case _:
                await home.reopen()
