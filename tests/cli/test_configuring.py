"""`config` shows which settings are in force and where they come from, and checks them."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from minutebook.cli.app import app
from minutebook.config.fields import PLAIN
from tests.cli.support import run, run_json

TEXT = """\
preset = "kimi"
profile = "fast"

[model]
window = 128_000

[summary]
prompt = "Write down what was decided, and only that; all in one paragraph of plain text."

[[summarizers]]
kind = "openai"
model = "small"
key_env = "MINUTES_TEST_KEY"

[[hooks]]
command = "./guard.sh"

[profiles.fast]
threshold_percent = 70
"""


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Begin in an empty folder, with none of our variables set."""
    monkeypatch.chdir(tmp_path)
    for name in ("MINUTEBOOK_CONFIG", "MINUTEBOOK_HYPOTHESIS", "MINUTEBOOK_CRASH"):
        monkeypatch.delenv(name, raising=False)


def written(folder: Path, text: str = TEXT) -> Path:
    """Write a configuration."""
    file = folder / "minutebook.toml"
    file.write_text(text, encoding="utf-8")
    return file


def invoke(*words: object) -> Result:
    """Run a command that lists problems, and ends with 1 for them."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert (result.exit_code, result.stderr) == (1, "")
    return result


def settings(facts: dict[str, Any]) -> dict[str, tuple[Any, str]]:
    """Give the settings by key, with their sources."""
    return {one["key"]: (one["value"], one["source"]) for one in facts["settings"]}


def test_show_tells_every_setting_and_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the nearest file, from the environment, or the default."""
    file = written(tmp_path)
    monkeypatch.setenv("MINUTEBOOK_COMPACTION_TARGET_RATIO", "0.3")
    (tmp_path / "below").mkdir()

    facts = run_json("config", "show", "below")

    assert facts["file"] == str(file)
    found = settings(facts)
    assert set(found) == set(PLAIN)
    assert found["preset"] == ("kimi", f"{file}:1")
    assert found["model.window"] == (128_000, f"{file}:5")
    assert found["model.name"] == (None, "default")
    assert found["compaction.target_ratio"] == (0.3, "MINUTEBOOK_COMPACTION_TARGET_RATIO")
    assert found["compaction.trigger_ratio"] == (0.7, f"{file}:19")
    assert found["compaction.reserve_tokens"] == (50_000, "default")
    assert facts["hooks"][0]["command"] == "./guard.sh"
    assert facts["summarizers"][0]["key_env"] == "MINUTES_TEST_KEY"
    assert facts["profiles"] == [{"name": "fast", "threshold_percent": 70.0}]
    assert facts["tags"] == []


def test_show_for_people_says_the_same(tmp_path: Path) -> None:
    """Long texts in short, and no key of any API."""
    file = written(tmp_path)

    text = run("config", "show").stdout

    assert text.splitlines()[0] == str(file)
    for words in (
        "kimi",
        f"{file}:5",
        "mask",
        "true",
        "Write down what was decided, and only that; all in one para…",
        "command ./guard.sh",
        "kind openai, model small, key_env MINUTES_TEST_KEY",
    ):
        assert words in text


def test_without_a_file_the_defaults_are_shown() -> None:
    """The first line says so."""
    assert run("config", "show").stdout.startswith("no minutebook.toml here or above")
    assert run_json("config", "show")["file"] is None
    assert run("config", "check").stdout == "no minutebook.toml here or above: no problem\n"


def test_a_file_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an argument, or by the variable."""
    file = written(tmp_path).rename(tmp_path / "other.toml")

    assert run_json("config", "show", file)["file"] == str(file)
    monkeypatch.setenv("MINUTEBOOK_CONFIG", str(file))
    assert run_json("config", "show")["file"] == str(file)


def test_check_says_that_all_is_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes are about what may be meant."""
    file = written(tmp_path)
    monkeypatch.setenv("MINUTEBOOK_WINDOW", "1000")
    monkeypatch.delenv("MINUTES_TEST_KEY", raising=False)

    assert run("config", "check").stdout.splitlines() == [
        "note: MINUTEBOOK_WINDOW stands for no setting",
        "note: MINUTES_TEST_KEY is not set, so there is no key",
        f"{file}: no problem",
    ]
    assert run_json("config", "check")["problems"] == []


def test_check_lists_every_problem_with_its_line(tmp_path: Path) -> None:
    """And ends with 1, with JSON too."""
    file = written(tmp_path, "preste = 'kimi'\n\n[model]\nwindow = 0\n")

    result = invoke("config", "check")
    facts = invoke("config", "check", "--json").stdout

    assert result.stdout.splitlines() == [
        f"{file}:1: preste: there is no such key; did you mean preset?",
        f"{file}:4: model.window: expected int >= 1; give the model's window in tokens",
        "2 problems",
    ]
    assert '"line": 4' in facts
    assert '"remedy": "did you mean preset?"' in facts


def test_show_of_what_is_wrong_is_an_error_in_one_line(tmp_path: Path) -> None:
    """It names the first problem, and the command that lists them all."""
    written(tmp_path, "a = 1\nb = 2\n")

    text = run("config", "show", code=1).stderr

    assert ":1: a: there is no such key" in text
    assert "`minutebook config check` lists them" in text


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Naming it."""
    text = invoke("config", "check", tmp_path / "other.toml").stdout

    assert "other.toml: it cannot be read: No such file or directory; check the path" in text


def test_anything_else_is_wrong_usage() -> None:
    """There are two things that can be done."""
    run("config", "edit", code=2)
    run("config", code=2)
