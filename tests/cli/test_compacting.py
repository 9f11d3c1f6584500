"""`compact` makes smaller what is sent, says what it did, and can be undone."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

import minutebook
from minutebook.formats.reading import read
from minutebook.messages import Message
from minutebook.session import Session
from minutebook.turns import pair
from tests.cli.support import SHARED, WINDOW, lines_of, make_session, make_transcript, run, run_json


def history_of(folder: Path) -> tuple[Message, ...]:
    """Give the messages of a session."""
    with minutebook.open_sync(folder, mode="r") as session:
        found: tuple[Message, ...] = session.context.history
        return found


def test_a_session_is_compacted_in_place(tmp_path: Path) -> None:
    """The report says what it was, what it is, what was done, where the old log is."""
    folder = make_session(tmp_path / "s")
    before = lines_of(folder)

    facts = run_json("compact", folder)

    assert facts["changed"]
    assert facts["window"] == WINDOW
    assert facts["before"]["messages"] == 24
    assert facts["after"]["messages"] == len(history_of(folder))
    assert facts["after"]["tokens"] < facts["before"]["tokens"]
    assert facts["before"]["tokens"] == sum(facts["before"]["by_kind"].values())
    assert facts["after"]["tokens"] == sum(facts["after"]["by_kind"].values())
    assert facts["steps"][0]["tokens_before"] == facts["before"]["tokens"]
    assert facts["steps"][-1]["tokens_after"] == facts["after"]["tokens"]
    assert facts["out"] is None
    assert facts["rotation"] == 1
    assert Path(facts["old_log"]).read_bytes().splitlines() == before
    assert facts["undo"] == f"minutebook undo {folder}"


def test_the_undo_that_the_report_names_works(tmp_path: Path) -> None:
    """The very command that was printed brings every message back."""
    folder = make_session(tmp_path / "s")
    before = history_of(folder)

    _program, *words = run_json("compact", folder)["undo"].split()
    run(*words)

    assert history_of(folder) == before


def test_the_report_for_people_says_the_same(tmp_path: Path) -> None:
    """Before and after by kind, the steps, what is kept, the old log and the way back."""
    folder = make_session(tmp_path / "s")
    run("pin", folder, 2)

    text = run("compact", folder).stdout

    for words in (
        "before",
        "tool results",
        f"of {WINDOW:,}",
        "steps",
        "mask",
        "word for word",
        "1 pinned",
        str(folder / "context_1.jsonl"),
        f"minutebook undo {folder}",
    ):
        assert words in text


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    """It takes no lock, so an agent may be at work, and tells what the real run then does."""
    folder = make_session(tmp_path / "s")
    before = lines_of(folder)

    with minutebook.open_sync(folder):
        dry = run_json("compact", folder, "--dry-run")
    assert "nothing was changed" in run("compact", folder, "--dry-run").stdout
    assert lines_of(folder) == before
    assert sorted(entry.name for entry in folder.iterdir()) == [
        ".lock",
        "context.jsonl",
        "session.json",
    ]
    real = run_json("compact", folder)

    assert dry["dry_run"]
    assert not dry["changed"]
    assert dry["rotation"] is None
    for key in ("before", "after", "steps", "kept", "left_out", "target"):
        assert dry[key] == real[key]


def test_target_focus_and_preset_reach_the_plan(tmp_path: Path) -> None:
    """Each option changes what is done."""
    folder = make_session(tmp_path / "s", turns=40)

    plain = run_json("compact", folder, "--dry-run")
    small = run_json("compact", folder, "--dry-run", "--target", 0.2)
    kilo = run_json("compact", folder, "--dry-run", "--preset", "kilo")

    assert small["target"] < plain["target"]
    assert small["after"]["tokens"] < plain["after"]["tokens"]
    assert kilo["after"] != plain["after"]
    run("compact", folder, "--focus", "the third part")
    assert b"the third part" in (folder / "context.jsonl").read_bytes()


def test_what_is_small_already_is_left_alone(tmp_path: Path) -> None:
    """Nothing to gain is no error: the report says why nothing was changed."""
    with minutebook.open_sync(tmp_path / "s", window=100_000) as session:
        session.append(minutebook.user("hello"))

    facts = run_json("compact", tmp_path / "s")

    assert not facts["changed"]
    assert facts["reason"]
    assert facts["undo"] is None
    assert "nothing was changed: " in run("compact", tmp_path / "s").stdout


def test_what_cannot_fit_is_refused(tmp_path: Path) -> None:
    """The error says what takes the room, and the session is as before."""
    with minutebook.open_sync(tmp_path / "s") as session:
        session.append(minutebook.user("word " * 9_000, pin=True))
    before = lines_of(tmp_path / "s")

    message = run("compact", tmp_path / "s", "--window", 2_000, code=1).stderr

    assert "pinned" in message
    assert lines_of(tmp_path / "s") == before
    run("compact", tmp_path / "s", "--window", 2_000, "--out", tmp_path / "new", code=1)
    assert [entry.name for entry in tmp_path.iterdir()] == ["s"]


def test_the_window_comes_from_where_it_is_known(tmp_path: Path) -> None:
    """From the option, the model's name, session.json, or the model of the last usage."""
    folder = make_session(tmp_path / "s", window=None)

    message = run("compact", folder, code=1).stderr
    assert message.startswith("minutebook: --window: ")
    assert f"minutebook compact {folder} --window 200000" in message
    assert "no-such" in run("compact", folder, "--model", "no-such", code=1).stderr
    assert "no-such" in run("compact", folder, "--model", "no-such", "--dry-run", code=1).stderr
    assert run_json("compact", folder, "--model", "gpt-4o", "--dry-run")["window"] == 128_000
    with minutebook.open_sync(folder, model="gpt-4o") as session:
        session.record_usage({"prompt_tokens": 6_000, "completion_tokens": 9})
    assert run_json("compact", folder)["window"] == 128_000
    assert run_json("compact", folder, "--model", "gpt-4o")["window"] == 128_000
    named = make_session(tmp_path / "named", window=9_000)
    assert run_json("compact", named, "--dry-run")["window"] == 9_000


