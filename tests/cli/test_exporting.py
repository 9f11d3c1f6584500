"""`export` prints what a provider takes; `formats` says what can be read."""

import json
import stat
from pathlib import Path

import pytest

import minutebook
from minutebook.formats.reading import FORMATS, read
from minutebook.messages import ThinkPart
from minutebook.providers import validate_anthropic, validate_chat
from tests.cli.support import make_session, make_transcript, run, run_json


def test_a_session_is_exported_for_openai(tmp_path: Path) -> None:
    """The messages of a request, system prompt first."""
    messages = json.loads(run("export", make_session(tmp_path / "s"), "--to", "openai").stdout)

    assert messages[0] == {"role": "system", "content": "You mend small programs."}
    assert len(messages) == 25
    assert validate_chat.violations(messages) == []


def test_a_session_is_exported_for_anthropic(tmp_path: Path) -> None:
    """An object with system and messages."""
    request = json.loads(run("export", make_session(tmp_path / "s"), "--to", "anthropic").stdout)

    assert set(request) == {"system", "messages"}
    assert validate_anthropic.violations(**request) == []


@pytest.mark.parametrize("to", ["openai", "anthropic"])
def test_the_full_export_has_everything(tmp_path: Path, to: str) -> None:
    """What a revert took back is in it, and nothing of it without --full."""
    folder = make_session(tmp_path / "s")
    run("revert", folder, "--to", 2)

    assert "part_5.py" in run("export", folder, "--to", to, "--full").stdout
    assert "part_5.py" not in run("export", folder, "--to", to).stdout
    (folder / "context_1.jsonl").unlink()
    assert "--partial" in run("export", folder, "--to", to, "--full", code=1).stderr
    run("export", folder, "--to", to, "--full", "--partial")


def test_a_transcript_is_exported(tmp_path: Path) -> None:
    """Another agent's file is spelled for either provider."""
    transcript = make_transcript(tmp_path / "chat.json")

    assert len(json.loads(run("export", transcript, "--to", "openai").stdout)) == 25
    assert json.loads(run("export", transcript, "--to", "anthropic").stdout)["system"]


def test_a_kimi_model_gets_its_thinking_back(tmp_path: Path) -> None:
    """Its API asks for it; others do not get it."""
    with minutebook.open_sync(tmp_path / "s") as session:
        session.append(
            minutebook.user("go"),
            minutebook.assistant(
                [ThinkPart("I wonder.")], tool_calls=[minutebook.call("a", "read")]
            ),
            minutebook.tool("a", "done"),
        )

    assert "I wonder." not in run("export", tmp_path / "s", "--to", "openai").stdout
    given = run("export", tmp_path / "s", "--to", "openai", "--model", "kimi-k2-thinking").stdout
    assert "I wonder." in given


@pytest.mark.parametrize("to", ["responses", "kimi", "claude-code", "codex"])
def test_a_session_is_written_for_another_agent(tmp_path: Path, to: str) -> None:
    """It can be read again, with the same words; what it cannot hold is told."""
    folder, out = make_session(tmp_path / "s"), tmp_path / "there.jsonl"
    run("pin", folder, 1)

    printed = run("export", folder, "--to", to, "--out", out)

    assert "1 pins" in printed.stderr
    found = read(out)
    assert found.format in {to, "openai-responses", "native"}
    with minutebook.open_sync(folder, mode="r") as session:
        words = [message.text for message in session.context.history]
    assert [message.text for message in found.sent] == words
    assert "part_5.py" in run("export", folder, "--to", to, "--full").stdout


def test_a_page_for_people(tmp_path: Path) -> None:
    """Every message under a heading of its own."""
    folder = make_session(tmp_path / "s")
    shown = run("export", folder, "--to", "markdown").stdout

    assert shown.startswith("# ")
    assert shown.count("\n## user") == 6
    assert "part_5.py" in shown


def test_a_file_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    """New, 0600, and never over one that is there."""
    folder, out = make_session(tmp_path / "s"), tmp_path / "all.json"

    printed = run("export", folder, "--to", "openai").stdout
    assert run("export", folder, "--to", "openai", "--out", out).stdout == ""

    assert json.loads(out.read_bytes()) == json.loads(printed)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "already" in run("export", folder, "--to", "openai", "--out", out, code=1).stderr
    missing = tmp_path / "no" / "all.json"
    assert "no" in run("export", folder, "--to", "openai", "--out", missing, code=1).stderr


def test_a_provider_has_to_be_named(tmp_path: Path) -> None:
    """Without --to, or with an unknown one, it is wrong usage."""
    folder = make_session(tmp_path / "s", turns=1)

    run("export", folder, code=2)
    assert "anthropic" in run("export", folder, "--to", "nobody", code=2).stderr


def test_the_formats_are_listed() -> None:
    """Each with what it is and what it is known by."""
    found = run_json("formats")["formats"]

    assert [form["name"] for form in found] == [form.name for form in FORMATS]
    text = run("formats").stdout
    for form in FORMATS:
        assert form.name in text
        assert form.looks_for in text
