"""The promises of a store, as tests that a new store inherits.

    class TestMyStore(StoreConformance):
        async def open(self, mode="w"): ...
        def outside(self): ...
        def tamper(self, log): ...

Each test is named after the promise of `minutebook.store.contract.Store` that it holds. Needs
pytest and pytest-asyncio in auto mode.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import pytest

from minutebook.codec import checksum, encode_line, frame
from minutebook.errors import LogChanged, SessionLocked, StoreError
from minutebook.lines import flatten
from minutebook.messages import replace, user
from minutebook.records import Batch, Checkpoint, Revert

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from minutebook.records import Rotated
    from minutebook.store.contract import Store

Mode = Literal["w", "r"]
BOM = b"\xef\xbb\xbf"


def line(number: int, text: str = "") -> bytes:
    """Give the line of a user's message that no other call gives."""
    return encode_line(replace(user(text or f"message {number} \u2028 of this test"), seq=number))


def lines(store: Store) -> list[bytes]:
    """Read the log: the bytes of each record, newline left out, in order."""
    found = [(entry.start, entry.end) for entry in flatten(store.replay())]
    whole = content(store)
    return [whole[start:end] for start, end in found]


def content(store: Store, source: int | None = None) -> bytes:
    """Give all bytes of the log or of a rotation."""
    return b"".join(store.pieces(source))


def joined(*parts: bytes) -> list[bytes]:
    """Give lines as `lines` reads them."""
    return [part.removesuffix(b"\n") for part in parts]


class StoreHooks:
    """How the store of a test is opened and looked at: what a subclass has to say.

    One test has one session; `open` opens that same session each time it is called.
    """

    async def open(self, mode: Mode = "w") -> Store:
        """Open the session of this test; it is made when it is opened for the first time."""
        raise NotImplementedError

    def outside(self) -> bytes:
        """Give the log's bytes as another program would see them."""
        raise NotImplementedError

    def tamper(self, log: bytes) -> None:
        """Put other bytes in the log's place, as another program would."""
        raise NotImplementedError

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Make writes fail while the context lasts.

        A store whose writes can fail for other reasons than a changed log overrides this.
        """
        before = self.outside()
        self.tamper(before + line(99))
        yield
        self.tamper(before)


class AppendPromises(StoreHooks):
    """P1 to P5: what an append promises."""

    async def test_p1_what_was_appended_is_read_back(self) -> None:
        """P1: the lines come back byte for byte, in the order of the calls, also when reopened."""
        store = await self.open()
        written = [line(1), line(2, "two"), encode_line(Checkpoint(id=0, content="c"))]
        spans = [await store.append([one]) for one in written]
        assert lines(store) == joined(*written)
        assert [content(store)[span.start : span.end] for span in spans] == written
        await store.close()
        again = await self.open()
        assert lines(again) == joined(*written)
        assert content(again) == b"".join(written)
        assert again.size == len(b"".join(written))
        await again.close()

    async def test_p1_a_span_names_the_lines_of_a_batch_without_its_header(self) -> None:
        """P1: a span begins at the first line, behind the batch's own line."""
        store = await self.open()
        span = await store.append([line(1), line(2)])
        assert content(store)[span.start : span.end] == line(1) + line(2)
        assert span.end == store.size
        await store.close()

    async def test_p1_a_part_of_the_log_is_read_by_its_bytes(self) -> None:
        """P1: pieces can be asked for from one byte to another."""
        store = await self.open()
        await store.append([line(1)])
        await store.append([line(2)])
        whole = line(1) + line(2)
        assert b"".join(store.pieces(start=7)) == whole[7:]
        assert b"".join(store.pieces(start=3, end=11)) == whole[3:11]
        assert b"".join(store.pieces(end=10_000_000)) == whole
        with pytest.raises(StoreError):
            content(store, 1)
        await store.close()

    async def test_p2_lines_appended_together_count_together_or_not_at_all(self) -> None:
        """P2: of a batch that is cut at any byte nothing is read; whole, all of it is."""
        store = await self.open()
        await store.append([line(1)])
        await store.append([line(2), line(3), line(4)])
        await store.close()
        whole = self.outside()
        before = len(line(1))
        for cut in range(before, len(whole)):
            self.tamper(whole[:cut])
            reader = await self.open("r")
            assert lines(reader) == joined(line(1)), cut
            await reader.close()
        self.tamper(whole)
        reader = await self.open("r")
        assert lines(reader) == joined(line(1), line(2), line(3), line(4))
        await reader.close()

    async def test_p2_a_batch_with_a_damaged_byte_is_set_aside_whole(self) -> None:
        """P2: a batch whose hash does not match its lines gives none of them, and is reported."""
        store = await self.open()
        await store.append([line(1, "aaaa"), line(2, "bbbb")])
        await store.append([line(3)])
        await store.close()
        self.tamper(self.outside().replace(b"bbbb", b"bxbb"))
        reader = await self.open("r")
        assert lines(reader) == joined(line(3))
        assert [problem.kind for problem in reader.problems] == ["batch"]
        await reader.close()

    async def test_p2_a_single_line_stands_by_itself(self) -> None:
        """P2: only two or more lines stand behind a `_batch` line."""
        store = await self.open()
        await store.append([line(1)])
        assert self.outside() == line(1)
        await store.append([line(2), line(3)])
        assert self.outside() == line(1) + frame([line(2), line(3)])
        await store.close()

    async def test_p3_an_append_is_written_when_the_call_returns(self) -> None:
        """P3: others see the lines at once; the receipt, once done, says where they stand."""
        store = await self.open()
        receipt = store.append([line(1)])
        assert self.outside() == line(1)
        assert store.size == len(line(1))
        span = await receipt
        assert receipt.done()
        assert receipt.result() == span
        await store.close()

    async def test_p4_concurrent_appends_keep_their_order_of_call(self) -> None:
        """P4: lines lie in the order of the calls, and receipts are done in that order too."""
        store = await self.open()
        done: list[int] = []

        async def append(number: int) -> None:
            await store.append([line(number)])
            done.append(number)

        numbers = range(1, 41)
        await asyncio.gather(*(append(number) for number in numbers))
        assert lines(store) == joined(*map(line, numbers))
        assert done == list(numbers)
        await store.close()

    async def test_p5_a_failed_append_leaves_the_log_and_the_next_one_works(self) -> None:
        """P5: nothing of it is there, the store's size is as before, and it may be tried again."""
        store = await self.open()
        await store.append([line(1)])
        with self.failing(), pytest.raises(StoreError):
            await store.append([line(2), line(3)])
        assert self.outside() == line(1)
        assert store.size == len(line(1))
        await store.append([line(2), line(3)])
        assert lines(store) == joined(line(1), line(2), line(3))
        await store.close()


