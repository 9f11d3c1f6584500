"""The command `stats`: what it prints, and that no session stops it."""

import os
from pathlib import Path
from typing import Any

import pytest

import minutebook
from minutebook.codec import encode_line
from minutebook.records import Compaction, Usage
from tests.cli.support import make_session, run, run_json


def test_it_counts_the_sessions_of_a_folder(tmp_path: Path) -> None:
    """What was compacted and taken back is in, each message once."""
    make_session(tmp_path / "one")
    make_session(tmp_path / "two", turns=2)
    run("compact", tmp_path / "one")
    run("revert", tmp_path / "one", "--to", 2)

    found = run_json("stats", tmp_path)
    text = run("stats", tmp_path).stdout

    assert (found["root"], found["by"]) == (str(tmp_path), None)
    assert [one["path"] for one in found["sessions"]] == ["one", "two"]
    assert found["total"]["sessions"] == 2
    assert found["total"]["compactions"]["by_trigger"] == {"manual": 1}
    assert found["total"]["rewrites"]["by_kind"] == {"revert": 1}
    assert found["sessions"][1]["messages"] == 8
    assert found["groups"] == []
    assert "compactions   1 manual" in text
    assert "rewrites      1 revert" in text


def test_a_compaction_saves_what_it_said(tmp_path: Path) -> None:
    """The figures are those that `compact` told."""
    make_session(tmp_path / "s")
    with minutebook.open_sync(tmp_path / "s") as session:
        made = session.compact()

    found = run_json("stats", tmp_path)["total"]["compactions"]

    assert found["tokens_before"] == made.tokens_before
    assert found["count"] == 1
    assert 0 < found["ratio"] < 1


def test_prices_are_those_of_the_model(tmp_path: Path) -> None:
    """Where one is known; the others are counted."""
    with minutebook.open_sync(tmp_path / "s", window=100_000) as session:
        for model in ("gpt-4o", "a-model-of-nobody"):
            session.append(
                minutebook.user("go"),
                usage=Usage(token_count=1_000, input=400, cache_read=600, output=10, model=model),
            )

    found = run_json("stats", tmp_path, "--by", "model")
    text = run("stats", tmp_path, "--by", "model").stdout

    assert found["total"]["requests"]["unpriced"] == 1
    assert found["total"]["requests"]["cost_usd"] > 0
    assert found["total"]["requests"]["cache_share"] == 0.6
    assert [group["key"] for group in found["groups"]] == ["a-model-of-nobody", "gpt-4o"]
    assert [group["requests"]["cost_usd"] is None for group in found["groups"]] == [True, False]
    assert "1 of them without a known price" in text
    assert "from the cache  60.0 %" in text


def test_what_the_compactor_used_is_shown(tmp_path: Path) -> None:
    """Calls for summaries cost too."""
    used = {"input": 5_000, "output": 300}
    made = Compaction(id="c1-0", steps=("summarize",), model="gpt-4o", usage=used)
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "context.jsonl").write_bytes(encode_line(made))

    text = run("stats", tmp_path).stdout

    assert "compactor's own  5,000 tokens in, 300 out, $0.0" in text
    assert "summaries by     1 gpt-4o" in text


def test_a_fork_counts_only_what_it_added(tmp_path: Path) -> None:
    """What it has from a session that is counted too is counted there."""
    make_session(tmp_path / "one")
    run("fork", tmp_path / "one", tmp_path / "two")

    found = run_json("stats", tmp_path)

    assert [one["messages"] for one in found["sessions"]] == [24, 0]
    assert run_json("stats", tmp_path / "two")["total"]["messages"] == 24


def test_a_broken_session_is_a_row_with_its_problem(tmp_path: Path) -> None:
    """It stops nobody: a log of rubbish, one that is missing, a rotation that cannot be read."""
    make_session(tmp_path / "sound", turns=1)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "context.jsonl").write_bytes(b"rubbish\n")
    make_session(tmp_path / "lost")
    run("compact", tmp_path / "lost")
    (tmp_path / "lost" / "context.jsonl").unlink()
    make_session(tmp_path / "torn")
    (tmp_path / "torn" / "context_1.jsonl.zst").write_bytes(b"no head")
    (tmp_path / "folder" / "context.jsonl").mkdir(parents=True)

    found = run_json("stats", tmp_path)
    text = run("stats", tmp_path).stdout

    rows = {one["path"]: one for one in found["sessions"]}
    assert rows["sound"]["problem"] == ""
    assert rows["damaged"]["problems"] == 1
    assert "no message" in rows["damaged"]["problem"]
    assert "missing" in rows["lost"]["problem"]
    assert rows["lost"]["messages"] == 24
    assert rows["torn"]["problem"]
    assert rows["torn"]["messages"] == 24
    assert rows["folder"]["problem"]
    assert found["total"]["messages"] == 52
    assert all(
        f"  {one['path']}: {one['problem']}" in text for one in rows.values() if one["problem"]
    )


def test_a_folder_that_is_closed_is_a_row_and_one_that_has_gone_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in it cannot be known."""
    make_session(tmp_path / "sound", turns=1)
    for name in ("closed", "gone"):
        (tmp_path / name).mkdir()
    errors = {"closed": PermissionError, "gone": FileNotFoundError}
    scandir = os.scandir

    def refusing(path: str) -> Any:
        name = Path(path).name
        if name in errors:
            raise errors[name](13, "no", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    found = run_json("stats", tmp_path)

    assert [one["path"] for one in found["sessions"]] == ["closed", "sound"]
    assert found["sessions"][0]["problem"]
    assert found["total"]["messages"] == 4


def test_nothing_is_written(tmp_path: Path) -> None:
    """No index, and no lock is taken."""
    make_session(tmp_path / "s")
    before = sorted(tmp_path.rglob("*"))

    with minutebook.open_sync(tmp_path / "s"):
        run("stats", tmp_path)

    assert sorted(tmp_path.rglob("*")) == before


def test_groups_are_shown_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    """By the steps that a policy took, and by trigger."""
    make_session(tmp_path / "s")
    run("compact", tmp_path / "s")

    assert "by policy" in run("stats", tmp_path, "--by", "policy").stdout
    assert [one["key"] for one in run_json("stats", tmp_path, "--by", "trigger")["groups"]] == [
        "manual"
    ]
    assert "none of day" in run("stats", tmp_path, "--by", "moon", code=2).output


def test_a_folder_without_sessions_and_none(tmp_path: Path) -> None:
    """The first has nothing to tell, the second is an error."""
    assert run("stats", tmp_path).stdout == "no sessions\n"
    run("stats", tmp_path / "missing", code=1)
