"""The public faults of session files, on ours: what is appended after damage is safe from it."""

import os
from pathlib import Path

import pytest

from minutebook.lines import flatten
from minutebook.messages import Message
from minutebook.store.files import FileStore
from minutebook.testing.store import joined, line, lines
from tests.cases import case


def session(folder: Path, log: bytes) -> Path:
    """Lay out a session's folder with a log."""
    folder.mkdir()
    (folder / "context.jsonl").write_bytes(log)
    return folder


async def texts(folder: Path) -> tuple[list[str], list[str]]:
    """Give the text of each message of a session, and the kinds of problems found."""
    reader = await FileStore.open(folder, mode="r")
    records = [entry.record for entry in flatten(reader.replay())]
    found = [record.text for record in records if isinstance(record, Message)]
    await reader.close()
    return found, [problem.kind for problem in reader.problems]


async def add(folder: Path, *appended: bytes) -> None:
    """Open a session, append to it, and close it."""
    store = await FileStore.open(folder)
    for one in appended:
        await store.append([one])
    await store.close()


async def test_c061_a_torn_last_line_costs_itself_alone(tmp_path: Path) -> None:
    """C061.1, .2: the fragment is moved to the side, and the next record has its own line."""
    log = case("C061").log()
    folder = session(tmp_path / "s", log)
    assert (await texts(folder))[1] == ["torn"]
    await add(folder, line(6, "after the crash"))
    assert await texts(folder) == (
        ["line 1", "line 2", "line 3", "line 4", "after the crash"],
        [],
    )
    fragment = log[log.rindex(b"\n") + 1 :]
    assert (folder / "context.bad.jsonl").read_bytes() == fragment + b"\n"


async def test_c061_a_whole_last_line_only_lacks_its_newline(tmp_path: Path) -> None:
    """C061.3: it is a record, and the next append does not fuse with it."""
    folder = session(tmp_path / "s", case("C061").log("log_complete_no_newline.jsonl"))
    await add(folder, line(5, "after the crash"))
    assert await texts(folder) == (
        ["line 1", "line 2", "line 3", "line 4", "after the crash"],
        [],
    )


async def test_c061_a_fragment_that_was_closed_stays_and_is_reported(tmp_path: Path) -> None:
    """C061.1: blank lines after it make it a bad line, which harms nothing behind it."""
    folder = session(tmp_path / "s", case("C061").log("log_blank_after_torn.jsonl"))
    await add(folder, line(6, "after the crash"))
    assert await texts(folder) == (
        ["line 1", "line 2", "line 3", "line 4", "after the crash"],
        ["bad"],
    )


async def test_c061_ten_crashes_cost_ten_fragments(tmp_path: Path) -> None:
    """C061.4: what was appended between them is all there, and all fragments are kept."""
    folder = session(tmp_path / "s", case("C061").log())
    for number in range(10):
        await add(folder, line(10 + number, f"after crash {number}"))
        size = (folder / "context.jsonl").stat().st_size
        await add(folder, line(30 + number, "lost"))
        os.truncate(folder / "context.jsonl", size + 5 + number)
    found, kinds = await texts(folder)
    assert found[4:] == [f"after crash {number}" for number in range(10)]
    assert kinds == ["torn"]
    assert (folder / "context.bad.jsonl").read_bytes().count(b"\n") == 10


@pytest.mark.parametrize("name", ["log_mid.jsonl", "log_glued.jsonl", "log_tail.jsonl"])
async def test_c063_an_append_behind_nul_bytes_is_readable(tmp_path: Path, name: str) -> None:
    """C063.1, .4: six messages and the new one; a hole in the middle is not rewritten."""
    log = case("C063").log(name)
    folder = session(tmp_path / "s", log)
    await add(folder, line(7, "after the hole"))
    found, kinds = await texts(folder)
    assert found == [*(f"line {number}" for number in range(1, 7)), "after the hole"]
    assert len(kinds) == (name != "log_tail.jsonl")
    if name == "log_tail.jsonl":
        assert b"\0" * 1206 in (folder / "context.bad.jsonl").read_bytes()
    else:
        assert (folder / "context.jsonl").read_bytes().startswith(log)


async def test_c065_an_append_to_a_log_with_halves_of_characters(tmp_path: Path) -> None:
    """C065.2, .3: nothing raises, and the stored lines keep their bytes, rewritten too."""
    log = case("C065").log()
    folder = session(tmp_path / "s", log)
    await add(folder, line(4))
    assert (folder / "context.jsonl").read_bytes() == log + line(4)
    store = await FileStore.open(folder)
    await store.rewrite(keep=len(log), tail=[line(5)], reason="test")
    await store.close()
    assert (folder / "context.jsonl").read_bytes() == log + line(5)


async def test_c067_an_append_to_a_log_from_windows(tmp_path: Path) -> None:
    """C067.2: the mark stays first and alone, and the new line ends with a newline."""
    log = case("C067").log()
    folder = session(tmp_path / "s", log)
    await add(folder, line(5, "new"))
    assert (folder / "context.jsonl").read_bytes() == log + line(5, "new")
    assert await texts(folder) == (["line 1", "line 2", "line 3", "line 4", "new"], [])
    store = await FileStore.open(folder)
    await store.rewrite(head=[line(9, "first")], keep=store.size, tail=(), reason="test")
    assert lines(store)[0] == joined(line(9, "first"))[0]
    await store.close()
    assert await texts(folder) == (["first", "line 1", "line 2", "line 3", "line 4", "new"], [])


async def test_c073_what_is_unknown_survives_a_rewrite(tmp_path: Path) -> None:
    """C073.2: byte for byte, in the log and in the rotation."""
    log = case("C073").log()
    folder = session(tmp_path / "s", log)
    store = await FileStore.open(folder)
    await store.rewrite(keep=len(log), tail=[line(5)], reason="test")
    await store.close()
    assert (folder / "context.jsonl").read_bytes() == log + line(5)
    assert (folder / "context_1.jsonl").read_bytes() == log
