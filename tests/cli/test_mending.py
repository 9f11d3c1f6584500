"""`repair` on another agent's file."""

import json
from pathlib import Path

import pytest

from minutebook.cli import mending
from minutebook.errors import StoreError
from minutebook.formats.reading import read
from tests.cli.support import make_session, run, run_json


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Give a transcript of Claude Code's with a glued line, a torn end and a lost result."""
    file = tmp_path / "claude" / "session.jsonl"
    file.parent.mkdir()
    run("export", make_session(tmp_path / "s", turns=3), "--to", "claude-code", "--out", file)
    lines = file.read_bytes().splitlines(keepends=True)
    at = next(
        index
        for index, line in enumerate(lines)
        if b'"tool_result"' in line and json.loads(line)["type"] == "user"
    )
    del lines[at]
    lines[1] = lines[1].rstrip(b"\n")
    lines[-1] = lines[-1][:-30]
    file.write_bytes(b"".join(lines))
    return file


def test_a_mended_copy_is_written_beside_and_the_file_stays(broken: Path) -> None:
    """What is torn is kept aside; the report says what the agent will see."""
    before = broken.read_bytes()

    told = run_json("repair", broken)

    assert broken.read_bytes() == before
    copy = broken.with_name("session.repaired.jsonl")
    assert told["file"] == str(copy)
    assert told["format"] == "claude-code"
    assert told["sent"] == len(read(copy).sent) > 0
    assert told["problems"] == []
    assert any("had no result" in action for action in told["actions"])
    assert before.splitlines()[-1] in copy.with_name(f"{copy.name}.bad").read_bytes()
    assert told["aside_bytes"] > 0
    assert "nothing to repair" in run("repair", copy).stdout
    again = run_json("repair", broken)["file"]
    assert Path(again).name == "session.repaired-2.jsonl"


def test_in_place_keeps_a_backup(broken: Path) -> None:
    """Under a name of its own."""
    before = broken.read_bytes()
    shown = run("repair", broken, "--in-place").stdout
    assert "the agent sees" in shown
    assert broken.with_name("session.jsonl.bak").read_bytes() == before
    assert read(broken).problems == ()


def test_a_dry_run_writes_nothing_and_out_says_where(broken: Path, tmp_path: Path) -> None:
    """Options that make no sense are wrong usage."""
    names = sorted(broken.parent.iterdir())
    assert run_json("repair", broken, "--dry-run")["actions"]
    assert "nothing was written" in run("repair", broken, "--dry-run").stdout
    assert sorted(broken.parent.iterdir()) == names
    run("repair", broken, "--out", tmp_path / "new.jsonl")
    assert read(tmp_path / "new.jsonl").problems == ()
    run("repair", broken, "--out", tmp_path / "x", "--in-place", code=2)
    run("repair", make_session(tmp_path / "t"), "--in-place", code=2)


def test_a_format_that_cannot_be_mended_says_what_to_do(tmp_path: Path) -> None:
    """It can be made a session."""
    file = tmp_path / "chat.json"
    file.write_text('[{"role": "user", "content": "hi"}]')
    assert "minutebook import" in run("repair", file, code=1).stderr


def test_a_file_that_is_written_to_meanwhile_stays(
    broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what the agent wrote, and nothing of ours beside it."""

    def written(path: Path, _data: bytes) -> None:
        raise StoreError("it was written to meanwhile", path=str(path))

    with pytest.raises(StoreError, match="written to"):
        mending._check_same(broken, b"else")
    before = broken.read_bytes()
    monkeypatch.setattr(mending, "_check_same", written)
    assert "meanwhile" in run("repair", broken, "--in-place", code=1).stderr
    assert broken.read_bytes() == before
    assert [path.name for path in broken.parent.iterdir()] == [broken.name]
