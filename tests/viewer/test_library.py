"""What is known of the sessions that were looked at."""

from pathlib import Path

import pytest

import minutebook
from minutebook.cli.inspecting import facts_of
from minutebook.cli.surveying import surveying
from minutebook.errors import StoreError
from minutebook.store.contract import Store
from minutebook.viewer.growing import Growing
from minutebook.viewer.library import Library, Recent, stamp_of
from minutebook.viewer.places import Place, Places
from tests.cli.support import make_session, make_transcript
from tests.viewer.sessions import make_lived


def place_of(path: Path) -> Place:
    return Places(path).all()[0]


def test_the_facts_are_those_of_inspect(tmp_path: Path) -> None:
    """The same function gives them, of a session and of another agent's file."""
    for path in (make_lived(tmp_path / "s"), make_transcript(tmp_path / "chat.json")):
        with surveying(path.resolve()) as surveyed:
            expected = facts_of(surveyed)

        with Library().open(place_of(path)) as opened:
            assert opened.facts() == expected


def test_problems_are_told_again_from_memory(tmp_path: Path) -> None:
    """The log is read once, and what was wrong with it is still known the second time."""
    folder = make_session(tmp_path / "s", turns=1)
    with (folder / "context.jsonl").open("ab") as log:
        log.write(b"{broken\n")
    library, place = Library(), place_of(folder)

    for _ in range(2):
        with library.open(place) as opened:
            assert [problem["kind"] for problem in opened.facts()["problems"]] == ["bad"]


def test_a_log_is_read_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it is read on, and anew only if it is another one."""
    folder = make_session(tmp_path / "s", turns=1)
    read: list[int] = []
    real = Growing._read

    def counting(self: Growing, store: Store) -> None:
        read.append(1)
        real(self, store)

    monkeypatch.setattr(Growing, "_read", counting)
    library, place = Library(), place_of(folder)

    def count() -> int:
        with library.open(place) as opened:
            return opened.live.index.count

    assert (count(), count(), len(read)) == (4, 4, 1)
    with minutebook.open_sync(folder, durability="process") as session:
        session.append(minutebook.user("more"))
    assert (count(), len(read)) == (5, 1)
    with minutebook.open_sync(folder, durability="process") as session:
        session.clear()
    assert (count(), len(read)) == (0, 2)


def test_a_message_is_found_whole(tmp_path: Path) -> None:
    """In the newest log that has its original."""
    folder = make_session(tmp_path / "s", turns=14)
    with minutebook.open_sync(folder, durability="process") as session:
        session.compact(target=0.4)
        elided = [message.seq or 0 for message in session.context.history if message.elided]
        gone = min(
            {message.seq for message in session.history(full=True)}
            - {message.seq for message in session.context.history}
        )

    with Library().open(place_of(folder)) as opened:
        assert opened.find(gone)[0] == 1  # type: ignore[index]
        assert opened.find(10_000) is None
        newest = opened.live.index.seqs[-1]
        assert opened.find(newest)[0] is None  # type: ignore[index]
        for seq in elided:
            assert opened.find(seq)[0] == 1  # type: ignore[index]


def test_a_compaction_is_found_with_the_log_that_it_began(tmp_path: Path) -> None:
    """That log may be retired itself by now."""
    folder = make_lived(tmp_path / "s")
    with minutebook.open_sync(folder, durability="process") as session:
        name = session.context.lineage[0].id
        session.clear()

    with Library().open(place_of(folder)) as opened:
        found = opened.compaction(name)
        assert found is not None
        assert found[0] == 2
        assert found[2].id == name
        assert opened.compaction("none") is None
        assert opened.log(99) is None


def test_another_agents_file_is_one_log(tmp_path: Path) -> None:
    """It has no rotations and no checkpoints to go back to."""
    with Library().open(place_of(make_transcript(tmp_path / "chat.json"))) as opened:
        assert [number for number, _log in opened.logs()] == [None]
        assert opened.log(1) is None
        assert opened.live.index.count == opened.facts()["messages"]["total"]


def test_what_has_gone_is_an_error(tmp_path: Path) -> None:
    """The list may be older than the disk."""
    place = place_of(make_session(tmp_path / "s", turns=1))
    for path in (tmp_path / "s").iterdir():
        path.unlink()
    (tmp_path / "s").rmdir()

    with pytest.raises(StoreError), Library().open(place):
        pass


def test_a_stamp_changes_with_the_session(tmp_path: Path) -> None:
    """By an append, a rewrite, a title; not by being looked at."""
    folder = make_session(tmp_path / "s", turns=1)
    stamps = [stamp_of(folder), stamp_of(folder)]
    with minutebook.open_sync(folder, durability="process") as session:
        session.append(minutebook.user("x"))
        stamps.append(stamp_of(folder))
        session.clear()
        stamps.append(stamp_of(folder))
    (folder / "session.json").write_text('{"id": "s", "title": "new"}', encoding="utf-8")
    stamps.append(stamp_of(folder))

    assert stamps[0] == stamps[1]
    assert len(set(stamps)) == 4
    assert stamp_of(tmp_path / "missing") == ()


def test_only_the_newest_values_are_kept() -> None:
    """One that is asked for again counts as new."""
    kept: Recent[int] = Recent(2)
    for name in ("a", "b"):
        kept.get((name,), lambda: 1)
    kept.get(("a",), lambda: 2)
    kept.get(("c",), lambda: 3)

    assert kept.get(("a",), lambda: 4) == 1
    assert kept.get(("b",), lambda: 5) == 5
