"""A survey knows a session and another agent's file alike, and keeps no message of a session."""

import tracemalloc
from pathlib import Path

import pytest

from minutebook.cli.surveying import store_for_reading, surveying, told
from minutebook.codec import encode_line
from minutebook.errors import FormatError, StoreError
from minutebook.messages import replace, user
from tests.cli.support import WINDOW, make_session, make_transcript


def test_a_session_is_surveyed(tmp_path: Path) -> None:
    """With what its `session.json` says, and its store for a look around."""
    with surveying(make_session(tmp_path / "s")) as found:
        assert (found.format, found.window, found.problems) == ("native", WINDOW, ())
        assert (found.survey.messages, found.survey.turns) == (24, 6)
        assert found.store is not None
        assert found.counts == {}


def test_another_agents_file_is_surveyed(tmp_path: Path) -> None:
    """By its reader; a window that is said counts."""
    with surveying(make_transcript(tmp_path / "t.json"), window=77) as found:
        assert found.format.startswith("openai")
        assert (found.survey.messages, found.window, found.store) == (24, 77, None)


def test_unknown_records_are_counted(tmp_path: Path) -> None:
    """They are kept and ignored."""
    folder = make_session(tmp_path / "s")
    with (folder / "context.jsonl").open("ab") as file:
        file.write(b'{"role":"_later","content":"x"}\n')
    with surveying(folder) as found:
        assert found.counts == {"unknown_records": 1}


def test_there_is_one_conversation_in_a_session(tmp_path: Path) -> None:
    """Another one is an error; so is what is no session."""
    with (
        pytest.raises(FormatError, match="a session is one"),
        surveying(make_session(tmp_path / "s"), conversation=2),
    ):
        pass
    with pytest.raises(StoreError, match="no such session"), store_for_reading(tmp_path / "none"):
        pass


def test_it_is_said_how_far_it_is(tmp_path: Path) -> None:
    """In percent of the bytes."""
    said: list[str] = []
    with store_for_reading(make_session(tmp_path / "s")) as store:
        list(told(store, store.replay(), "reading", said.append))
    assert said[-1] in {"reading, 99 %", "reading, 100 %"}


def test_memory_does_not_grow_with_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of 12 MB, read by 256 KB, is surveyed in less than 3."""
    monkeypatch.setattr("minutebook.store.rewriting.PIECE_BYTES", 1 << 18)
    folder = tmp_path / "s"
    folder.mkdir()
    with (folder / "context.jsonl").open("wb") as file:
        for seq in range(1, 3_000):
            file.write(encode_line(replace(user("words and words " * 250), seq=seq)))

    tracemalloc.start()
    with surveying(folder) as found:
        assert found.survey.messages == 2_999
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 3_000_000
