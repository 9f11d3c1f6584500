"""The recorded session: what it holds, and that recording it again gives the same bytes."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

import minutebook
from examples.record import HERE, record
from minutebook.context import Context
from minutebook.turns import exchanges, open_calls, turns

SESSION = HERE / "session"
FILES = ("context.jsonl", "session.json")


@pytest.fixture(scope="module")
def context() -> Context:
    """The context of the recorded session."""
    with minutebook.open_sync(SESSION, mode="r") as session:
        assert session.problems == ()
        recorded: Context = session.context
    return recorded


def test_the_session_is_large_enough_to_need_compacting(context: Context) -> None:
    """It has at least 200 messages and 40 000 tokens, more than twice the demo's window."""
    assert len(context.history) >= 200
    assert context.token_count_is_exact
    assert context.token_count_with_pending > 40_000
    assert sum(path.stat().st_size for path in SESSION.iterdir()) < 600_000


def test_the_session_has_what_agents_meet(context: Context) -> None:
    """Parallel calls, failed calls, tracebacks, files read again, a pin, several turns."""
    history = context.history
    results = [message.text for message in history if message.role == "tool"]
    reads = Counter(
        call.arguments for message in history for call in message.calls if call.name == "read_file"
    )

    assert len(turns(history)) >= 5
    assert open_calls(history) == ()
    assert any(exchange.end - exchange.start > 3 for exchange in exchanges(history))
    assert any(text.startswith("<system>ERROR") for text in results)
    assert any("Traceback (most recent call last)" in text for text in results)
    assert reads.most_common(1)[0][1] > 1
    assert len(context.pins) == 1
    assert len(context.checkpoints) == sum(message.role == "assistant" for message in history)


def test_the_session_fails_first_and_passes_at_the_end(context: Context) -> None:
    """The first run of all tests fails, the last one passes."""
    runs = [message.text for message in context.history if "\nRan " in message.text]

    assert "FAILED (failures=" in runs[0]
    assert "\nOK" in runs[-1]


def test_the_session_tells_nothing_of_the_machine_it_was_recorded_on() -> None:
    """No lock is left in it, no path of this system, no duration."""
    text = (SESSION / "context.jsonl").read_text("utf-8")

    assert sorted(path.name for path in SESSION.iterdir()) == sorted(FILES)
    assert str(Path.home()) not in text
    assert not re.findall(r"/(?:tmp|home|root|usr|var|opt)/", text)
    assert set(re.findall(r"\bin [0-9.]+s\b", text)) == {"in 0.00s"}


@pytest.mark.skipif(
    sys.platform != "linux", reason="the recorded outputs are those of Linux' own commands"
)
def test_recording_again_gives_the_same_bytes(tmp_path: Path) -> None:
    """The story, run anew on a fresh copy of the broken program, writes the very same files."""
    record(tmp_path / "again")

    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (SESSION / name).read_bytes(), name


def test_a_session_that_is_there_is_not_recorded_over(tmp_path: Path) -> None:
    """Recording refuses a folder that exists, and leaves it as it is."""
    with pytest.raises(FileExistsError):
        record(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_the_commands_name_no_place_of_their_own(context: Context) -> None:
    """Every path that a tool is called with is relative."""
    for message in context.history:
        for call in message.calls:
            assert not json.loads(call.arguments).get("path", "").startswith("/")
