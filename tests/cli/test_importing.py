"""Another agent's file becomes a session, whole or not at all."""

import json
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

import minutebook
from minutebook.cli.importing import import_into, new_session
from minutebook.cli.opening import reading
from minutebook.errors import FormatError, StoreError
from minutebook.formats.reading import read
from minutebook.messages import Message, user
from minutebook.records import Other
from tests.cli.support import make_session, make_transcript, run, run_json


def test_a_new_session_appears_when_it_is_whole(tmp_path: Path) -> None:
    """Until then nothing of its name is there, and afterwards nothing else."""
    with new_session(tmp_path / "deep" / "new") as folder:
        assert not (tmp_path / "deep" / "new").exists()
        folder.mkdir()
        (folder / "a").touch()

    assert (tmp_path / "deep" / "new" / "a").exists()
    assert [entry.name for entry in (tmp_path / "deep").iterdir()] == ["new"]
    assert stat.S_IMODE((tmp_path / "deep").stat().st_mode) == 0o700


@pytest.mark.parametrize("cause", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_of_one_that_failed(tmp_path: Path, cause: type[BaseException]) -> None:
    """After an error, and after Ctrl-C, the folder is as before."""

    def fail() -> None:
        with new_session(tmp_path / "new") as folder:
            folder.mkdir()
            (folder / "a").touch()
            raise cause

    with pytest.raises(cause):
        fail()

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["file", "link", "full"])
def test_what_is_there_stays(tmp_path: Path, name: str) -> None:
    """A file, a link and a folder that holds something are not replaced."""
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()

    with pytest.raises(StoreError, match="already"), new_session(tmp_path / name):
        pass

    assert len(list(tmp_path.iterdir())) == 3


def test_a_file_is_no_folder_for_a_session(tmp_path: Path) -> None:
    """The system's refusal becomes our error."""
    (tmp_path / "file").touch()

    with pytest.raises(StoreError), new_session(tmp_path / "file" / "new"):
        pass


def test_records_are_taken_over(tmp_path: Path) -> None:
    """Prompt, messages, usage and checkpoints, with what is known of the file."""
    path = tmp_path / "transcript.jsonl"
    lines = [
        {
            "type": "user",
            "uuid": "u1",
            "parentUuid": None,
            "sessionId": "s",
            "version": "2.1.0",
            "timestamp": "2026-01-02T03:04:05Z",
            "message": {"role": "user", "content": "Mend it."},
        },
        {
            "type": "assistant",
            "uuid": "a1",
            "parentUuid": "u1",
            "sessionId": "s",
            "version": "2.1.0",
            "timestamp": "2026-01-02T03:04:06Z",
            "message": {
                "id": "m1",
                "role": "assistant",
                "model": "claude-sonnet-4-5",
                "content": [{"type": "text", "text": "It is mended."}],
                "usage": {"input_tokens": 100, "output_tokens": 10},
            },
        },
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    said: list[str] = []

    with reading(path) as opened:
        import_into(tmp_path / "new", opened, said.append, window=50_000)

    facts = run_json("inspect", tmp_path / "new")
    assert facts["messages"]["total"] == 2
    assert facts["tokens"]["exact"] == 110
    assert facts["tokens"]["window"] == 50_000
    assert facts["model"] == "claude-sonnet-4-5"
    assert facts["agent"].startswith("Claude Code")
    assert [mark["id"] for mark in facts["checkpoints"]] == [0]
    assert said[-1] == "importing: 2 of 2 messages"
    assert facts["problems"] == []


def test_a_prompt_comes_first_whatever_stands_before(tmp_path: Path) -> None:
    """A system prompt and the messages around it keep their order."""
    path = tmp_path / "chat.json"
    messages = [
        {"role": "user", "content": "go"},
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "Gone."},
    ]
    path.write_text(json.dumps(messages), encoding="utf-8")

    run("fork", path, tmp_path / "new")

    shown, imported = run_json("show", path), run_json("show", tmp_path / "new")
    assert imported["system_prompt"] == shown["system_prompt"]
    texts = [found["text"] for found in imported["messages"]]
    assert texts == [found["text"] for found in shown["messages"]]


