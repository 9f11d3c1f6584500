"""Room is made without a moment of risk, and nothing that is needed goes."""

import errno
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import StoreError
from minutebook.store import collecting
from minutebook.store.collecting import Action, Retention, carry_out, plan
from minutebook.store.compressed import Pieces
from minutebook.store.contract import Rotation
from minutebook.store.disk import Disk
from minutebook.testing.disks import Call, FailAt, WatchedDisk
from tests.store.retired import compress, contents, listed, make_rotations, text

DAY = 86_400
LIMITS = st.builds(
    Retention,
    keep_plain=st.integers(0, 4),
    compress=st.booleans(),
    rotations_max=st.none() | st.integers(0, 6),
    age_days_max=st.none() | st.floats(0, 20),
    bytes_max=st.none() | st.integers(0, 3_000),
    drop_history=st.booleans(),
)


@st.composite
def rotations(draw: st.DrawFn) -> list[Rotation]:
    """Draw rotations, some of them compressed, those with a base on one that has none."""
    found: list[Rotation] = []
    numbers = sorted(draw(st.sets(st.integers(1, 30), max_size=8)))
    bases = [number for number in numbers if draw(st.booleans())]
    for number in numbers:
        base = None if number in bases or not bases else draw(st.sampled_from([None, *bases]))
        found.append(
            Rotation(
                number=number,
                bytes=draw(st.sampled_from([-1, 900])),
                stored_bytes=draw(st.integers(0, 900)),
                modified=draw(st.integers(0, 20)) * DAY,
                compressed=base is not None or draw(st.booleans()),
                base=base,
            )
        )
    return found


@given(rotations(), st.frozensets(st.integers(1, 30)), LIMITS)
def test_a_plan_keeps_what_is_needed_and_breaks_nothing(
    there: list[Rotation], needed: frozenset[int], retention: Retention
) -> None:
    """Each rotation once; the needed stay; a base goes after its dependants; limits hold."""
    actions = plan(there, needed, retention, 20 * DAY)

    assert sorted(action.number for action in actions) == [item.number for item in there]
    by_number = {item.number: item for item in there}
    gone: list[int] = []
    for action in actions:
        rotation = by_number[action.number]
        assert action.why
        assert action.stored_bytes == rotation.stored_bytes
        if action.what == "remove":
            assert retention.drop_history or action.number not in needed
            users = [item.number for item in there if item.base == action.number]
            assert set(users) <= set(gone)
            gone.append(action.number)
        if action.what == "compress":
            assert retention.compress
            assert not rotation.compressed
            assert rotation in there[: max(len(there) - retention.keep_plain, 0)]
    whats = [action.what for action in actions]
    assert "remove" not in whats[len(gone) :]
    if not retention.removes:
        assert not gone
    _assert_limits(there, needed, retention, set(gone))


def _assert_limits(
    there: list[Rotation], needed: frozenset[int], retention: Retention, gone: set[int]
) -> None:
    """What is over a limit and still there is needed, or others share a part with it."""
    left = [item for item in there if item.number not in gone]
    held = {item.base for item in left} | (frozenset() if retention.drop_history else needed)
    over = (
        (retention.rotations_max is not None and len(left) > retention.rotations_max)
        or (
            retention.bytes_max is not None
            and sum(item.stored_bytes for item in left) > retention.bytes_max
        )
        or (
            retention.age_days_max is not None
            and any(
                item.modified < (20 - retention.age_days_max) * DAY and item.number not in held
                for item in left
            )
        )
    )
    assert not over or any(item.number in held for item in left)


def test_the_oldest_go_first() -> None:
    """By number, by the bytes they take, by their age; each says why."""
    there = [
        Rotation(number=n, bytes=900, stored_bytes=100, modified=(10 - n) * DAY)
        for n in range(1, 6)
    ]

    def removed(**limits: float) -> dict[int, str]:
        retention = Retention(**limits, drop_history=True)  # type: ignore[arg-type]
        found = plan(there, frozenset(), retention, 20 * DAY)
        return {action.number: action.why for action in found if action.what == "remove"}

    assert removed(rotations_max=3) == dict.fromkeys([1, 2], "more than 3 rotations")
    assert removed(bytes_max=150) == dict.fromkeys([1, 2, 3, 4], "more than 150 bytes in all")
    assert removed(age_days_max=12.5) == dict.fromkeys([3, 4, 5], "older than 12.5 days")
    assert removed(age_days_max=14.5, rotations_max=3) == {
        5: "older than 14.5 days",
        1: "more than 3 rotations",
    }


