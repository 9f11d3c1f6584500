"""`inspect` says what is there, and never fails on what is damaged."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minutebook
from tests.cli.support import SHARED, WINDOW, make_session, make_transcript, run, run_json


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.binary(max_size=300))
def test_any_bytes_in_the_place_of_a_log_are_reported(tmp_path: Path, data: bytes) -> None:
    """Whatever a log holds, `inspect` opens it, and says so where a line is no record."""
    folder = tmp_path / "any"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "context.jsonl").write_bytes(data)

    facts = run_json("inspect", folder)

    assert facts["messages"]["total"] >= 0
    if data.strip(b" \t\r\n\0\xef\xbb\xbf") and not data.startswith(b"{"):
        assert any(problem["line"] for problem in facts["problems"])


def test_a_session_is_told_in_numbers(tmp_path: Path) -> None:
    """Messages by role, turns, tokens by kind and their share of the window."""
    facts = run_json("inspect", make_session(tmp_path / "s"))

    assert facts["format"] == "native"
    assert facts["messages"] == {
        "total": 24,
        "by_role": {"user": 6, "assistant": 12, "tool": 6},
    }
    assert facts["turns"] == 6
    tokens = facts["tokens"]
    assert tokens["exact"] is None
    assert tokens["with_pending"] == tokens["estimated"] == sum(tokens["by_kind"].values())
    assert tokens["window"] == WINDOW
    assert tokens["percent"] == pytest.approx(100 * tokens["with_pending"] / WINDOW, abs=0.1)
    assert [mark["id"] for mark in facts["checkpoints"]] == [0, 1, 2, 3, 4, 5]
    assert facts["checkpoints"][2]["messages"] == 8
    assert facts["compactions"] == facts["rotations"] == facts["problems"] == []


def test_what_a_provider_counted_is_exact(tmp_path: Path) -> None:
    """The last usage is exact; what came after it is pending."""
    folder = make_session(tmp_path / "s")
    with minutebook.open_sync(folder) as session:
        session.record_usage({"prompt_tokens": 3_000, "completion_tokens": 200})
        session.append(minutebook.user("And the rest?"))

    tokens = run_json("inspect", folder)["tokens"]

    assert tokens["exact"] == 3_200
    assert tokens["pending"] > 0
    assert tokens["with_pending"] == 3_200 + tokens["pending"]
    assert "3,200 exact and " in run("inspect", folder).stdout
    assert "by kind as estimated" in run("inspect", folder).stdout


def test_an_unknown_window_is_said(tmp_path: Path) -> None:
    """Without a window there is no share; --window and --model give one."""
    folder = make_session(tmp_path / "s", window=None)

    assert run_json("inspect", folder)["tokens"]["percent"] is None
    assert "window unknown" in run("inspect", folder).stdout
    assert run_json("inspect", folder, "--window", 10_000)["tokens"]["window"] == 10_000
    assert run_json("inspect", folder, "--model", "gpt-4o")["tokens"]["window"] == 128_000
    assert run_json("inspect", folder, "--model", "no-such")["tokens"]["window"] is None


def test_the_log_itself_may_be_named(tmp_path: Path) -> None:
    """A session's folder and its context.jsonl mean the same."""
    folder = make_session(tmp_path / "s")

    by_folder = run_json("inspect", folder)
    by_log = run_json("inspect", folder / "context.jsonl")

    assert by_log == by_folder | {"path": str(folder / "context.jsonl")}


def test_rewrites_are_listed(tmp_path: Path) -> None:
    """Compactions and rotations stand in the report, with what left them behind."""
    folder = make_session(tmp_path / "s")
    run("compact", folder)
    run("revert", folder, "--to", 6)

    facts = run_json("inspect", folder)

    assert [step["kind"] for step in facts["lineage"]] == ["compaction", "revert"]
    assert facts["compactions"][0]["rotation"] == 1
    assert facts["compactions"][0]["steps"]
    assert [found["reason"] for found in facts["rotations"]] == ["compaction", "revert"]
    text = run("inspect", folder).stdout
    assert "1 compaction  1 revert" in text
    assert "2 rotations" in text
    assert "context_1.jsonl" in text


