"""The conformance tests are themselves held: a store that breaks a promise fails them."""

import asyncio
import inspect
import re
from collections.abc import Sequence
from typing import Any

import pytest

from minutebook.codec import checksum
from minutebook.errors import StoreError
from minutebook.records import Rotated
from minutebook.store.contract import Landed, Receipt, Span, Store
from minutebook.store.memory import MemoryStore, Shelf
from minutebook.testing.store import Mode, StoreConformance


def test_every_promise_of_a_store_has_its_tests() -> None:
    """Each number in the contract's docstring is in the name of at least one test."""
    promised = set(re.findall(r"- P(\d+) ", inspect.getdoc(Store) or ""))
    tested = {
        match[1]
        for name, _ in inspect.getmembers(StoreConformance)
        if (match := re.match(r"test_p(\d+)_", name))
    }

    assert tested == promised == {str(number) for number in range(1, 15)}


async def test_a_store_that_is_not_described_cannot_be_tested() -> None:
    """The three hooks have no meaning of their own."""
    suite = StoreConformance()

    with pytest.raises(NotImplementedError):
        await suite.open()
    with pytest.raises(NotImplementedError):
        suite.outside()
    with pytest.raises(NotImplementedError):
        suite.tamper(b"")


class Forgetful(MemoryStore):
    """P1: a message of eight bytes more or less."""

    def append(self, lines: Sequence[bytes]) -> Receipt:
        return super().append([line.replace(b"message 2", b"message 3") for line in lines])


class Unframed(MemoryStore):
    """P2: lines of one append stand alone."""

    def append(self, lines: Sequence[bytes]) -> Receipt:
        start = self.size
        for line in lines:
            super().append([line])
        return Landed(Span(start, self.size))


class Late(MemoryStore):
    """P3: writes when it finds the time."""

    def append(self, lines: Sequence[bytes]) -> Receipt:
        before = self._shelf.log
        receipt = super().append(lines)
        after, self._shelf.log = self._shelf.log, before
        asyncio.get_running_loop().call_soon(setattr, self._shelf, "log", after)
        return receipt


class Hasty(MemoryStore):
    """P4: the newest first."""

    def append(self, lines: Sequence[bytes]) -> Receipt:
        receipt = super().append(lines)
        size = sum(map(len, lines))
        self._known = self._shelf.log = self._known[-size:] + self._known[:-size]
        return receipt


class Sloppy(MemoryStore):
    """P5: counts what was not written."""

    def append(self, lines: Sequence[bytes]) -> Receipt:
        try:
            return super().append(lines)
        except StoreError:
            self._known += b"".join(lines)
            raise


class Bare(MemoryStore):
    """P6: empties the log before it writes the new one."""

    async def rewrite(self, **how: Any) -> Rotated:
        before, tail = self._known, how["tail"]

        def bared(rotated: Rotated) -> Sequence[bytes]:
            self._shelf.log = b""
            lines: Sequence[bytes] = tail(rotated) if callable(tail) else tail
            self._shelf.log = before
            return lines

        return await super().rewrite(**{**how, "tail": bared})


class Shortening(MemoryStore):
    """P7: keeps less of the old log than it says."""

    async def rewrite(self, **how: Any) -> Rotated:
        rotated = await super().rewrite(**how)
        self._shelf.rotations[rotated.number] = self._shelf.rotations[rotated.number][1:]
        return rotated


class Littering(MemoryStore):
    """P8: leaves a rotation where the rewrite failed."""

    async def rewrite(self, **how: Any) -> Rotated:
        before = self._known
        try:
            return await super().rewrite(**how)
        except BaseException:
            self._shelf.rotations[9] = before
            raise


class Refilling(MemoryStore):
    """P9: takes the first number that is free."""

    async def rewrite(self, **how: Any) -> Rotated:
        shelf = self._shelf
        kept, shelf.rotations, shelf.top_number = shelf.rotations, {}, 0
        rotated = await super().rewrite(**{**how, "source": None})
        old = shelf.rotations[rotated.number]
        number = next(n for n in range(1, 99) if n not in kept)
        shelf.rotations = {**kept, number: old}
        return Rotated(number=number, bytes=len(old), hash=checksum(old))


class Shared(MemoryStore):
    """P10: knows no lock."""

    @classmethod
    async def open(cls, shelf: Shelf, *, mode: Mode = "w") -> "Shared":
        shelf.writer = None
        return await super().open(shelf, mode=mode)


class Blind(MemoryStore):
    """P11: never looks."""

    def append(self, lines: Sequence[bytes]) -> Receipt:
        self._shelf.log = self._known
        return super().append(lines)


class Writing(MemoryStore):
    """P12: a reader that writes."""

    def append(self, lines: Sequence[bytes]) -> Receipt:
        self.mode = "w"
        return super().append(lines)


class Fusing(MemoryStore):
    """P13: appends behind whatever stands there."""

    def append(self, lines: Sequence[bytes]) -> Receipt:
        for _ in self.replay():
            pass
        self._good_end = self.size
        self._known = self._shelf.log = self._known + b"".join(lines)
        return Landed(Span(self.size - sum(map(len, lines)), self.size))


class Undead(MemoryStore):
    """P14: writes after its end."""

    def append(self, lines: Sequence[bytes]) -> Receipt:
        self._closed = False
        return super().append(lines)


BROKEN = (
    Forgetful,
    Unframed,
    Late,
    Hasty,
    Sloppy,
    Bare,
    Shortening,
    Littering,
    Refilling,
    Shared,
    Blind,
    Writing,
    Fusing,
    Undead,
)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
async def test_a_store_that_breaks_a_promise_fails_its_tests(broken: type[MemoryStore]) -> None:
    """Of the tests with the promise's number at least one fails."""

    class Suite(StoreConformance):
        def __init__(self) -> None:
            self.shelf = Shelf()

        async def open(self, mode: Mode = "w") -> MemoryStore:
            return await broken.open(self.shelf, mode=mode)

        def outside(self) -> bytes:
            return self.shelf.log

        def tamper(self, log: bytes) -> None:
            self.shelf.log = log

    number = (inspect.getdoc(broken) or "").partition(":")[0].lower()
    failed = 0
    for name, test in inspect.getmembers(Suite, inspect.iscoroutinefunction):
        if name.startswith(f"test_{number}_") and len(inspect.signature(test).parameters) == 1:
            try:
                await getattr(Suite(), name)()
            except (AssertionError, StoreError, pytest.fail.Exception, KeyError):
                failed += 1

    assert failed