@pytest.mark.parametrize("order", [(1, 2, 3, 4), (4, 3, 2, 1), (2, 4, 1, 3), (3,)])
def test_compressed_in_any_order_all_stay_as_they_were(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    """Their bytes, numbers, lengths and ages, and they take less room."""
    made = make_rotations(tmp_path)
    for number in made:
        os.utime(tmp_path / f"context_{number}.jsonl", (number * DAY, number * DAY))
    before = listed(tmp_path)

    freed = compress(tmp_path, *order)

    after = listed(tmp_path)
    assert contents(tmp_path) == made
    assert [(item.number, item.bytes, item.modified) for item in after] == [
        (item.number, item.bytes, item.modified) for item in before
    ]
    assert {item.number for item in after if item.compressed} == set(order)
    stored = [sum(item.stored_bytes for item in items) for items in (before, after)]
    assert stored[0] - stored[1] == freed > 0


def test_one_that_shares_nothing_has_no_base(tmp_path: Path) -> None:
    """Nor one whose shared part is too short to be worth it."""
    for number in (1, 2):
        data = text(3_000, 0) + text(9_000, number)
        (tmp_path / f"context_{number}.jsonl").write_bytes(data)

    compress(tmp_path, 1, 2)

    assert [item.base for item in listed(tmp_path)] == [None, None]


def test_the_base_that_shares_most_is_taken(tmp_path: Path) -> None:
    """Among those that are near, also when it is compressed already."""
    whole = text(50_000, 0)
    for number, shared in ((1, 20_000), (2, 50_000), (3, 30_000), (4, 10_000), (5, 49_000)):
        data = whole[:shared] + text(60_000 - shared, number)
        (tmp_path / f"context_{number}.jsonl").write_bytes(data)

    compress(tmp_path, 1, 5)

    bases = {item.number: item.base for item in listed(tmp_path)}
    assert bases[1] in {2, 3}
    assert bases[5] == bases[1]


@pytest.mark.parametrize("sizes", [(6_000, 9_000), (9_000, 6_000), (6_000, 6_000), (5_500, 9_300)])
def test_one_that_is_the_beginning_of_the_next_or_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, int]
) -> None:
    """However many pieces it takes to compare them."""
    monkeypatch.setattr(collecting, "COMPARE_BYTES", 1_000)
    made = {number: text(size, 0) for number, size in enumerate(sizes, 1)}
    for number, data in made.items():
        (tmp_path / f"context_{number}.jsonl").write_bytes(data)

    compress(tmp_path, 1, 2)

    assert [item.base for item in listed(tmp_path)] == [2, None]
    assert contents(tmp_path) == made


def test_at_every_failure_all_rotations_are_readable(tmp_path: Path) -> None:
    """An error at each operation in turn: ours, naming the file, and the next try works."""
    index = 0
    while True:
        folder = tmp_path / str(index)
        folder.mkdir()
        made = make_rotations(folder, 3)
        compress(folder, 1)
        disk = WatchedDisk()
        there = listed(folder, disk)
        disk.fault = fault = FailAt(index, errno.EIO)
        actions = [
            Action(number=1, what="remove", why="", stored_bytes=0),
            Action(number=3, what="compress", why="", stored_bytes=0),
            Action(number=2, what="compress", why="", stored_bytes=0),
        ]
        failed = None
        try:
            carry_out(disk, os.fspath(folder), there, actions, seconds=60)
        except StoreError as error:
            failed = error
        if fault.hit is None:
            break
        if failed is not None:
            assert os.fspath(folder) in failed.path
        left = contents(folder)
        assert left == {number: made[number] for number in left}
        assert set(left) >= {2, 3}
        compress(folder, *(item.number for item in listed(folder) if not item.compressed))
        assert {item.compressed for item in listed(folder)} == {True}
        assert contents(folder) == left
        shutil.rmtree(folder)
        index += 1
    assert index > 60


def test_whenever_the_process_dies_all_rotations_are_readable(tmp_path: Path) -> None:
    """Nothing works any more from one operation on, cleaning up least of all."""
    index = 0
    while True:
        folder = tmp_path / str(index)
        folder.mkdir()
        made = make_rotations(folder, 3)
        disk = WatchedDisk()
        there = listed(folder, disk)
        disk.fault = fault = FailAt(index, errno.EIO, lasting=True)
        actions = [Action(number=n, what="compress", why="", stored_bytes=0) for n in (1, 2)]
        try:
            carry_out(disk, os.fspath(folder), there, actions, seconds=60)
        except StoreError:
            assert fault.hit is not None
        assert contents(folder) == made
        if fault.hit is None:
            break
        compress(folder, *(item.number for item in listed(folder) if not item.compressed))
        assert contents(folder) == made
        names = {path.name for path in folder.iterdir()}
        assert names == {"context.jsonl", *(f"context_{n}.jsonl.zst" for n in made)}
        shutil.rmtree(folder)
        index += 1
    assert index > 40


