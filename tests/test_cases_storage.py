"""Cases of public faults that concern a session's files as a whole, by their ids.

Where a case leaves a choice to a stated rule: nothing of ours ever removes a session or its
log, only rotations and only when told to; a session is named by its folder, never by a part of
a name; and what cannot be read is listed with its problem and never taken for old or empty.
"""

import asyncio
import errno
import os
import stat
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

import minutebook
from minutebook.errors import LogChanged, SessionLocked, StoreError
from minutebook.messages import assistant, call, tool, user
from minutebook.opening import open_session
from minutebook.repairing import repair
from minutebook.session import Session
from minutebook.store.collecting import Retention
from minutebook.store.files import FileStore
from minutebook.store.listing import INDEX, list_sessions
from minutebook.testing.disks import Call, WatchedDisk
from tests.cli.support import run, run_json

MEGABYTE = 1 << 20


def texts(session: Session) -> list[str]:
    """Give what the messages of a session say."""
    return [message.text for message in session.context.history]


async def make(folder: Path, *said: str) -> Path:
    """Make a session with some messages."""
    async with open_session(folder, durability="process") as session:
        await session.append(*map(user, said or ("hello",)))
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    """Give every file below a folder, locks left out."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def logs_below(root: Path) -> dict[str, bytes]:
    """Give every log below a folder."""
    return {name: data for name, data in snapshot(root).items() if name.endswith("context.jsonl")}


def remove(folder: Path) -> None:
    """Delete a folder and what is in it."""
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def delete_log(folder: Path) -> None:
    """Delete a session's log."""
    (folder / "context.jsonl").unlink()


def replace_log(folder: Path) -> None:
    """Put another file in the place of a session's log."""
    (folder / "other").write_bytes((folder / "context.jsonl").read_bytes())
    (folder / "other").rename(folder / "context.jsonl")


