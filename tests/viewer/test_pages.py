"""The values of the pages."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minutebook
from minutebook.config.values import Config
from minutebook.messages import replace, tool, user
from minutebook.viewer import pages as module
from minutebook.viewer.pages import NotThere, Pages, digest, number_in
from minutebook.viewer.places import Places
from tests.cli.support import make_session
from tests.viewer.sessions import make_lived, write_log


def pages_of(path: Path) -> tuple[Pages, str]:
    pages = Pages(Places(path), Config())
    return pages, pages.places.all()[0].key


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_lived(tmp_path_factory.mktemp("lived") / "s")


def test_the_bar_and_the_curve_are_those_of_the_session(lived: Path) -> None:
    """With the bounds of the configuration's policy."""
    pages, key = pages_of(lived)

    values = pages.session(key).values

    assert values["bar"].used == values["facts"]["tokens"]["with_pending"]
    assert values["bounds"].window == 4_000
    assert [drop.kind for drop in values["curve"].drops] == ["compaction", "revert"]
    assert values["curve"].points[0].tokens == 3_300
    assert values["undoable"]


def test_a_window_that_is_not_known_has_no_bounds(tmp_path: Path) -> None:
    """Nor has one that the prompt fills alone."""
    for name, window in (("unknown", None), ("tiny", 5)):
        pages, key = pages_of(make_session(tmp_path / name, turns=1, window=window))
        values = pages.session(key).values
        assert values["bounds"] is None
        assert values["bar"].trigger is None


def test_a_long_message_is_read_in_parts(tmp_path: Path) -> None:
    """All of them together are the message."""
    text = "".join(f"line {number}\n" for number in range(50_000))
    pages, key = pages_of(write_log(tmp_path / "s", user("a"), tool("c", text)))

    parts, at = [], 0
    while at < len(text):
        values = pages.record(key, 2, {"at": str(at)}).values
        assert len(values["text"]) <= module.RECORD_CHARACTERS
        parts.append(values["text"])
        at += module.RECORD_CHARACTERS

    assert "".join(parts) == text
    assert pages.record(key, 2, {"at": "999999999"}).values["text"] == parts[-1]


def test_a_message_lasts_where_its_log_is_retired(tmp_path: Path) -> None:
    """Its address stays, and says in which logs it stands."""
    folder = make_session(tmp_path / "s", turns=2)
    pages, key = pages_of(folder)
    before = pages.record(key, 3, {}).values
    with minutebook.open_sync(folder, retention=None, durability="process") as session:
        session.clear()

    after = pages.record(key, 3, {}).values

    assert before["number"] is None
    assert after["number"] == 1
    assert before["told"] == after["told"]
    assert [one["number"] for one in after["versions"]] == [1]


def test_a_jump_leads_to_the_page_of_a_message(tmp_path: Path) -> None:
    """Also where the numbers have gaps."""
    messages = [replace(user("x"), seq=7 * at + 1) for at in range(300)]
    pages, key = pages_of(write_log(tmp_path / "s", *messages))

    assert pages.seek(key, "now", 7 * 250 + 1) == 200
    assert pages.seek(key, "now", 3) is None
    assert pages.log(key, "now", {"from": "199"}).values["first"] == 100


def test_what_a_revert_leaves_is_told(lived: Path) -> None:
    """Of the newest log that has the checkpoint."""
    pages, key = pages_of(lived)

    found = pages.after(key, 15)
    assert found is not None
    assert found["number"] is None
    assert found["left"] == len(found["lines"]) == 4
    assert pages.after(key, 999) is None


def test_a_name_that_nothing_has_is_not_there(lived: Path) -> None:
    """Of a session, a log, a message, a compaction, a picture."""
    pages, key = pages_of(lived)

    for asked in (
        lambda: pages.place("nothing"),
        lambda: pages.log(key, "9", {}),
        lambda: pages.record(key, 0, {}),
        lambda: pages.compaction(key, "nothing", {}),
        lambda: pages.picture(key, "now", 1, 0),
        lambda: pages.picture(key, "now", 1, 9),
    ):
        with pytest.raises(NotThere):
            asked()


@given(word=st.text(max_size=20))
def test_a_number_of_an_address_is_never_an_error(word: str) -> None:
    """What is none counts as 0."""
    assert number_in({"n": word}, "n") >= 0


def test_numbers_are_read() -> None:
    """Of ASCII digits, and not too many."""
    assert number_in({"n": "12"}, "n") == 12
    assert number_in({}, "n") == 0
    assert number_in({"n": "١"}, "n") == 0
    assert number_in({"n": "9" * 16}, "n") == 0
    assert digest((1, "a")) != digest((1, "b"))
