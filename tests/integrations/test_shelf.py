from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minutebook
from minutebook.integrations.shelf import Shelf
from minutebook.records import Compaction
from tests.integrations.support import WINDOW, everything, make_session


@pytest.fixture
async def shelf(tmp_path: Path) -> Shelf:
    await make_session(tmp_path / "one")
    await make_session(tmp_path / "deep" / "two", turns=1)
    return Shelf(tmp_path, window=WINDOW)


@given(parts=st.lists(st.sampled_from(["..", ".", "one", "/", "//", "\0", "a"]), max_size=6))
async def test_no_name_leads_out_of_the_root(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    """Whatever the name, only what lies below the root is opened, and nothing is made."""
    root = tmp_path_factory.getbasetemp() / "shelf" / "root"
    root.mkdir(parents=True, exist_ok=True)
    name = "/".join(parts)

    with pytest.raises(minutebook.StoreError):
        await Shelf(root).checkpoint(name)

    assert [path.name for path in root.parent.iterdir()] == ["root"]
    assert list(root.iterdir()) == []


async def test_a_session_beside_the_root_is_not_opened(tmp_path: Path) -> None:
    """Neither by dots nor by a link."""
    await make_session(tmp_path / "outside")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "outside")

    for name in ("../outside", "link", str(tmp_path / "outside")):
        with pytest.raises(minutebook.StoreError, match="not below"):
            await Shelf(root).read(name, [1])


def test_sessions_are_listed_and_found_by_title_and_path(shelf: Shelf) -> None:
    """Without a query all, with one those that it fits."""
    assert {row["session"] for row in shelf.sessions()} == {"one", "deep/two"}
    assert [row["session"] for row in shelf.sessions("TWO")] == ["deep/two"]
    assert len(shelf.sessions("mend", limit=1)) == 1
    assert shelf.sessions("nothing like it") == []


async def test_a_search_tells_in_which_session_words_were_found(shelf: Shelf) -> None:
    """Over all sessions only those are named that have the words."""
    found = await shelf.search("part_4")

    assert found.startswith("Session one")
    assert "deep/two" not in found
    assert "part_4" in await shelf.search("part_4", "one")
    assert await shelf.search("zebra") == "Nothing was found."


async def test_what_was_compacted_is_still_read_and_expanded(shelf: Shelf, tmp_path: Path) -> None:
    """A compaction loses no word: records are read by number, a summary gives its originals."""
    before = await everything(tmp_path / "one")

    done = await shelf.compact("one", target=0.2)

    assert done["changed"]
    assert done["tokens_after"] < done["tokens_before"]
    assert (await everything(tmp_path / "one"))[: len(before)] == before
    assert "part_0" in await shelf.read("one", [1])
    async with minutebook.open(tmp_path / "one", mode="r") as session:
        compaction = session.context.lineage[-1]
    assert isinstance(compaction, Compaction)
    assert "stands for" in await shelf.expand("one", compaction.made[0])


async def test_a_checkpoint_is_set_and_gone_back_to(shelf: Shelf) -> None:
    """The status names it; after the revert it is gone, and the log before is a rotation."""
    number = (await shelf.checkpoint("one", "tests pass"))["checkpoint"]
    status = await shelf.status("one")
    gone_back = await shelf.revert("one", 3, note="That approach failed.")

    assert status["checkpoints"][-1] == {"id": number, "label": "tests pass"}
    assert status["window"] == WINDOW
    assert status["tokens"] > WINDOW
    assert gone_back["rotation"] == 1
    assert (await shelf.status("one"))["rotations"] == 1
    assert "failed" in await shelf.search("approach", "one")


async def test_a_share_that_is_none_changes_nothing(shelf: Shelf, tmp_path: Path) -> None:
    """The error comes before anything is written."""
    log = tmp_path / "one" / "context.jsonl"
    before = log.read_bytes()

    for target in (0.0, 1.5, float("nan")):
        with pytest.raises(minutebook.ConfigError, match="target"):
            await shelf.compact("one", target=target)

    assert log.read_bytes() == before


def test_a_missing_root_is_said(tmp_path: Path) -> None:
    """A server over nothing is a mistake of the one who starts it."""
    with pytest.raises(minutebook.StoreError, match="no such folder"):
        Shelf(tmp_path / "missing")