def test_every_damaged_line_is_named(tmp_path: Path) -> None:
    """A bad line comes with its number and its byte, and a torn end as such."""
    folder = make_session(tmp_path / "s")
    log = folder / "context.jsonl"
    whole = log.read_bytes()
    log.write_bytes(b"no record\n" + whole + b'{"role":"us')

    problems = run_json("inspect", folder)["problems"]

    assert [(found["line"], found["byte"]) for found in problems] == [
        (1, 0),
        (whole.count(b"\n") + 2, 10 + len(whole)),
    ]
    assert "line 1 " in run("inspect", folder).stdout


def test_a_session_without_its_log_lists_what_can_be_restored(tmp_path: Path) -> None:
    """Rotations alone are no empty session: the report names the command that helps."""
    folder = make_session(tmp_path / "s")
    run("compact", folder)
    (folder / "context.jsonl").unlink()

    facts = run_json("inspect", folder)

    assert [found["number"] for found in facts["rotations"]] == [1]
    assert facts["rotations"][0]["messages"] == 24
    assert f"minutebook restore {folder} 1" in facts["problems"][0]["what"]
    assert f"minutebook restore {folder} 1" in run("inspect", folder).stdout


def test_many_problems_are_cut_short_for_people_only(tmp_path: Path) -> None:
    """People see the first ones and how many more there are; programs see all."""
    folder = tmp_path / "s"
    folder.mkdir(mode=0o700)
    (folder / "context.jsonl").write_bytes(b"bad\n" * 50)
    (folder / "context.jsonl").chmod(0o600)

    text = run("inspect", folder).stdout

    assert "50 problems" in text
    assert "and 30 more" in text
    assert len(run_json("inspect", folder)["problems"]) == 50


def test_another_agents_file_is_told_the_same_way(tmp_path: Path) -> None:
    """A list of chat messages has messages, turns, and the checkpoints of an import."""
    transcript = make_transcript(tmp_path / "chat.json")

    facts = run_json("inspect", transcript)

    assert facts["format"] == "openai-chat"
    assert facts["messages"]["total"] == 24
    assert facts["turns"] == 6
    assert len(facts["checkpoints"]) == 6
    assert "openai-chat" in run("inspect", transcript).stdout


def test_one_of_several_conversations_is_chosen(tmp_path: Path) -> None:
    """A file of many says so, and --conversation reads another one."""
    path = tmp_path / "many.jsonl"
    both = [
        {"messages": [{"role": "user", "content": "first"}]},
        {
            "messages": [
                {"role": "user", "content": "second"},
                {"role": "assistant", "content": "two"},
            ]
        },
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in both), encoding="utf-8")

    facts = run_json("inspect", path)

    assert facts["counts"]["conversations"] == 2
    assert "--conversation" in facts["problems"][0]["what"]
    assert run_json("inspect", path, "--conversation", 1)["messages"]["total"] == 2
    assert "no conversation 9" in run("inspect", path, "--conversation", 9, code=1).stderr
    session = make_session(tmp_path / "s")
    assert "a session is one" in run("inspect", session, "--conversation", 1, code=1).stderr


def test_an_unknown_format_lists_what_was_looked_for(tmp_path: Path) -> None:
    """The error names the file and every format's mark."""
    path = tmp_path / "notes.txt"
    path.write_text("milk, bread", encoding="utf-8")

    message = run("inspect", path, code=1).stderr

    assert str(path) in message
    assert "parentUuid" in message


def test_nothing_is_written(tmp_path: Path) -> None:
    """Looking leaves the folder as it was: no lock, no metadata, no time changed."""
    folder = make_session(tmp_path / "s")

    def look() -> dict[str, tuple[int, ...]]:
        # Not when a file was last read: that is the system's to note.
        stats = {entry.name: entry.stat() for entry in folder.iterdir()}
        return {name: (s.st_ino, s.st_size, s.st_mode, s.st_mtime_ns) for name, s in stats.items()}

    before = look()
    run("inspect", folder)

    assert look() == before


SAMPLES = sorted(
    path
    for kind in ("kimi-cli", "openai-chat", "claude-code")
    for path in (SHARED / "samples" / kind).rglob("*.json*")
    if path.name not in {"state.json", "wire.jsonl", "kimi.json"}
)


@pytest.mark.skipif(not SAMPLES, reason="needs the samples beside the repository")
def test_every_sample_opens() -> None:
    """Real files of Kimi CLI, OpenAI chat and Claude Code are all told."""
    for path in SAMPLES:
        facts = run_json("inspect", path)
        assert facts["messages"]["total"] > 0, path
        assert facts["tokens"]["with_pending"] > 0, path