def halve_log(folder: Path) -> None:
    """Cut a session's log to half."""
    log = folder / "context.jsonl"
    os.truncate(log, log.stat().st_size // 2)


@pytest.mark.parametrize("harm", [delete_log, replace_log, halve_log, remove])
async def test_c071_a_log_that_goes_away_under_its_writer_is_noticed(
    tmp_path: Path, harm: object
) -> None:
    """Deleted, replaced, cut, or its folder gone: an error, and no new file without a start."""
    assert callable(harm)
    folder = tmp_path / "s"
    async with open_session(folder) as session:
        await session.append(user("m1"), user("m2"))
        harm(folder)
        left = snapshot(tmp_path)
        with pytest.raises(LogChanged, match=r"deleted|replaced|bytes less"):
            await session.append(user("m3"))
        assert snapshot(tmp_path) == left
        assert texts(session) == ["m1", "m2"]
    assert snapshot(tmp_path) == left


async def test_c071_what_goes_away_while_sessions_are_listed_is_skipped(tmp_path: Path) -> None:
    """The others are listed, and opening what has gone says so."""
    for name in ("a", "b"):
        await make(tmp_path / name)

    def gone(call: Call) -> None:
        if call.name == "stat" and call.path.endswith("/a") and (tmp_path / "a").exists():
            remove(tmp_path / "a")

    found = list_sessions(str(tmp_path), disk=WatchedDisk(gone))
    assert [item.path for item in found] == ["b"]
    with pytest.raises(StoreError, match="no such session"):
        async with open_session(tmp_path / "a", create=False):
            pass


WORK = """
import asyncio, sys, time
from minutebook.errors import LogChanged, SessionLocked
from minutebook.repairing import repair
from minutebook.store.files import FileStore
from minutebook.store.listing import list_sessions

async def main(root, times):
    for _ in range(times):
        list_sessions(root)
        try:
            store = await FileStore.open(root + "/s", lock_timeout=5)
        except SessionLocked:
            continue
        try:
            await repair(store, clock=time.time)
        except LogChanged:
            pass  # a program that takes no lock got in between; nothing was done
        await store.close()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def started(root: Path) -> list[subprocess.Popen[bytes]]:
    """Start two processes that list and repair."""
    return [subprocess.Popen([sys.executable, "-c", WORK, str(root), "25"]) for _ in range(2)]


async def test_c077_repairs_and_lists_in_two_processes_lose_no_append(tmp_path: Path) -> None:
    """One complete version of everything at the end, no temporary file, each mode as it was."""
    folder = await make(tmp_path / "s", "first")
    working = started(tmp_path)
    said = 0
    while any(process.poll() is None for process in working):
        async with open_session(folder, lock_timeout=20, durability="process") as session:
            await session.append(user(f"message {said}"))
            said += 1
        with (folder / "context.jsonl").open("ab") as file:
            file.write(b"no record\n")
        await asyncio.sleep(0)
    assert [process.wait() for process in working] == [0, 0]

    store = await FileStore.open(folder)
    await repair(store, clock=lambda: 1.0)
    await store.close()
    async with open_session(folder, mode="r") as session:
        assert texts(session) == ["first", *(f"message {number}" for number in range(said))]
        assert session.problems == ()
    list_sessions(str(tmp_path))
    names = {name.rpartition("/")[2] for name in snapshot(tmp_path) if "context_" not in name}
    assert names == {INDEX, "context.jsonl", "context.bad.jsonl", "session.json"}
    assert_private(tmp_path / "s")
    assert stat.S_IMODE((tmp_path / INDEX).stat().st_mode) == 0o600


def assert_private(folder: Path) -> None:
    """Hold that nobody else may look into a session."""
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert set(modes.values()) == {0o600}, modes


async def test_c079_compactions_at_once_are_one(tmp_path: Path) -> None:
    """Three that are asked for while the first runs: one is done, and one summary is there."""
    async with open_session(tmp_path / "s", window=8_000, durability="process") as session:
        for number in range(40):
            asked = assistant(f"step {number}", tool_calls=[call(f"c{number}", "Shell")])
            await session.append(
                user(f"question {number}"), asked, tool(f"c{number}", "a line of output\n" * 60)
            )
        assert session.used > 8_000
        await asyncio.gather(session.fit(), session.fit(), session.fit())
        records = [record for record in session.context.lineage if hasattr(record, "carried")]
        assert len(records) == 1
        origins = [message.origin for message in session.context.history]
        assert origins.count("summary") <= 1
        assert session.used < 8_000


async def test_c080_a_session_with_a_large_history_opens_at_the_cost_of_its_log(
    tmp_path: Path,
) -> None:
    """No byte of a rotation is read; what is opened is what a slow replay gives."""
    folder = tmp_path / "s"
    async with open_session(folder, durability="process", window=20_000) as session:
        for number in range(60):
            asked = assistant("", tool_calls=[call(f"t{number}", "run")])
            output = tool(f"t{number}", "0123456789abcdef" * 4_096)
            await session.append(user(f"ask {number}"), asked, output)
        await session.compact()
        await session.append(user("LAST MESSAGE"))
        expected = session.context.history
    assert (folder / "context_1.jsonl").stat().st_size > 3 * MEGABYTE

    disk = WatchedDisk()
    tracemalloc.start()
    store = await FileStore.open(folder, mode="r", disk=disk)
    session = Session(store, _settings())
    session.replay()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert session.context.history == expected
    assert {call.file for call in disk.named("open")} == {"context.jsonl", "session.json"}
    assert peak < 2 * MEGABYTE
    await session.close()


def _settings() -> minutebook.reports.Settings:
    values = {"window": None, "model": None, "tools": (), "max_output": None}
    return minutebook.reports.Settings.of(**values, preset_name="default")  # type: ignore[arg-type]


async def test_c080_a_list_of_large_sessions_takes_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads a piece at a time and no tool result as JSON; and counts what opening counts."""
    monkeypatch.setattr("minutebook.store.rewriting.PIECE_BYTES", 1 << 17)
    for name in ("a", "b"):
        async with open_session(tmp_path / name, durability="process") as session:
            for number in range(30):
                asked = assistant("", tool_calls=[call(f"t{number}", "run")])
                output = tool(f"t{number}", "0123456789abcdef" * 4_096)
                await session.append(user(f"ask {number}"), asked, output)

    tracemalloc.start()
    found = list_sessions(str(tmp_path), cached=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert [(item.title, item.messages) for item in found] == [("ask 0", 90)] * 2
    assert peak < 2 * MEGABYTE


def test_c082_what_cannot_be_opened_says_why_and_nothing_is_made(tmp_path: Path) -> None:
    """Missing; not permitted; damaged in every line, with their number; exit codes tell."""
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "context.jsonl").write_bytes(b"x\n" * 7)
    before = snapshot(tmp_path)

    assert "No such file" in run("show", tmp_path / "none", code=1).stderr
    assert "no such session" in run("checkpoint", tmp_path / "none", code=1).stderr
    assert run_json("inspect", damaged)["problems"][6]["line"] == 7
    assert "7 damaged lines and no message" in run("sessions", tmp_path, "--no-cache").stdout
    assert snapshot(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged"]


async def test_c082_a_log_that_may_not_be_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    """It is not taken for a missing one."""
    folder = await make(tmp_path / "s")

    def refuse(call: Call) -> None:
        if call.name == "open" and call.file == "context.jsonl":
            raise PermissionError(errno.EACCES, "Permission denied")

    with pytest.raises(StoreError, match="permission denied") as caught:
        await FileStore.open(folder, mode="r", disk=WatchedDisk(refuse))
    assert "check the owner and the mode" in caught.value.remedy


async def test_c116_what_keeps_a_session_sound_and_small_keeps_it_private(tmp_path: Path) -> None:
    """Repair, gc, fork, index: 0600 and 0700 whatever the umask, from the first moment."""
    modes: set[tuple[str, int]] = set()

    class Looking(WatchedDisk):
        def write(self, descriptor: int, data: bytes | memoryview) -> int:
            modes.add((self._paths[descriptor], stat.S_IMODE(os.fstat(descriptor).st_mode)))
            return super().write(descriptor, data)

    old = os.umask(0)
    try:
        folder = await make(tmp_path / "s", "one", "two")
        with (folder / "context.jsonl").open("ab") as file:
            file.write(b"no record\n")
        store = await FileStore.open(folder, disk=Looking())
        await repair(store, clock=lambda: 1.0)
        store.collect(frozenset(), Retention(keep_plain=0), now=0, seconds=9)
        await store.close()
        list_sessions(str(tmp_path), disk=Looking())
        async with open_session(folder) as session:
            await session.fork(tmp_path / "fork")
    finally:
        os.umask(old)
    assert_private(folder)
    assert_private(tmp_path / "fork")
    assert {mode for _, mode in modes} == {0o600}
    assert {Path(path).name for path, _ in modes} >= {".rotation.new", "context.bad.jsonl"}


async def test_c124_no_limit_removes_a_session(tmp_path: Path) -> None:
    """Old, new, touched, restored, in use, pinned, damaged: gc leaves each log as it is."""
    day = 86_400
    ages = {"S1": 0, "S2": 0, "S3": 60, "S4": 40, "S5": 40, "S6": 40, "damaged": 400}
    for name, days in ages.items():
        folder = await make(tmp_path / name)
        async with open_session(folder, retention=None) as session:
            await session.clear()
            await session.append(user(f"of {name}"))
            await session.pin(2)
        if name == "damaged":
            (folder / "context.jsonl").write_bytes(b"\0" * 90)
        when = (folder / "context.jsonl").stat().st_mtime - days * day
        os.utime(folder / "context.jsonl", (when, when))
    logs = logs_below(tmp_path)
    async with open_session(tmp_path / "S4") as busy:
        before = snapshot(tmp_path)
        assert (await asyncio.to_thread(run_json, "gc", tmp_path))["done"] is False
        assert snapshot(tmp_path) == {**before, INDEX: (tmp_path / INDEX).read_bytes()}
        limits = ("--max-age-days", 0, "--max-rotations", 0, "--max-bytes", 0, "--drop-history")
        facts = await asyncio.to_thread(run_json, "gc", tmp_path, *limits, "--yes")
        with pytest.raises(SessionLocked):
            await FileStore.open(tmp_path / "S4")
        assert [item["left_alone"] for item in facts["sessions"] if item["left_alone"]] == [
            "in use"
        ]
        assert len(busy.rotations()) == 1
    assert logs_below(tmp_path) == logs
    assert sum("context_" in name for name in snapshot(tmp_path)) == 1


async def test_c126_a_session_is_its_folder(tmp_path: Path) -> None:
    """Deleted with it, forks go on; an index is rebuilt; a log that is gone shows as missing."""
    folder = await make(tmp_path / "root" / "s", "one")
    async with open_session(folder) as session:
        await session.clear()
        await session.append(user("two"))
        await session.fork(tmp_path / "root" / "fork")
    root = str(tmp_path / "root")
    first = list_sessions(root)
    (tmp_path / "root" / INDEX).unlink()
    assert list_sessions(root) == first

    remove(folder)
    assert [item.path for item in list_sessions(root)] == ["fork"]
    async with open_session(tmp_path / "root" / "fork", mode="r") as session:
        assert [message.text for message in session.history(full=True)] == ["one", "two"]
    (tmp_path / "root" / "fork" / "context.jsonl").unlink()
    (listed,) = list_sessions(root)
    assert (listed.path, listed.problem) == ("fork", "context.jsonl is missing")
    # What could not be removed whole stays listed, with what is left of it.
    assert listed.rotations == 1


@pytest.mark.parametrize("name", ["context.jsonl", "session.json", "context_1.jsonl"])
async def test_a_named_pipe_in_place_of_a_file_keeps_nobody_waiting(
    tmp_path: Path, name: str
) -> None:
    """Who opens one would wait for its other end for ever."""
    folder = await make(tmp_path / "s")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    if name == "context.jsonl":
        with pytest.raises(StoreError, match="not a plain file"):
            await FileStore.open(folder, mode="r")
        return
    async with open_session(folder, mode="r") as session:
        assert texts(session) == ["hello"]
        assert session.rotations() == []