class RewritePromises(StoreHooks):
    """P6 to P9: what a rewrite promises."""

    async def test_p6_a_rewrite_keeps_a_part_and_adds_a_tail(self) -> None:
        """P6: the new log is head, kept bytes and tail; the store reads and extends it."""
        store = await self.open()
        await store.append([line(1)])
        await store.append([line(2)])
        keep = len(line(1))
        await store.rewrite(head=[line(8)], keep=keep, tail=[line(3), line(4)], reason="test")
        expected = line(8) + line(1) + line(3) + line(4)
        assert self.outside() == content(store) == expected
        assert store.size == len(expected)
        await store.append([line(5)])
        assert lines(store) == joined(line(8), line(1), line(3), line(4), line(5))
        await store.close()

    async def test_p6_a_rewrite_may_keep_nothing_or_all(self) -> None:
        """P6: nothing kept leaves the tail alone; all kept without a tail is the same log."""
        store = await self.open()
        await store.append([line(1)])
        await store.rewrite(keep=store.size, tail=(), reason="test")
        assert content(store) == line(1)
        await store.rewrite(keep=0, tail=[line(2)], reason="test")
        assert content(store) == line(2)
        await store.rewrite(keep=0, tail=(), reason="test")
        assert content(store) == b""
        await store.append([line(3)])
        assert content(store) == line(3)
        await store.close()

    async def test_p6_a_reader_sees_the_old_log_or_the_new_one(self) -> None:
        """P6: while the rewrite is under way the old log is there, whole."""
        store = await self.open()
        await store.append([line(1)])
        seen: list[bytes] = []

        def tail(_rotated: Rotated) -> Sequence[bytes]:
            seen.append(self.outside())
            return [line(2)]

        await store.rewrite(keep=0, tail=tail, reason="test")
        assert seen == [line(1)]
        assert self.outside() == line(2)
        await store.close()

    async def test_p6_what_is_kept_never_fuses_with_the_tail(self) -> None:
        """P6: a kept last line without its newline gets one."""
        self.tamper(line(1) + line(2)[:-1])
        store = await self.open()
        assert lines(store) == joined(line(1), line(2))
        keep = len(line(1) + line(2)) - 1
        await store.rewrite(keep=keep, tail=[line(3)], reason="test")
        assert content(store) == line(1) + line(2) + line(3)
        await store.close()

    async def test_p6_a_byte_order_mark_never_comes_to_stand_inside(self) -> None:
        """P6: lines put before a log that begins with one take its place."""
        self.tamper(BOM + line(1))
        store = await self.open()
        await store.rewrite(head=[line(8)], keep=store.size, tail=(), reason="test")
        assert content(store) == line(8) + line(1)
        await store.close()

    async def test_p6_a_rotation_can_be_the_source(self) -> None:
        """P6: the kept bytes may come from a rotation, which stays."""
        store = await self.open()
        await store.append([line(1)])
        await store.append([line(2)])
        first = await store.rewrite(keep=0, tail=[line(3)], reason="test")
        second = await store.rewrite(
            source=first.number, keep=len(line(1)), tail=[line(4)], reason="test"
        )
        assert content(store) == line(1) + line(4)
        assert content(store, first.number) == line(1) + line(2)
        assert content(store, second.number) == line(3)
        await store.close()

    async def test_p7_the_old_log_becomes_a_rotation(self) -> None:
        """P7: byte for byte, with the length and check sum that the tail is told."""
        store = await self.open()
        await store.append([line(1), line(2)])
        before = content(store)
        told: list[Rotated] = []

        def tail(rotated: Rotated) -> Sequence[bytes]:
            told.append(rotated)
            return [encode_line(Revert(content="reverted", origin=rotated))]

        rotated = await store.rewrite(keep=0, tail=tail, reason="test")
        assert told == [rotated]
        assert (rotated.bytes, rotated.hash) == (len(before), checksum(before))
        assert [(kept.number, kept.bytes) for kept in store.rotations()] == [
            (rotated.number, len(before))
        ]
        assert content(store, rotated.number) == before
        assert b"".join(store.pieces(rotated.number, start=5, end=9)) == before[5:9]
        await store.close()

    async def test_p8_a_rewrite_that_fails_leaves_all_as_it_was(self) -> None:
        """P8: whatever fails, log and rotations are as before, and the next one works."""
        store = await self.open()
        await store.append([line(1)])

        def failing_tail(_rotated: Rotated) -> Sequence[bytes]:
            message = "no tail"
            raise ZeroDivisionError(message)

        with pytest.raises(ZeroDivisionError):
            await store.rewrite(keep=0, tail=failing_tail, reason="test")
        for keep in (-1, store.size + 1):
            with pytest.raises(StoreError):
                await store.rewrite(keep=keep, tail=(), reason="test")
        with pytest.raises(StoreError):
            await store.rewrite(source=7, keep=0, tail=(), reason="test")
        with self.failing(), pytest.raises(StoreError):
            await store.rewrite(keep=0, tail=[line(2)], reason="test")
        assert self.outside() == content(store) == line(1)
        assert store.rotations() == []
        await store.append([line(2)])
        rotated = await store.rewrite(keep=0, tail=[line(3)], reason="test")
        assert content(store, rotated.number) == line(1) + line(2)
        await store.close()

    async def test_p9_rotation_numbers_only_grow(self) -> None:
        """P9: each is larger than those before, in one run and after reopening."""
        store = await self.open()
        await store.append([line(1)])
        numbers = [
            (await store.rewrite(keep=0, tail=[line(2)], reason="test")).number for _ in range(3)
        ]
        await store.close()
        again = await self.open()
        numbers.append((await again.rewrite(keep=0, tail=[line(3)], reason="test")).number)
        assert numbers == sorted(set(numbers))
        assert [rotation.number for rotation in again.rotations()] == numbers
        await again.close()

    async def test_p9_a_number_that_the_lineage_names_is_not_used_again(self) -> None:
        """P9: a record in the log that names a rotation keeps its number taken."""
        store = await self.open()
        await store.append([line(1)])
        rotated = await store.rewrite(keep=0, tail=[line(2)], reason="test")
        named = encode_line(Revert(content="r", origin=replace_number(rotated, 41)))
        await store.append([named])
        await store.close()
        again = await self.open()
        assert (await again.rewrite(keep=0, tail=(), reason="test")).number == 42
        await again.close()


