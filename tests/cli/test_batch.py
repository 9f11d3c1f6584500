"""`compact --all` does many sessions in one go, and none of them stops the others."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import minutebook
from minutebook.cli import batch
from minutebook.cli.app import app
from minutebook.cli.batch import Done, seconds_of
from minutebook.errors import StoreError
from tests.cli.support import lines_of, make_session, run, run_json

DAY = 86_400


def folders(root: Path, *names: str) -> Path:
    """Make empty sessions of these names; one that begins with `no` has lost its log."""
    for name in names:
        folder = root / name
        folder.mkdir(parents=True)
        log = "context_1.jsonl" if name.startswith("no") else "context.jsonl"
        (folder / log).touch()
    return root


def fake(folder: str) -> Done:
    """Do what the folder's name says, in place of a compaction. Runs in another process."""
    name = Path(folder).name
    if name.startswith("die"):
        os._exit(9)
    if name.startswith("fault"):
        raise ZeroDivisionError("division by zero")
    if name.startswith("full"):
        raise OSError(28, "No space left on device", folder)
    if name.startswith("locked"):
        raise minutebook.SessionLocked(folder, pid=1, host="here")
    if name.startswith("meet"):
        # Each waits for the other: with one process at a time neither would end.
        mine, other = ("a", "b") if name.endswith("1") else ("b", "a")
        place = Path(folder).parent / "pipes"
        if name.endswith("1"):
            (place / mine).write_text("x")
            (place / other).read_text()
        else:
            (place / other).read_text()
            (place / mine).write_text("x")
    return Done(path=folder, outcome="compacted", tokens_before=100, tokens_after=40, rotation=1)


def outcomes(facts: dict[str, Any]) -> dict[str, str]:
    """Give what became of each session by its folder's name."""
    return {Path(one["path"]).name: one["outcome"] for one in facts["sessions"]}


do = partial(batch.run, one=fake, older_than=None, jobs=2, dry_run=False)


def test_every_session_below_a_folder_is_done(tmp_path: Path) -> None:
    """Also those further down, and the folder itself."""
    root = folders(tmp_path, "a", "b/c")
    (root / "context.jsonl").touch()

    facts = do(root)

    assert [one["path"] for one in facts["sessions"]] == [
        str(root),
        str(root / "a"),
        str(root / "b/c"),
    ]
    assert facts["counts"] == {"compacted": 3, "skipped": 0, "locked": 0, "failed": 0}
    assert (facts["before"]["tokens"], facts["after"]["tokens"]) == (300, 120)