def test_a_session_is_compacted_into_a_fork(tmp_path: Path) -> None:
    """With --out the session itself stays as it is, and the fork has its history."""
    folder, out = make_session(tmp_path / "s"), tmp_path / "deep" / "new"
    before = lines_of(folder)

    facts = run_json("compact", folder, "--out", out)

    assert lines_of(folder) == before
    assert facts["out"] == str(out)
    assert facts["after"]["messages"] == len(history_of(out))
    assert facts["undo"] == f"minutebook undo {out}"
    assert [found["seq"] for found in run_json("show", out, "--full")["messages"]][:24] == list(
        range(1, 25)
    )
    assert sorted(entry.name for entry in out.parent.iterdir()) == ["new"]


def test_another_agents_file_becomes_a_session(tmp_path: Path) -> None:
    """With --out it is imported, with checkpoints, and compacted; the file stays."""
    transcript, out = make_transcript(tmp_path / "chat.json"), tmp_path / "new"
    before = transcript.read_bytes()

    facts = run_json("compact", transcript, "--out", out, "--window", WINDOW)

    assert transcript.read_bytes() == before
    assert facts["before"]["messages"] == 24
    assert facts["after"]["tokens"] <= facts["target"]
    assert len(run_json("show", out, "--full")["messages"]) >= 24
    found = run_json("checkpoints", out)["checkpoints"]
    assert [mark["id"] for mark in found][:6] == [0, 1, 2, 3, 4, 5]
    run("revert", out, "--to", 3)
    assert len(history_of(out)) == 12
    other = tmp_path / "other"
    text = run("compact", transcript, "--out", other, "--window", WINDOW).stdout
    assert text.startswith(f"{other}: a new session, made of {transcript}")


