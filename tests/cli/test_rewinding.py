"""Checkpoints and the ways back: each command does it, says where the old log is, and undoes."""

from pathlib import Path
from typing import Any

import pytest

import minutebook
from tests.cli.support import lines_of, make_session, make_transcript, run, run_json


def seqs_of(folder: Path) -> list[int]:
    """Give the numbers of the messages that a session would send."""
    return [found["seq"] for found in run_json("show", folder)["messages"]]


def test_a_checkpoint_prints_its_id(tmp_path: Path) -> None:
    """Alone on the line, so that a script can keep it."""
    folder = make_session(tmp_path / "s", turns=2)

    assert run("checkpoint", folder).stdout == "2\n"
    assert run_json("checkpoint", folder, "--label", "tests pass") == {
        "path": str(folder),
        "id": 3,
        "label": "tests pass",
    }
    assert run("checkpoint", folder, "--marker").stdout == "4\n"
    assert run_json("show", folder)["messages"][-1]["text"] == "<system>CHECKPOINT 4</system>"


def test_checkpoints_are_listed_with_those_of_rotations(tmp_path: Path) -> None:
    """What a compaction or a revert left behind can still be gone back to, and is listed."""
    folder = make_session(tmp_path / "s")
    run("checkpoint", folder, "--label", "before")
    run("compact", folder)

    found = run_json("checkpoints", folder)["checkpoints"]

    assert [mark["id"] for mark in found] == list(range(8))
    assert [mark["rotation"] for mark in found] == [1] * 7 + [None]
    assert found[6]["label"] == "before"
    assert found[3]["messages"] == 12
    text = run("checkpoints", folder).stdout
    assert "context_1.jsonl  before" in text


def test_no_checkpoints_and_those_of_an_import(tmp_path: Path) -> None:
    """An empty list is said, and another agent's file has those that an import sets."""
    with minutebook.open_sync(tmp_path / "s") as session:
        session.append(minutebook.user("hello"))

    assert run("checkpoints", tmp_path / "s").stdout == "no checkpoints\n"
    transcript = make_transcript(tmp_path / "chat.json")
    assert len(run_json("checkpoints", transcript)["checkpoints"]) == 6


@pytest.mark.parametrize(
    ("words", "after"),
    [
        (["revert", "--to", "4"], 16),
        (["revert", "--to", "4", "--note", "The second way failed."], 17),
        (["clear"], 0),
    ],
)
def test_a_rewrite_says_where_the_old_log_is(tmp_path: Path, words: list[str], after: int) -> None:
    """The old log is whole, and the command that goes back to it works."""
    folder = make_session(tmp_path / "s")
    before, seqs = lines_of(folder), seqs_of(folder)

    facts = run_json(words[0], folder, *words[1:])

    assert facts["before"]["messages"] == 24
    assert facts["after"]["messages"] == len(seqs_of(folder)) == after
    assert Path(facts["old_log"]).read_bytes().splitlines() == before
    _program, *back = facts["undo"].split()
    run(*back)
    assert seqs_of(folder) == seqs


def test_people_are_told_the_same(tmp_path: Path) -> None:
    """In words: what was done, how many messages, the old log, the way back."""
    folder = make_session(tmp_path / "s")

    text = run("revert", folder, "--to", 2).stdout

    assert "went back to checkpoint 2" in text
    assert "24 before, 8 now" in text
    assert str(folder / "context_1.jsonl") in text
    assert f"minutebook restore {folder} 1" in text


def test_undo_goes_back_step_by_step(tmp_path: Path) -> None:
    """Twice goes further back; with nothing left it is an error that changes nothing."""
    folder = make_session(tmp_path / "s")
    seqs = seqs_of(folder)
    run("compact", folder)
    run("clear", folder)

    run("undo", folder)
    run("undo", folder)

    assert seqs_of(folder) == seqs
    before = lines_of(folder)
    assert "nothing" in run("undo", folder, code=1).stderr
    assert lines_of(folder) == before


def test_undo_leaves_later_messages_behind_only_if_forced(tmp_path: Path) -> None:
    """The error names the option."""
    folder = make_session(tmp_path / "s", turns=2)
    run("clear", folder)
    with minutebook.open_sync(folder) as session:
        session.append(minutebook.user("a new beginning"))

    assert "--force" in run("undo", folder, code=1).stderr
    run("undo", folder, "--force")
    assert len(seqs_of(folder)) == 8


def test_an_unknown_checkpoint_names_those_that_there_are(tmp_path: Path) -> None:
    """The error gives the ids and the command that lists them, and changes nothing."""
    folder = make_session(tmp_path / "s", turns=3)
    before = lines_of(folder)

    message = run("revert", folder, "--to", 77, code=1).stderr

    assert "0-2" in message
    assert "minutebook checkpoints" in message
    assert lines_of(folder) == before
    run("revert", folder, "--to", -1, code=2)


