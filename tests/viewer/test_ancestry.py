"""How logs came from each other, and what a compaction made of one."""

from pathlib import Path

import pytest

import minutebook
from minutebook.config.values import Config
from minutebook.records import Clear, Compaction, Fork, Revert, Rotated
from minutebook.viewer.ancestry import costs, parent_of
from minutebook.viewer.pages import Pages
from minutebook.viewer.places import Places
from tests.cli.support import make_session
from tests.viewer.sessions import make_lived


def pages_of(path: Path) -> tuple[Pages, str]:
    pages = Pages(Places(path), Config())
    return pages, pages.places.all()[0].key


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_lived(tmp_path_factory.mktemp("lived") / "s")


def test_the_logs_are_a_line_back_to_the_first(lived: Path) -> None:
    """Each says what it began with and what left it behind; checkpoints are with their log."""
    pages, key = pages_of(lived)

    logs = pages.session(key).values["logs"]

    assert [log["number"] for log in logs] == [None, 2, 1]
    assert [log["kind"] for log in logs] == ["revert", "compaction", ""]
    assert [(log["rotation"] or {}).get("reason") for log in logs] == [None, "revert", "compaction"]
    assert [log["checkpoints_count"] for log in logs] == [2, 3, 14]
    assert bool(logs[1]["compaction"])


def test_a_log_that_was_undone_stands_aside(tmp_path: Path) -> None:
    """The live log came from the one before it."""
    folder = make_session(tmp_path / "s", turns=14)
    with minutebook.open_sync(folder, retention=None, durability="process") as session:
        session.compact()
        session.undo()
        session.revert(12)
        session.restore(1)
    pages, key = pages_of(folder)

    logs = pages.session(key).values["logs"]

    assert [(log["number"], log["parent"], log["aside"]) for log in logs] == [
        (None, 1, False),
        (4, 3, True),
        (3, 1, True),
        (2, 1, True),
        (1, None, False),
    ]


def test_a_missing_log_is_listed(tmp_path: Path) -> None:
    """With what its successor says of it; the compaction has no items then."""
    folder = make_lived(tmp_path / "s")
    (folder / "context_1.jsonl").unlink()
    pages, key = pages_of(folder)

    values = pages.session(key).values

    assert [log["number"] for log in values["logs"] if log["missing"]] == [1]
    name = values["logs"][1]["compaction"]
    assert pages.compaction(key, name, {}).values["before"] is None
    assert pages.log(key, "now", {}).values["rows"]


def test_a_compaction_has_each_message_once(lived: Path) -> None:
    """With what it took before and takes after it."""
    pages, key = pages_of(lived)
    name = pages.session(key).values["logs"][1]["compaction"]

    values = pages.compaction(key, name, {}).values

    fates = {item["line"].seq: item["fate"] for item in values["items"]}
    with minutebook.open_sync(lived, mode="r") as session:
        record = session.context.lineage[0]
    assert list(fates) == list(range(1, 58))
    assert {seq for seq, fate in fates.items() if fate != "left_out"} == set(record.carried)
    assert sum(item["before"] for item in values["items"]) == sum(values["before"].values())
    kept = sum(item["after"] for item in values["items"])
    made = sum(values["after"].values()) - kept
    assert made > 0
    assert values["costs"].saved_tokens == record.tokens_before - record.tokens_after
    assert values["costs"].reread_tokens == record.tokens_after
    assert [line.seq for line in values["made"]] == list(record.made)


def test_a_log_came_from_the_one_whose_messages_it_began_with() -> None:
    """Of a revert into another log that one, of a fork none that is here."""
    one = Rotated(number=1)

    assert parent_of(Compaction(id="c", parent=one)) == 1
    assert parent_of(Compaction(id="c")) is None
    assert parent_of(Revert(origin=one)) == 1
    assert parent_of(Revert(origin=one, source=7)) == 7
    assert parent_of(Clear(origin=one)) == 1
    assert parent_of(Clear()) is None
    assert parent_of(Fork(source="other")) is None


def test_costs_are_told_where_the_sizes_are() -> None:
    """Another program's record may tell none."""
    found = costs(Compaction(id="c", tokens_before=900, tokens_after=300), None, "")

    assert found is not None
    assert (found.saved_tokens, found.reread_tokens, found.cost_usd) == (600, 300, None)
    assert costs(Compaction(id="c"), None, "") is None
