"""What is wrong around a log is found and said in one sentence each."""

from pathlib import Path
from typing import Any

import pytest

import minutebook
from minutebook.codec import encode_line
from minutebook.messages import Message, call, replace, tool, user
from minutebook.records import Checkpoint
from tests.cli.support import make_session, run, run_json


def problems_of(folder: Path) -> list[dict[str, Any]]:
    """Give what `inspect` finds wrong."""
    found: list[dict[str, Any]] = run_json("inspect", folder)["problems"]
    return found


def write_log(folder: Path, *records: Message | Checkpoint) -> Path:
    """Write a log by hand, as another program might."""
    folder.mkdir(mode=0o700)
    log = folder / "context.jsonl"
    log.write_bytes(b"".join(map(encode_line, records)))
    log.chmod(0o600)
    return folder


def test_a_sound_session_has_no_problems(tmp_path: Path) -> None:
    """What minutebook alone wrote, rewrites included, is in order."""
    folder = make_session(tmp_path / "s")
    run("compact", folder)
    run("revert", folder, "--to", 3)
    run("undo", folder)
    run("clear", folder)

    assert problems_of(folder) == []
    assert "no problems" in run("inspect", folder).stdout


def test_a_missing_rotation_is_reported(tmp_path: Path) -> None:
    """The full history lacks a log that the lineage names."""
    folder = make_session(tmp_path / "s")
    run("compact", folder)
    (folder / "context_1.jsonl").unlink()

    (problem,) = problems_of(folder)

    assert (problem["kind"], problem["file"]) == ("missing", "context_1.jsonl")
    (rotation,) = run_json("rotations", folder)["rotations"]
    assert rotation["missing"]
    assert rotation["reason"] == "compaction"
    assert "missing" in run("rotations", folder).stdout


def test_a_changed_rotation_is_told_from_a_missing_one(tmp_path: Path) -> None:
    """A file of that name with other bytes is not the rotation."""
    folder = make_session(tmp_path / "s")
    run("compact", folder)
    rotation = folder / "context_1.jsonl"
    with rotation.open("ab") as file:
        file.write(b'{"role":"user","content":"more"}\n')

    (problem,) = problems_of(folder)

    assert (problem["kind"], problem["file"]) == ("changed", "context_1.jsonl")


def test_a_damaged_line_of_a_rotation_is_named(tmp_path: Path) -> None:
    """Rotations are read too: file, line and byte of what is no record."""
    folder = make_session(tmp_path / "s")
    (folder / "context_4.jsonl").write_bytes(b'{"role":"user","content":"old"}\nnot this\n')
    (folder / "context_4.jsonl").chmod(0o600)

    (problem,) = problems_of(folder)

    assert (problem["file"], problem["line"], problem["byte"]) == ("context_4.jsonl", 2, 32)
    assert "context_4.jsonl, line 2" in run("inspect", folder).stdout


def test_a_rotation_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    """A compressed file that is none is said, not raised."""
    folder = make_session(tmp_path / "s")
    (folder / "context_2.jsonl.zst").write_bytes(b"no stream")
    (folder / "context_2.jsonl.zst").chmod(0o600)

    problem = problems_of(folder)[0]

    assert problem["kind"] == "unreadable"
    assert problem["file"] == "context_2.jsonl.zst"
    assert run_json("rotations", folder)["rotations"][0]["bytes"] is None


def test_damaged_metadata_is_reported(tmp_path: Path) -> None:
    """A torn session.json costs what it said, and nothing else."""
    folder = make_session(tmp_path / "s")
    (folder / "session.json").write_text('{"id": "s", "win', encoding="utf-8")

    (problem,) = problems_of(folder)

    assert problem["kind"] == "metadata"
    assert "session.json is damaged" in problem["what"]


