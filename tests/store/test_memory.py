"""The store without a disk keeps every promise of the contract."""

import pytest

from minutebook.store.memory import MemoryStore, Shelf
from minutebook.testing.store import Mode, StoreConformance, line, lines


class TestMemoryStore(StoreConformance):
    @pytest.fixture(autouse=True)
    def _shelf(self) -> None:
        self.shelf = Shelf()

    async def open(self, mode: Mode = "w") -> MemoryStore:
        return await MemoryStore.open(self.shelf, mode=mode)

    def outside(self) -> bytes:
        return self.shelf.log

    def tamper(self, log: bytes) -> None:
        self.shelf.log = log

    async def test_what_is_set_aside_is_kept(self) -> None:
        """A torn tail and a failed batch lie in `bad`, each on a line of its own."""
        self.tamper(line(1) + b'{"role":"us')
        store = await self.open()
        await store.append([line(2)])
        await store.close()
        self.tamper(self.outside() + b'{"role":')
        store = await self.open()
        await store.append([line(3)])
        assert self.shelf.bad == b'{"role":"us\n{"role":\n'
        assert lines(store) == [line(number)[:-1] for number in (1, 2, 3)]
        await store.close()

    async def test_it_names_itself(self) -> None:
        """Messages to people say that the session is in memory."""
        store = await self.open()
        assert store.path == "memory"
        await store.close()
