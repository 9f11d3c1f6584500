"""The commands that keep sessions sound and small: what they print, write, and leave alone."""

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import minutebook
from minutebook.cli.app import app
from minutebook.store.files import FileStore
from minutebook.store.listing import INDEX
from tests.cli.support import make_session, run, run_json


def failing(*words: object) -> tuple[str, str]:
    """Run a command line that ends with 1; give what it printed, and its one line of error."""
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80"})
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    return result.stdout, result.stderr


def cleared(folder: Path, times: int = 3) -> Path:
    """Make a session with some rotations."""
    make_session(folder)
    with minutebook.open_sync(folder, retention=None) as session:
        for _ in range(times):
            session.append(minutebook.user("and so on " * 500))
            session.clear()
    return folder


def stored(folder: Path) -> dict[str, int]:
    """Give the files of a session and their sizes."""
    return {path.name: path.stat().st_size for path in folder.iterdir() if path.name[0] == "c"}


def test_a_sound_session_is_verified(tmp_path: Path) -> None:
    """Its spans are counted; what no sum covers is said, and a checkpoint covers it."""
    folder = make_session(tmp_path / "s")

    assert re.search(
        r"context.jsonl  .* kB: 6 good, 1 without a sum\n  no sum covers",
        run("verify", folder).stdout,
    )
    (log,) = run_json("verify", folder)["logs"]
    assert log["spans"] == {"good": 6, "changed": 0, "damaged": 0, "unsummed": 1}
    assert (log["first_bad"], log["error"]) == (None, "")
    run("checkpoint", folder)
    assert run_json("verify", folder)["logs"][0]["spans"]["good"] == 7


def test_damage_is_located_and_ends_with_1(tmp_path: Path) -> None:
    """The error names file, line and byte of the first damaged span; the report is there too."""
    folder = make_session(tmp_path / "s")
    log = folder / "context.jsonl"
    data = log.read_bytes()
    place = data.index(b"part_2")
    log.write_bytes(data[:place] + b"PART_2" + data[place + 6 :])
    start = data.rindex(b'{"role":"_checkpoint"', 0, place)
    line = data[:start].count(b"\n") + 1

    printed, error = failing("verify", folder)

    assert "5 good, 1 damaged, 1 without a sum" in printed
    assert re.search(rf"context.jsonl:{line}: damaged within .* bytes \(byte {start}\)", error)
    printed, _ = failing("verify", folder, "--json")
    assert f'"line": {line}' in printed


def test_lines_of_another_program_are_a_change_and_no_error(tmp_path: Path) -> None:
    """They are told apart from damage."""
    folder = make_session(tmp_path / "s")
    with (folder / "context.jsonl").open("ab") as file:
        file.write(b'{"role": "user", "content": "from elsewhere"}\n')

    assert "6 good, 1 changed by another program" in run("verify", folder).stdout


def test_rotations_are_verified_where_that_is_asked_for(tmp_path: Path) -> None:
    """Compressed ones too; one that cannot be read is damage, and the others are looked at."""
    folder = cleared(tmp_path / "s")
    run("gc", folder, "--keep", 1, "--yes")
    names = [log["file"] for log in run_json("verify", folder, "--all")["logs"]]
    assert names == ["context.jsonl", *(f"context_{n}.jsonl" for n in (1, 2, 3))]
    (folder / "context_1.jsonl.zst").write_bytes(b"no stream")

    printed, error = failing("verify", folder, "--all")

    assert "context_1.jsonl  0 B: empty\n  compressed rotation is damaged" in printed
    assert "context_3.jsonl" in printed
    assert "context_1.jsonl: compressed rotation is damaged" in error
    (folder / "context.jsonl").unlink()
    failing("verify", folder, "--all")


@pytest.mark.parametrize("name", ["verify", "repair"])
def test_what_is_no_session_is_refused(tmp_path: Path, name: str) -> None:
    """A missing one, a folder without a log, another agent's file."""
    file = tmp_path / "x.json"
    file.write_text("[]")
    for path, words in (
        (tmp_path / "none", "no such session"),
        (tmp_path, "no context.jsonl in this folder"),
        (file, "is no session of minutebook's" if name == "verify" else "no known format"),
    ):
        assert words in failing(name, path)[1]


def test_a_repair_says_what_it_did_and_how_to_undo_it(tmp_path: Path) -> None:
    """Dry first, then for good; a second time there is nothing to do."""
    folder = make_session(tmp_path / "s")
    with (folder / "context.jsonl").open("ab") as file:
        file.write(b'no record\n{"role":"user","con')
    before = stored(folder)

    dry = run("repair", folder, "--dry-run").stdout
    assert stored(folder) == before
    done = run("repair", folder).stdout

    assert "9 bytes are no record; set aside in context.bad.jsonl" in dry
    assert dry.splitlines()[:2] == done.splitlines()[:2]
    assert dry.splitlines()[-1] == "nothing was written; without --dry-run it is done"
    assert "the log before is rotation 1; undo with: minutebook undo" in done
    assert run("repair", folder).stdout == "nothing to repair\n"
    told = {"path": str(folder), "dry_run": False, "actions": []}
    facts = run_json("repair", folder)
    assert {key: value for key, value in facts.items() if value is not None} == told


