"""What agents keep in the home directory."""

import json
import os
import shutil
from pathlib import Path

import pytest

from minutebook.cli import homes
from minutebook.cli.homes import at_home
from tests.cases import SHARED
from tests.cli.support import make_session, run, run_json

API = "api_conversation_history.json"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty home; agents keep everything below it."""
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "KIMI_SHARE_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def put(path: Path, text: str, modified: float) -> Path:
    """Write a file that was last changed then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (modified, modified))
    return path


def exported(folder: Path, to: str, path: Path, modified: float) -> Path:
    """Write a session as an agent has it, where that agent would look for it."""
    return put(path, run("export", folder, "--to", to).stdout, modified)


def test_sessions_of_every_agent_are_listed_by_their_whole_paths(
    home: Path, tmp_path: Path
) -> None:
    """The one last written first, with what is in them."""
    made = make_session(tmp_path / "s")
    claude = exported(made, "claude-code", home / ".claude" / "projects" / "-w" / "a.jsonl", 3e9)
    day = home / ".codex" / "sessions" / "2026" / "01" / "02"
    codex = exported(made, "codex", day / "rollout-x.jsonl", 2e9)
    kimi = make_session(home / ".kimi" / "sessions" / "sum" / "one")
    os.utime(kimi / "context.jsonl", (1e9, 1e9))

    found = at_home(lambda _count: None)

    assert [one.path for one in found] == [str(claude), str(codex), str(kimi)]
    assert [one.messages for one in found] == [24, 24, 24]
    assert [one.agent for one in found][:2] == ["claude-code", "codex"]
    assert all(one.tokens > 0 and not one.problem for one in found)
    listed = run_json("sessions")
    assert listed["root"] is None
    assert [one["path"] for one in listed["sessions"]] == [one.path for one in found]
    assert str(claude) in run("sessions").stdout.replace("\n", "")


def test_what_cannot_be_read_is_listed_with_what_is_wrong(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of another kind, one that is too large for a list, one that is gone by then."""
    monkeypatch.setattr(homes, "LOOKED_INTO_BYTES", 100)
    folder = home / ".claude" / "projects" / "-w"
    put(folder / "odd.jsonl", "{}", 3e9)
    put(folder / "large.jsonl", "x" * 101, 2e9)
    (folder / "gone.jsonl").symlink_to("nowhere")

    odd, large = at_home(lambda _count: None)

    assert odd.problem
    assert (large.problem, large.bytes, large.messages) == (
        "large; look into it with inspect",
        101,
        0,
    )


def test_the_newest_of_very_many_are_listed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list takes no minutes."""
    monkeypatch.setattr(homes, "NEWEST", 2)
    chat = json.dumps([{"role": "user", "content": "hello"}])
    for number in range(4):
        put(home / ".pi" / "agent" / "sessions" / "w" / f"{number}.jsonl", chat, number + 1.0)

    assert [Path(one.path).stem for one in at_home(lambda _count: None)] == ["3", "2"]


def test_an_empty_home_has_no_sessions(home: Path) -> None:
    """And that is no error."""
    assert home.is_dir()
    assert "no sessions" in run("sessions").stdout


@pytest.mark.skipif(not (SHARED / "samples").is_dir(), reason="no samples beside the project")
def test_real_files_are_listed(home: Path) -> None:
    """Of each agent that keeps a file a session."""
    places = {
        "claude-code": (".claude/projects/-w", "*.jsonl"),
        "codex": (".codex/sessions/2026/01/01", "rollout*.jsonl"),
        "pi": (".pi/agent/sessions/w", "*.jsonl"),
    }
    for agent, (place, pattern) in places.items():
        sample = min(
            (SHARED / "samples" / agent).glob(pattern), key=lambda path: path.stat().st_size
        )
        (home / place).mkdir(parents=True)
        shutil.copyfile(sample, home / place / f"rollout-{sample.name}")

    found = {one.agent: one for one in at_home(lambda _count: None)}

    assert set(found) == set(places)
    assert all(one.messages and not one.problem for one in found.values())


@pytest.mark.parametrize(
    ("agent", "place"),
    [
        ("kimi-code", ".kimi-code/sessions/wd/s1/agents/main/wire.jsonl"),
        ("cline-sdk", ".cline/data/sessions/s1/s1.messages.json"),
        ("openhands", ".openhands/conversations/s1/base_state.json"),
        (
            "cline",
            f".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/{API}",
        ),
        (
            "roo",
            f".config/VSCodium/User/globalStorage/rooveterinaryinc.roo-cline/tasks/1/{API}",
        ),
        (
            "kilo",
            f"Library/Application Support/Code/User/globalStorage/kilocode.kilo-code/tasks/1/{API}",
        ),
    ],
)
def test_each_agents_place_is_known(
    home: Path, monkeypatch: pytest.MonkeyPatch, agent: str, place: str
) -> None:
    """Whatever the file holds, it is listed."""
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("KIMI_CODE_HOME", raising=False)
    path = put(home / place, "[]", 1e9)
    (found,) = at_home(lambda _count: None)
    assert (found.agent, found.path) == (agent, str(path))


def test_a_database_says_how_to_get_at_its_sessions(home: Path) -> None:
    """By its agent's own export."""
    put(home / ".local/share/opencode/opencode.db", "SQLite", 1e9)
    (found,) = at_home(lambda _count: None)
    assert "opencode export" in found.problem