def test_what_was_set_aside_is_mentioned(tmp_path: Path) -> None:
    """Damaged lines lie in a file of their own, and the report says so."""
    folder = make_session(tmp_path / "s")
    with (folder / "context.jsonl").open("ab") as log:
        log.write(b'{"role":"user","cont')
    run("checkpoint", folder)

    (problem,) = problems_of(folder)

    assert (problem["kind"], problem["file"]) == ("set-aside", "context.bad.jsonl")
    assert problem["what"].startswith("21 B")


@pytest.mark.parametrize(("mode", "may"), [(0o777, "change what is in"), (0o755, "look into")])
def test_an_open_folder_is_reported(tmp_path: Path, mode: int, may: str) -> None:
    """Others may neither write to a session's folder nor look into it (C116.2)."""
    folder = make_session(tmp_path / "s")
    folder.chmod(mode)

    (problem,) = problems_of(folder)

    assert problem["kind"] == "mode"
    assert may in problem["what"]
    assert f"{mode:04o}" in problem["what"]


def test_open_files_are_reported(tmp_path: Path) -> None:
    """Logs, rotations and metadata that others may read are named with their mode (C116.2)."""
    folder = make_session(tmp_path / "s")
    run("clear", folder)
    for name in ("context.jsonl", "context_1.jsonl", "session.json"):
        (folder / name).chmod(0o644)

    (problem,) = problems_of(folder)

    assert problem["kind"] == "mode"
    for name in ("context.jsonl", "context_1.jsonl", "session.json"):
        assert f"{name} (mode 0644)" in problem["what"]


def test_numbers_that_occur_twice_are_reported(tmp_path: Path) -> None:
    """A checkpoint's id and a message's number should be there once."""
    folder = write_log(
        tmp_path / "s",
        Checkpoint(id=1, content="checkpoint 1"),
        replace(user("one"), seq=5),
        Checkpoint(id=1, content="checkpoint 1"),
        replace(user("two"), seq=5),
    )

    kinds = [(problem["kind"], problem["what"]) for problem in problems_of(folder)]

    assert [kind for kind, _ in kinds] == ["twice", "twice"]
    assert "checkpoint 1 " in kinds[0][1]
    assert "number 5 " in kinds[1][1]


def test_exchanges_that_are_not_whole_are_reported(tmp_path: Path) -> None:
    """Results without a call, and calls that nothing answers; the last reply may be at work."""
    folder = write_log(
        tmp_path / "s",
        tool("nobody", "an orphan"),
        user("go"),
        minutebook.assistant("", tool_calls=[call("a", "read")]),
        user("go on"),
        minutebook.assistant("", tool_calls=[call("b", "read")]),
    )

    found = problems_of(folder)

    assert [problem["kind"] for problem in found] == ["exchange", "exchange"]
    assert "1 tool result without a call (message 1)" in found[0]["what"]
    assert "1 tool call without a result (message 3)" in found[1]["what"]


def test_a_link_in_the_place_of_a_rotation_is_reported(tmp_path: Path) -> None:
    """It is not followed, and so it is none."""
    folder = make_session(tmp_path / "s", turns=1)
    (tmp_path / "elsewhere").write_text("secret", encoding="utf-8")
    (folder / "context_1.jsonl").symlink_to(tmp_path / "elsewhere")

    (problem,) = problems_of(folder)

    assert (problem["kind"], problem["file"]) == ("link", "context_1.jsonl")
    assert run_json("inspect", folder)["rotations"] == []


def test_a_fork_left_nothing_behind(tmp_path: Path) -> None:
    """The record of a fork names no rotation, and those of its past are there."""
    folder = make_session(tmp_path / "s")
    run("compact", folder)
    run("fork", folder, tmp_path / "fork")

    facts = run_json("inspect", tmp_path / "fork")

    assert [step["kind"] for step in facts["lineage"]] == ["compaction", "fork"]
    assert [rotation["number"] for rotation in facts["rotations"]] == [1]
    assert facts["problems"] == []