def test_gc_is_dry_until_it_is_told(tmp_path: Path) -> None:
    """The table says what would go and how much that frees; then just that is freed."""
    folder = cleared(tmp_path / "s")
    before = stored(folder)

    dry = run_json("gc", folder, "--keep", 1)
    words = run("gc", folder, "--keep", 1).stdout
    assert stored(folder) == before
    done = run_json("gc", folder, "--keep", 1, "--yes")

    assert (dry["done"], done["done"]) == (False, True)
    assert dry["sessions"] == done["sessions"]
    assert sum(before.values()) - sum(stored(folder).values()) == done["freed_bytes"] > 0
    assert sorted(stored(folder)) == [
        "context.jsonl",
        "context_1.jsonl.zst",
        "context_2.jsonl.zst",
        "context_3.jsonl",
    ]
    assert re.search(r"1  compress  .*frees .* kB  older than the newest", words)
    assert re.search(r"would free .* kB of 2 rotations; --yes does it", words)
    assert "freed" in run("gc", folder, "--yes").stdout
    assert run("gc", folder, "--yes").stdout == "nothing to do\n"


def test_gc_removes_what_is_needed_only_if_told_to(tmp_path: Path) -> None:
    """A limit alone keeps the full history whole."""
    folder = cleared(tmp_path / "s")
    limits = ("--max-rotations", 1, "--max-age-days", 0, "--max-bytes", 10)

    run("gc", folder, *limits, "--yes")
    assert len(stored(folder)) == 4
    words = run("gc", folder, "--max-rotations", 1, "--drop-history", "--yes").stdout
    assert "more than 1 rotations" in words
    assert len(stored(folder)) == 2


def test_gc_of_a_root_leaves_sessions_in_use_and_other_agents_alone(tmp_path: Path) -> None:
    """The others are tidied up; one that is broken stops nothing."""
    for name in ("a", "b/deep", "busy", "foreign", "broken", "without"):
        cleared(tmp_path / name, times=0 if name == "without" else 2)
    (tmp_path / "foreign" / "state.json").write_text("{}")
    (tmp_path / "broken" / "context_7.jsonl").mkdir()
    (tmp_path / "broken" / "context.jsonl").unlink()
    (tmp_path / "broken" / "context.jsonl").mkdir()

    async def busy() -> Any:
        store = await FileStore.open(tmp_path / "busy")
        try:
            return await asyncio.to_thread(run_json, "gc", tmp_path, "--yes")
        finally:
            await store.close()

    facts = asyncio.run(busy())

    found = {
        Path(item["path"]).relative_to(tmp_path).as_posix(): item for item in facts["sessions"]
    }
    assert {name: item["left_alone"] for name, item in found.items()} == {
        "a": None,
        "b/deep": None,
        "busy": "in use",
        "foreign": "another agent's folder (--foreign)",
        "broken": "is a directory",
    }
    assert len(found["a"]["rotations"]) == 2
    words = run("gc", tmp_path, "--foreign", "--yes").stdout
    assert "foreign" in words
    assert f"{tmp_path / 'broken'}: left alone, is a directory" in words


def test_sessions_are_listed(tmp_path: Path) -> None:
    """The one last written first; with an index, unless that is not wanted."""
    make_session(tmp_path / "old", turns=2)
    make_session(tmp_path / "new", turns=1)
    os.utime(tmp_path / "old" / "context.jsonl", (1_000_000, 1_000_000))

    lines = run("sessions", tmp_path, "--no-cache").stdout.splitlines()

    assert not (tmp_path / INDEX).exists()
    assert [line.split()[2] for line in lines] == ["4", "8"]
    assert "1970-01-1" in lines[1]
    assert "Please mend the function in src/part_0.py." in lines[0]
    facts = run_json("sessions", tmp_path)
    assert [item["path"] for item in facts["sessions"]] == ["new", "old"]
    assert (tmp_path / INDEX).exists()
    (tmp_path / "old" / "context.jsonl").write_bytes(b"x\n")
    assert "1 damaged lines and no message" in run("sessions", tmp_path).stdout


def test_an_empty_root_and_a_missing_one(tmp_path: Path) -> None:
    """The first has no sessions, the second is an error."""
    assert run("sessions", tmp_path).stdout == "no sessions\n"
    assert run("gc", tmp_path).stdout == "nothing to do\n"
    assert "no such file" in failing("sessions", tmp_path / "none")[1]
    assert "no such file" in failing("gc", tmp_path / "none")[1]


def test_a_failure_of_gc_in_one_session_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the disk says stands beside its name."""
    folder = cleared(tmp_path / "s")

    def full(*_args: object, **_kwargs: object) -> None:
        raise minutebook.StoreError("no space left on device", path="x")

    monkeypatch.setattr(FileStore, "tidy", full)
    assert "left alone, no space left on device" in run("gc", folder, "--yes").stdout