def test_a_rotation_is_restored_also_where_the_log_is_missing(tmp_path: Path) -> None:
    """The session is back whole, and writes on."""
    folder = make_session(tmp_path / "s", turns=2)
    seqs = seqs_of(folder)
    run("clear", folder)
    (folder / "context.jsonl").unlink()
    assert f"minutebook restore {folder} 1" in run("show", folder, code=1).stderr

    run("restore", folder, 1)

    assert seqs_of(folder) == seqs
    run("checkpoint", folder)
    assert "no rotation 50" in run("restore", folder, 50, code=1).stderr


def test_rotations_are_listed(tmp_path: Path) -> None:
    """With what left them behind, how large they are, and how to bring one back."""
    folder = make_session(tmp_path / "s")
    assert "no rotations" in run("rotations", folder).stdout
    run("compact", folder)
    run("clear", folder)

    found = run_json("rotations", folder)["rotations"]

    assert [(one["number"], one["reason"]) for one in found] == [(1, "compaction"), (2, "clear")]
    assert found[0]["bytes"] == (folder / "context_1.jsonl").stat().st_size
    assert f"minutebook restore {folder} N" in run("rotations", folder).stdout
    transcript = make_transcript(tmp_path / "chat.json")
    assert "no rotations" in run("rotations", transcript, code=1).stderr


def test_a_fork_begins_as_a_copy(tmp_path: Path) -> None:
    """Up to a checkpoint or whole, and with the history of its own."""
    folder = make_session(tmp_path / "s")
    run("compact", folder)

    whole = run_json("fork", folder, tmp_path / "whole")
    part = run_json("fork", folder, tmp_path / "part", "--at", 2)

    assert seqs_of(tmp_path / "whole") == seqs_of(folder)
    assert whole["out"] == str(tmp_path / "whole")
    assert part["messages"] == len(seqs_of(tmp_path / "part")) == 8
    assert part["checkpoints"] == [0, 1]
    assert "made of" in run("fork", folder, tmp_path / "third").stdout
    message = run("fork", folder, tmp_path / "whole", code=1).stderr
    assert "not empty" in message


def test_another_agents_file_is_forked_into_a_session(tmp_path: Path) -> None:
    """Uncompacted, with its checkpoints; a part of it is not to be had."""
    transcript = make_transcript(tmp_path / "chat.json")

    facts = run_json("fork", transcript, tmp_path / "new")

    assert facts["messages"] == 24
    assert facts["checkpoints"] == [0, 1, 2, 3, 4, 5]
    assert run_json("inspect", tmp_path / "new")["problems"] == []
    assert "--at" in run("fork", transcript, tmp_path / "x", "--at", 1, code=2).stderr
    assert not (tmp_path / "x").exists()


def test_a_pin_is_set_and_taken_away(tmp_path: Path) -> None:
    """By the number that `show` prints; one that is not there is an error."""
    folder = make_session(tmp_path / "s", turns=2)

    assert run_json("pin", folder, 3)["pins"] == [3]
    assert run_json("pin", folder, 5) == {
        "path": str(folder),
        "seq": 5,
        "pinned": True,
        "pins": [3, 5],
    }
    assert run_json("unpin", folder, 3)["pins"] == [5]
    assert "message 5 is no longer pinned" in run("unpin", folder, 5).stdout
    assert "no message 99" in run("pin", folder, 99, code=1).stderr
    run("pin", folder, 0, code=2)


WRITING: list[list[Any]] = [
    ["checkpoint"],
    ["revert", "--to", 0],
    ["undo"],
    ["clear"],
    ["restore", 1],
    ["pin", 1],
    ["unpin", 1],
]


@pytest.mark.parametrize("words", WRITING, ids=lambda words: words[0])
def test_only_sessions_are_changed(tmp_path: Path, words: list[Any]) -> None:
    """Another agent's file, an empty folder and a missing path are refused, and stay so."""
    transcript = make_transcript(tmp_path / "chat.json")
    (tmp_path / "empty").mkdir()
    command, *rest = words

    assert "minutebook fork" in run(command, transcript, *rest, code=1).stderr
    assert "no session" in run(command, tmp_path / "empty", *rest, code=1).stderr
    assert "no such session" in run(command, tmp_path / "missing", *rest, code=1).stderr
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["chat.json", "empty"]
    assert not any((tmp_path / "empty").iterdir())


@pytest.mark.parametrize("words", [*WRITING, ["compact"]], ids=lambda words: words[0])
def test_a_session_in_use_is_not_changed(tmp_path: Path, words: list[Any]) -> None:
    """The error names who holds it and what can be done meanwhile."""
    folder = make_session(tmp_path / "s", turns=2)
    before = lines_of(folder)
    command, *rest = words

    with minutebook.open_sync(folder):
        message = run(command, folder, *rest, code=1).stderr

    assert "process" in message
    assert "inspect, show and export" in message
    assert lines_of(folder) == before