def test_another_agents_file_is_never_changed(tmp_path: Path) -> None:
    """Without --out that is wrong usage, and the error gives the command that works."""
    transcript = make_transcript(tmp_path / "chat.json")

    message = run("compact", transcript, "--window", WINDOW, code=2).stderr

    assert "--out" in message
    assert run_json("compact", transcript, "--window", WINDOW, "--dry-run")["after"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["chat.json"]


def test_an_existing_folder_is_not_written_into(tmp_path: Path) -> None:
    """--out names a new folder; an empty one will do."""
    folder = make_session(tmp_path / "s")
    (tmp_path / "empty").mkdir()

    assert "something already" in run("compact", folder, "--out", folder, code=1).stderr
    run("compact", folder, "--out", tmp_path / "empty")
    assert (tmp_path / "empty" / "context.jsonl").exists()


def test_an_unknown_preset_is_wrong_usage(tmp_path: Path) -> None:
    """The error lists the presets that there are."""
    message = run("compact", tmp_path, "--preset", "none", code=2).stderr

    assert "kimi" in message


@pytest.mark.parametrize("late", [False, True])
def test_an_interrupt_leaves_the_session_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """Ctrl-C before the rewrite changes nothing; after it, the way back is named."""
    folder = make_session(tmp_path / "s")
    before = lines_of(folder)
    original = Session.compact

    async def interrupted(session: Session, *args: Any, **kwargs: Any) -> Any:
        if late:
            await original(session, *args, **kwargs)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Session, "compact", interrupted)
    result = run("compact", folder, code=130)

    assert result.stdout == ""
    assert (f"minutebook undo {folder}" in result.stderr) == late
    assert (lines_of(folder) == before) != late


SAMPLES = sorted(
    path
    for kind in ("kimi-cli", "openai-chat", "claude-code")
    for path in (SHARED / "samples" / kind).rglob("*.json*")
    if path.name not in {"state.json", "wire.jsonl", "kimi.json"}
)


@pytest.mark.skipif(not SAMPLES, reason="needs the samples beside the repository")
def test_every_sample_is_compacted_to_a_quarter(tmp_path: Path) -> None:
    """Down to a quarter, or to what is pinned and newest, with every exchange whole."""
    for number, path in enumerate(SAMPLES):
        out = tmp_path / str(number)
        size = run_json("inspect", path)["tokens"]["estimated"]
        before = pair(read(path).sent)

        # An eighth of twice the size: so that even the whole of it could be sent.
        facts = run_json("compact", path, "--out", out, "--window", 2 * size, "--target", 0.125)

        history = history_of(out)
        after = pair(history)
        assert len(after.orphans) <= len(before.orphans), path
        assert len(after.open) <= len(before.open), path
        # The target is in the provider's tokens where it has counted some, the sizes in ours.
        near = facts["after"]["tokens"] <= 1.05 * facts["target"]
        assert near or _is_least(history), path
        json.loads(run("export", out, "--to", "anthropic").stdout)


def _is_least(history: tuple[Message, ...]) -> bool:
    """Tell whether nothing is left but what stays in any case.

    That is the first message, the newest exchange, what a person wrote, and what stands for
    the rest.
    """
    spoken = [at for at, message in enumerate(history) if message.role in {"user", "assistant"}]
    older = history[1 : spoken[-2]] if len(spoken) > 1 else ()
    return all(
        message.role == "user" or message.origin in {"summary", "notice"} or message.elided
        for message in older
    )


def test_the_configuration_is_followed_and_options_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Window, target, rules for tags and hooks, from the nearest file or the one that is named."""
    folder = make_session(tmp_path / "s", window=None)
    text = f"[model]\nwindow = {WINDOW}\n[compaction]\ntarget_ratio = 0.3\n"
    (tmp_path / "minutebook.toml").write_text(text)
    strict = tmp_path / "strict.toml"
    strict.write_text(
        f"{text}[[tags]]\ntag = 'task'\nrole = 'user'\nprotected = true\n"
        "[[hooks]]\nevent = 'PreCompact'\ncommand = 'exit 2'\n"
    )
    monkeypatch.chdir(tmp_path)

    near = run_json("compact", folder, "--dry-run")
    assert (near["window"], near["target"]) == (WINDOW, int(WINDOW * 0.3))
    wider = run_json("compact", folder, "--dry-run", "--window", 2 * WINDOW, "--target", 0.5)
    assert (wider["window"], wider["target"]) == (2 * WINDOW, WINDOW)
    assert run_json("compact", folder, "--dry-run", "--preset", "kimi")["target"] != near["target"]
    kept = run_json("compact", folder, "--dry-run", "--config", strict)["kept"]
    assert kept["user"] >= near["kept"]["user"]
    assert "vetoed by exit 2" in run("compact", folder, "--config", strict, code=1).stderr
    strict.write_text("[model]\nwindw = 5\n")
    assert "strict.toml:2" in run("compact", folder, "--config", strict, code=1).stderr
