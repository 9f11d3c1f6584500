"""Changes from a page: by a form, with the cookie, and only where they were allowed."""

from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra viewer")
pytest.importorskip("jinja2", reason="needs the extra viewer")

import minutebook
from tests.cli.support import make_session
from tests.viewer.support import Answer, Browser

FORMS = ("revert", "undo", "pin", "propose", "apply")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_session(tmp_path / "s", turns=14)


@pytest.fixture
def browser(folder: Path) -> Browser:
    return Browser(folder.parent, allow_write=True)


def hidden(answer: Answer) -> dict[str, str]:
    """Give what the page's last form sends by itself."""
    found = [one for tag, one in answer.page.elements if tag == "input"]
    return {one["name"]: one["value"] for one in found if one.get("type") == "hidden"}


def forms(answer: Answer) -> list[str]:
    return [one["action"] for tag, one in answer.page.elements if tag == "form"]


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_changed_unless_it_was_allowed(folder: Path, form: str) -> None:
    """Whoever sends the form all the same is refused; no page shows one."""
    browser = Browser(folder.parent)
    before = (folder / "context.jsonl").read_bytes()

    answer = browser.post(f"/s/{browser.key}/{form}", to=3, seq=3, pinned=1, force=1)

    assert answer.status == 403
    assert "--allow-write" in answer.page.text
    assert (folder / "context.jsonl").read_bytes() == before
    for address in ("", "/log/now"):
        shown = [one for one in forms(browser.session(address)) if one.startswith("/s/")]
        assert not [one for one in shown if one.rpartition("/")[2] in FORMS]


@pytest.mark.parametrize("form", FORMS)
def test_a_change_is_never_asked_for_by_an_address(browser: Browser, form: str) -> None:
    """A link, or a picture in another page, changes nothing."""
    answer = browser.session(f"/{form}?to=3&seq=3&pinned=1&force=1")

    assert answer.status == (200 if form == "revert" else 405)
    with minutebook.open_sync(browser.places.all()[0].path, mode="r") as session:
        assert session.context.lineage == ()
        assert session.context.pins == frozenset()


def test_a_revert_shows_first_what_it_leaves_behind(browser: Browser) -> None:
    """Then it is done, told, and can be undone."""
    preview = browser.session("/revert?to=3")
    preview.page.check()
    assert "44 messages are left behind" in preview.page.text

    sent = {name: value for name, value in hidden(preview).items() if name == "to"}
    done = browser.post(f"/s/{browser.key}/revert", note="no", **sent)
    assert done.status == 303
    page = browser.get(done.headers["location"])
    assert "Reverted. The log before is log 1." in page.page.text

    undone = browser.post(f"/s/{browser.key}/undo", force=1)
    assert "Undone" in browser.get(undone.headers["location"]).page.text
    with minutebook.open_sync(browser.places.all()[0].path, mode="r") as session:
        assert len(session.context.history) == 56


def test_a_checkpoint_of_a_retired_log_can_be_gone_back_to(browser: Browser) -> None:
    """The preview says where it stands."""
    browser.post(f"/s/{browser.key}/revert", to=3)

    assert "stands in log 1" in browser.session("/revert?to=5").page.text
    assert browser.session("/revert?to=99").status == 404


def test_a_pin_is_set_from_its_message(browser: Browser) -> None:
    """And the page goes back to it."""
    done = browser.post(f"/s/{browser.key}/pin", seq=3, pinned=1)

    assert done.headers["location"] == f"/s/{browser.key}/log/now?seq=3#m3"
    assert 'class="message pinned" id="m3"' in browser.session("/log/now").text


def test_a_compaction_is_done_as_its_preview_showed(browser: Browser) -> None:
    """Sizes, steps and the new summary stand there before."""
    preview = browser.post(f"/s/{browser.key}/propose", focus="<parts>", target=40)
    preview.page.check()
    assert preview.status == 200
    assert "tokens would become" in preview.page.text

    done = browser.post(f"/s/{browser.key}/apply", id=hidden(preview)["id"])

    assert "Compacted" in browser.get(done.headers["location"]).page.text
    with minutebook.open_sync(browser.places.all()[0].path, mode="r") as session:
        assert len(session.context.lineage) == 1


def test_a_session_that_moved_on_says_so(browser: Browser, folder: Path) -> None:
    """Nothing is compacted then."""
    preview = browser.post(f"/s/{browser.key}/propose", focus="", target="")
    with minutebook.open_sync(folder, durability="process") as session:
        session.append(minutebook.user("more"))

    answer = browser.post(f"/s/{browser.key}/apply", id=hidden(preview)["id"])

    assert answer.status == 409
    assert "moved on" in answer.page.text


def test_a_session_within_its_target_has_nothing_to_do(tmp_path: Path) -> None:
    """The preview says so and offers nothing."""
    with minutebook.open_sync(tmp_path / "s", window=9_000, durability="process") as session:
        session.append(minutebook.user("hello"))
    browser = Browser(tmp_path, allow_write=True)

    preview = browser.post(f"/s/{browser.key}/propose")

    assert "Nothing would be changed" in preview.page.text
    assert f"/s/{browser.key}/apply" not in forms(preview)


def test_a_held_session_stays_read_only(browser: Browser, folder: Path) -> None:
    """The page names the holder and has no form; a form that is sent is refused."""
    with minutebook.open_sync(folder):
        page = browser.session()
        assert "has this session open for writing" in page.page.text
        assert not [one for one in forms(page) if one.startswith("/s/")]
        answer = browser.post(f"/s/{browser.key}/undo")
    assert answer.status == 409
    assert "open for writing" in answer.page.text


def test_what_cannot_be_done_is_told(browser: Browser) -> None:
    """In the words of the library."""
    answer = browser.post(f"/s/{browser.key}/undo")

    assert answer.status == 409
    assert "cannot undo" in answer.page.text
    assert browser.post("/s/nothing/undo").status == 404