class SharingPromises(StoreHooks):
    """P10 to P12: what holds where others are at the same log."""

    async def test_p10_a_second_writer_is_refused(self) -> None:
        """P10: while the first is open; the error names its process, and nothing is changed."""
        first = await self.open()
        await first.append([line(1)])
        with pytest.raises(SessionLocked) as caught:
            await self.open()
        assert caught.value.pid
        await first.append([line(2)])
        await first.close()
        second = await self.open()
        await second.append([line(3)])
        assert lines(second) == joined(line(1), line(2), line(3))
        await second.close()

    async def test_p10_of_many_writers_at_once_one_gets_in(self) -> None:
        """P10: the others are all refused."""
        outcomes = await asyncio.gather(*(self.open() for _ in range(5)), return_exceptions=True)
        refused = [outcome for outcome in outcomes if isinstance(outcome, SessionLocked)]
        opened = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        assert (len(opened), len(refused)) == (1, 4)
        await opened[0].close()

    async def test_p11_a_changed_log_is_noticed_before_a_write(self) -> None:
        """P11: appended to, cut, or replaced: `LogChanged`, and nothing is written."""
        store = await self.open()
        await store.append([line(1)])
        for other in (line(1) + line(7), line(1)[:-9], line(6, "another log altogether")):
            self.tamper(other)
            with pytest.raises(LogChanged) as caught:
                await store.append([line(2)])
            assert not caught.value.written
            with pytest.raises(LogChanged):
                await store.rewrite(keep=0, tail=(), reason="test")
            assert self.outside() == other
            assert store.rotations() == []
        await store.close()

    async def test_p11_after_a_refresh_the_changed_log_is_ours(self) -> None:
        """P11: what the other program wrote is read, and appends go on behind it."""
        store = await self.open()
        await store.append([line(1)])
        self.tamper(line(1) + line(7))
        with pytest.raises(LogChanged):
            await store.append([line(2)])
        store.refresh()
        assert lines(store) == joined(line(1), line(7))
        await store.append([line(2)])
        assert lines(store) == joined(line(1), line(7), line(2))
        await store.close()

    async def test_p12_a_reader_writes_nothing_and_takes_no_lock(self) -> None:
        """P12: it reads beside a writer, and refuses each write."""
        store = await self.open()
        await store.append([line(1)])
        reader = await self.open("r")
        other = await self.open("r")
        assert lines(reader) == lines(other) == joined(line(1))
        with pytest.raises(StoreError):
            reader.append([line(2)])
        with pytest.raises(StoreError):
            await reader.rewrite(keep=0, tail=(), reason="test")
        await store.append([line(2)])
        reader.refresh()
        assert lines(reader) == joined(line(1), line(2))
        await reader.close()
        await other.close()
        await store.append([line(3)])
        await store.close()


