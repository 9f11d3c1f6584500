"""What may be changed, by the session's own methods."""

import os
from pathlib import Path

import pytest

import minutebook
from minutebook.config.values import Config
from minutebook.errors import (
    CheckpointNotFound,
    CompactionFailed,
    InvalidMessage,
    SessionLocked,
    StoreError,
)
from minutebook.lineage import NothingToUndo
from minutebook.viewer.changing import PREVIEWS_MAX, Changes, holder_of
from tests.cli.support import make_session, make_transcript


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_session(tmp_path / "s", turns=14)


def seqs(folder: Path) -> list[int]:
    with minutebook.open_sync(folder, mode="r") as session:
        return [message.seq or 0 for message in session.context.history]


def test_a_revert_and_its_undo(folder: Path) -> None:
    """The log is as before after both, and both logs are kept."""
    before, changes = seqs(folder), Changes(Config())

    assert changes.revert(folder, 3, "") == 1
    assert seqs(folder) == before[:12]
    assert changes.undo(folder, force=False) == 2
    assert seqs(folder) == before


def test_a_note_is_told_to_the_model(folder: Path) -> None:
    """It stands behind what is kept."""
    Changes(Config()).revert(folder, 3, "that failed")

    with minutebook.open_sync(folder, mode="r") as session:
        assert "that failed" in session.context.history[-1].text


def test_what_cannot_be_done_is_an_error_and_changes_nothing(folder: Path) -> None:
    """As the library says it."""
    before, changes = (folder / "context.jsonl").read_bytes(), Changes(Config())

    with pytest.raises(CheckpointNotFound):
        changes.revert(folder, 99, "")
    with pytest.raises(NothingToUndo):
        changes.undo(folder, force=True)
    with pytest.raises(InvalidMessage):
        changes.pin(folder, 999, pinned=True)
    assert (folder / "context.jsonl").read_bytes() == before


def test_a_pin_is_set_and_taken_away(folder: Path) -> None:
    """By the message's number."""
    changes = Changes(Config())

    changes.pin(folder, 3, pinned=True)
    with minutebook.open_sync(folder, mode="r") as session:
        assert session.context.pins == {3}
    changes.pin(folder, 3, pinned=False)
    with minutebook.open_sync(folder, mode="r") as session:
        assert session.context.pins == frozenset()


def test_a_preview_changes_nothing_and_tells_what_is_done(folder: Path) -> None:
    """What is applied is what was shown."""
    before, changes = (folder / "context.jsonl").read_bytes(), Changes(Config())

    shown = changes.propose(folder, "the parts", 0.4)
    assert (folder / "context.jsonl").read_bytes() == before

    assert changes.apply(folder, shown.id) == 1
    with minutebook.open_sync(folder, mode="r") as session:
        texts = [message.text for message in session.context.history]
    assert texts == [message.text for message in shown.proposal.plan.history]


def test_a_preview_is_done_once(folder: Path) -> None:
    """And of the session that it was made for."""
    changes = Changes(Config())
    shown = changes.propose(folder, "", None)

    with pytest.raises(CompactionFailed, match="not known"):
        changes.apply(folder / "other", shown.id)
    with pytest.raises(CompactionFailed, match="not known"):
        changes.apply(folder, shown.id)


def test_a_session_that_moved_on_is_not_compacted(folder: Path) -> None:
    """By a message, or by a pin; it says so."""
    changes = Changes(Config())
    for move in ("append", "pin"):
        shown = changes.propose(folder, "", None)
        with minutebook.open_sync(folder, durability="process") as session:
            if move == "append":
                session.append(minutebook.user("more"))
            else:
                session.pin(3)
        before = (folder / "context.jsonl").read_bytes()

        with pytest.raises(CompactionFailed, match="moved on"):
            changes.apply(folder, shown.id)
        assert (folder / "context.jsonl").read_bytes() == before


def test_only_the_newest_previews_are_kept(folder: Path) -> None:
    """Each holds a history."""
    changes = Changes(Config())
    first = changes.propose(folder, "", None)
    for _ in range(PREVIEWS_MAX):
        changes.propose(folder, "", None)

    with pytest.raises(CompactionFailed, match="not known"):
        changes.apply(folder, first.id)


def test_a_session_that_fits_is_left_as_it_is(tmp_path: Path) -> None:
    """There is no rotation then."""
    folder = tmp_path / "s"
    with minutebook.open_sync(folder, window=9_000, durability="process") as session:
        session.append(minutebook.user("hello"))
    changes = Changes(Config())
    shown = changes.propose(folder, "", None)

    assert not shown.proposal.plan.changed
    assert changes.apply(folder, shown.id) is None


def test_another_agents_file_is_never_changed(tmp_path: Path) -> None:
    """Only sessions of ours are."""
    path = make_transcript(tmp_path / "chat.json")

    with pytest.raises(StoreError, match="only those are changed"):
        Changes(Config()).undo(path, force=True)
    assert holder_of(path) is None


def test_a_held_session_is_refused_and_its_holder_named(folder: Path) -> None:
    """Nobody's lock is touched to find out."""
    assert holder_of(folder) is None
    with minutebook.open_sync(folder):
        found = holder_of(folder)
        with pytest.raises(SessionLocked):
            Changes(Config()).pin(folder, 1, pinned=True)
    assert found is not None
    assert found.pid == os.getpid()
    assert found.host
    assert holder_of(folder) is None


def test_where_nobody_says_who_holds_a_lock_nobody_is_named(folder: Path, tmp_path: Path) -> None:
    """On other systems; what is done there is refused when it is tried."""
    with minutebook.open_sync(folder):
        assert holder_of(folder, locks=tmp_path / "missing") is None
        status = (folder / ".lock").stat()
        device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        listing = tmp_path / "locks"
        listing.write_text(f"1: -> FLOCK ADVISORY WRITE 7 {device} 0 EOF\n", encoding="ascii")
        assert holder_of(folder, locks=listing) is None
        listing.write_text(f"1: FLOCK ADVISORY WRITE -1 {device} 0 EOF\n", encoding="ascii")
        found = holder_of(folder, locks=listing)
        assert found is not None
        assert found.pid is None
