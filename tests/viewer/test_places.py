"""Which sessions there are, and under which names they stand in addresses."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.errors import StoreError
from minutebook.store.listing import Listed
from minutebook.viewer import places as module
from minutebook.viewer.places import Places
from tests.cli.support import make_session, make_transcript


def test_a_folder_gives_the_sessions_below_it(tmp_path: Path) -> None:
    """Each under a name of its own, and found by it."""
    make_session(tmp_path / "a", turns=1)
    make_session(tmp_path / "deep" / "b", turns=1)
    places = Places(tmp_path)

    found = {place.listed.path: place for place in places.all()}

    assert found.keys() == {"a", "deep/b"}
    assert not places.single
    assert found["a"].key != found["deep/b"].key
    assert [places.find(place.key) for place in found.values()] == list(found.values())
    assert found["deep/b"].path == (tmp_path / "deep" / "b").resolve()


def test_a_name_stays_the_same(tmp_path: Path) -> None:
    """So that an address that was kept still leads there, whatever the viewer was started for."""
    folder = make_session(tmp_path / "a", turns=1)

    keys = {Places(path).all()[0].key for path in (tmp_path, folder, folder / "context.jsonl")}
    assert len(keys) == 1


def test_a_session_that_comes_later_is_found(tmp_path: Path) -> None:
    """A name that is not known is looked for once more."""
    make_session(tmp_path / "a", turns=1)
    places = Places(tmp_path)
    places.all()
    make_session(tmp_path / "b", turns=1)
    (key,) = (place.key for place in Places(tmp_path).all() if place.listed.path == "b")

    assert places.find(key) is not None


@pytest.mark.parametrize("name", ["a", "a/context.jsonl"])
def test_one_session_is_a_list_of_one(tmp_path: Path, name: str) -> None:
    """Named by its folder or by its log."""
    make_session(tmp_path / "a", turns=1)
    places = Places(tmp_path / name)

    assert places.single
    assert [place.path for place in places.all()] == [(tmp_path / "a").resolve()]


def test_one_file_of_another_agent_is_a_list_of_one(tmp_path: Path) -> None:
    """Whatever its name."""
    path = make_transcript(tmp_path / "chat.json")

    assert [place.path for place in Places(path).all()] == [path.resolve()]


def test_nothing_is_an_error(tmp_path: Path) -> None:
    """It is told before a server starts."""
    with pytest.raises(StoreError, match="no such file"):
        Places(tmp_path / "missing")


@given(key=st.text(max_size=40))
def test_a_name_that_is_not_in_the_list_leads_nowhere(key: str) -> None:
    """Not even one that looks like a path."""
    places = Places(Path(__file__))

    assert places.find(key) is None
    assert places.find("../" + key) is None


def test_the_homes_of_agents_are_listed_anew_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not for every page: it reads many files."""
    now = [0.0]
    made: list[int] = []
    one = Listed(
        path="/home/x/s.jsonl",
        title="",
        agent="codex",
        modified=1.0,
        messages=1,
        tokens=1,
        bytes=1,
        rotations=0,
    )

    def at_home(_progress: object) -> list[Listed]:
        made.append(1)
        return [one]

    monkeypatch.setattr(module, "at_home", at_home)
    places = Places(None, clock=lambda: now[0])

    assert [place.listed for place in places.all()] == [one]
    places.all()
    assert len(made) == 1
    now[0] = module.HOMES_SECONDS + 1
    places.all()
    assert len(made) == 2