def test_failures_and_locked_sessions_stop_nobody(tmp_path: Path) -> None:
    """Each is told of with its reason; the others are done."""
    facts = do(folders(tmp_path, "a", "fault", "full", "locked", "nolog", "z"))

    assert outcomes(facts) == {
        "a": "compacted",
        "fault": "failed",
        "full": "failed",
        "locked": "locked",
        "nolog": "failed",
        "z": "compacted",
    }
    reasons = {Path(one["path"]).name: one["reason"] for one in facts["sessions"]}
    assert reasons["fault"] == "ZeroDivisionError: division by zero"
    assert reasons["full"].endswith("full: no space left on device")
    assert "process 1 on here" in reasons["locked"]
    assert "context.jsonl is missing" in reasons["nolog"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_process_that_dies_takes_one_session_along(tmp_path: Path, jobs: int) -> None:
    """The others are begun again, and the one is told of."""
    facts = do(folders(tmp_path, "a", "b", "die1", "die2", "y", "z"), jobs=jobs)

    found = outcomes(facts)
    assert [name for name, outcome in found.items() if outcome == "failed"] == ["die1", "die2"]
    assert facts["counts"]["compacted"] == 4


def test_sessions_are_done_side_by_side(tmp_path: Path) -> None:
    """As many at a time as are allowed."""
    (tmp_path / "pipes").mkdir()
    for name in ("a", "b"):
        os.mkfifo(tmp_path / "pipes" / name)

    assert do(folders(tmp_path, "meet1", "meet2"))["counts"]["compacted"] == 2


def test_an_age_leaves_out_what_is_still_in_use(tmp_path: Path) -> None:
    """Judged by when the log was last written."""
    root = folders(tmp_path, "new", "old")
    log = root / "old" / "context.jsonl"
    written = log.stat().st_mtime - 8 * DAY
    os.utime(log, (written, written))

    assert outcomes(do(root, older_than=7 * DAY)) == {"old": "compacted"}
    assert outcomes(do(root, older_than=9 * DAY)) == {}


@pytest.mark.parametrize(
    ("age", "seconds"),
    [("90s", 90), ("90m", 5_400), (" 12 H", 43_200), ("7d", 7 * DAY), ("1.5w", 10.5 * DAY)],
)
def test_an_age_is_a_number_and_a_unit(age: str, seconds: float) -> None:
    """In seconds, minutes, hours, days or weeks."""
    assert seconds_of(age) == seconds


@pytest.mark.parametrize("age", ["", "7", "d", "-1d", "7 days", "1y", "٣d"])
def test_anything_else_is_no_age(age: str) -> None:
    """The answer says how one is written."""
    with pytest.raises(typer.BadParameter, match="7d"):
        seconds_of(age)


def test_ctrl_c_tells_what_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is under way is finished, and the report is printed all the same."""
    root = folders(tmp_path, "a", "b")

    def interrupted(_folders: Any, one: Any, _jobs: int, note: Any) -> list[str]:
        note(one(str(root / "a")))
        raise KeyboardInterrupt

    monkeypatch.setattr(batch, "_in_pool", interrupted)

    with pytest.raises(KeyboardInterrupt):
        do(root)

    assert "1 session\n" in capsys.readouterr().out


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """It would look as if there were nothing to do otherwise."""
    with pytest.raises(StoreError, match="no such folder"):
        do(tmp_path / "nowhere")
    run("compact", "--all", tmp_path / "nowhere", code=1)


def test_a_folder_without_sessions_is_none(tmp_path: Path) -> None:
    """One line says so."""
    assert "no session" in run("compact", "--all", tmp_path).stdout
    assert run_json("compact", "--all", tmp_path)["sessions"] == []


def sessions(root: Path) -> Path:
    """Make a large session, and one that is within its target."""
    make_session(root / "large", turns=8)
    make_session(root / "small", turns=1)
    return root


def test_what_is_larger_than_its_target_is_compacted_in_place(tmp_path: Path) -> None:
    """What is within stays as it is, byte for byte; twice does nothing more."""
    root = sessions(tmp_path)
    small = lines_of(root / "small")
    large = lines_of(root / "large")

    facts = run_json("compact", "--all", root)

    assert outcomes(facts) == {"large": "compacted", "small": "skipped"}
    by_name = {Path(one["path"]).name: one for one in facts["sessions"]}
    assert by_name["large"]["tokens_after"] < by_name["large"]["tokens_before"]
    assert by_name["large"]["rotation"] == 1
    assert "within the target" in by_name["small"]["reason"]
    assert lines_of(root / "small") == small
    assert (root / "large" / "context_1.jsonl").read_bytes().splitlines() == large
    assert run_json("compact", "--all", root)["counts"]["compacted"] == 0


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    """Not even the index of the list is written."""
    root = sessions(tmp_path)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}

    facts = run_json("compact", "--all", root, "--dry-run")

    assert facts["dry_run"]
    assert facts["counts"]["compacted"] == 1
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_the_table_says_what_became_of_each(tmp_path: Path) -> None:
    """Before, after, in percent, and the way back."""
    root = sessions(tmp_path)

    text = run("compact", "--all", root, "--jobs", 2).stdout

    assert text.startswith(f"{root}: 2 sessions\n")
    assert "compacted to " in text
    assert "skipped: within the target of" in text
    assert "1 compacted, 1 skipped; " in text
    assert "minutebook undo SESSION" in text


def test_a_session_in_use_is_left_alone(tmp_path: Path) -> None:
    """It is named as locked, and that is no failure."""
    root = sessions(tmp_path)

    with minutebook.open_sync(root / "large"):
        text = run("compact", "--all", root).stdout

    assert "locked: " in text
    assert f"process {os.getpid()}" in text


def test_a_failure_ends_it_with_1(tmp_path: Path) -> None:
    """After the report, which is whole."""
    root = sessions(tmp_path)
    (root / "large" / "session.json").unlink()

    result = CliRunner().invoke(app, ["compact", "--all", str(root)])

    assert result.exit_code == 1
    assert "failed: --window: the window of the model is not known" in result.stdout
    assert "1 skipped, 1 failed" in result.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("--all", ".", "--out", "new"),
        ("--all", ".", "--conversation", "1"),
        ("--all", ".", "--older-than", "soon"),
        ("--all", ".", "--jobs", "0"),
        (".", "--older-than", "7d"),
        (".", "--jobs", "2"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(words: tuple[str, ...]) -> None:
    """Nothing is begun."""
    run("compact", *words, code=2)
