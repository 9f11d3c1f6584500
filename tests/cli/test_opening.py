"""What a PATH means: a session of ours, or another agent's file."""

from pathlib import Path

import pytest

import minutebook
from minutebook.cli import opening
from minutebook.cli.opening import is_session, reading, window_of_session, writing
from minutebook.errors import ConfigError, SessionLocked, StoreError
from tests.cli.support import make_session, make_transcript


@pytest.mark.parametrize(
    ("names", "path", "expected"),
    [
        (["s/context.jsonl"], "s", True),
        (["s/context.jsonl"], "s/context.jsonl", True),
        (["s/context_3.jsonl"], "s", True),
        (["s/context_3.jsonl.zst"], "s", True),
        (["s/context_3.jsonl"], "s/context_3.jsonl", False),
        (["s/chat.json"], "s", False),
        (["s/chat.json"], "s/chat.json", False),
        ([], "missing", False),
        ([], "missing/context.jsonl", True),
    ],
)
def test_a_session_is_known_by_its_names(
    tmp_path: Path, names: list[str], path: str, expected: bool
) -> None:
    """A folder with a log or rotations, or a file of the log's name."""
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    assert is_session(tmp_path / path) == expected


def test_reading_a_session_takes_no_lock(tmp_path: Path) -> None:
    """It opens beside its writer, who goes on writing."""
    folder = make_session(tmp_path / "s", turns=1)

    with minutebook.open_sync(folder) as session, reading(folder) as opened:
        session.append(minutebook.user("more"))
        assert len(opened.context.history) == 4
        assert opened.reading is None
        assert opened.used == session.used - session.context.estimates[-1]
        assert len(opened.everything()) == 4


def test_reading_a_file_gives_the_same_facts(tmp_path: Path) -> None:
    """A context, its size, its model and everything ever written."""
    with reading(make_transcript(tmp_path / "chat.json"), model="gpt-4o") as opened:
        assert opened.session is None
        assert opened.window == 128_000
        assert len(opened.context.history) == len(opened.everything()) == 24
        assert opened.used == sum(opened.context.estimates) + opened.prompt_tokens


def test_what_was_counted_is_the_size(tmp_path: Path) -> None:
    """With a provider's count, size is that and what came after it."""
    folder = make_session(tmp_path / "s", turns=1)
    with minutebook.open_sync(folder) as session:
        session.record_usage(5_000)

    with reading(folder) as opened:
        assert opened.used == 5_000


def test_whose_log_it_is(tmp_path: Path) -> None:
    """Ours, Kimi CLI's, or one that only its name tells."""
    logs = {
        "ours": b'{"role":"user","content":"hi","seq":1}\n',
        "kimis": b'{"role":"_checkpoint","id":0}\n{"role":"user","content":"hi"}\n',
        "any": b'{"role":"user","content":"hi"}\n',
        "torn": b'{"role":"us',
    }
    found = {}
    for name, data in logs.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "context.jsonl").write_bytes(data)
        with reading(tmp_path / name) as opened:
            found[name] = (opened.format, opened.evidence.partition(",")[0])

    assert found["ours"][0] == found["any"][0] == found["torn"][0] == "native"
    assert found["kimis"][0] == "kimi"
    assert found["any"][1] == "a log by its name"


def test_writing_needs_a_session(tmp_path: Path) -> None:
    """Nothing is made, and the error says what is there instead."""
    transcript = make_transcript(tmp_path / "chat.json")

    for path in (transcript, tmp_path, tmp_path / "missing", tmp_path / "no" / "context.jsonl"):
        with pytest.raises(StoreError), writing(path):
            pass

    assert [entry.name for entry in tmp_path.iterdir()] == ["chat.json"]


def test_one_writer(tmp_path: Path) -> None:
    """A second one is refused."""
    folder = make_session(tmp_path / "s", turns=1)

    with writing(folder) as session, pytest.raises(SessionLocked), writing(folder):
        session.checkpoint()


def test_the_window_of_a_session(tmp_path: Path) -> None:
    """Said, known of a model, in session.json, or of the model that was last used."""
    plain = make_session(tmp_path / "plain", turns=1, window=None)
    described = make_session(tmp_path / "described", turns=1, window=70_000)
    used = make_session(tmp_path / "used", turns=1, window=None)
    with minutebook.open_sync(used) as session:
        session.record_usage(5_000, model="gpt-4o")
        session.record_usage(6_000)

    assert window_of_session(plain, window=9, model="gpt-4o") == 9
    assert window_of_session(plain, window=None, model="gpt-4o") == 128_000
    assert window_of_session(described, window=None, model=None) == 70_000
    assert window_of_session(used, window=None, model=None) == 128_000
    for model in (None, "no-such-model"):
        with pytest.raises(ConfigError, match="200000"):
            window_of_session(plain, window=None, model=model)


def test_a_large_log_is_read_with_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes a while says so, and opens the same."""
    folder = make_session(tmp_path / "s", turns=1)
    monkeypatch.setattr(opening, "LONG_BYTES", 1)

    with reading(folder) as opened:
        assert len(opened.context.history) == 4
