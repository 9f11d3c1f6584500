"""The benchmark of what is remembered: cuts, policies and rows on a session made here."""

from pathlib import Path

import pytest

from benchmarks import faults, recall
from benchmarks.recall import ROW_SHARES, VIEWS, cut_at, in_a_row, measure, report, window
from benchmarks.sessions import Session, session
from minutebook.compaction.digest.write import digest
from minutebook.messages import Message, assistant, user
from minutebook.tokens.estimate import estimate_message
from minutebook.turns import cuts
from tests.compaction.conversations import lines, step
from tests.compaction.summaries import COVERED, TRUE


def made(turns: int = 60) -> Session:
    """Give a session that comes back to its names."""
    found: list[Message] = [user("Fix the parser in src/app.py please")]
    for at in range(turns):
        output = f"{lines(40)}\nLIMIT_{at} stands in src/part_{at}.py"
        found += step(f"c{at}", "bash", output, f"I look at LIMIT_{at // 2}.", command=f"make {at}")
    told = Message(role="user", content="Minutes by the agent itself", origin="summary")
    return session("made", [*found, told, assistant("Done.")])


def test_a_session_has_no_summary_by_its_agent() -> None:
    """And its messages are numbered and counted."""
    one = made(3)

    assert [message.seq for message in one.messages] == list(range(1, 9))
    assert one.tokens == sum(map(estimate_message, one.messages))


@pytest.mark.parametrize("share", ROW_SHARES)
def test_a_cut_splits_no_exchange(share: float) -> None:
    """And stands before its share of the tokens."""
    one = made()
    at = cut_at(one, share)

    assert at in cuts(one.messages)
    assert sum(one.sizes[:at]) <= share * one.tokens
    assert cut_at(one, 1.0) == len(one.messages)


def test_every_policy_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything kept recalls everything; the ladder more than the window."""
    monkeypatch.setattr(recall, "TARGET_TOKENS", 3_000)

    row = measure(made(), 0.5, reported=True)

    assert set(row.recall) == set(VIEWS)
    assert row.recall["everything"] == 1.0
    assert row.recall["ladder"] >= row.recall["window"]
    assert row.tokens["window"] <= 3_000
    assert row.tokens["ladder"] <= 3_000
    assert row.pins_lost == 0
    assert 0.0 <= row.missed <= 1.0
    assert in_a_row(made()) > 0.5


def test_a_window_may_be_empty() -> None:
    """Where the newest exchange alone is too large."""
    huge = [user("go"), *step("a", "bash", lines(2_000))]

    assert window(session("huge", huge).messages) == ()


def test_nothing_to_read_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report says so."""
    assert report([tmp_path]) == 0
    assert faults.main([str(tmp_path)]) == 0

    printed = capsys.readouterr().out
    assert "no recorded sessions of that length" in printed
    assert "no summaries" in printed


def test_faults_are_planted_and_caught() -> None:
    """In a summary by a model and in a digest; pins too, and swaps are told apart."""
    import random

    other = session("other", [user("see lib/other/place.go"), assistant("ok")]).messages
    found = [
        faults.Truth("a", TRUE, COVERED, by_model=True),
        faults.Truth("b", digest(COVERED, 2_000), COVERED, by_model=False),
        faults.Truth("c", digest(other, 500), other, by_model=False),
    ]

    results = faults.plant(found, 40)
    swaps = [faults.change_swap(found[0], random.Random(at)) for at in range(30)]

    assert {result.kind for result in results} == set(faults.SHARES)
    assert sum(result.caught for result in results) > 30
    assert {swap.kind for swap in swaps if swap is not None} == {"swapped name"}
    with pytest.raises(ValueError, match="there is no name to change"):
        faults.plant([faults.Truth("d", "Nothing.", other, by_model=True)], 20)
