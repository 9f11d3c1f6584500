"""`compact --as`: a session that the agent itself resumes."""

import json
import stat
from pathlib import Path

import pytest

from minutebook.cli import giving_back
from minutebook.cli.giving_back import Agent, place_of
from minutebook.cli.kimi_index import digest_of, ensure_listed
from minutebook.cli.opening import reading
from minutebook.formats.reading import read
from tests.cli.support import make_session, run, run_json

WINDOW = 4_000


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every agent a home of the test's."""
    for variable in ("KIMI_SHARE_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    return tmp_path


@pytest.mark.parametrize("agent", Agent)
def test_the_agent_finds_a_smaller_session(tmp_path: Path, agent: Agent) -> None:
    """In its own place, under a new id, for the user alone; the old one is untouched."""
    folder = make_session(tmp_path / "s", turns=30)
    before = (folder / "context.jsonl").read_bytes()

    report = run_json("compact", folder, "--as", agent, "--window", WINDOW)

    given = report["as"]
    file = Path(given["file"])
    found = read(file)
    assert found.format in {agent, "native"}
    assert len(found.sent) < report["before"]["messages"]
    assert report["after"]["tokens"] < report["before"]["tokens"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    name = file.parent.name if agent is Agent.KIMI else file.stem[-36:]
    assert name in given["resume"]
    assert (folder / "context.jsonl").read_bytes() == before
    assert report["rotation"] is None
    assert report["undo"] is None
    again = run_json("compact", folder, "--as", agent, "--window", WINDOW)["as"]["file"]
    assert again != given["file"]


def test_an_agents_own_session_gets_one_beside_it(tmp_path: Path) -> None:
    """Where the agent keeps those of the same folder, with the same working folder in it."""
    folder = make_session(tmp_path / "s", turns=30)
    old = tmp_path / "claude" / "projects" / "-w" / "old.jsonl"
    old.parent.mkdir(parents=True)
    run("export", folder, "--to", "claude-code", "--out", old)
    was = old.read_bytes()

    given = run_json("compact", old, "--as", "claude-code", "--window", WINDOW)["as"]

    assert Path(given["file"]).parent == old.parent
    assert old.read_bytes() == was
    first = json.loads(Path(given["file"]).read_bytes().splitlines()[0])
    assert first["cwd"] == json.loads(was.splitlines()[0])["cwd"]
    assert f"claude --resume {first['sessionId']}" in given["resume"]


def test_codex_sessions_go_by_their_day(tmp_path: Path) -> None:
    """Below the folder of the source, whatever day that is from."""
    folder = make_session(tmp_path / "s")
    old = tmp_path / "codex" / "sessions" / "2025" / "01" / "02" / "rollout-x.jsonl"
    old.parent.mkdir(parents=True)
    run("export", folder, "--to", "codex", "--out", old)

    with reading(old) as source:
        place = place_of(Agent.CODEX, source, cwd="/w", session_id="id", at=1_773_651_600.0)

    day = tmp_path / "codex" / "sessions" / "2026" / "03" / "16"
    assert place == day / "rollout-2026-03-16T09-00-00-id.jsonl"


def test_kimi_sessions_of_one_folder_stay_together(tmp_path: Path) -> None:
    """They go by the sum of the folder's path, which Kimi CLI's list names for its own."""
    share = tmp_path / "KIMI_SHARE_DIR"
    own = make_session(share / "sessions" / digest_of("/w") / "old", turns=30)
    ensure_listed(share, "/other")
    ensure_listed(share, "/w")

    given = run_json("compact", own, "--as", "kimi", "--window", WINDOW)["as"]

    assert Path(given["file"]).parents[1] == own.parent
    assert given["resume"].startswith("cd /w && kimi --session ")


def test_kimi_finds_the_folder_of_the_session_in_its_list(tmp_path: Path) -> None:
    """It would make a session of the same id anew, and unlink what was written."""
    share, folder = tmp_path / "KIMI_SHARE_DIR", make_session(tmp_path / "s", turns=30)

    for _ in range(2):
        run("compact", folder, "--as", "kimi", "--window", WINDOW)

    listed = json.loads((share / "kimi.json").read_bytes())["work_dirs"]
    assert [entry["path"] for entry in listed] == [str(Path.cwd())]


def test_a_damaged_list_of_kimis_is_an_error_before_anything_is_written(tmp_path: Path) -> None:
    """Its remedy is in the message; with --out the list is not needed."""
    share, folder = tmp_path / "KIMI_SHARE_DIR", make_session(tmp_path / "s", turns=30)
    share.mkdir()
    (share / "kimi.json").write_text("{")
    words = ("compact", folder, "--as", "kimi", "--window", WINDOW)

    told = run(*words, code=1).stderr

    assert "kimi.json" in told
    assert "--out" in told
    assert not (share / "sessions").exists()
    run(*words, "--out", tmp_path / "context.jsonl")


def test_out_names_the_file_and_nothing_is_overwritten(tmp_path: Path) -> None:
    """A file that is there stays."""
    folder, out = make_session(tmp_path / "s"), tmp_path / "new.jsonl"
    words = ("compact", folder, "--as", "codex", "--out", out, "--window", WINDOW)

    shown = run(*words).stdout

    assert "codex resume" in shown
    assert "not in it" in shown
    written = out.read_bytes()
    assert "already" in run(*words, code=1).stderr
    assert out.read_bytes() == written
    run("compact", "--all", tmp_path, "--as", "codex", code=2)


def test_what_is_lost_is_told_in_words() -> None:
    """By its name and number."""
    assert giving_back.told({"system_prompt": 1, "pins": 2}) == "2 pins, 1 system prompt"