def test_a_result_that_names_no_call_comes_along(tmp_path: Path) -> None:
    """What another program left undone stays as it is, and the view leaves it out."""
    records = (user("go"), Message("tool", "done"), Other("_odd"))
    with reading(make_transcript(tmp_path / "chat.json")) as opened:
        assert opened.reading is not None
        odd = replace(opened, reading=replace(opened.reading, records=records))
        import_into(tmp_path / "new", odd, print)

    assert len(run_json("show", tmp_path / "new")["messages"]) == 2
    assert len(run_json("show", tmp_path / "new", "--view")["messages"]) == 1


def test_a_log_is_taken_over_byte_for_byte(tmp_path: Path) -> None:
    """A rotation, or a log under another name, keeps keys that nobody knows."""
    data = (
        b'{"role":"_checkpoint","id":7}\n{"role":"user","content":"hi","mood":"good"}\n'
        b'{"role":"_odd","x":1}\n'
    )
    path = tmp_path / "context_3.jsonl"
    path.write_bytes(data)

    run("fork", path, tmp_path / "new")

    log = tmp_path / "new" / "context.jsonl"
    assert log.read_bytes() == data
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert [mark["id"] for mark in run_json("checkpoints", tmp_path / "new")["checkpoints"]] == [7]


def test_nothing_is_made_of_nothing(tmp_path: Path) -> None:
    """A file without a message is refused."""
    path = tmp_path / "context_3.jsonl"
    path.write_bytes(b'{"role":"_odd","x":1}\n')

    with reading(path) as opened, pytest.raises(FormatError, match="nothing to import"):
        import_into(tmp_path / "new", opened, print)

    assert "nothing to import" in run("fork", path, tmp_path / "new", code=1).stderr
    assert not (tmp_path / "new").exists()


def test_a_session_that_was_read_is_no_import(tmp_path: Path) -> None:
    """Sessions are forked by the library, never imported."""
    folder = make_session(tmp_path / "s", turns=1)

    with reading(folder) as opened, pytest.raises(FormatError):
        import_into(tmp_path / "new", opened, print)


def test_what_was_imported_reads_as_the_file_did(tmp_path: Path) -> None:
    """Role, text, calls and call ids of each message are the same."""
    transcript = make_transcript(tmp_path / "chat.json")
    run("fork", transcript, tmp_path / "new")

    def told(path: Path) -> list[tuple[object, ...]]:
        with reading(path) as opened:
            history: tuple[Message, ...] = opened.context.history
            return [(m.role, m.text, m.calls, m.tool_call_id) for m in history]

    assert told(tmp_path / "new") == told(transcript)


def test_importing_again_adds_only_what_is_new(tmp_path: Path) -> None:
    """Whatever became of the session meanwhile: compacted, reverted, or nothing."""
    short, long = (tmp_path / name / "chat.json" for name in ("short", "long"))
    for path in (short, long):
        path.parent.mkdir()
    whole = json.loads(make_transcript(long).read_bytes())
    short.write_text(json.dumps(whole[:13]))
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))

    for folder in (one, two, three):
        assert run_json("import", short, folder)["added"] == 12
    run("compact", two, "--window", 2_000, "--target", 0.3)
    run("revert", three, "--to", 1)

    for folder in (one, two, three):
        assert run_json("import", long, folder)["added"] == len(whole) - 13
        assert run_json("import", long, folder)["added"] == 0
        assert run_json("import", short, folder)["added"] == 0
    with minutebook.open_sync(one, mode="r") as session:
        assert [message.text for message in session.context.history] == [
            message.text for message in read(long).sent
        ]


def test_an_import_into_another_session_is_refused(tmp_path: Path) -> None:
    """Nothing is written; and a session of ours is forked, not imported."""
    transcript, folder = make_transcript(tmp_path / "chat.json"), make_session(tmp_path / "s")
    other = tmp_path / "other.json"
    other.write_text('[{"role":"user","content":"something else"}]')
    run("import", transcript, tmp_path / "made")
    before = (tmp_path / "made" / "context.jsonl").read_bytes()

    assert "name a new folder" in run("import", other, tmp_path / "made", code=1).stderr
    assert (tmp_path / "made" / "context.jsonl").read_bytes() == before
    assert "fork" in run("import", folder, tmp_path / "t", code=2).stderr