def test_nothing_is_unlinked_before_it_reads_back_and_is_synced(tmp_path: Path) -> None:
    """Written, synced, read, renamed, the folder synced, and then the plain one goes."""
    make_rotations(tmp_path, 2)
    disk = WatchedDisk()
    compress(tmp_path, 1, disk=disk)

    steps = [(call.name, call.file) for call in disk.calls]
    order = [
        ("create", ".rotation.new"),
        ("write", ".rotation.new"),
        ("fsync", ".rotation.new"),
        ("open", ".rotation.new"),
        ("read", ".rotation.new"),
        ("rename", "context_1.jsonl.zst"),
        ("fsync_folder", tmp_path.name),
        ("unlink", "context_1.jsonl"),
    ]
    places = [steps.index(step) for step in order]
    assert places == sorted(places)
    assert steps[-1] == order[-1]


def test_what_does_not_read_back_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that gives other bytes than were written: the plain one stays."""
    made = make_rotations(tmp_path, 1)

    def other(one: Pieces, another: Pieces) -> bool:
        one.close()
        another.close()
        return False

    monkeypatch.setattr(collecting, "_same", other)
    with pytest.raises(StoreError, match="does not read back"):
        compress(tmp_path, 1)
    assert contents(tmp_path) == made
    assert not (tmp_path / ".rotation.new").exists()


def test_another_rotation_of_the_same_number_is_not_written_over(tmp_path: Path) -> None:
    """`007` counts as 7, so two files may have one number; none is lost."""
    made = make_rotations(tmp_path, 1)
    compress(tmp_path, 1)
    (tmp_path / "context_01.jsonl").write_bytes(b"something else")

    with pytest.raises(StoreError, match="another rotation of this number"):
        compress(tmp_path, 1)
    (tmp_path / "context_01.jsonl").unlink()
    assert contents(tmp_path) == made


def test_one_that_is_there_twice_goes_twice(tmp_path: Path) -> None:
    """The compressed one of an interrupted run does not come back in the plain one's place."""
    make_rotations(tmp_path, 2)
    plain = (tmp_path / "context_1.jsonl").read_bytes()
    compress(tmp_path, 1)
    (tmp_path / "context_1.jsonl").write_bytes(plain)
    actions = [Action(number=1, what="remove", why="", stored_bytes=0)]

    done = carry_out(Disk(), os.fspath(tmp_path), listed(tmp_path), actions, seconds=60)

    assert [item.number for item in listed(tmp_path)] == [2]
    assert done[0].freed_bytes == len(plain)


def test_a_dry_run_says_exactly_what_it_would_free_and_writes_nothing(tmp_path: Path) -> None:
    """Base by base, as the real run does it."""
    make_rotations(tmp_path, 6)
    retention = Retention(keep_plain=1, rotations_max=5, drop_history=True)
    actions = plan(listed(tmp_path), frozenset(), retention, 0)

    def run(disk: Disk, *, dry: bool) -> list[collecting.Outcome]:
        there = listed(tmp_path)
        return carry_out(disk, os.fspath(tmp_path), there, actions, seconds=60, dry=dry)

    def writing(call: Call) -> None:
        assert call.name in {"open", "read", "close", "stat", "fstat", "names"}

    would = run(WatchedDisk(writing), dry=True)
    assert len(contents(tmp_path)) == 6
    assert run(Disk(), dry=False) == would
    assert len(would) == 5
    assert [item.base for item in listed(tmp_path)] == [3, None, 3, 3, None]


def test_what_there_is_no_time_for_is_left(tmp_path: Path) -> None:
    """A rotation that would take too long is passed over; a smaller one is still done."""
    (tmp_path / "context_1.jsonl").write_bytes(text(400_000, 1))
    (tmp_path / "context_2.jsonl").write_bytes(text(4_000, 2))
    actions = plan(listed(tmp_path), frozenset(), Retention(keep_plain=0), 0)
    seconds = 200_000 / collecting.COMPRESSED_A_SECOND

    carry_out(Disk(), os.fspath(tmp_path), listed(tmp_path), actions, seconds=seconds)
    assert not listed(tmp_path)[0].compressed
    carry_out(Disk(), os.fspath(tmp_path), listed(tmp_path), actions, seconds=0)
    assert not listed(tmp_path)[0].compressed