class EndPromises(StoreHooks):
    """P13 and P14: the end of the log, and the end of the store."""

    @pytest.mark.parametrize("torn", [line(2)[:-9], b"\0" * 700, b'{"role":"user', b"{"])
    async def test_p13_a_torn_tail_is_set_aside_before_the_first_append(self, torn: bytes) -> None:
        """P13: it is read as nothing, reported, and the next line stands by itself."""
        self.tamper(line(1) + torn)
        store = await self.open()
        assert lines(store) == joined(line(1))
        assert [problem.kind for problem in store.problems] == ["torn"]
        await store.append([line(3)])
        assert self.outside() == line(1) + line(3)
        await store.close()

    async def test_p13_a_batch_torn_at_any_byte_swallows_no_later_line(self) -> None:
        """P13: whatever is left of it, what is appended next is read back alone."""
        whole = frame([line(2), line(3)])
        for cut in range(1, len(whole)):
            self.tamper(line(1) + whole[:cut])
            store = await self.open()
            await store.append([line(4)])
            await store.append([line(5), line(6)])
            await store.close()
            reader = await self.open("r")
            assert lines(reader) == joined(line(1), line(4), line(5), line(6)), cut
            assert list(reader.problems) == []
            await reader.close()

    async def test_p13_a_whole_last_line_without_its_newline_is_kept(self) -> None:
        """P13: it is a record, and the next one does not fuse with it."""
        self.tamper(line(1) + line(2)[:-1])
        store = await self.open()
        await store.append([line(3)])
        assert self.outside() == line(1) + line(2) + line(3)
        await store.close()

    async def test_p13_a_batch_header_alone_counts_as_torn(self) -> None:
        """P13: with and without its newline, it claims nothing of what comes later."""
        header = encode_line(Batch(n=2, bytes=4_000, hash="crc32:00000000", content="batch of 2"))
        for end in (header, header[:-1]):
            self.tamper(line(1) + end)
            store = await self.open()
            await store.append([line(2)])
            assert lines(store) == joined(line(1), line(2))
            await store.close()

    async def test_p14_a_closed_store_refuses_every_write(self) -> None:
        """P14: closing waits for what is under way, may be repeated, and ends all writing."""
        store = await self.open()
        receipt = store.append([line(1)])
        await store.close()
        assert receipt.done()
        await store.close()
        with pytest.raises(StoreError):
            store.append([line(2)])
        with pytest.raises(StoreError):
            await store.rewrite(keep=0, tail=(), reason="test")
        assert self.outside() == line(1)


class StoreConformance(AppendPromises, RewritePromises, SharingPromises, EndPromises):
    """All promises of a store. Inherit it, and define the hooks of `StoreHooks`."""


def replace_number(rotated: Rotated, number: int) -> Rotated:
    """Give the name of another rotation."""
    return type(rotated)(number=number, bytes=rotated.bytes, hash=rotated.hash)
